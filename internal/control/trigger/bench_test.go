package trigger_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// charge is an event of a payment provider, 2 KB in size.
func charge(tb testing.TB) []byte {
	tb.Helper()
	body, err := os.ReadFile("testdata/charge.json")
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func BenchmarkValidate(b *testing.B) {
	for name, body := range bodies(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := trigger.ValidateBody(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseDocument(b *testing.B) {
	for name, body := range bodies(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := trigger.ParseDocument(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	charge, err := trigger.ParseDocument(charge(b))
	if err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{1, 20} {
		var filters []*trigger.Filter
		for i := range count {
			filters = append(filters, mustParse(b, fmt.Sprintf(
				`{"type": ["charge.succeeded"], "data": {"object": {"amount": {"not_in": [%d]}, "currency": ["usd", "eur"], `+
					`"status": ["failed"]}}}`,
				i)))
		}
		b.Run(fmt.Sprintf("2KB/filters=%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, f := range filters {
					if ok, _ := f.Match(charge); ok {
						b.Fatal("matches")
					}
				}
			}
		})
	}
	worst, err := trigger.ParseDocument(bodies(b)["256KB-keys"])
	if err != nil {
		b.Fatal(err)
	}
	f := mustParse(b, worstFilter())
	b.Run("256KB-keys/leaves=64", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ok, why := f.Match(worst); !ok {
				b.Fatal(why)
			}
		}
	})
}

// bodies are an ordinary one, and the bodies of the maximum size that take longest.
func bodies(tb testing.TB) map[string][]byte {
	tb.Helper()
	const limit = 262_144
	var keys strings.Builder
	for i := 0; keys.Len() < limit-10; i++ {
		fmt.Fprintf(&keys, `,"%x":1`, i)
	}
	return map[string][]byte{
		"2KB":          charge(tb),
		"256KB-keys":   []byte("{" + keys.String()[1:] + "}"),
		"256KB-values": []byte("[" + strings.Repeat("1,    ", 43_000) + "1]"),
		"256KB-nested": []byte(strings.Repeat("[", 10_000) + strings.Repeat(" ", limit-20_000) + strings.Repeat("]", 10_000)),
		"256KB-too":    []byte("[" + strings.Repeat("1,", limit/2-2) + "1]"),
		"256KB-string": []byte(`"` + strings.Repeat(`\u00e9`, limit/6-1) + `"`),
	}
}

// worstFilter looks up 64 missing keys, so that each is compared with all keys of the payload.
func worstFilter() string {
	var text strings.Builder
	for i := range 64 {
		fmt.Fprintf(&text, `,"-%03d": {"not_in": [1]}`, i)
	}
	return "{" + text.String()[1:] + "}"
}

func mustParse(tb testing.TB, text string) *trigger.Filter {
	tb.Helper()
	f, err := trigger.ParseFilter([]byte(text))
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return f
}
