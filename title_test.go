package penstock_test

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
)

func TestDeriveTitle(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, prompt, want string }{
		{"nothing", "", ""},
		{"blanks only", " \t\r\n \n", ""},
		{"one line", "Fix the login page", "Fix the login page"},
		{"the first line that says something", "\n  \n\tFix  the\tlogin page \nIt fails.", "Fix the login page"},
		{"control characters", "Fix\x00the\x1blogin", "Fix the login"},
		{"exactly as long as allowed", strings.Repeat("x", 80), strings.Repeat("x", 80)},
		{"cut at a word", strings.Repeat("seven77 ", 20), strings.TrimSpace(strings.Repeat("seven77 ", 10))},
		{
			"cut before the word that is too much", strings.Repeat("x", 70) + " " + strings.Repeat("y", 20),
			strings.Repeat("x", 70),
		},
		{"one long word", strings.Repeat("x", 10_000), strings.Repeat("x", 80)},
		{"one long word of four-byte characters", strings.Repeat("🌊", 10_000), strings.Repeat("🌊", 80)},
		{"a long word of three-byte characters after a short one", "go " + strings.Repeat("水", 10_000), "go"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := penstock.DeriveTitle(test.prompt); got != test.want {
				t.Errorf("DeriveTitle = %q, want %q", got, test.want)
			}
		})
	}
}
