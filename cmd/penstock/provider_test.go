package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a run brings along as environment stands where the agent is told nothing, and
// must not name the address to which a key is sent.
func TestTheAddressOfAKeyIsNotARunsToSay(t *testing.T) {
	t.Parallel()
	var p providers
	p.anthropic.key = "sk-1"
	p.openai.key, p.openai.baseURL = "sk-2", "https://models.example.com/v1"
	want := map[string]string{
		"ANTHROPIC_API_KEY": "sk-1", "ANTHROPIC_BASE_URL": "",
		"OPENAI_API_KEY": "sk-2", "OPENAI_BASE_URL": "https://models.example.com/v1",
	}
	if diff := cmp.Diff(want, p.environment()); diff != "" {
		t.Error(diff)
	}
}
