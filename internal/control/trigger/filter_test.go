package trigger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

func TestFiltersAreAccepted(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, filter string }{
		{"none", `{}`},
		{"white space", " {\n\t} \r\n"},
		{"a set", `{"a": ["x", 1, true, null]}`},
		{"equal values in one set", `{"a": [1, 1.0, "x", "\u0078"]}`},
		{"all operators", `{"a": {"in": [1], "not_in": [2], "exists": true}}`},
		{"exists false with not_in", `{"a": {"exists": false, "not_in": [1]}}`},
		{"a key that looks like a path", `{"a.b": [1], "a/b": [1], "$.a": [1]}`},
		{"an empty key", `{"": {"": [1]}}`},
		{"a field called in at the root", `{"in": {"x": [1]}}`},
		{"a field called exists at the root", `{"exists": {"exists": true}}`},
		{
			"fields called in and not_in",
			`{"t": {"in": {"in": [1]}, "not_in": {"x": [1]}, "exists": {"exists": false}, "other": [1]}}`,
		},
		{"values of in and not_in that only look equal", `{"a": {"in": ["1", "true", "null"], "not_in": [1, true, null]}}`},
		{"a number with a huge exponent", `{"a": [1e999999999999999999999999]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := trigger.ParseFilter([]byte(test.filter)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFiltersAreRefused(t *testing.T) {
	t.Parallel()
	const (
		nested   = "array holds an object or array; only strings, numbers, booleans and null are allowed"
		scalar   = `bare scalar; write [value], an operator object such as {"not_in": [value]}, or a nested object`
		beside   = "object mixes payload keys and operators; use either keys or the operators in, not_in and exists"
		both     = "value in both in and not_in; use one of them"
		twice    = "duplicate key; each key may occur only once"
		notArray = "must be an array of 1 to 32 values"
		object   = "filter must be an object"
		halfText = "string has half of a surrogate pair, which matches nothing; write the whole character"
	)
	field := func(pointer, detail string) []penstock.FieldError {
		return []penstock.FieldError{{Pointer: pointer, Detail: detail}}
	}
	tests := []struct {
		name, filter string
		want         []penstock.FieldError
	}{
		{"nothing", ``, field("", "filter is not valid JSON: it is empty")},
		{"half an object", `{"a": [`, field("", "filter is not valid JSON: the value is incomplete")},
		{"a comma too many", `{"a": [1],}`, field("", "filter is not valid JSON: syntax error at byte 9")},
		{
			"two objects", `{} {}`,
			field("", "filter is not valid JSON: more than one value, or something behind it, at byte 2"),
		},
		{"invalid UTF-8", "{\"a\": [\"\xff\"]}", field("", "filter is not valid JSON: invalid UTF-8 at byte 8")},
		{"half a surrogate pair", `{"a": ["x", "\ud800"]}`, field("/a/1", halfText)},
		{"half a surrogate pair in a not_in", `{"a": {"not_in": ["x\udc00"]}}`, field("/a/not_in/0", halfText)},
		{
			"half a surrogate pair in a key", `{"a": {"\ud800": [1]}}`,
			field("/a/\uFFFD", "key has half of a surrogate pair, which matches no key; write the whole character"),
		},
		{"an array", `["a"]`, field("", object)},
		{"a string", `"a"`, field("", object)},
		{"null", `null`, field("", object)},
		{"a bare string", `{"a": "x"}`, field("/a", scalar)},
		{"a bare number", `{"a": {"b": 1}}`, field("/a/b", scalar)},
		{"a bare null", `{"a": null}`, field("/a", scalar)},
		{"an empty set", `{"a": []}`, field("/a", "empty array never matches; give 1 to 32 values")},
		{"an empty in", `{"a": {"in": []}}`, field("/a/in", "empty array never matches; give 1 to 32 values")},
		{"an empty not_in", `{"a": {"not_in": []}}`, field("/a/not_in", "empty array excludes nothing; give 1 to 32 values")},
		{
			"an empty nested object", `{"a": {}}`,
			field("/a", `empty nested object; name a key in it, or write {"exists": true}`),
		},
		{"an array in a set", `{"a": [1, []]}`, field("/a/1", nested)},
		{"an object in a not_in", `{"a": {"not_in": [{}]}}`, field("/a/not_in/0", nested)},
		{"one value in both", `{"a": {"in": [1, "x"], "not_in": [10e-1]}}`, field("/a", both)},
		{"one string in both, written differently", `{"a": {"in": ["\u00e9"], "not_in": ["é"]}}`, field("/a", both)},
		{
			"exists false with in", `{"a": {"exists": false, "in": [1]}}`,
			field("/a", `"exists": false and "in" exclude each other; use one of them`),
		},
		{
			"in at the root", `{"in": ["x"]}`,
			field("/in", `operator at the root; put it below a key of the payload: {"type": {"in": …}}`),
		},
		{
			"exists at the root", `{"exists": true, "a": [1]}`,
			field("/exists", `operator at the root; put it below a key of the payload: {"type": {"exists": …}}`),
		},
		{"in that is no array", `{"a": {"in": "x"}}`, field("/a/in", notArray)},
		{"not_in that is null", `{"a": {"not_in": null}}`, field("/a/not_in", notArray)},
		{"exists that is a number", `{"a": {"exists": 1}}`, field("/a/exists", "must be true or false")},
		{"an operator and a field", `{"a": {"in": [1], "b": [1]}}`, field("/a/b", beside)},
		{"an operator and a field called in", `{"a": {"in": {"in": [1]}, "not_in": [1]}}`, field("/a/in", beside)},
		{
			"an operator with $", `{"a": {"$gt": 1}}`,
			field("/a/$gt", "$gt is not an operator; the operators are in, not_in and exists. If $gt is a key of the "+
				"payload, its value in the filter cannot be a bare scalar: "+strings.TrimPrefix(scalar, "bare scalar; ")),
		},
		{"duplicate keys", `{"a": [1], "a": [2]}`, field("/a", twice)},
		{"duplicate keys, one of them escaped", `{"b": {"a~/": [1], "\u0061~/": [2]}}`, field("/b/a~0~1", twice)},
		{"duplicate operators", `{"a": {"in": [1], "in": [2]}}`, field("/a/in", twice)},
		{"everything at once", `{"in": [1], "a": 1, "b": {"c": [], "d": [[]], "e": {"in": [1], "not_in": [1.0], ` +
			`"f": []}}, "g": {}}`, []penstock.FieldError{
			{Pointer: "/in", Detail: `operator at the root; put it below a key of the payload: {"type": {"in": …}}`},
			{Pointer: "/a", Detail: scalar},
			{Pointer: "/b/c", Detail: "empty array never matches; give 1 to 32 values"},
			{Pointer: "/b/d/0", Detail: nested},
			{Pointer: "/b/e/f", Detail: beside},
			{Pointer: "/b/e", Detail: both},
			{Pointer: "/g", Detail: `empty nested object; name a key in it, or write {"exists": true}`},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, err := trigger.ParseFilter([]byte(test.filter))
			if f != nil || penstock.CodeOf(err) != penstock.CodeInvalidRequest {
				t.Fatalf("got %v and %v", f, err)
			}
			if diff := cmp.Diff(test.want, findings(err)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	_, err := trigger.ParseFilter([]byte("{" + strings.Repeat(`"a":1,`, 2000) + `"b":1}`))
	if got := findings(err); len(got) != 32 {
		t.Errorf("got %d findings, want 32", len(got))
	}
	deep := strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000)
	_, err = trigger.ParseFilter([]byte(deep))
	want := []penstock.FieldError{{Pointer: strings.Repeat("/a", 11), Detail: "deeper than 10 levels of keys"}}
	if diff := cmp.Diff(want, findings(err)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// limits are the limits of a filter, each with a filter at the limit.
var limits = []struct {
	name    string
	limit   int
	pointer string // of the finding, if the filter is one larger
	filter  func(n int) string
}{
	{"levels", 10, strings.Repeat("/a", 11), func(n int) string {
		return strings.Repeat(`{"a":`, n) + "[1]" + strings.Repeat("}", n)
	}},
	{"leaves", 64, "", func(n int) string {
		return "{" + list(n, func(i int) string { return fmt.Sprintf(`"%d":[1]`, i) }) + "}"
	}},
	{"leaves on all levels", 64, "", func(n int) string {
		return "{" + list(n, func(i int) string {
			return fmt.Sprintf(`"%d":{"a":{"in":[1],"not_in":[2]}}`, i)
		}) + "}"
	}},
	{"values", 32, "/a", func(n int) string {
		return `{"a":[` + list(n, func(i int) string { return fmt.Sprint(i) }) + "]}"
	}},
	{"values of not_in, equal ones", 32, "/a/not_in", func(n int) string {
		return `{"a":{"not_in":[` + list(n, func(int) string { return "1" }) + "]}}"
	}},
	{"bytes in all", 16_384, "", func(n int) string {
		return `{"a":` + strings.Repeat(" ", n-len(`{"a":[1]}`)) + "[1]}"
	}},
	{"bytes of a string", 1024, "/a/0", func(n int) string {
		return `{"a":["` + strings.Repeat("x", n-2) + `é"]}`
	}},
	{"bytes of a string of escapes", 1024, "/a/in/1", func(n int) string {
		return `{"a":{"in":[1,"` + strings.Repeat(`\u0078`, n) + `"]}}`
	}},
	{"bytes of a key", 256, "/b/" + strings.Repeat("k", 255) + "é", func(n int) string {
		return `{"b":{"` + strings.Repeat("k", n-2) + `é":[1]}}`
	}},
}

func TestFilterLimits(t *testing.T) {
	t.Parallel()
	for _, test := range limits {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := trigger.ParseFilter([]byte(test.filter(test.limit))); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			_, err := trigger.ParseFilter([]byte(test.filter(test.limit + 1)))
			got := findings(err)
			if len(got) != 1 || got[0].Pointer != test.pointer ||
				!strings.Contains(got[0].Detail, strings.TrimRight(fmt.Sprint(test.limit), "0")) {
				t.Errorf("one over: got %v, want a finding at %q that names the limit", err, test.pointer)
			}
		})
	}
}

func TestFilterLimitsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		test := rapid.SampledFrom(limits).Draw(t, "limit")
		n := rapid.IntRange(max(10, test.limit-20), test.limit+20).Draw(t, "n")
		if _, err := trigger.ParseFilter([]byte(test.filter(n))); (err != nil) != (n > test.limit) {
			t.Errorf("%s: %d of %d: got %v", test.name, n, test.limit, err)
		}
	})
}

// list joins n texts by commas.
func list(n int, text func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = text(i)
	}
	return strings.Join(parts, ",")
}

func findings(err error) []penstock.FieldError {
	known, ok := errors.AsType[*penstock.Error](err)
	if !ok {
		return nil
	}
	return known.Fields
}
