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

// callFor calls the program with -o json, requires success, and returns what it prints.
func callFor[T any](t *testing.T, env []string, args ...string) (printed T) {
	t.Helper()
	got := call(t, env, append(args, "-o", "json")...)
	got.want(t, 0)
	fromJSON(t, got.out, &printed)
	return printed
}

func fromJSON(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}
