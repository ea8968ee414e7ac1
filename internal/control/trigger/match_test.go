package trigger_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/trigger"
)

const (
	missing   = "the key is missing"
	noElement = "no element of the array is in the list"
	noObject  = "no object in the array meets all conditions"
	twice     = "the object has duplicate keys"

	noneOfOthers = "no object in the array meets all conditions; objects with duplicate keys were skipped"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, filter, body string
		path, reason       string // reason "": matches
	}{
		// Every key of the filter must match. Other keys of the payload are ignored.
		{"no condition on a scalar", `{}`, `1`, "", ""},
		{"no condition on an array", `{}`, `[1]`, "", ""},
		{"other fields", `{"a": [1]}`, `{"b": {"a": 2}, "a": 1}`, "", ""},
		{
			"the first that fails in the filter's order", `{"b": [1], "a": [1]}`, `{"a": 2, "b": 2}`, "/b",
			"the value, a number, is not in the list",
		},
		{
			"deep down", `{"a": {"b": {"c": [1]}}}`, `{"a": {"b": {"c": "1"}}}`, "/a/b/c",
			"the value, a string, is not in the list",
		},
		{
			"a path that needs escapes", `{"a/b": {"~": [1]}}`, `{"a/b": {"~": null}}`, "/a~1b/~0",
			"the value, null, is not in the list",
		},

		// Missing keys.
		{"in on a missing key", `{"a": [1]}`, `{}`, "/a", missing},
		{"in with null on a missing key", `{"a": {"in": [null]}}`, `{"b": null}`, "/a", missing},
		{"not_in on a missing key", `{"a": {"not_in": [1]}}`, `{}`, "", ""},
		{"exists false on a missing key", `{"a": {"exists": false}}`, `{}`, "", ""},
		{"exists true on a missing key", `{"a": {"exists": true}}`, `{}`, "/a", missing},
		{"exists true and not_in on a missing key", `{"a": {"exists": true, "not_in": [1]}}`, `{}`, "/a", missing},
		{
			"exists false and not_in on a key that is there", `{"a": {"exists": false, "not_in": [1]}}`, `{"a": 2}`, "/a",
			"the key exists",
		},
		{"a nested object on a missing key", `{"a": {"b": {"exists": false}}}`, `{}`, "/a", missing},

		// null is a value.
		{"null is null", `{"a": [null]}`, `{"a": null}`, "", ""},
		{"null is there", `{"a": {"exists": true}}`, `{"a": null}`, "", ""},
		{"null is there, also for exists false", `{"a": {"exists": false}}`, `{"a": null}`, "/a", "the key exists"},
		{
			"null is not false, 0 or empty", `{"a": [false, 0, ""]}`, `{"a": null}`, "/a",
			"the value, null, is not in the list",
		},
		{"null in not_in", `{"a": {"not_in": [null]}}`, `{"a": null}`, "/a", "the value is in not_in"},
		{"null is no object", `{"a": {"b": [1]}}`, `{"a": null}`, "/a", "the value is null, not an object"},

		// Arrays and objects at a leaf.
		{"an element is in", `{"a": [1]}`, `{"a": [[1], {"b": 1}, 2, 1]}`, "", ""},
		{"no element is in", `{"a": [1]}`, `{"a": [2, "1"]}`, "/a", noElement},
		{"elements of elements are not compared", `{"a": [1]}`, `{"a": [[1], {"a": 1}]}`, "/a", noElement},
		{
			"an element is in not_in", `{"a": {"not_in": [1]}}`, `{"a": [2, 1]}`, "/a",
			"an element of the array is in not_in",
		},
		{"no element is in not_in", `{"a": {"not_in": [1]}}`, `{"a": [2, [1]]}`, "", ""},
		{"an empty array and in", `{"a": [1]}`, `{"a": []}`, "/a", "the array is empty"},
		{"an empty array and not_in", `{"a": {"not_in": [1], "exists": true}}`, `{"a": []}`, "", ""},
		{
			"in and not_in on an array", `{"a": {"in": [1], "not_in": [2]}}`, `{"a": [1, 2]}`, "/a",
			"an element of the array is in not_in",
		},
		{"an object and in", `{"a": [1]}`, `{"a": {"a": 1}}`, "/a", "the value, an object, is not in the list"},
		{"an object and not_in", `{"a": {"not_in": [1]}}`, `{"a": {"a": 1}}`, "", ""},

		// Nested patterns on arrays.
		{"one element satisfies all", `{"a": {"x": [1], "y": [2]}}`, `{"a": [{"x": 1}, {"y": 2, "x": 1}]}`, "", ""},
		{"two elements together", `{"a": {"x": [1], "y": [2]}}`, `{"a": [{"x": 1}, {"y": 2}]}`, "/a", noObject},
		{"an array without objects", `{"a": {"x": {"not_in": [1]}}}`, `{"a": [1, [{"x": 2}]]}`, "/a", noObject},
		{"an empty array", `{"a": {"x": {"exists": false}}}`, `{"a": []}`, "/a", noObject},
		{"one level only", `{"a": {"x": [1]}}`, `{"a": [[{"x": 1}]]}`, "/a", noObject},
		{
			"arrays below arrays of objects", `{"a": {"b": {"x": [1]}}}`, `{"a": [{"b": [{"x": 2}]}, {"b": [3, {"x": 1}]}]}`, "",
			"",
		},
		{"an array at the root", `{"x": [1]}`, `[{"x": 2}, {"x": [3, 1]}]`, "", ""},
		{"an array at the root without a match", `{"x": [1]}`, `[{"x": 2}]`, "", noObject},
		{"an array in an array at the root", `{"x": [1]}`, `[[{"x": 1}]]`, "", noObject},
		{"a scalar at the root", `{"x": {"exists": false}}`, `"x"`, "", "the value is a string, not an object"},
		{
			"a scalar for a nested pattern", `{"a": {"x": {"exists": false}}}`, `{"a": true}`, "/a",
			"the value is a boolean, not an object",
		},
		{"a number for a nested pattern", `{"a": {"x": [1]}}`, `{"a": -1}`, "/a", "the value is a number, not an object"},

		// There is no coercion. Numbers compare by value, strings by code points.
		{
			"a number is not its text", `{"a": [1, true, null]}`, `{"a": "1"}`, "/a",
			"the value, a string, is not in the list",
		},
		{
			"a boolean is not its number", `{"a": [1, 0, "true"]}`, `{"a": true}`, "/a",
			"the value, a boolean, is not in the list",
		},
		{"false is not true", `{"a": [true]}`, `{"a": false}`, "/a", "the value, a boolean, is not in the list"},
		{"numbers by value", `{"a": [0.001]}`, `{"a": 100E-5}`, "", ""},
		{"minus counts", `{"a": [1]}`, `{"a": -1}`, "/a", "the value, a number, is not in the list"},
		{"case counts", `{"a": ["X"]}`, `{"a": "x"}`, "/a", "the value, a string, is not in the list"},
		{"escapes in a value", `{"a": ["é\n/😀"]}`, `{"a": "\u00E9\u000a\/\ud83d\uDE00"}`, "", ""},
		{"escapes in the filter", `{"\u0061": ["\u00e9"]}`, `{"a": "é"}`, "", ""},
		{"escapes in a key", `{"a/é": [1]}`, `{"\u0061\/\u00e9": 1}`, "", ""},
		{
			"a text that looks like an escape", `{"a": ["\\n"]}`, `{"a": "\n"}`, "/a",
			"the value, a string, is not in the list",
		},
		{"a key that looks like an escape", `{"\\n": [1]}`, `{"\n": 1}`, "/\\n", missing},
		{"a key with a backslash", `{"\\n": [1]}`, `{"\u005cn": 1}`, "", ""},
		{"no normalization of keys", `{"é": [1]}`, `{"e\u0301": 1}`, "/é", missing},
		{"a dot is no path", `{"a.b": [1]}`, `{"a": {"b": 1}}`, "/a.b", missing},
		{"a dot in a key", `{"a.b": [1]}`, `{"a.b": 1}`, "", ""},
		{
			"an empty key below an empty key", `{"": {"": [1]}}`, `{"": {"": 2}}`, "//",
			"the value, a number, is not in the list",
		},
		{"keys of prototypes", `{"constructor": {"exists": false}, "__proto__": {"exists": false}}`, `{}`, "", ""},

		// Duplicate keys.
		{"equal keys that are named", `{"a": [1]}`, `{"a": 1, "a": 1}`, "", twice},
		{"equal keys in an object that is named", `{"b": [1]}`, `{"a": 1, "b": 1, "a": 2}`, "", twice},
		{"equal keys, one escaped", `{"b": [1]}`, `{"a": 1, "b": 1, "\u0061": 2}`, "", twice},
		{"equal keys and not_in", `{"a": {"b": {"not_in": [1]}}}`, `{"a": {"c": 1, "c": 2}}`, "/a", twice},
		{"equal keys in an object that is not named", `{"a": [1]}`, `{"a": 1, "b": {"c": 1, "c": 2}}`, "", ""},
		{"equal keys in an object whose presence is asked for", `{"a": {"exists": true}}`, `{"a": {"c": 1, "c": 2}}`, "", ""},
		{"equal keys and no condition", `{}`, `{"a": 1, "a": 1}`, "", ""},
		{"equal keys in the only element", `{"a": {"b": [1]}}`, `{"a": [{"b": 1, "b": 1}]}`, "/a", noneOfOthers},
		{"equal keys in one of the elements", `{"a": {"b": [1]}}`, `{"a": [{"c": 1, "c": 1}, {"b": 2}]}`, "/a", noneOfOthers},
		{
			"equal keys deeper in an array", `{"a": {"b": {"c": {"d": [1]}}}}`,
			`{"a": [{"b": [{"c": {"d": 1, "d": 1}}]}, {"b": []}]}`, "/a", noneOfOthers,
		},
		{
			"equal keys in an element beside one that matches", `{"a": {"b": [1]}}`, `{"a": [{"b": 2, "b": 1}, {"b": 1}]}`, "",
			"",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d, err := trigger.ParseDocument([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			matched, got := mustParse(t, test.filter).Match(d)
			want := trigger.FilterFailure{Path: test.path, Reason: test.reason}
			if matched != (test.reason == "") || got != want {
				t.Errorf("%s on %s: got %t, %+v, want %+v", test.filter, test.body, matched, got, want)
			}
		})
	}
}

