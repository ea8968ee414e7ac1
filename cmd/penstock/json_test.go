package main_test

import (
	"testing"

	"github.com/go-json-experiment/json"
)

// sortedJSON returns JSON text with its members sorted.
func sortedJSON(t *testing.T, text string) string {
	t.Helper()
	var value any
	fromJSON(t, text, &value)
	raw, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func fromJSON(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}
