package trigger_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/control/trigger"
)

func root(t *testing.T, body string) trigger.Value {
	t.Helper()
	d, err := trigger.ParseDocument([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	v, why := d.Root()
	if why != "" {
		t.Fatal(why)
	}
	return v
}

func TestAPayloadIsReadUnchanged(t *testing.T) {
	t.Parallel()
	v := root(
		t,
		` {"a": {"b\u0063": "caf\u00e9"}, "list": [1, "x", {"n": 7}, [], null], "yes": true, "no": false, "zero": null, `+
			`"twice": {"k": 1, "k": 2}} `,
	)
	if got := v.Member("a").Member("bc").Text(); got != "café" {
		t.Errorf("a text with escapes: got %q", got)
	}
	var texts []string
	var sum int64
	for e := range v.Member("list").Elements() {
		texts = append(texts, e.Text())
		sum += e.Int() + e.Member("n").Int()
	}
	if diff := cmp.Diff([]string{"", "x", "", "", ""}, texts); diff != "" || sum != 8 {
		t.Errorf("elements: sum %d (-want +got):\n%s", sum, diff)
	}
	if !v.Member("yes").IsTrue() || v.Member("no").IsTrue() || v.Member("none").IsTrue() {
		t.Error("true is not told from what is not")
	}
	if !v.Member("zero").Exists() || v.Member("none").Exists() || !v.Member("a").IsObject() ||
		v.Member("list").IsObject() {
		t.Error("what is there is not told from what is not")
	}
	if !v.Member("twice").Ambiguous() || v.Ambiguous() || v.Member("list").Ambiguous() {
		t.Error("an object with equal keys is not told from others")
	}
}

func TestLoneSurrogatesEqualNothing(t *testing.T) {
	t.Parallel()
	v := root(t, `{"half": "see @ada \ud83d", "whole": "\ud83d\ude00", "\ud800": "x", "list": ["\udc00", "y"]}`)
	if got := v.Member("half"); got.Text() != "" || got.Prose() != "see @ada \uFFFD" || !got.Exists() {
		t.Errorf("half a pair: got %q and %q", got.Text(), got.Prose())
	}
	if got := v.Member("whole"); got.Text() != "😀" || got.Prose() != "😀" {
		t.Errorf("a whole pair: got %q and %q", got.Text(), got.Prose())
	}
	if v.Member("\uFFFD").Exists() {
		t.Error("a key with half a pair equals another one")
	}
}

func TestAbsentValuesHaveNoMembers(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]trigger.Value{
		"nothing": {}, "of a number": root(t, `1`).Member("a").Member("b"), "of a list": root(t, `[{"a": 1}]`).Member("a"),
		"of a text": root(t, `"a"`).Member("a"),
	} {
		if v.Exists() || v.IsObject() || v.IsTrue() || v.Ambiguous() || v.Text() != "" || v.Int() != 0 ||
			len(slices.Collect(v.Elements())) != 0 {
			t.Errorf("%s: got something", name)
		}
	}
	for _, body := range []string{`"1"`, `1.0`, `1e3`, `9223372036854775808`, `-0`, `true`} {
		if got := root(t, body).Int(); got != 0 {
			t.Errorf("%s: got %d", body, got)
		}
	}
}

func TestUnevaluableDocumentsHaveNoRoot(t *testing.T) {
	t.Parallel()
	var none *trigger.Document
	if v, why := none.Root(); v.Exists() || why == "" {
		t.Errorf("no document: got %+v, %q", v, why)
	}
	d, err := trigger.ParseDocument([]byte(strings.Repeat("[", 300) + strings.Repeat("]", 300)))
	if err != nil {
		t.Fatal(err)
	}
	if v, why := d.Root(); v.Exists() || !strings.Contains(why, "deeper") {
		t.Errorf("deep nesting: got %+v, %q", v, why)
	}
}
