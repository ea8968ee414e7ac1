package definition_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/control/definition"
)

func resolved(t testing.TB) map[string]*jsonschema.Resolved {
	t.Helper()
	schemas := map[string]*jsonschema.Resolved{}
	for name, schema := range definition.Schemas() {
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		var read jsonschema.Schema // as an editor reads it
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if schemas[name], err = read.Resolve(
			&jsonschema.ResolveOptions{
				ValidateDefaults: true, BaseURI: "https://penstock.test/api/v1/factory-files/schemas/v1alpha1/",
			},
		); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return schemas
}

// schemaName returns the schema that describes a file.
func schemaName(path string) string {
	parts := strings.Split(path, "/")
	switch last := parts[len(parts)-1]; {
	case last == "SKILL.md":
		return "skill"
	case last == "factory.yaml":
		return "factory"
	case last == "suite.yaml":
		return "benchmark-suite"
	case strings.Contains(path, "/tasks/"):
		return "benchmark-task"
	case parts[0] == "skills":
		return ""
	}
	return strings.TrimSuffix(parts[0], "s")
}

// asJSON converts the YAML of a file to a JSON value by the rules of YAML 1.2. ok is false if the
// file has none.
func asJSON(path string, content []byte) (value any, ok bool) {
	text := string(content)
	if strings.HasSuffix(path, ".md") {
		parts := strings.SplitN(strings.TrimPrefix("\n"+text, "\n---\n"), "---\n", 2)
		text = parts[0]
		if !strings.HasPrefix(string(content), "---\n") {
			text = "{}"
		}
	}
	var n yaml.Node
	if yaml.Unmarshal([]byte(text), &n) != nil || len(n.Content) == 0 {
		return map[string]any{}, strings.TrimSpace(text) == ""
	}
	return jsonNode(n.Content[0])
}

func jsonNode(n *yaml.Node) (any, bool) {
	switch n.Kind {
	case yaml.MappingNode:
		value := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			if value[n.Content[i].Value] != nil || n.Content[i].Kind != yaml.ScalarNode || n.Content[i].ShortTag() == "!!merge" {
				return nil, false
			}
			item, ok := jsonNode(n.Content[i+1])
			if !ok {
				return nil, false
			}
			value[n.Content[i].Value] = item
		}
		return value, true
	case yaml.SequenceNode:
		value := []any{}
		for _, item := range n.Content {
			item, ok := jsonNode(item)
			if !ok {
				return nil, false
			}
			value = append(value, item)
		}
		return value, true
	case yaml.ScalarNode:
		var value any
		if n.ShortTag() == "!!str" || n.ShortTag() == "!!timestamp" || json.Unmarshal([]byte(n.Value), &value) != nil {
			value = n.Value
		}
		if n.ShortTag() == "!!null" {
			value = nil
		}
		return value, n.Anchor == "" && n.Style&yaml.TaggedStyle == 0
	}
	return nil, false
}

func TestSchemasAcceptTheExample(t *testing.T) {
	t.Parallel()
	schemas := resolved(t)
	seen := map[string]bool{}
	for path, content := range validTree(t) {
		schema := schemas[schemaName(path)]
		value, ok := asJSON(path, content)
		if path == "README.md" || schema == nil && strings.HasPrefix(path, "skills/") {
			continue
		}
		if !ok || schema == nil {
			t.Fatalf("%s: no schema or no value", path)
		}
		seen[schemaName(path)] = true
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, name := range definition.SchemaNames() {
		if !seen[name] {
			t.Errorf("the example has no document for the schema %s", name)
		}
	}
}

// TestSchemasRefuse: a schema refuses the bad trees as far as a schema can detect the error.
func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	schemas := resolved(t)
	for _, test := range []struct{ schema, document string }{
		{"factory", "schemaVersion: v2\nname: x\nagentDefaults: {model: a}"},
		{"factory", "schemaVersion: v1alpha1\nname: x\nagentDefaults: {}"},
		{"factory", "schemaVersion: v1alpha1\nname: x\nagentDefaults: {model: a, harness: {type: claude, model: b}}"},
		{"factory", "schemaVersion: v1alpha1\nname: x\nagentDefaults: {model: a}\nmcpServers: {x: {id: a, url: b}}"},
		{"factory", "schemaVersion: v1alpha1\nname: x\nagentDefaults: {model: a}\nalias: a/b"},
		{"agent", "agentType: BOSS"},
		{"agent", "model: a\nharness: {type: claude, model: b}"},
		{"automation", "triggers: []"},
		{"automation", "triggers: [{provider: github, event: received}]"},
		{"automation", "triggers: [{provider: github, event: push, filter: {repo: [a]}}]"},
		{"automation", "triggers: [{provider: github, event: push, schedule: {cron: a}}]"},
		{"automation", "triggers: [{provider: github, event: push, filter: {pr_numbers: [a]}}]"},
		{"automation", "triggers: [{provider: webhook, event: received}]"},
		{"automation", "triggers: [{provider: webhook, event: received, filter: {webhook_ids: []}}]"},
		{"runner", "platform: {os: windows}"},
		{"runner", "platform: {}\ninstanceShape: {vcpus: 0, memoryGb: 1}"},
		{"runner", "platform: {}\ninstanceShape: {vcpus: 1, memoryGb: 0}"},
		{"webhook", "authMode: signature\nsecretName: A"},
		{"webhook", "signatureScheme: github\nsecretName: A"},
		{"webhook", "secretName: a-b"},
		{"scorer", "agents: [a]\nlabels: [{value: a, score: 2}]\npassingScore: 1\nmodel: a"},
		{"benchmark-suite", "name: a"},
		{"benchmark-task", "title: a\nprompt: b\nsuccessCriteria: c\nstartingRepoRefs: [x]"},
	} {
		value, ok := asJSON("x.yaml", []byte(test.document))
		if !ok || schemas[test.schema].Validate(value) == nil {
			t.Errorf("the schema %s takes:\n%s", test.schema, test.document)
		}
	}
}