func TestPayloadLimits(t *testing.T) {
	t.Parallel()
	const (
		many = "the body has more than 50000 values"
		deep = "the body is nested deeper than 256 levels"
	)
	tests := []struct {
		name, body, reason string
	}{
		{"50,000 values in an array", `[` + strings.Repeat("1,", 49_997) + `{"a":1}]`, ""},
		{"50,001 values in an array", `[` + strings.Repeat("1,", 49_998) + `{"a":1}]`, many},
		{
			"50,000 values in an object", `{` + list(49_998, func(i int) string { return fmt.Sprintf(`"%d":0`, i) }) + `,"a":1}`,
			"",
		},
		{
			"50,001 values in an object", `{` + list(49_999, func(i int) string { return fmt.Sprintf(`"%d":0`, i) }) + `,"a":1}`,
			many,
		},
		{"256 levels", `{"a":1,"b":` + strings.Repeat("[", 255) + strings.Repeat("]", 255) + `}`, ""},
		{"257 levels", `{"a":1,"b":` + strings.Repeat("[", 256) + strings.Repeat("]", 256) + `}`, deep},
		{"257 levels of objects", `{"a":1,"b":` + strings.Repeat(`{"a":`, 256) + "1" + strings.Repeat("}", 256) + `}`, deep},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d, err := trigger.ParseDocument([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{`{"a": [1]}`, `{"a": {"not_in": [2]}}`} {
				matched, got := mustParse(t, text).Match(d)
				if want := (trigger.FilterFailure{Reason: test.reason}); matched != (test.reason == "") || got != want {
					t.Errorf("%s: got %t, %+v, want %+v", text, matched, got, want)
				}
			}
			if matched, got := mustParse(t, `{}`).Match(d); !matched {
				t.Errorf("a filter without conditions does not match: %+v", got)
			}
		})
	}
}

