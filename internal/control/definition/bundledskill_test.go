package definition_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/skills"
)

func TestBundledSkillsShowValidDefinitions(t *testing.T) {
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
		"factory-files.yaml 3": withFile(example, "webhooks/github.yaml", yamls[2]),
		"factory-files.yaml 4": withFile(example, "runners/node.yaml", yamls[3]),
		"an agent":             withFile(example, "agents/foreman/agent.md", markdowns[0]),
		"an automation":        withFile(example, "automations/pull-requests/automation.md", markdowns[1]),
		"add-mcp-server": {
			"factory.yaml": []byte(fences(t, "add-mcp-server", "yaml")[0]), "agents/foreman/agent.md": foreman,
		},
		"create-skill": withFile(example, "skills/release-notes/SKILL.md", fences(t, "create-skill", "markdown")[0]),
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

func withFile(files map[string][]byte, name, content string) map[string][]byte {
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

func TestABundledSkillExplainsEveryCode(t *testing.T) {
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
