package trigger_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// object is a JSON object with ordered members.
type object []pair

type pair struct {
	key   string
	value any
}

// scalars are all different. Some look alike.
var scalars = []any{
	nil, true, false, "", "a", "A", "é", "e\u0301", "1", "null", `\n`, "\n", "in",
	json.Number("0"), json.Number("1"), json.Number("-1"), json.Number("0.1"), json.Number("1e1000000000000000000000"),
	json.Number("9007199254740992"), json.Number("9007199254740993"), "\uFFFD",
}

// respelled are alternative spellings of some scalars.
var respelled = []any{
	json.Number("-0.0"), json.Number("10e-1"), json.Number("1.0"), json.Number("1E-1"),
	json.Number("10e999999999999999999999"),
}

var (
	keys      = rapid.SampledFrom([]string{"a", "b", "A", "", "é", "a.b", "a/b", `\n`, "in", "not_in", "exists"})
	anyScalar = rapid.SampledFrom(append(slices.Clone(scalars), respelled...))
	// payloadScalar may return a scalar that filters cannot have: an unpaired surrogate.
	payloadScalar = rapid.SampledFrom(slices.Concat(scalars, respelled, []any{
		json.RawMessage(`"\ud800"`), json.RawMessage(`"\udc00\ud800"`), json.RawMessage(`"a\udfff"`),
	}))
)

// bodyOf draws a payload with up to the given number of levels.
func bodyOf(t *rapid.T, levels int) any {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0, 1:
		if levels > 0 {
			return objectOf(t, func(string) any { return bodyOf(t, levels-1) })
		}
	case 2:
		if levels > 0 {
			values := make([]any, rapid.IntRange(0, 4).Draw(t, "length"))
			for i := range values {
				values[i] = bodyOf(t, levels-1)
			}
			return values
		}
	}
	return payloadScalar.Draw(t, "scalar")
}

func objectOf(t *rapid.T, value func(key string) any) object {
	var o object
	for _, key := range rapid.SliceOfNDistinct(keys, 1, 4, rapid.ID[string]).Draw(t, "keys") {
		o = append(o, pair{key, value(key)})
	}
	return o
}

// filterOf draws a valid filter.
func filterOf(t *rapid.T, levels int) object {
	return objectOf(t, func(key string) any {
		switch kind := rapid.IntRange(0, 2).Draw(t, "node"); {
		case kind == 0 && levels > 1:
			return filterOf(t, levels-1)
		case kind == 1 && key != "in" && key != "not_in" && key != "exists":
			return setOf(t, anyScalar)
		default:
			return operatorsOf(t)
		}
	})
}

func setOf(t *rapid.T, values *rapid.Generator[any]) []any {
	return rapid.SliceOfN(values, 1, 4).Draw(t, "set")
}

// operatorsOf draws at least one operator. in and not_in share no value.
func operatorsOf(t *rapid.T) object {
	half := rapid.IntRange(1, len(scalars)-1).Draw(t, "half")
	var o object
	exists := rapid.IntRange(0, 2).Draw(t, "exists")
	if exists > 0 {
		o = append(o, pair{"exists", exists == 1})
	}
	if exists != 2 && rapid.Bool().Draw(t, "in") {
		o = append(o, pair{"in", setOf(t, rapid.SampledFrom(scalars[:half]))})
	}
	if len(o) == 0 || rapid.Bool().Draw(t, "not_in") {
		o = append(o, pair{"not_in", setOf(t, rapid.SampledFrom(scalars[half:]))})
	}
	return o
}

// payloadFor draws a payload that often matches the filter, or almost does.
func payloadFor(t *rapid.T, f object) any {
	if rapid.IntRange(0, 9).Draw(t, "unrelated") == 0 {
		return bodyOf(t, 4)
	}
	var o object
	for _, m := range f {
		var value any
		switch node := m.value.(type) {
		case []any:
			value = rapid.SampledFrom(node).Draw(t, "value")
		case object:
			switch operand := node[len(node)-1].value.(type) {
			case object:
				value = payloadFor(t, node)
			case []any:
				value = rapid.SampledFrom(append(slices.Clone(operand), nil)).Draw(t, "value")
			case bool:
				if !operand {
					continue
				}
			}
		}
		switch rapid.IntRange(0, 9).Draw(t, "shape") {
		case 0: // missing
			continue
		case 1:
			value = bodyOf(t, 2)
		case 2, 3:
			value = []any{payloadScalar.Draw(t, "beside"), value}
		}
		o = append(o, pair{m.key, value})
	}
	return o
}

