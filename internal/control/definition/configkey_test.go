package definition_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/api"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// jsonName returns a field's name in JSON, or "" if it has none.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// jsonNames lists the JSON names of a structure's fields, sorted.
func jsonNames(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name := jsonName(f); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Each key of a run's configuration has a field in Config and a property in the contract. A key of
// every layer also has a property in each schema of an agent and an automation.
func TestEveryConfigurationKeyIsInTheContract(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	properties := func(schema string) []string {
		var names []string
		for name := range doc.Components.Schemas[schema].Value.Properties {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	if diff := cmp.Diff(properties("AmbientAgentConfig"), jsonNames(reflect.TypeFor[penstock.Config]())); diff != "" {
		t.Errorf("keys of a configuration (-api/openapi.yaml +penstock.Config):\n%s", diff)
	}
	layered := jsonNames(reflect.TypeFor[penstock.LayerKeys]())
	if diff := cmp.Diff(layered, jsonNames(reflect.TypeFor[factory.LayerKeysRequest]())); diff != "" {
		t.Errorf("keys of every layer (-LayerKeys +LayerKeysRequest):\n%s", diff)
	}
	for _, schema := range []string{
		"Agent", "UpdateAgent", "AgentResponse", "Automation", "CreateAutomationRequest", "UpdateAutomationRequest",
	} {
		for _, key := range layered {
			if !slices.Contains(properties(schema), key) {
				t.Errorf("the schema %s has no %s", schema, key)
			}
		}
	}
}

// The keys of agent and automation files reach the configuration of their runs. An agent or
// automation with that configuration is written back unchanged.
func TestEveryKeyOfAFileReachesTheConfiguration(t *testing.T) {
	t.Parallel()
	texts := map[string]string{} // of the keys that are text
	for _, f := range reflect.VisibleFields(reflect.TypeFor[penstock.Overrides]()) {
		if f.Type.Kind() == reflect.String {
			key := jsonName(f)
			if alias := f.Tag.Get("config"); alias != "" {
				key = alias
			}
			texts[key] = "some-" + key
		}
	}
	for _, key := range jsonNames(reflect.TypeFor[penstock.LayerKeys]()) {
		if texts[key] == "" && key != "forge" {
			t.Errorf("%s is not tried here: it is not text", key)
		}
	}
	set := func(file any) {
		var keys []string
		v := reflect.ValueOf(file).Elem()
		for _, f := range reflect.VisibleFields(v.Type()) {
			key := f.Tag.Get("config")
			if f.Name == "CredentialStrategy" { // stands beside the settings
				key = "credential_strategy"
			}
			if key != "" {
				keys = append(keys, key)
				v.FieldByIndex(f.Index).SetString(texts[key])
			}
		}
		forge := &definition.Forge{Push: &definition.Push{
			Branches: []string{}, Secrets: "off", Limits: &definition.PushBounds{Files: new(1), Bytes: new(2), Binary: new(0)},
			ProtectedPaths: &definition.PathProtection{Policy: "refuse", Add: []string{"a"}, Except: []string{"b"}},
		}}
		v.FieldByName("Forge").Set(reflect.ValueOf(forge))
		v.FieldByName("Repositories").Set(reflect.ValueOf([]definition.RunRepository{
			{URL: "a", Connection: "b", Path: "c", Ref: "d"}, {},
		}))
		if len(keys) != len(texts) {
			t.Errorf("a file of the type %s has %v; the keys of every layer are %v", v.Type(), keys, texts)
		}
	}
	values := []string{
		"push/branches", "push/protected_paths/policy", "push/protected_paths/add", "push/protected_paths/except",
		"push/limits/files", "push/limits/bytes", "push/limits/binary", "push/secrets",
	}
	repositories := []penstock.RunRepository{{URL: "a", Connection: "b", Path: "c", Ref: "d"}, {}}
	check := func(what string, config *penstock.Config) {
		if diff := cmp.Diff(repositories, config.Repositories); diff != "" {
			t.Errorf("%s: repositories in the configuration (-want +got):\n%s", what, diff)
		}
		if diff := cmp.Diff(values, config.Forge.Values()); diff != "" {
			t.Errorf("%s: values of forge in the configuration (-want +got):\n%s", what, diff)
		}
		v := reflect.ValueOf(*config)
		for _, f := range reflect.VisibleFields(v.Type()) {
			key := jsonName(f)
			if want, known := texts[key]; known && v.FieldByIndex(f.Index).String() != want {
				t.Errorf("%s: %s does not reach the configuration", what, key)
			}
		}
	}
	agent := definition.Agent{Name: "a", Type: "REVIEW"}
	set(&agent)
	check("agent", agent.Identity().Config())
	if diff := cmp.Diff(agent, definition.AgentOf(agent.Identity())); diff != "" {
		t.Errorf("agent written again (-want +got):\n%s", diff)
	}
	automation := definition.Automation{Name: "a"}
	set(&automation)
	check("automation", automation.Automation().Config())
	if diff := cmp.Diff(automation, definition.AutomationOf(automation.Automation())); diff != "" {
		t.Errorf("automation written again (-want +got):\n%s", diff)
	}
}
