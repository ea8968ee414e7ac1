package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/control/definition"
)

func TestFactoryValidate(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, content string) { t.Helper(); writeBelow(t, folder, name, content) }
	write("factory.yaml", "schemaVersion: v1alpha1\nname: Example\nagentDefaults: {model: demo/offline}\n")
	write("agents/foreman/agent.md", "---\nagentType: FOREMAN\n---\n")
	const automation = "---\ntriggers:\n- {provider: schedule, event: cron_fired, schedule: {cron: \"0 0 31 2 *\"}}\n" +
		"---\nLook.\n"

	got := call(t, nil, "factory", "validate", folder)
	got.want(t, 0, folder+" is valid: 2 files")
	if got.out != "" {
		t.Errorf("got %q, want nothing on standard output", got.out)
	}

	write("automations/never.md", automation)
	write("agents/foreman/agent.md", "---\nagentTyp: FOREMAN\n---\n")
	got = call(t, nil, "factory", "validate", folder)
	got.want(t, 1, "")
	want := folder + "/agents/foreman/agent.md:2:1: FF_UNKNOWN_FIELD unknown key \"agentTyp\""
	if lines := strings.Split(got.out, "\n"); !strings.HasPrefix(got.out, want) || len(lines) != 4 ||
		!strings.HasPrefix(lines[1], folder+"/automations/never.md:3:60: FF_INVALID_TRIGGER cron never matches a date") ||
		!strings.HasPrefix(lines[2], folder+"/factory.yaml:1:1: FF_MISSING_REQUIRED") {
		t.Errorf("got\n%s", got.out)
	}

	got = call(t, nil, "factory", "validate", "--format", "github", folder)
	got.want(t, 1, "")
	if want := "::error file=" + folder +
		"/agents/foreman/agent.md,line=2,col=1::FF_UNKNOWN_FIELD unknown key"; !strings.HasPrefix(got.out, want) {
		t.Errorf("got\n%s", got.out)
	}

	got = call(t, nil, "factory", "validate", "--format", "json", folder)
	got.want(t, 1, "")
	var response struct {
		Valid       bool                    `json:"valid"`
		Diagnostics []definition.Diagnostic `json:"diagnostics"`
	}
	if err := json.Unmarshal([]byte(got.out), &response); err != nil {
		t.Fatal(err)
	}
	if first := response.Diagnostics[0]; response.Valid || first.Path != "agents/foreman/agent.md" ||
		first.Nearest != "agentType" {
		t.Errorf("got %+v", response)
	}

	later := t.TempDir()
	writeBelow(t, later, "factory.yaml",
		"schemaVersion: v1alpha1\nname: Example\nscoring: {}\nagentDefaults: {model: auto}\n")
	writeBelow(t, later, "agents/foreman/agent.md", "---\nagentType: FOREMAN\n---\n")
	writeBelow(t, later, "docs/plan.txt", "not a part of the factory\n")
	got = call(t, nil, "factory", "validate", later)
	got.want(t, 0, "is valid")
	if !strings.Contains(got.out, "factory.yaml:3:1: FF_UNKNOWN_FIELD (note) the key scoring is kept, and not used yet") {
		t.Errorf("got %q", got.out)
	}
	got = call(t, nil, "factory", "validate", "--strict", later)
	got.want(t, 1, "")
	if !strings.Contains(got.out, "factory.yaml:3:1: FF_UNKNOWN_FIELD the key scoring") ||
		!strings.Contains(got.out, "docs/plan.txt:1:1: FF_UNSUPPORTED_PATH (note)") {
		t.Errorf("got %q", got.out)
	}

	valid, err := filepath.Abs("../../internal/control/definition/testdata/valid")
	if err != nil {
		t.Fatal(err)
	}
	empty := call(t, nil, "factory", "validate", "--format", "json", valid)
	empty.want(t, 0, "")
	if diff := cmp.Diff("{\n  \"diagnostics\": [],\n  \"valid\": true\n}\n", empty.out); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	call(t, nil, "factory", "validate", filepath.Join(folder, "none")).want(t, 64, "none")
}

// writeBelow writes a file of a tree.
func writeBelow(t *testing.T, folder, name, content string) {
	t.Helper()
	name = filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
