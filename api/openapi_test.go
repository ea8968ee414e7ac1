package api_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/api"
)

var document = sync.OnceValues(func() (*openapi3.T, error) {
	return openapi3.NewLoader().LoadFromData(api.OpenAPI)
})

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := document()
	if err != nil {
		t.Fatalf("load openapi.yaml: %v", err)
	}
	return doc
}

type operation struct {
	*openapi3.Operation
	method, path string
	item         *openapi3.PathItem
}

func (o operation) String() string { return o.method + " " + o.path }

func (o operation) statuses() []string { return slices.Sorted(maps.Keys(o.Responses.Map())) }

func (o operation) keyed() bool { return o.Security == nil }

func (o operation) parameters() openapi3.Parameters {
	return slices.Concat(o.item.Parameters, o.Parameters)
}

func operations(t *testing.T) []operation {
	t.Helper()
	var ops []operation
	for path, item := range load(t).Paths.Map() {
		for method, op := range item.Operations() {
			ops = append(ops, operation{op, method, path, item})
		}
	}
	if len(ops) < 40 {
		t.Fatalf("got %d operations, want at least 40", len(ops))
	}
	slices.SortFunc(ops, func(a, b operation) int { return strings.Compare(a.String(), b.String()) })
	return ops
}

// Validate also checks each example against its schema.
func TestTheDocumentIsValidOpenAPI(t *testing.T) {
	t.Parallel()
	doc := load(t)
	if !doc.IsOpenAPI31OrLater() {
		t.Errorf("got OpenAPI %s, want 3.1", doc.OpenAPI)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableMultiError(), openapi3.EnableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
}

func TestEveryOperationIsDescribed(t *testing.T) {
	t.Parallel()
	scopes := []string{
		"any", "runs:read", "runs:write", "factories:read", "factories:manage", "secrets:use", "secrets:manage",
		"keys:manage", "events:manage", "forges:manage", "access:manage", "admin",
	}
	doc := load(t)
	seen := map[string]string{}
	for _, op := range operations(t) {
		if !regexp.MustCompile(`^[a-z][A-Za-z]+$`).MatchString(op.OperationID) {
			t.Errorf("%s: operationId %q is no name of a method", op, op.OperationID)
		}
		if other, taken := seen[op.OperationID]; taken {
			t.Errorf("%s: operationId %q is that of %s too", op, op.OperationID, other)
		}
		seen[op.OperationID] = op.String()
		if op.Summary == "" || strings.HasSuffix(op.Summary, ".") {
			t.Errorf("%s: summary %q should be a title", op, op.Summary)
		}
		if !strings.HasSuffix(strings.TrimSpace(op.Description), ".") {
			t.Errorf("%s: description %q should be sentences", op, op.Description)
		}
		if len(op.Tags) != 1 || doc.Tags.Get(op.Tags[0]) == nil {
			t.Errorf("%s: got tags %v, want one that is declared", op, op.Tags)
		}
		scope, _ := op.Extensions["x-scope"].(string)
		if op.keyed() != slices.Contains(scopes, scope) {
			t.Errorf("%s: x-scope %q, needs a key: %t", op, scope, op.keyed())
		}
		for _, p := range op.parameters() {
			if p.Value.Description == "" {
				t.Errorf("%s: parameter %s has no description", op, p.Value.Name)
			}
		}
	}
}

// The errors that an operation declares follow from its parameters and its body.
func TestEveryOperationDeclaresItsErrors(t *testing.T) {
	t.Parallel()
	for _, op := range operations(t) {
		var want []string
		add := func(when bool, statuses ...string) {
			if when {
				want = append(want, statuses...)
			}
		}
		in := func(place string) bool {
			return slices.ContainsFunc(op.parameters(), func(p *openapi3.ParameterRef) bool { return p.Value.In == place })
		}
		add(true, "500", "503")
		add(op.keyed(), "401", "429")
		add(op.keyed() && op.OperationID != "getMe", "403")
		add(in("path"), "404")
		add(in("query") || in("header") || op.RequestBody != nil, "400")
		add(op.RequestBody != nil, "413")
		add(op.OperationID == "createSession", "401", "403", "429")                     // its key is in the body
		add(op.OperationID == "beginSignIn", "403", "429")                              // another site's page, or too many
		add(op.OperationID == "validateFactoryFiles", "401", "403", "429")              // a key is optional
		add(op.OperationID == "getSession" || op.OperationID == "deleteSession", "404") // with a key instead of a cookie
		add(op.method == "POST" && op.keyed(), "409")
		add(op.OperationID == "updateAgent" || op.OperationID == "updateEnvironment", "409")  // a name that is taken
		add(op.OperationID == "deleteEnvironment", "409")                                     // one that is used
		add(op.OperationID == "updateFactory" || op.OperationID == "updateAutomation", "409") // a name that is taken
		add(op.OperationID == "deleteAgent", "409")                                           // a factory's foreman
		add(
			op.OperationID == "updateWebhook", "409",
		) // its secret is set, or is missing
		add(op.OperationID == "deleteSecret", "409") // one that is used
		add(
			op.OperationID == "deleteWebhook" || op.OperationID == "deleteAutomation", "409",
		) // of a factory that a repository defines
		lastAdmin := []string{
			"deleteKey", "assignKey", "deleteGrant", "updateUser", "deleteUser", "updateServiceAccount", "deleteServiceAccount",
		}
		add(slices.Contains(lastAdmin, op.OperationID), "409")
		add(op.OperationID == "downloadArtifact", "422")
		add(op.OperationID == "createEventEndpoint" || op.OperationID == "updateEventEndpoint", "422") // another format
		add(
			op.OperationID == "followUpRun" || op.OperationID == "followUpConversation", "422",
		) // an attachment that was not uploaded
		add(op.OperationID == "createForge", "422") // a provider that is not supported yet
		costs := []string{"createRun", "createRunAlias", "forkRun"}
		add(slices.Contains(costs, op.OperationID), "422")    // a model without a price, under a cap
		add(op.OperationID == "uploadAttachment", "409")      // a follow-up has it
		add(op.OperationID == "applyDefinition", "409")       // another revision
		files := []string{"createFactory", "applyDefinition"} // that are invalid
		add(slices.Contains(files, op.OperationID), "422")
		add(op.OperationID == "findRunByExternalReference", "404")
		add(op.OperationID == "getNetworkPolicy", "404") // of an object that the query names
		slices.Sort(want)
		got := slices.DeleteFunc(op.statuses(), func(s string) bool { return s < "400" })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", op, diff)
		}
	}
}