// TestSchemasAgreeWithTheParser: for documents near to valid ones, the parser refuses everything
// that a schema refuses.
func TestSchemasAgreeWithTheParser(t *testing.T) {
	t.Parallel()
	schemas := resolved(t)
	trees := []map[string][]byte{validTree(t)}
	names, err := filepath.Glob("testdata/bad/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, files := archive(string(content))
		trees = append(trees, files)
	}
	agree := func(t rapid.TB, path string, files map[string][]byte) {
		t.Helper()
		schema := schemas[schemaName(path)]
		value, ok := asJSON(path, files[path])
		if schema == nil || !ok {
			return
		}
		refused := schema.Validate(value)
		_, found := definition.Parse(files, definition.Known{})
		for _, d := range found {
			if d.Path == path && d.Severity == definition.SeverityError {
				return
			}
		}
		if refused != nil && !has(found, definition.UnsupportedPath, path) {
			t.Fatalf("%s: only the schema refuses it: %v\n%s", path, refused, files[path])
		}
	}
	for _, files := range trees {
		for path := range files {
			agree(t, path, files)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		files := map[string][]byte{}
		var paths []string
		for path, content := range trees[0] {
			if files[path] = content; path != "README.md" {
				paths = append(paths, path)
			}
		}
		path := rapid.SampledFrom(sorted(paths)).Draw(t, "path")
		files[path] = []byte(damage(t, string(files[path])))
		agree(t, path, files)
	})
}

func has(found []definition.Diagnostic, code definition.Code, path string) bool {
	for _, d := range found {
		if d.Code == code && d.Path == path {
			return true
		}
	}
	return false
}

// damage changes a line of a document, or a value in it.
func damage(t *rapid.T, text string) string {
	all := strings.Split(text, "\n")
	i := rapid.IntRange(0, len(all)-1).Draw(t, "line")
	key, _, isKey := strings.Cut(all[i], ": ")
	switch choice := rapid.IntRange(0, 3).Draw(t, "damage"); {
	case choice == 0:
		return strings.Join(append(append([]string{}, all[:i]...), all[i+1:]...), "\n")
	case choice == 1 && isKey:
		all[i] = key + "x: " + "y"
	case isKey:
		all[i] = key + ": " + rapid.SampledFrom(
			[]string{`""`, "{}", "[]", "5", "-1", "1.5", "true", "no", "x", "null", "[x]", "{a: b}", `"2"`},
		).Draw(t, "value")
	}
	return strings.Join(all, "\n")
}

// TestSchemaJSON: the schemas are in the form that editors and generators expect.
func TestSchemaJSON(t *testing.T) {
	t.Parallel()
	documents, err := definition.SchemaJSON()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, text := range documents {
		names = append(names, name)
		var schema map[string]any
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		if schema["$schema"] != "https://json-schema.org/draft/2020-12/schema" || schema["$id"] != name ||
			schema["title"] == "" || schema["type"] != "object" {
			t.Errorf("%s: got %v, %v, %v, %v", name, schema["$schema"], schema["$id"], schema["title"], schema["type"])
		}
	}
	if diff := cmp.Diff(definition.SchemaFiles(), sorted(names)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	again, err := definition.SchemaJSON()
	if diff := cmp.Diff(documents, again); err != nil || diff != "" {
		t.Errorf("a second time (%v, -first +again):\n%s", err, diff)
	}
}
