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
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/skills"
)

// shipped lists the skills that users rely on.
var shipped = []string{
	"add-mcp-server", "create-skill", "factory-files", "factory-mcp", "pr-comments", "svc-platform", "vendor-api",
}

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
		file, err := skills.Parse([]byte(files["SKILL.md"]))
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
	blocks := regexp.MustCompile("(?ms)^ *```json\n(.*?)^ *```$").FindAllStringSubmatch(
		skills.Files("add-mcp-server")["SKILL.md"], -1,
	)
	if len(blocks) == 0 {
		t.Fatal("add-mcp-server has no block of json")
	}
	for _, block := range blocks {
		var request penstock.RunRequest
		if err := json.Unmarshal([]byte(block[1]), &request); err != nil {
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