func TestFilterWithoutConditions(t *testing.T) {
	t.Parallel()
	var none *trigger.Filter
	for name, f := range map[string]*trigger.Filter{"nil": none, "{}": mustParse(t, "{}"), "zero": {}} {
		matched, why := f.Match(nil)
		if !matched || why != (trigger.FilterFailure{}) || !f.MatchesAll() {
			t.Errorf("%s: got %t, %+v, %t", name, matched, why, f.MatchesAll())
		}
	}
	f := mustParse(t, `{"a": {"not_in": [1]}}`)
	if matched, why := f.Match(nil); matched || why.Reason != "the delivery has no payload" || f.MatchesAll() {
		t.Errorf("got %t, %+v, %t for no payload", matched, why, f.MatchesAll())
	}
}

// TestManyKeysAreTakenApart: the table of names grows with the object, and finds equal names at any
// position.
func TestManyKeysAreTakenApart(t *testing.T) {
	t.Parallel()
	f := mustParse(t, `{"k1": [0]}`)
	for _, n := range []int{2, 3, 7, 8, 9, 100, 5000} {
		names := func(i int) string { return fmt.Sprintf(`"k%d":0`, i) }
		body := "{" + list(n, names)
		for what, test := range map[string]struct {
			body string
			want bool
		}{
			"all different":     {body + "}", true},
			"first and last":    {body + `,"k0":1}`, false},
			"the last two":      {body + `,` + names(n-1) + "}", false},
			"escaped":           {body + `,"\u006b0":1}`, false},
			"escaped, twice":    {body + `,"\u006b":1,"\u006B":1}`, false},
			"escaped and other": {body + `,"\u006b":1,"\u006bk0":1}`, true},
		} {
			d, err := trigger.ParseDocument([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if got, why := f.Match(d); got != test.want {
				t.Errorf("%d keys, %s: got %t (%s)", n, what, got, why.Reason)
			}
		}
	}
}

// TestLongTexts: a string that is longer than all values of a filter equals none of them, but one
// that is long only because of its escapes may.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1024)
	f := mustParse(t, `{"a": ["`+long+`"], "`+long[:256]+`": {"not_in": ["y"]}}`)
	for body, want := range map[string]bool{
		`{"a": "` + long + `"}`:                                               true,
		`{"a": "` + strings.Repeat(`\u0078`, 1024) + `"}`:                     true,
		`{"a": "` + strings.Repeat(`\u0078`, 1025) + `"}`:                     false,
		`{"a": "` + long + long + `"}`:                                        false,
		`{"a": ["` + strings.Repeat("x", 200_000) + `", "` + long + `"]}`:     true,
		`{"a": "` + long + `", "` + strings.Repeat(`\u0078`, 256) + `": "y"}`: false,
		`{"a": "` + long + `", "` + strings.Repeat(`\u0078`, 257) + `": "y"}`: true,
		`{"a": "` + long + `", "` + strings.Repeat(`\u0078`, 255) + `": "y"}`: true,
	} {
		d, err := trigger.ParseDocument([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got, why := f.Match(d); got != want {
			t.Errorf("%.40s…: got %t at %.10s (%s), want %t", body, got, why.Path, why.Reason, want)
		}
	}
}

// TestOneDocumentForAll: goroutines share filters and documents.
func TestOneDocumentForAll(t *testing.T) {
	t.Parallel()
	d, err := trigger.ParseDocument(charge(t))
	if err != nil {
		t.Fatal(err)
	}
	f := mustParse(
		t,
		`{"type": ["charge.succeeded"], "data": {"object": {"refunds": {"data": {"amount": [250.0], `+
			`"status": ["succeeded"]}}}}}`,
	)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if ok, why := f.Match(d); !ok {
					t.Errorf("does not match: %+v", why)
				}
				other, err := trigger.ParseDocument([]byte(`{"type": {"b": [1, 2]}, "data": 1}`))
				if err != nil {
					t.Error(err)
					return
				}
				if ok, why := f.Match(other); ok || why.Path != "/type" {
					t.Errorf("got %t, %+v", ok, why)
				}
			}
		})
	}
	group.Wait()
}