func TestEveryResponseDeclaresItsHeaders(t *testing.T) {
	t.Parallel()
	for _, op := range operations(t) {
		for status, ref := range op.Responses.Map() {
			success := status < "300"
			want := map[string]bool{
				"X-Request-Id":              true,
				"RateLimit":                 op.keyed() && status != "401",
				"RateLimit-Policy":          op.keyed() && status != "401",
				"X-Should-Retry":            status >= "400",
				"Retry-After":               slices.Contains([]string{"409", "429", "503"}, status),
				"WWW-Authenticate":          status == "401",
				"Location":                  status == "302",
				"Idempotent-Replayed":       success && op.method == "POST" && op.keyed(),
				"X-Penstock-Ignored-Fields": success && op.RequestBody != nil && op.OperationID != "uploadAttachment", // a file
			}
			for header, wanted := range want {
				if _, declared := ref.Value.Headers[header]; wanted && !declared {
					t.Errorf("%s: %s lacks the header %s", op, status, header)
				}
			}
		}
	}
}

func TestEveryErrorIsAProblem(t *testing.T) {
	t.Parallel()
	for _, op := range operations(t) {
		for status, ref := range op.Responses.Map() {
			if status < "400" {
				continue
			}
			content := ref.Value.Content
			problem := content["application/problem+json"]
			if len(content) != 1 || problem == nil || problem.Schema.Ref != "#/components/schemas/Error" {
				t.Errorf("%s: %s should be a problem and nothing else", op, status)
				continue
			}
			example, _ := problem.Example.(map[string]any)
			if got := fmt.Sprint(example["status"]); got != status {
				t.Errorf("%s: the example of %s has status %s", op, status, got)
			}
			code := fmt.Sprint(example["type"])
			info, ok := api.FindError(code[strings.LastIndex(code, "/")+1:])
			if !ok || info.Title != example["title"] || fmt.Sprint(info.Status) != status {
				t.Errorf("%s: the example of %s differs from the catalog: %v", op, status, example)
			}
		}
	}
}

