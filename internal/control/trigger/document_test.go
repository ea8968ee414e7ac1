package trigger_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	const not = "Invalid request: the body is not valid JSON in UTF-8: "
	tests := []struct {
		name, body string
		want       string // "" for a valid one
	}{
		{"an object", `{"a": [1, -2.5e+3, true, false, null, "x"]}`, ""},
		{"a string", `"x"`, ""},
		{"a number", `-0`, ""},
		{"null with white space around it", " \t\r\nnull\n", ""},
		{"duplicate keys", `{"a": 1, "a": 2, "\u0061": 3}`, ""},
		{"an escaped surrogate pair", `"\ud83d\ude00"`, ""},
		{"an escaped null character", `"\u0000"`, ""},
		{"10,000 arrays", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), ""},
		{"10,000 objects", strings.Repeat(`{"a":`, 9_999) + "{}" + strings.Repeat("}", 9_999), ""},
		{"10,001 arrays", strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), "it is nested deeper than 10000 levels"},
		{
			"10,001 objects", strings.Repeat(`{"a":`, 10_000) + "{}" + strings.Repeat("}", 10_000),
			"it is nested deeper than 10000 levels",
		},
		{"10,000 arrays that do not end", strings.Repeat("[", 10_000), "the value is incomplete"},
		{
			"something wrong behind the limit of values", "[" + strings.Repeat("1,", 50_001) + "]",
			"syntax error at byte 100002",
		},
		{
			"something wrong behind the limit of levels", strings.Repeat("[", 300) + strings.Repeat("]", 299) + "}",
			"syntax error at byte 599",
		},
		{
			"something behind the limit of levels", strings.Repeat("[", 300) + strings.Repeat("]", 300) + "1",
			"more than one value, or something behind it, at byte 600",
		},
		{"nothing", "", "it is empty"},
		{"white space", " \n", "it is empty"},
		{"a byte order mark", "\ufeff{}", "it must not begin with a byte order mark"},
		{"a byte order mark alone", "\ufeff", "it must not begin with a byte order mark"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "invalid UTF-8 at byte 0"},
		{"two values", `{} {}`, "more than one value, or something behind it, at byte 2"},
		{"two values without space", `[][]`, "more than one value, or something behind it, at byte 2"},
		{"lines of JSON", "{}\n{}\n", "more than one value, or something behind it, at byte 2"},
		{"something behind", `{}x`, "more than one value, or something behind it, at byte 2"},
		{"a null character behind", "{}\x00", "more than one value, or something behind it, at byte 2"},
		{"half a value", `{"a": [1, 2`, "the value is incomplete"},
		{"half a string", `"abc`, "the value is incomplete"},
		{"half a literal", `tru`, "the value is incomplete"},
		{"invalid UTF-8 in a string", "\"secret\xc3\x28\"", "invalid UTF-8 at byte 7"},
		{"an overlong encoding", "\"\xc0\xaf\"", "invalid UTF-8 at byte 1"},
		{"an encoded surrogate", "\"\xed\xa0\x80\"", "invalid UTF-8 at byte 1"},
		{"a lone high surrogate", `"\ud800"`, ""},
		{"a lone low surrogate", `"\udc00x"`, ""},
		{"a pair the wrong way round", `["\udc00\ud800"]`, ""},
		{"a high surrogate before another escape", `"\uD800\u0041"`, ""},
		{"a high surrogate before a pair", `"\ud800\ud83d\ude00"`, ""},
		{"a lone surrogate in a key", `{"\ud800": {"\udfff": 1}}`, ""},
		{"a lone surrogate deep inside", strings.Repeat(`{"a":[`, 400) + `"\ud800"` + strings.Repeat(`]}`, 400), ""},
		{"a lone surrogate, and invalid UTF-8 behind it", "\"\\ud800\xff\"", "invalid UTF-8 at byte 7"},
		{"a lone surrogate, and a comma too many", `["\ud800",]`, "syntax error at byte 9"},
		{"something wrong before invalid UTF-8", "[01, \"\xff\"]", "syntax error at byte 2"},
		{"invalid UTF-8 behind the value", "{}\xff", "invalid UTF-8 at byte 2"},
		{"half an escape", `"\ud8"`, "syntax error at byte 1"},
		{"an escape of no digits", `"\ud8zz"`, "syntax error at byte 1"},
		{"a control character", "\"a\nb\"", "syntax error at byte 2"},
		{"a leading zero", `[01]`, "syntax error at byte 2"},
		{"a leading plus", `+1`, "syntax error at byte 0"},
		{"not a number", `NaN`, "syntax error at byte 0"},
		{"a comma too many", `[1,]`, "syntax error at byte 2"},
		{"a comment", `{} // secret`, "more than one value, or something behind it, at byte 2"},
		{"single quotes", `{'secret': 1}`, "syntax error at byte 1"},
		{"a form", `payload=%7B%7D`, "syntax error at byte 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := ""
			if test.want != "" {
				want = not + test.want
			}
			body := []byte(test.body)
			_, parsed := trigger.ParseDocument(body)
			for how, err := range map[string]error{"ValidateBody": trigger.ValidateBody(body), "ParseDocument": parsed} {
				got := ""
				if err != nil {
					got = err.Error()
				}
				if got != want {
					t.Errorf("%s: got %q, want %q", how, got, want)
				}
				if err != nil && penstock.CodeOf(err) != penstock.CodeInvalidRequest {
					t.Errorf("%s: got the code %s", how, penstock.CodeOf(err))
				}
			}
		})
	}
}

// TestParsingDoesNotChangeBodies: parsing does not change the bytes of a delivery, which are stored
// afterwards.
func TestParsingDoesNotChangeBodies(t *testing.T) {
	t.Parallel()
	for name, body := range bodies(t) {
		before := slices.Clone(body)
		d, err := trigger.ParseDocument(body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		mustParse(t, `{"\u0061": [1, "x"]}`).Match(d)
		if err := trigger.ValidateBody(body); err != nil || !slices.Equal(body, before) {
			t.Errorf("%s: changed, or %v", name, err)
		}
	}
}

// FuzzDocument compares the two parsers of a body with each other and with encoding/json, which
// replaces invalid UTF-8 with U+FFFD.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, -2.5e+3, true, null, "x\ud83d\ude00"]}`, `"\ud800"`, "\ufeff{}", "[[[", "{} {}", `{"a":1,"\u0061":2}`,
		"\"\xff\"", "", `{"\udc00": "\ud800\ud83d\ude00"}`, "[\"\\ud800\xff\"]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want := json.Valid(body) && utf8.Valid(body)
		validate := trigger.ValidateBody(body)
		_, parse := trigger.ParseDocument(body)
		if (validate == nil) != want || (parse == nil) != want {
			t.Errorf("%q: Validate %v, ParseDocument %v, want valid %t", body, validate, parse, want)
		}
		if validate != nil && validate.Error() != parse.Error() {
			t.Errorf("%q: Validate %v, ParseDocument %v", body, validate, parse)
		}
	})
}
