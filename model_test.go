package penstock

import (
	"testing"
)

func TestCanonicalModelID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, id, want string
		known          bool
	}{
		{"the demonstration", "demo/offline", "demo/offline", true},
		{"another demo does not exist", "demo/online", "demo/online", false},
		{"full id", "anthropic/claude-opus-5-5", "anthropic/claude-opus-5-5", true},
		{"full id with a slash in the model's name", "openai/meta/llama", "openai/meta/llama", true},
		{"provider without a model", "openai/", "openai/", false},
		{"unknown provider", "acme/x", "acme/x", false},
		{"bare claude", "claude-x", "anthropic/claude-x", true},
		{"bare gpt", "gpt-x", "openai/gpt-x", true},
		{"bare o3", "o3", "openai/o3", true},
		{"bare o4-mini", "o4-mini", "openai/o4-mini", true},
		{"a word with o", "opus", "opus", false},
		{"bare gemini", "gemini-x", "google/gemini-x", true},
		{"empty", "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, known := CanonicalModelID(tt.id)
			if got != tt.want || known != tt.known {
				t.Errorf("CanonicalModelID(%q) = %q, %v; want %q, %v", tt.id, got, known, tt.want, tt.known)
			}
		})
	}
}

func TestModelsAreWellFormed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range Models() {
		if id, ok := CanonicalModelID(m.ID); !ok || id != m.ID || seen[m.ID] {
			t.Errorf("%q is not a canonical id, or is there twice", m.ID)
		}
		seen[m.ID] = true
		if m.DisplayName == "" || m.Provider == "" {
			t.Errorf("%s lacks a name or a provider", m.ID)
		}
	}
}
