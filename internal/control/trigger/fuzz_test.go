package trigger_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// FuzzEvents reads arbitrary deliveries, and evaluates every key of a filter on them.
func FuzzEvents(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, header := senderOf(strings.TrimPrefix(file, "testdata/"))
		f.Add(header, body)
	}
	f.Add("issues", []byte(`{"action": "opened", "issue": {"body": "@a \ud800", "labels": [{"name": "\udc00"}]}}`))
	conditions := map[string][]*trigger.Condition{}
	for _, provider := range []string{penstock.ProviderGitHub, penstock.ProviderLinear} {
		for _, event := range penstock.TriggerEvents(provider) {
			for _, key := range penstock.TriggerKeys(provider) {
				value := `"**/[!a]?b*"`
				if key == "pr_numbers" {
					value = "2"
				}
				conditions[provider+event] = append(
					conditions[provider+event], compile(f, provider, event, fmt.Sprintf(`{%q: {"not_in": [%s]}}`, key, value)),
				)
			}
		}
	}
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		d, err := trigger.ParseDocument(body)
		if err != nil {
			return
		}
		for _, provider := range []string{penstock.ProviderGitHub, penstock.ProviderLinear} {
			all, why := trigger.Events(provider, header, d)
			if (len(all) == 0) != (why != "") {
				t.Errorf("%d events, and why: %q", len(all), why)
			}
			for _, e := range all {
				if !slices.Contains(penstock.TriggerEvents(provider), e.Name) {
					t.Errorf("%s is no event of %s", e.Name, provider)
				}
				for _, key := range e.Keys() {
					if !slices.Contains(trigger.ReportedKeys(provider, e.Name), key) {
						t.Errorf("%s tells %s", e.Name, key)
					}
				}
				for _, c := range conditions[provider+e.Name] {
					if matched, why := c.Match(all); matched != (why.Reason == "") || c.IsOtherEvent(why) {
						t.Errorf("%t, %+v", matched, why)
					}
				}
			}
		}
	})
}

// A payload of the maximum size is read quickly, whatever it contains.
func TestLargePayloadsAreRead(t *testing.T) {
	t.Parallel()
	const size = 250 << 10
	fill := func(unit string) string {
		return strings.TrimSuffix(strings.Repeat(unit, min(size/len(unit), 9_000)), ",")
	}
	for name, test := range map[string]struct{ event, header, body, filter string }{
		"labels": {
			"issue_created", "issues", `{"action": "opened", "issue": {"labels": [` + fill(`{"name": "0123456789"},`) + `]}}`,
			`{"labels": {"not_in": ["x", "y", "z"]}}`,
		},
		"files": {
			"push", "push", `{"ref": "refs/heads/main", "commits": [{"added": [` + fill(`"a/b/c/d/e/f/g.go",`) + `]}]}`,
			`{"paths": {"not_in": ["**/a*/*b*/**/x", "*/*/*/*/*/*/*"]}}`,
		},
		"texts": {
			"issue_created", "issues", `{"action": "opened", "issue": {"body": "` + strings.Repeat("`@a ", size/4) + `"}}`,
			`{"mentioned": {"not_in": ["b"]}}`,
		},
		"keys": {
			"issue_created", "issues", `{"action": "opened", "issue": {` + numbered(10_000) + `}}`,
			`{"authors": {"not_in": ["b"]}}`,
		},
		"mentions": {
			"issue_created", "issues", `{"action": "opened", "issue": {"body": "` + strings.Repeat("@a ", size/3) + `"}}`,
			`{"mentioned": {"not_in": ["b"]}}`,
		},
	} {
		c := compile(t, "github", test.event, test.filter)
		all, why := trigger.Events("github", test.header, parse(t, test.body))
		if why != "" {
			t.Errorf("%s: %s", name, why)
			continue
		}
		if _, failure := c.Match(all); c.IsOtherEvent(failure) {
			t.Errorf("%s: %+v", name, failure)
		}
	}
}

// numbered are many members of an object.
func numbered(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"key%d": {}`, i))
	}
	return strings.Join(out, ",")
}

func BenchmarkPullRequest(b *testing.B) {
	d := parse(b, sample(b, "github/pull_request.opened"))
	c := compile(
		b, "github", "pull_request_opened",
		`{"repos": ["hello-world"], "labels": {"not_in": ["wip"]}, "base_branches": ["master"]}`,
	)
	for b.Loop() {
		all, _ := trigger.Events("github", "pull_request", d)
		if matched, why := c.Match(all); !matched {
			b.Fatal(why)
		}
	}
}
