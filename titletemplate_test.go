package penstock_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

func TestATitleShowsValuesAsText(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"data.order": "4711", "a": "{{data.order}}", "lines": "one\n\ttwo\x00", "bidi": "a\u202eb",
		"long": strings.Repeat("ä", 5000),
	}
	for template, want := range map[string]string{
		"Ship order {{data.order}}":          "Ship order 4711",
		"{{ data.order }} of {{data.order}}": "4711 of 4711",
		"{{a}}":                              "{{data.order}}",
		"Lines {{lines}}!":                   "Lines one two!",
		"{{bidi}}":                           "ab",
		"Ship {{missing}}":                   "Ship",
		"{{missing}}":                        "",
		"":                                   "",
		"Plain":                              "Plain",
	} {
		title, err := penstock.ParseTitle(template)
		if err != nil {
			t.Fatal(err)
		}
		got := title.Title(func(path []string) string { return values[strings.Join(path, ".")] })
		if got != want {
			t.Errorf("%q became %q, want %q", template, got, want)
		}
	}
	title, err := penstock.ParseTitle("Long {{long}}")
	if err != nil {
		t.Fatal(err)
	}
	got := title.Title(func(path []string) string { return values[path[0]] })
	if n := utf8.RuneCountInString(got); n > 80 || !utf8.ValidString(got) {
		t.Errorf("a long value makes a title of %d characters: %q", n, got)
	}
}

func TestABadTitleIsExplained(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"{{a":                       "has a {{ without a }}",
		"{{}}":                      "such as {{data.order}}",
		"{{a..b}}":                  "such as {{data.order}}",
		"{{a{{b}}":                  "such as {{data.order}}",
		"a\nb":                      "one line",
		strings.Repeat("x", 201):    "at most 200",
		strings.Repeat("{{a}}", 11): "more than 10",
	} {
		if _, err := penstock.ParseTitle(template); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", template, err, want)
		}
	}
}
