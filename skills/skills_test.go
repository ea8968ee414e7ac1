package skills_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/supply/skillfile"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/skills"
)

// shipped lists the skills that users rely on.
var shipped = []string{"add-mcp-server", "create-skill", "factory-files", "pr-comments", "svc-platform", "vendor-api"}

func TestCatalog(t *testing.T) {
	t.Parallel()
	var ids, there []string
	for _, s := range skills.Catalog() {
		ids = append(ids, s.ID)
		if s.Shipped {
			there = append(there, s.ID)
		}
		if s.Purpose == "" || s.Shipped != (s.Reason == "") || s.Shipped != (s.Description != "") ||
			s.Shipped != (s.BasePrompt != "") {
			t.Errorf("got %+v, want a purpose, and either a reason or a skill", s)
		}
	}
	want := []string{
		"add-mcp-server", "change-keybinding", "create-skill", "create-tab-config", "factory-files", "factory-mcp",
		"modify-settings", "pr-comments",
		"svc-platform", "svcctrl", "tab-configs", "tui-migrate-setup", "update-tab-config", "vendor-api",
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("ids, which must not change (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(shipped, there); diff != "" {
		t.Errorf("shipped (-want +got):\n%s", diff)
	}
}

func TestEmbeddedFilesEqualTheFolders(t *testing.T) {
	t.Parallel()
	for _, id := range shipped {
		files := skills.Files(id)
		file, err := skillfile.Parse([]byte(files["SKILL.md"]))
		if err != nil || file.Name != id {
			t.Errorf("%s: got the name %q, %v", id, file.Name, err)
		}
		onDisk, err := os.ReadFile(id + "/SKILL.md")
		if err != nil || string(onDisk) != files["SKILL.md"] {
			t.Errorf("%s: the embedded file differs, %v", id, err)
		}
		if lines := strings.Count(files["SKILL.md"], "\n"); lines > 200 {
			t.Errorf("%s has %d lines: an agent reads all of it", id, lines)
		}
	}
	for _, id := range []string{"tab-configs", "no-such", "", "../api", "factory-files/example"} {
		if files := skills.Files(id); files != nil {
			t.Errorf("Files(%q): got %d files, want none", id, len(files))
		}
	}
}

// Each definition that a skill shows is valid.
func TestDefinitionsAreValid(t *testing.T) {
	t.Parallel()
	foreman := []byte("---\nagentType: FOREMAN\n---\nwork\n")
	example := map[string][]byte{}
	for name, content := range skills.Files("factory-files") {
		if rest, ok := strings.CutPrefix(name, "example/"); ok {
			example[rest] = []byte(content)
		}
	}
	factory := example["factory.yaml"]
	yamls, markdowns := fences(t, "factory-files", "yaml"), fences(t, "factory-files", "markdown")
	trees := map[string]map[string][]byte{
		"the example":          example,
		"factory-files.yaml 1": {"factory.yaml": []byte(yamls[0]), "agents/foreman/agent.md": foreman},
		"factory-files.yaml 2": {
			"factory.yaml": []byte("schemaVersion: v1alpha1\nname: x\n" + yamls[1]), "agents/foreman/agent.md": foreman,
		},
		"factory-files.yaml 3": with(example, "webhooks/github.yaml", yamls[2]),
		"factory-files.yaml 4": with(example, "runners/node.yaml", yamls[3]),
		"an agent":             with(example, "agents/foreman/agent.md", markdowns[0]),
		"an automation":        with(example, "automations/pull-requests/automation.md", markdowns[1]),
		"add-mcp-server": {
			"factory.yaml": []byte(fences(t, "add-mcp-server", "yaml")[0]), "agents/foreman/agent.md": foreman,
		},
		"create-skill": with(example, "skills/release-notes/SKILL.md", fences(t, "create-skill", "markdown")[0]),
	}
	if len(factory) == 0 || len(yamls) != 4 || len(markdowns) != 2 {
		t.Fatalf("got %d blocks of YAML and %d of Markdown: not all are tested", len(yamls), len(markdowns))
	}
	for name, files := range trees {
		if _, found := definition.Parse(files, definition.Known{}); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func with(files map[string][]byte, name, content string) map[string][]byte {
	changed := map[string][]byte{name: []byte(content)}
	for other, text := range files {
		if other != name {
			changed[other] = text
		}
	}
	return changed
}

// fences returns the code blocks in a language.
func fences(t *testing.T, id, language string) []string {
	t.Helper()
	var blocks []string
	for _, m := range regexp.MustCompile(
		"(?ms)^ *```"+language+"\n(.*?)^ *```$",
	).FindAllStringSubmatch(skills.Files(id)["SKILL.md"], -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block of %s", id, language)
	}
	return blocks
}

func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	text := skills.Files("factory-files")["SKILL.md"]
	for _, code := range definition.Codes() {
		if !strings.Contains(text, "`"+string(code)+"`") {
			t.Errorf("factory-files does not explain %s", code)
		}
	}
	for _, code := range regexp.MustCompile("FF_[A-Z_]{2,}").FindAllString(text, -1) {
		if !slices.Contains(definition.Codes(), definition.Code(code)) {
			t.Errorf("factory-files names %s, which does not exist", code)
		}
	}
}

var (
	operation = regexp.MustCompile("`(GET|POST|PUT|PATCH|DELETE) (/[^`? ]+)")
	called    = regexp.MustCompile(`\$PENSTOCK_(?:BASE|PUBLIC)_URL(/[^"]*)"`)
	parameter = regexp.MustCompile(`\{[^}]+\}`)
)

// Each operation that a skill names exists in the contract.
func TestOperationsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"GET /docs": true, "GET /docs/openapi.yaml": true}
	paths := map[string]bool{}
	for _, r := range testkit.NewContract(t).Routes() {
		name := parameter.ReplaceAllString(r.Path, "{}")
		known[r.Method+" "+name], paths[name] = true, true
	}
	for _, id := range shipped {
		text := skills.Files(id)["SKILL.md"]
		for _, m := range operation.FindAllStringSubmatch(text, -1) {
			name := m[1] + " " + parameter.ReplaceAllString(m[2], "{}")
			if strings.HasPrefix(m[2], "/v1") { // a vendor's
				continue
			}
			if !known[name] {
				t.Errorf("%s names %s, which the contract does not have", id, name)
			}
		}
		for _, m := range called.FindAllStringSubmatch(text, -1) {
			if name := strings.ReplaceAll(m[1], "$PENSTOCK_RUN_ID", "{}"); !paths[name] {
				t.Errorf("%s calls %s, which the contract does not have", id, name)
			}
		}
	}
	for _, scope := range regexp.MustCompile("`((?:runs|factories|secrets):[a-z]+)`").FindAllStringSubmatch(
		skills.Files("svc-platform")["SKILL.md"], -1,
	) {
		if !slices.Contains(penstock.Scopes(), penstock.Scope(scope[1])) {
			t.Errorf("svc-platform names the scope %s, which does not exist", scope[1])
		}
	}
}

func TestBlocksAreValid(t *testing.T) {
	t.Parallel()
	for _, block := range fences(t, "add-mcp-server", "json") {
		var request penstock.RunRequest
		if err := json.Unmarshal([]byte(block), &request); err != nil {
			t.Fatal(err)
		}
		if errs := request.Config.Check("/config", []string{penstock.HarnessBuiltin}); errs != nil {
			t.Errorf("the request: %v", errs)
		}
	}
	for _, id := range shipped {
		for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(
			skills.Files(id)["SKILL.md"], -1,
		) {
			var document map[string]yaml.Node
			if err := yaml.Unmarshal([]byte(block[1]), &document); err != nil {
				t.Errorf("%s: %v in\n%s", id, err, block[1])
			}
		}
	}
}
