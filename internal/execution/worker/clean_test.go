package worker

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

func TestTextIsCleaned(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"ordinary text":                   {"a\tb\nç 漢 🙂", "a\tb\nç 漢 🙂"},
		"colors":                          {"\x1b[1;31mred\x1b[0m text", "red text"},
		"a title of the window":           {"\x1b]0;title\x07text", "text"},
		"a link":                          {"\x1b]8;;https://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		"a sequence of two characters":    {"\x1bMtext", "text"},
		"a sequence that is never ended":  {"\x1b]0;hidden?\nnext line", "\nnext line"},
		"a color that is never ended":     {"\x1b[31\nnext", "\nnext"},
		"lines of another system":         {"a\r\nb\r\n", "a\nb\n"},
		"a line that is written again":    {"10%\r20%\r100%\n", "10%\n20%\n100%\n"},
		"control characters":              {"a\x00b\x08c\x7fd\u0085e", "abcde"},
		"an escape at the end":            {"a\x1b", "a"},
		"an escape within an escape":      {"\x1b[\x1b[31mred", "red"},
		"a sequence broken by a control":  {"\x1b[31\x00mred", "mred"},
		"a carriage return at the end":    {"a\r", "a"},
		"two returns before the line end": {"a\r\r\nb", "a\n\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, cleanText(test.text)); diff != "" {
				t.Errorf("cleaned (-want +got):\n%s", diff)
			}
			var c cleaner
			var pieces string
			for _, r := range test.text {
				pieces += c.write(string(r))
			}
			if diff := cmp.Diff(test.want, pieces); diff != "" {
				t.Errorf("cleaned character by character (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventDataIsCleaned(t *testing.T) {
	t.Parallel()
	mask := secret.NewMasker("hunter22", "424242424242")
	long := strings.Repeat("é", 100<<10)
	for name, test := range map[string]struct {
		data  string
		check func(t *testing.T, got string)
	}{
		"secrets everywhere": {`{"hunter22":["hunter22",{"k":"x hunter22"}],"n":424242424242,"b":true,"z":null}`, func(
			t *testing.T, got string,
		) {
			if want := `{"***":["***",{"k":"x ***"}],"n":"***","b":true,"z":null}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}},
		"a secret between escape sequences": {`{"a":"\u001b[31mhun\u001b[0mter22"}`, func(t *testing.T, got string) {
			if got != `{"a":"***"}` {
				t.Errorf("got %s", got)
			}
		}},
		"two names that become equal": {`{"hunter22":1,"***":2}`, func(t *testing.T, got string) {
			if got != `{"***":1,"***":2}` {
				t.Errorf("got %s", got)
			}
		}},
		"a long text": {`{"a":"` + long + `"}`, func(t *testing.T, got string) {
			if len(got) > 129<<10 || !strings.Contains(got, "[… 73728 bytes or more left out …]") || !utf8.ValidString(got) {
				t.Errorf("got %d bytes", len(got))
			}
		}},
		"a long text with a secret at each cut": {
			`{"a":"` + strings.Repeat("-", 64<<10-4) + "hunter22" + strings.Repeat("-", 64<<10) + "hunter22" +
				strings.Repeat("-", 64<<10-4) + `"}`,
			func(t *testing.T, got string) {
				if strings.Contains(got, "hunt") || strings.Contains(got, "er22") {
					t.Error("a part of the secret is left")
				}
			},
		},
		"many long texts": {`[` + strings.TrimSuffix(
			strings.Repeat(`"`+long[:50000]+`",`, 100), ",",
		) + `]`, func(t *testing.T, got string) {
			var list []string
			if err := json.Unmarshal([]byte(got), &list); err != nil || len(list) != 100 || len(got) > maxEvent {
				t.Errorf("got %d texts in %d bytes, %v", len(list), len(got), err)
			}
		}},
		"a million numbers": {`[` + strings.TrimSuffix(
			strings.Repeat(`1,`, 1_000_000), ",",
		) + `]`, func(t *testing.T, got string) {
			var list []int
			if err := json.Unmarshal([]byte(got), &list); err != nil || len(list) == 0 || len(got) > maxEvent {
				t.Errorf("got %d numbers in %d bytes, %v", len(list), len(got), err)
			}
		}},
		"no JSON":            {`{"a":`, func(t *testing.T, got string) { empty(t, got) }},
		"nested without end": {strings.Repeat("[", 20_000), func(t *testing.T, got string) { empty(t, got) }},
		"too deep to be read": {
			strings.Repeat("[", 11_000) + strings.Repeat("]", 11_000), func(t *testing.T, got string) { empty(t, got) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.check(t, string(clean([]byte(test.data), mask)))
		})
	}
}

func empty(t *testing.T, got string) {
	t.Helper()
	if got != "" {
		t.Errorf("got %.100q, want nothing", got)
	}
}

// If no cut makes an event small enough, a placeholder still records that something happened.
func TestEventThatCannotBeCutIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRecorder(secret.NewMasker("hunter22"), slog.New(slog.DiscardHandler), nil, nil)
	for kind, want := range map[penstock.EventType]string{
		penstock.EventAction: `{"type":"action","id":"i","category":"files","name":"***",` +
			`"input":{"output":"[… 5000000 bytes left out …]"}}`,
		penstock.EventActionResult: `{"type":"action_result","action_id":"i","category":"files","name":"***",` +
			`"state":"completed","output":{"output":"[… 5000000 bytes left out …]"}}`,
	} {
		head := `{"type":"` + string(kind) +
			`","id":"i","action_id":"i","state":"completed","category":"files","name":"hunter22","input":`
		data := head + nested(5_000_000-len(head)-1) + "}"
		got, ok := r.fit(penstock.Draft{Type: kind, Data: []byte(data)})
		if diff := cmp.Diff(want, string(got.Data)); diff != "" || !ok {
			t.Errorf("%s: recorded %v (-want +got):\n%s", kind, ok, diff)
		}
	}
	got, ok := r.fit(
		penstock.Draft{
			Type: penstock.EventMessage,
			Data: []byte(`{"role":"assistant","message_id":"m","content":` + nested(5_000_000) + `}`),
		},
	)
	if ok {
		t.Errorf("what is no message was recorded as %s", got.Data)
	}
}

// nested is JSON of nested lists, of the given size.
func nested(size int) string {
	inner := `"` + strings.Repeat("x", 64) + `"`
	for range 3 {
		inner = `[` + strings.TrimSuffix(strings.Repeat(inner+",", 40), ",") + `]`
	}
	return `{"a":` + inner + strings.Repeat(" ", size-len(inner)-6) + `}`
}
