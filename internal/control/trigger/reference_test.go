package trigger_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// A second implementation of the rules in the words of the contract, on the values of
// encoding/json. It is slow, and shares nothing with the package.

// refFilter evaluates a valid filter on a body without duplicate keys.
func refFilter(f, body any) bool {
	fields, _ := f.(map[string]any)
	return len(fields) == 0 || refPattern(fields, body)
}

func refPattern(fields map[string]any, value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return refObject(fields, value)
	case []any:
		for _, element := range value {
			if object, ok := element.(map[string]any); ok && refObject(fields, object) {
				return true
			}
		}
	}
	return false
}

func refObject(fields, object map[string]any) bool {
	for key, node := range fields {
		value, found := object[key]
		if !refNode(node, value, found) {
			return false
		}
	}
	return true
}

func refNode(node, value any, found bool) bool {
	if set, ok := node.([]any); ok {
		return found && refIn(set, value)
	}
	fields, _ := node.(map[string]any)
	operators := false
	for _, name := range []string{"in", "not_in", "exists"} {
		operand, given := fields[name]
		if _, field := operand.(map[string]any); given && !field {
			operators = true
		}
	}
	if !operators {
		return found && refPattern(fields, value)
	}
	if set, ok := fields["in"].([]any); ok && (!found || !refIn(set, value)) {
		return false
	}
	if set, ok := fields["not_in"].([]any); ok && found && refIn(set, value) {
		return false
	}
	exists, ok := fields["exists"].(bool)
	return !ok || exists == found
}

func refIn(set []any, value any) bool {
	values, ok := value.([]any)
	if !ok {
		values = []any{value}
	}
	for _, value := range values {
		for _, allowed := range set {
			if refEqual(allowed, value) {
				return true
			}
		}
	}
	return false
}

func refEqual(one, other any) bool {
	switch one := one.(type) {
	case json.Number:
		other, ok := other.(json.Number)
		return ok && equalNumbers(one.String(), other.String())
	case string:
		other, ok := other.(string)
		return ok && one == other
	case bool:
		other, ok := other.(bool)
		return ok && one == other
	}
	return one == nil && other == nil
}

// refDecode decodes JSON and keeps numbers as written.
func refDecode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// checkAgainstReference evaluates a filter on a body and compares the result with the reference, if
// the body is unambiguous.
func checkAgainstReference(t rapid.TB, text, body []byte) {
	t.Helper()
	f, err := trigger.ParseFilter(text)
	if err != nil {
		return
	}
	d, err := trigger.ParseDocument(body)
	if err != nil {
		return
	}
	matched, why := f.Match(d)
	again, whyAgain := f.Match(d)
	if matched != again || why != whyAgain {
		t.Errorf("%s on %s: %t %+v, and then %t %+v", text, body, matched, why, again, whyAgain)
	}
	checkExplanation(t, f, d)
	if matched != (why == trigger.FilterFailure{}) || !matched && why.Reason == "" {
		t.Errorf("%s on %s: %t with %+v", text, body, matched, why)
	}
	if !jsontext.Value(replaceHalves(body, `\ufffd`)).IsValid() || tooLarge(body) {
		return // equal keys have two readings
	}
	// encoding/json replaces an unpaired surrogate with U+FFFD, which a filter can contain. Here it
	// equals nothing.
	const nothing = "\U0010FFFF"
	if strings.Contains(f.Text(), nothing) {
		return // it asks for what stands for that
	}
	body = replaceHalves(body, nothing)
	decodedFilter, err := refDecode(text)
	if err != nil {
		t.Fatal(err)
	}
	decodedBody, err := refDecode(body)
	if err != nil {
		t.Fatal(err)
	}
	if want := refFilter(decodedFilter, decodedBody); matched != want {
		t.Errorf("%s on %s: got %t (%+v), want %t", text, body, matched, why, want)
	}
}

// tooLarge reports whether the body has too many values or levels to be evaluated.
func tooLarge(body []byte) bool {
	return len(body) > 50_000 || bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) > 256
}

func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a": [1, "x", null, true]}`, `{"a": [2, 10e-1]}`},
		{`{"a": {"in": ["\u00e9"], "not_in": [0], "exists": true}}`, `{"a": "é", "b": {"a": 1}}`},
		{`{"a": {"b": {"c": {"exists": false}}}}`, `{"a": [{"b": {"c": 1}}, {"b": [{}, 1]}]}`},
		{`{"t": {"in": {"in": [9007199254740993]}}}`, `[{"t": {"in": 9007199254740992}}]`},
		{`{"\\n": ["\\n"], "": {"not_in": [1e999999999999999999999]}}`, `{"\n": "\\n", "": 10e999999999999999999998}`},
		{`{"a": {"not_in": [-0]}}`, `{"a": 1, "\u0061": 2}`},
		{`{"a": ["\ufffd"], "\ufffd": {"exists": false}}`, `{"a": "\ud800", "\udc00": "\ud83d\ude00"}`},
		{`{"a": {"not_in": ["\ufffd", "x"]}}`, `{"a": ["\udc00\ud800", "\ufffd\ud800"]}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, text, body []byte) {
		if len(body) > 10_000 {
			return // otherwise the test would spend its time on arithmetic with huge numbers
		}
		checkAgainstReference(t, text, body)
	})
}

// replaceHalves replaces each escape of an unpaired surrogate in valid JSON with a text.
func replaceHalves(body []byte, text string) []byte {
	var out []byte
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			out = append(out, body[i])
			continue
		}
		escape := body[i : i+2]
		if escape[1] == 'u' {
			escape = body[i : i+6]
		}
		i += len(escape) - 1
		switch unit := strings.ToLower(string(escape)); {
		case unit >= `\ud800` && unit < `\udc00`:
			low := strings.ToLower(string(body[i+1 : min(len(body), i+7)]))
			if len(low) < 6 || low < `\udc00` || low > `\udfff` {
				escape = []byte(text)
			} else {
				escape = body[i-5 : i+7]
				i += 6
			}
		case unit >= `\udc00` && unit <= `\udfff`:
			escape = []byte(text)
		}
		out = append(out, escape...)
	}
	return out
}
