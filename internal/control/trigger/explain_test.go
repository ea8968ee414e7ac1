package trigger_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

func TestExplanationOfAFilter(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for name, test := range map[string]struct{ filter, body, want string }{
		"another value": {
			`{"type": ["order.refunded"]}`, `{"type": "order.created"}`, "`type` is `order.created`; expects `order.refunded`",
		},
		"one of several": {
			`{"s": ["a", "b", "c", "d", "e", "f"]}`, `{"s": "x"}`,
			"`s` is `x`; expects one of `a`, `b`, `c`, `d` or 2 more",
		},
		"absent":            {`{"type": ["a"]}`, `{}`, "`type` is absent; expects `a`"},
		"null":              {`{"type": ["a"]}`, `{"type": null}`, "`type` is null; expects the text \"a\""},
		"null expected":     {`{"a": [null]}`, `{}`, "`a` is absent; expects null"},
		"a text, no number": {`{"count": [5]}`, `{"count": "5"}`, "`count` is the text \"5\"; expects the number 5"},
		"mixed kinds": {
			`{"n": [5, "6"]}`, `{"n": "5"}`, "`n` is the text \"5\"; expects one of the number 5 or the text \"6\"",
		},
		"empty":     {`{"a": ["x"]}`, `{"a": ""}`, "`a` is the empty text; expects the text \"x\""},
		"invisible": {`{"a": ["x"]}`, `{"a": "x\n"}`, "`a` is the text \"x\\n\"; expects the text \"x\""},
		"not_in":    {`{"a": {"not_in": ["x"]}}`, `{"a": "x"}`, "`a` is `x`; expects not `x`"},
		"not_in of several": {
			`{"a": {"not_in": [1, 2]}}`, `{"a": [3, 2]}`, "`a` is an array of `3` and `2`; expects none of `1` or `2`",
		},
		"in before not_in": {
			`{"a": {"in": [1], "not_in": [2]}}`, `{"a": [1, 2]}`, "`a` is an array of `1` and `2`; expects not `2`",
		},
		"exists":     {`{"a": {"exists": true}}`, `{"b": 1}`, "`a` is absent; expects a value"},
		"not exists": {`{"a": {"exists": false}}`, `{"a": null}`, "`a` is null; expects it to be absent"},
		"a null array": {
			`{"a": [1]}`, `{"a": []}`, "`a` is an empty array; expects `1`",
		},
		"an object above is absent": {`{"a": {"b": [1]}}`, `{}`, "`a` is absent; expects an object"},
		"a value above is a text":   {`{"a": {"b": [1]}}`, `{"a": "x"}`, "`a` is the text \"x\"; expects an object"},
		"deep":                      {`{"a": {"b": [1]}}`, `{"a": {"b": 2}}`, "`a.b` is `2`; expects `1`"},
		"an object, no value":       {`{"a": ["x"]}`, `{"a": {"x": 1}}`, "`a` is an object; expects the text \"x\""},
		"in an array of objects": {
			`{"a": {"x": [1], "y": [2]}}`, `{"a": [{"x": 1}, {"y": 2}]}`,
			"`a` is an array; expects an object in it that meets the conditions on `x` and `y`",
		},
		"duplicate keys": {`{"a": [1]}`, `{"a": 1, "a": 1}`, "the payload has duplicate keys; expects each key once"},
		"others": {
			`{"a": [1], "b": [1], "c": {"d": [1], "e": [2]}}`, `{"a": 2, "b": 1, "c": {"e": 1}}`,
			"`a` is `2`; expects `1` (2 other conditions failed, too)",
		},
		"long": {
			`{"a": ["y"]}`, `{"a": "` + long + `"}`,
			"`a` is the text \"" + long[:60] + "\"… (200 characters); expects the text \"y\"",
		},
		"numbers": {
			`{"a": [0.05, -120, 1.5, 1e300]}`, `{"a": 7}`, "`a` is `7`; expects one of `0.05`, `-120`, `1.5` or `1e300`",
		},
		"long with the same beginning": {
			`{"a": ["` + long + `/"]}`, `{"a": "` + long + `"}`,
			"`a` is the text \"" + long[:60] + "\"… (200 characters), which differs from character 201 on; " +
				"expects the text \"" + long[:60] + "\"… (201 characters)",
		},
		"in an array of objects with one condition": {
			`{"labels": {"name": ["bug"]}}`, `{"labels": [{"name": "a"}, {"id": 1}, {"name": "b"}]}`,
			"`labels[].name` is `a` and `b`; expects `bug`",
		},
		"in an array of objects without the key": {
			`{"labels": {"name": ["bug"]}}`, `{"labels": [{"id": 1}]}`,
			"`labels` is an array; expects an object in it that meets the conditions on `name`",
		},
		"in an empty array of objects": {
			`{"labels": {"name": ["bug"]}}`, `{"labels": []}`,
			"`labels` is an empty array; expects an object in it that meets the conditions on `name`",
		},
		"a terminal sequence": {
			`{"a": ["y"]}`, `{"a": "\u001b]0;x\u0007\u202e\u009b31m"}`,
			"`a` is the text \"\\x1b]0;x\\a\\u202e\\u009b31m\"; expects the text \"y\"",
		},
		"a terminal sequence in a key": {
			`{"a\u001b[31m": ["y"]}`, `{}`, "`a [31m` is absent; expects `y`",
		},
		"a secret": {
			`{"auth": {"apiToken": ["s3cret"]}}`, `{"auth": {"apiToken": "0ther"}}`,
			"`auth.apiToken` has a value that is not shown; expects another value, which is not shown either",
		},
		"no secret": {
			`{"auth": {"X-Auth-Token": ["s3cret"]}}`, `{"auth": {}}`,
			"`auth.X-Auth-Token` is absent; expects a value that is not shown",
		},
		"a secret that must not be there": {
			`{"password": {"exists": false}}`, `{"password": "s3cret"}`,
			"`password` has a value that is not shown; expects it to be absent",
		},
		"a secret of another type": {
			`{"password": {"hash": ["s3cret"]}}`, `{"password": "s3cret"}`,
			"`password` has a value that is not shown; expects an object",
		},
		"a count of tokens": {`{"tokens": [1]}`, `{"tokens": 2}`, "`tokens` is `2`; expects `1`"},
		"backticks":         {`{"a": ["y"]}`, "{\"a\": \"`x`\"}", "`a` is `'x'`; expects `y`"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := trigger.ParseDocument([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			got := mustParse(t, test.filter).Explain(d)
			if got == nil || got.Sentence() != test.want {
				t.Errorf("%s on %s:\ngot  %+v\nwant %s", test.filter, test.body, got, test.want)
			}
		})
	}
}

// TestExplanationsThatOthersLacked has cases in which public systems that filter events gave no
// reason, or a wrong one.
func TestExplanationsThatOthersLacked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ filter, body, want string }{
		"a field that this event does not carry": {
			`{"sender": ["ada"]}`, `{"id": 1, "ack": 2}`, "`sender` is absent; expects `ada`",
		},
		"which of several filters dropped it": {
			`{"check": ["cpu"], "occurrences": [1]}`, `{"check": "cpu", "occurrences": 2}`, "`occurrences` is `2`; expects `1`",
		},
		"a number in quotes": {
			`{"message": [1]}`, `{"message": "1"}`, "`message` is the text \"1\"; expects the number 1",
		},
		"negation of several values is of all": {
			`{"value": {"not_in": ["foo", "bar"]}}`, `{"value": "bar"}`, "`value` is `bar`; expects none of `foo` or `bar`",
		},
		"negation with null matches":     {`{"command": {"not_in": ["no-message"]}}`, `{"command": null}`, ""},
		"existence of an object matches": {`{"detail": {"a": {"exists": true}}}`, `{"detail": {"a": {}}}`, ""},
		"null exists":                    {`{"a": {"exists": true}}`, `{"a": null}`, ""},
		"an array has one of the values": {`{"type": ["1", "2"]}`, `{"type": ["3", "1"]}`, ""},
		"an array of other values": {
			`{"type": ["1", "2"]}`, `{"type": ["3"]}`, "`type` is an array of `3`; expects one of `1` or `2`",
		},
		"a level that the body does not have": {
			`{"payload": {"project": {"default_branch": ["main"]}}}`, `{"project": {"default_branch": "main"}}`,
			"`payload` is absent; expects an object",
		},
		"an address without the slash at its end": {
			`{"url": ["https://example.com/hook/"]}`, `{"url": "https://example.com/hook"}`,
			"`url` is `https://example.com/hook`; expects `https://example.com/hook/`",
		},
		"null below": {`{"a": {"b": [1]}}`, `{"a": null}`, "`a` is null; expects an object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := trigger.ParseDocument([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if why := mustParse(t, test.filter).Explain(d); why != nil {
				got = why.Sentence()
			}
			if got != test.want {
				t.Errorf("%s on %s:\ngot  %s\nwant %s", test.filter, test.body, got, test.want)
			}
		})
	}
}

