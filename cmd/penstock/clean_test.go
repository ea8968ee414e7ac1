package main

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

func TestCleanText(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"plain text stays":                     {"a b\nç 漢", "a b\nç 漢"},
		"colors go":                            {"\x1b[1;31mred\x1b[0m", "red"},
		"the cursor does not move":             {"a\x1b[2J\x1b[Hb\x1b[10Ac", "abc"},
		"carriage return and backspace go":     {"good\rbad\b\b", "goodbad"},
		"a title does not change":              {"\x1b]0;owned\aok", "ok"},
		"a link loses its target":              {"\x1b]8;;https://evil.example\x1b\\text\x1b]8;;\x1b\\", "text"},
		"a string ends at its first end":       {"\x1b]0;a\x1b\\shown\aand this", "shownand this"},
		"device control goes":                  {"\x1bP+q544e\x1b\\x", "x"},
		"8-bit controls go":                    {"\u009b31mred\u009d0;t\u009cx", "redx"},
		"a sequence without end hides nothing": {"\x1b]0;all of this\nis read", "]0;all of this\nis read"},
		"a cut-off sequence":                   {"a\x1b[", "a["},
		"a lone escape":                        {"a\x1b", "a"},
		"direction does not change":            {"a\u202eb\u2066c", "abc"},
		"tabs become spaces":                   {"a\tb", "a    b"},
		"broken bytes show":                    {"a\xffb", "a\ufffdb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := cleanText(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// No input produces output that a terminal would interpret as a control sequence.
func TestCleanTextProperty(t *testing.T) {
	t.Parallel()
	hostile := rapid.SliceOf(
		rapid.SampledFrom(
			[]string{"\x1b", "[", "]", "P", "\\", "\a", "\u009b", "\u009c", "3", "m", "\n", "\t", "\r", "\u202e", "\xff", "x"},
		),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(hostile.Draw(t, "text"), "")
		got := cleanText(text)
		if !utf8.ValidString(got) ||
			strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || r == '\u202e') }) {
			t.Fatalf("got %q of %q", got, text)
		}
		if again := cleanText(got); again != got {
			t.Fatalf("cleaned again, %q became %q", got, again)
		}
	})
}

func TestCleanJSONKeepsTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value") + "\u009b1m\u202e\x7f"
		raw, err := json.Marshal(map[string]string{"a": value})
		if err != nil {
			t.Fatal(err)
		}
		cleaned := cleanJSON(raw)
		if strings.ContainsFunc(string(cleaned), harmful) {
			t.Fatalf("%q can do harm", cleaned)
		}
		var back map[string]string
		if err := json.Unmarshal(cleaned, &back); err != nil || back["a"] != value {
			t.Fatalf("got %q (%v), want %q", back["a"], err, value)
		}
	})
}
