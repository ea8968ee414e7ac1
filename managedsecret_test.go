package penstock_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

func TestSecretsThatAConfigurationNames(t *testing.T) {
	t.Parallel()
	c := penstock.Config{
		Secrets: []string{"B", "A"}, HarnessAuthSecrets: []byte(`{"z/1": "C", "a": "A"}`),
		MCPServers: map[string]penstock.MCPServer{
			"x": {Command: "x", Env: map[string]string{"K": "${{ secrets.D }}:${{secrets.A}}", "plain": "p"}},
			"y": {
				URL:     "https://y.example",
				Headers: map[string]string{"Authorization": "Bearer ${{ secrets.E }}", "Bad": "${{ env.X }}"},
			},
		},
	}
	want := []penstock.SecretUse{
		{Pointer: "/secrets/0", Name: "B"},
		{Pointer: "/secrets/1", Name: "A"},
		{Pointer: "/harness_auth_secrets/a", Name: "A"},
		{Pointer: "/harness_auth_secrets/z~11", Name: "C"},
		{Pointer: "/mcp_servers/x/env/K", Name: "D"},
		{Pointer: "/mcp_servers/x/env/K", Name: "A"},
		{Pointer: "/mcp_servers/y/headers/Authorization", Name: "E"},
	}
	if diff := cmp.Diff(want, c.SecretUses()); diff != "" {
		t.Errorf("uses, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A", "B", "C", "D", "E"}, c.SecretNames()); diff != "" {
		t.Errorf("names, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A", "B", "C"}, c.SecretVariables()); diff != "" {
		t.Errorf("variables, -want +got:\n%s", diff)
	}
}

func TestNearestName(t *testing.T) {
	t.Parallel()
	known := []string{"STRIPE_KEY", "GITHUB_TOKEN", "GITHUB_TOKENS"}
	for word, want := range map[string]string{
		"STRIPE_KYE": "STRIPE_KEY", "stripe_key": "STRIPE_KEY", "GITHUB_TOKN": "GITHUB_TOKEN",
		"GITHUBTOKENS": "GITHUB_TOKENS",
		"SLACK":        "", "X": "", "": "",
	} {
		if got := penstock.Nearest(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