func TestExplanationOfEvents(t *testing.T) {
	t.Parallel()
	opened := penstock.Trigger{Provider: "github", Event: "pull_request_opened"}
	reopened := penstock.Trigger{Provider: "github", Event: "pull_request_reopened"}
	toMain := penstock.Trigger{
		Provider: "github", Event: "push", Filter: json.RawMessage(`{"branches": ["main", "release/*"]}`),
	}
	bots := penstock.Trigger{
		Provider: "github", Event: "pull_request_opened",
		Filter: json.RawMessage(`{"authors": {"not_in": ["bot"]}, "repos": ["x"]}`),
	}
	linear := penstock.Trigger{Provider: "linear", Event: "issue_created"}
	const pull = `"repository": {"name": "shop", "full_name": "acme/shop"}, "sender": {"login": "bot"},
		"pull_request": {"user": {"login": "bot"}}`
	for name, test := range map[string]struct {
		triggers   []penstock.Trigger
		name, body string
		want       string
	}{
		"the event fires it": {[]penstock.Trigger{opened}, "pull_request", `{"action": "opened", ` + pull + `}`, ""},
		"another action": {
			[]penstock.Trigger{opened, reopened},
			"pull_request", `{"action": "edited", ` + pull + `}`,
			"action `edited` starts nothing; this automation waits for opened or reopened",
		},
		"another event": {
			[]penstock.Trigger{toMain},
			"pull_request", `{"action": "opened", ` + pull + `}`,
			"the event `pull_request opened` starts nothing; this automation waits for push",
		},
		"an event without a trigger": {
			[]penstock.Trigger{opened},
			"star", `{"action": "created"}`,
			"`star` in X-GitHub-Event is not an event that triggers support; this automation waits for pull_request_opened",
		},
		"a ping": {
			[]penstock.Trigger{opened},
			"ping", `{}`,
			"a ping only tests the webhook; this automation waits for pull_request_opened",
		},
		"a hostile action": {
			[]penstock.Trigger{opened},
			"pull_request", `{"action": "\u001b[31m ignore all", ` + pull + `}`,
			"an unknown name fires no trigger; this automation waits for pull_request_opened",
		},
		"another branch": {
			[]penstock.Trigger{toMain},
			"push", `{"ref": "refs/heads/dev", "after": "1"}`,
			"`branches` is `dev`; expects one of `main` or `release/*`",
		},
		"two keys": {
			[]penstock.Trigger{bots},
			"pull_request", `{"action": "opened", ` + pull + `}`,
			"`authors` is `bot`; expects not `bot` (1 other condition failed, too)",
		},
		"linear": {
			[]penstock.Trigger{linear},
			"", `{"type": "Issue", "action": "remove", "data": {"id": "1"}}`,
			"action `remove` starts nothing; this automation waits for created",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := trigger.ParseDocument([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			var all []*trigger.Condition
			for _, one := range test.triggers {
				c, err := trigger.Compile(one)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, c)
			}
			events, why := trigger.Events(test.triggers[0].Provider, test.name, d)
			got := ""
			if x := trigger.ExplainEvents(all, events, why, test.name, d); x != nil {
				got = x.Sentence()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A person with many filters in one automation wants to know which one came close, and what it missed.
func TestExplanationOfSeveralFilters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		filters    []string
		body, want string
	}{
		"the one with the fewest failures": {
			[]string{`{"type": ["a"], "n": [1]}`, `{"type": ["b"], "n": [1]}`, `{"type": ["c"], "n": [1]}`},
			`{"type": "b", "n": 2}`, "`n` is `2`; expects `1` (filter 2 of 3 is the nearest)",
		},
		"the first of equals": {
			[]string{`{"type": ["a"]}`, `{"type": ["b"]}`},
			`{"type": "c"}`,
			"`type` is `c`; expects `a` (filter 1 of 2 is the nearest)",
		},
		"one": {[]string{`{"type": ["a"]}`}, `{"type": "c"}`, "`type` is `c`; expects `a`"},
		"more failures": {
			[]string{`{"a": [1], "b": [1], "c": [1]}`, `{"a": [1], "b": [1]}`},
			`{}`,
			"`a` is absent; expects `1` (1 other condition failed, too; filter 2 of 2 is the nearest)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var filters []*trigger.Filter
			for _, f := range test.filters {
				filters = append(filters, mustParse(t, f))
			}
			d, err := trigger.ParseDocument([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			trial := trigger.NewFilterSet(filters).Try(d)
			if got := trial.Explain(0, len(filters)).Sentence(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// checkExplanation: a payload has an explanation if and only if it does not match. The sentence names
// the path, is in one line, and is short.
func checkExplanation(t interface{ Errorf(string, ...any) }, f *trigger.Filter, d *trigger.Document) {
	matched, why := f.Match(d)
	x := f.Explain(d)
	if matched != (x == nil) {
		t.Errorf("%s: matches %t, with %+v", f.Text(), matched, x)
	}
	if x == nil {
		return
	}
	sentence := x.Sentence()
	if x.Path != why.Path || sentence == "" || len([]rune(sentence)) > 700 {
		t.Errorf("%s: got %+v for %+v", f.Text(), x, why)
	}
	for _, list := range [][]string{x.Actual, x.Expected} {
		if n := len([]rune(strings.Join(list, ""))); n > 200 {
			t.Errorf("%s: %d characters of values", f.Text(), n)
		}
	}
	keys := strings.ReplaceAll(strings.TrimPrefix(x.Path, "/"), "/", ".")
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	odd := func(r rune) bool { return hidden(r) || r == ' ' || r == '`' }
	if !strings.ContainsFunc(keys, odd) && x.Operator != "" && x.Path != "" && len(keys) < 60 &&
		!strings.Contains(x.Path, "~") && !strings.HasPrefix(sentence, "`"+keys) {
		t.Errorf("%s: %q does not name %s", f.Text(), sentence, keys)
	}
	if strings.ContainsFunc(sentence+strings.Join(x.Actual, "")+strings.Join(x.Expected, ""), hidden) {
		t.Errorf("%s: %q has characters that nobody sees", f.Text(), sentence)
	}
}
