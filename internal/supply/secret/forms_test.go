package secret_test

import (
	"testing"

	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// Every value has forms without a panic, also one that is too short for base64, and an empty one has none.
func TestFormsOfShortValues(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"": 0, "a": 1, "ab": 1, "\x00": 1} {
		if got := len(secret.Forms(value)); got < want || want == 0 && got > 0 {
			t.Errorf("%q has %d forms", value, got)
		}
	}
}
