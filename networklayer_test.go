package penstock_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
)

func TestAPolicyOfModels(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, pattern, model string
		want                 bool
	}{
		{"the same id", "anthropic/claude-x", "anthropic/claude-x", true},
		{"the id of a name", "anthropic/claude-x", "claude-x", true},
		{"the name of an id", "claude-x", "anthropic/claude-x", true},
		{"names of a beginning", "claude-*", "anthropic/claude-x", true},
		{"a name at another provider", "claude-x", "router/claude-x", true},
		{"an id of another provider", "anthropic/claude-x", "router/claude-x", false},
		{"a router's id for a vendor's model", "anthropic/*", "router/anthropic/claude-x", false},
		{"the beginning of a provider", "anth*", "anthropic/claude-x", false},
		{"a provider's name", "anthropic", "anthropic/claude-x", false},
		{"all of a provider", "openai/*", "gpt-5", true},
		{"of another provider", "demo/*", "gpt-5", false},
		{"another model", "anthropic/claude-x", "anthropic/claude-x-2", false},
		{"another case", "claude-x", "anthropic/Claude-x", false},
		{"everything", "*", "some/model", true},
		{"a name without a provider", "qwen*", "qwen3", true},
		{"the beginning only", "claude", "claude-x", false},
	} {
		policy := penstock.ModelPolicy{Allow: []string{test.pattern}}
		if got := policy.Allows(test.model); got != test.want {
			t.Errorf("%s: %s allows %s: got %v, want %v", test.name, test.pattern, test.model, got, test.want)
		}
	}
	if !(&penstock.ModelPolicy{}).Allows("any") {
		t.Error("an empty policy allows every model")
	}
}

func TestPartialNetworks(t *testing.T) {
	t.Parallel()
	rule := func(host string) penstock.NetworkRule { return penstock.NetworkRule{Host: host} }
	outer := penstock.Network{Allow: []penstock.NetworkRule{rule("a.test"), rule("b.test")}, MaxUploadBytes: 10}
	for _, test := range []struct {
		name  string
		inner penstock.Network
		want  bool
	}{
		{"itself", outer, true},
		{"nothing", penstock.Network{MaxUploadBytes: 10}, true},
		{"fewer rules", penstock.Network{Allow: []penstock.NetworkRule{rule("b.test")}, MaxUploadBytes: 1}, true},
		{"another rule", penstock.Network{Allow: []penstock.NetworkRule{rule("c.test")}, MaxUploadBytes: 1}, false},
		{"another port", penstock.Network{
			Allow: []penstock.NetworkRule{{Host: "a.test", Ports: []int{22}}}, MaxUploadBytes: 1,
		}, false},
		{"without a limit", penstock.Network{}, false},
		{"a wider limit", penstock.Network{MaxUploadBytes: 11}, false},
		{"a tool", penstock.Network{MaxUploadBytes: 1, ProviderTools: []string{"web_search"}}, false},
	} {
		if got := test.inner.Within(&outer); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// A credential must not frame or route a request, nor replace what the agent itself sends.
func TestHeadersOfCredentials(t *testing.T) {
	t.Parallel()
	check := func(s penstock.MCPServer) []penstock.FieldError {
		return (&penstock.Config{MCPServers: map[string]penstock.MCPServer{"m": s}}).Check("", []string{"builtin"})
	}
	problems := func(header string) (rule, server []penstock.FieldError) {
		network := penstock.Network{Allow: []penstock.NetworkRule{{Host: "api.test", Credential: &penstock.NetworkCredential{
			Secret: "TOKEN", As: penstock.CredentialHeader, Header: header,
		}}}}
		mcp := penstock.MCPServer{URL: "https://mcp.test", Headers: map[string]string{header: "${{ secrets.TOKEN }}"}}
		return network.Check("/network"), check(mcp)
	}
	for _, header := range []string{
		"Host", "host", "Content-Length", "Transfer-Encoding", "transfer_encoding", "TE", "Trailer", "Connection",
		"Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Upgrade", "Expect", "HTTP2-Settings", "Cookie",
		"COOKIE", "Content-Type",
		"Content-Encoding", "Forwarded", "X-Forwarded-Host", "X_Forwarded_For", "Via", "X Key", "X-Key:", "",
	} {
		if rule, server := problems(header); len(rule) != 1 || rule[0].Pointer != "/network/allow/0/credential/header" ||
			len(server) != 1 {
			t.Errorf("%q: got %v and %v", header, rule, server)
		}
	}
	for _, header := range []string{"Authorization", "X-API-Key", "PRIVATE-TOKEN", "x-goog-api-key", "Api_Key"} {
		if rule, server := problems(header); len(rule)+len(server) > 0 {
			t.Errorf("%q: got %v and %v", header, rule, server)
		}
	}
	plain := penstock.MCPServer{URL: "https://mcp.test", Headers: map[string]string{"Content-Type": "application/json"}}
	if errs := check(plain); len(errs) > 0 {
		t.Errorf("a header without a secret: %v", errs)
	}
}