// write writes JSON. With t, it chooses the order of members, white space and escapes at random.
func write(t *rapid.T, value any) string {
	space := ""
	if t != nil {
		space = rapid.SampledFrom([]string{"", "", "", " ", "\n\t"}).Draw(t, "space")
	}
	var parts []string
	switch value := value.(type) {
	case object:
		members := slices.Clone(value)
		if t != nil && len(members) > 1 {
			members = rapid.Permutation(members).Draw(t, "order")
		}
		for _, m := range members {
			parts = append(parts, space+write(t, m.key)+space+":"+space+write(t, m.value))
		}
		return "{" + strings.Join(parts, space+",") + space + "}"
	case []any:
		for _, element := range value {
			parts = append(parts, space+write(t, element))
		}
		return "[" + strings.Join(parts, space+",") + space + "]"
	case string:
		if t != nil && rapid.Bool().Draw(t, "escape") {
			return escape(value)
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// escape writes a string entirely in escapes.
func escape(text string) string {
	quoted := `"`
	for _, char := range text {
		quoted += fmt.Sprintf(`\u%04x`, char)
	}
	return quoted + `"`
}

// match evaluates a filter on a body that must be acceptable.
func match(t *rapid.T, text, body string) (bool, trigger.FilterFailure) {
	f, err := trigger.ParseFilter([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	d, err := trigger.ParseDocument([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return f.Match(d)
}

func TestNotInIsTheNegationOfIn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := write(t, setOf(t, anyScalar))
		body := write(t, object{{"a", bodyOf(t, 3)}})
		in, _ := match(t, `{"a":{"in":`+set+`}}`, body)
		notIn, _ := match(t, `{"a":{"not_in":`+set+`}}`, body)
		plain, _ := match(t, `{"a":`+set+`}`, body)
		if in == notIn || in != plain {
			t.Errorf("%s on %s: in %t, not_in %t, the set alone %t", set, body, in, notIn, plain)
		}
	})
}

func TestOrderAndSpellingNeverMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := filterOf(t, 3)
		body := payloadFor(t, f)
		want, why := match(t, write(nil, f), write(nil, body))
		if got, gotWhy := match(t, write(nil, f), write(t, body)); got != want || gotWhy != why {
			t.Errorf("another spelling of the body: got %t %+v, want %t %+v", got, gotWhy, want, why)
		}
		if got, _ := match(t, write(t, f), write(t, body)); got != want {
			t.Errorf("another spelling of both: got %t, want %t", got, want)
		}
	})
}

func TestMatchAsTheReferenceDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := filterOf(rt, 3)
		text, body := write(rt, f), write(rt, payloadFor(rt, f))
		if _, err := trigger.ParseFilter([]byte(text)); err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		checkAgainstReference(rt, []byte(text), []byte(body))
	})
}

// TestReasonsRevealNothingOfThePayload: logs and people see the reasons, so these must not repeat
// the payload, which may come from anybody.
func TestReasonsRevealNothingOfThePayload(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := filterOf(t, 3)
		body := payloadFor(t, f)
		mark(body)
		_, why := match(t, write(nil, f), write(t, body))
		if strings.Contains(why.Path+why.Reason, "marked") {
			t.Errorf("got %+v", why)
		}
	})
}

// mark inserts a word into all strings of a payload, and adds keys with it.
func mark(value any) {
	switch value := value.(type) {
	case object:
		for i := range value {
			if _, ok := value[i].value.(string); ok {
				value[i].value = "marked"
			}
			mark(value[i].value)
		}
		if len(value) > 0 {
			value[0].key += "marked"
		}
	case []any:
		for i := range value {
			if _, ok := value[i].(string); ok {
				value[i] = "marked"
			}
			mark(value[i])
		}
	}
}

func TestFiltersSurviveARoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := write(t, filterOf(t, 4))
		checkRoundTrip(t, []byte(text))
	})
}

// checkRoundTrip writes a filter, if the text is one, and parses it again.
func checkRoundTrip(t rapid.TB, text []byte) {
	t.Helper()
	f, err := trigger.ParseFilter(text)
	if err != nil {
		return
	}
	again, err := trigger.ParseFilter([]byte(f.Text()))
	// The text may be longer than the original, because of operators and escapes.
	if err != nil && len(f.Text()) <= 16_384 {
		t.Fatalf("%s, written as %s: %v", text, f.Text(), err)
	}
	if err == nil && !reflect.DeepEqual(f, again) {
		t.Errorf("%s, written as %s: became %s", text, f.Text(), again.Text())
	}
}

// Any text either is a filter that is written back with the same meaning, or is refused with a
// message that can be shown.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a": [1, "x", null]}`, `{"a": {"in": [1], "not_in": [2.50], "exists": true}}`,
		`{"a": {"b/~": {"exists": false}}}`,
		`{"in": {"in": ["\ud83d\ude00"]}}`, `{"a": 1, "a": {}, "b": [[]]}`, `["x"]`,
		`{"a": {"in": {"in": [1]}, "exists": 2}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkRoundTrip(t, text)
		got, err := trigger.ParseFilter(text)
		if err == nil {
			if got.MatchesAll() != (got.Text() == "{}") || len(text) > 16_384 {
				t.Errorf("%q: accepted as %s", text, got.Text())
			}
			return
		}
		if found := findings(err); got != nil || len(found) == 0 || len(found) > 32 ||
			slices.ContainsFunc(found, func(f penstock.FieldError) bool {
				return f.Detail == "" || f.Pointer != "" && f.Pointer[0] != '/'
			}) {
			t.Errorf("%q: got %v and %v", text, got, err)
		}
	})
}