func TestEveryJSONBodyHasAnExample(t *testing.T) {
	t.Parallel()
	for _, op := range operations(t) {
		check := func(what string, content openapi3.Content) {
			for kind, media := range content {
				if strings.Contains(kind, "json") && media.Example == nil && len(media.Examples) == 0 {
					t.Errorf("%s: %s has no example", op, what)
				}
			}
		}
		if op.RequestBody != nil {
			check("request", op.RequestBody.Value.Content)
		}
		for status, ref := range op.Responses.Map() {
			check(status, ref.Value.Content)
		}
	}
}

func TestEveryPOSTCanBeRepeatedSafely(t *testing.T) {
	t.Parallel()
	for _, op := range operations(t) {
		param := op.parameters().GetByInAndName("header", "Idempotency-Key")
		if (param != nil) != (op.method == "POST" && op.keyed()) {
			t.Errorf("%s: takes an Idempotency-Key: %t", op, param != nil)
		}
	}
}

func TestSchemasThatClientsKnowByName(t *testing.T) {
	t.Parallel()
	schemas := load(t).Components.Schemas
	for _, name := range []string{
		"RunAgentRequest", "RunAgentResponse", "ListRunsResponse", "RunItem", "PageInfo", "RunStatusMessage",
		"RunCreatorInfo", "RunState", "RunSourceType", "RunFollowupRequest", "AmbientAgentConfig", "MCPServerConfig",
		"CloudEnvironment", "Error",
	} {
		if schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
}

func TestEveryComponentIsUsed(t *testing.T) {
	t.Parallel()
	components := load(t).Components
	for section, names := range map[string][]string{
		"schemas":       slices.Collect(maps.Keys(components.Schemas)),
		"parameters":    slices.Collect(maps.Keys(components.Parameters)),
		"headers":       slices.Collect(maps.Keys(components.Headers)),
		"responses":     slices.Collect(maps.Keys(components.Responses)),
		"requestBodies": slices.Collect(maps.Keys(components.RequestBodies)),
		"examples":      slices.Collect(maps.Keys(components.Examples)),
	} {
		for _, name := range names {
			if ref := "'#/components/" + section + "/" + name + "'"; !strings.Contains(string(api.OpenAPI), "$ref: "+ref) {
				t.Errorf("nothing refers to %s", ref)
			}
		}
	}
}

func TestEverySchemaIsDescribed(t *testing.T) {
	t.Parallel()
	for name, ref := range load(t).Components.Schemas {
		s := ref.Value
		if s.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for _, required := range s.Required {
			if s.Properties[required] == nil {
				t.Errorf("%s requires %s, which it does not have", name, required)
			}
		}
		for key, property := range s.Properties {
			if property.Value.Description == "" {
				t.Errorf("%s.%s has no description", name, key)
			}
		}
		if s.Type.Is("object") && s.Properties == nil && s.AdditionalProperties.Schema == nil {
			t.Errorf("%s is an object of anything", name)
		}
	}
}

func TestTheCatalogOfErrorsMatchesTheContract(t *testing.T) {
	t.Parallel()
	var got, want []string
	for _, code := range load(t).Components.Schemas["ErrorCode"].Value.Enum {
		want = append(want, fmt.Sprint(code))
	}
	for _, info := range api.ErrorInfos() {
		got = append(got, info.Code)
		if info.Meaning == "" || len(info.Remedy) == 0 {
			t.Errorf("%s is not explained", info.Code)
		}
		if (info.Status == 0) && !info.Run || info.Run != (info.State != "") {
			t.Errorf("%s: status %d, of a run: %t, state %q", info.Code, info.Status, info.Run, info.State)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-contract +catalog):\n%s", diff)
	}
}
