package egress

import (
	"fmt"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
)

// The headers of an HTTP MCP server go to its URL and nowhere else.
func TestMCPHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{
		rules: []penstock.NetworkRule{{Host: "api.example.test"}, {Host: "git.example.test", Methods: []string{"GET"}}},
		mcp: func(port int) penstock.MCPHeaders {
			return penstock.MCPHeaders{
				Name: "tickets", URL: fmt.Sprintf("https://api.example.test:%d/sse", port),
				Headers: map[string]string{"Authorization": "Bearer ${{ secrets.TOKEN }}", "X-Team": "ops"},
			}
		},
	})
	for _, to := range []struct {
		name, host, path string
		want             bool
	}{
		{"its URL", "api.example.test", "/sse", true},
		{"with a query", "api.example.test", "/sse?session=1", true},
		{"another path", "api.example.test", "/ssee", false},
		{"another host", "git.example.test", "/sse", false},
	} {
		before := len(w.requests())
		if status, body := w.do(t, "GET", w.url(to.host, to.path), "", "Authorization", "Bearer agent"); status != 200 {
			t.Fatalf("%s: %d %s", to.name, status, body)
		}
		got := w.requests()[before].Header
		if sent := got.Get("Authorization") == "Bearer "+secretValue && got.Get("X-Team") == "ops"; sent != to.want {
			t.Errorf("%s: the host got %v", to.name, got)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if shown := fmt.Sprint(w.Report(), w.denials); strings.Contains(shown, secretValue) {
		t.Errorf("the secret is in %s", shown)
	}
}

// Naming an MCP server allows its host, but not beyond the operator's ceiling.
func TestMCPServersStayWithinTheCeiling(t *testing.T) {
	t.Parallel()
	allow := func(host string) penstock.Network {
		return penstock.Network{Allow: []penstock.NetworkRule{{Host: host}}}
	}
	ceiling := allow("*.corp.test")
	policy, err := Compile(penstock.NetworkPolicy{
		Layers:  []penstock.NetworkLayer{{Source: "mcp_servers", Network: allow("api.example.test")}},
		MCP:     []penstock.MCPHeaders{{Name: "tickets", URL: "https://api.example.test/sse"}},
		Ceiling: &ceiling,
	})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := policy.decideRequest(target{host: "api.example.test", port: 443, secure: true}, "POST", "/sse")
	if d.Allowed || !strings.Contains(d.Reason, "outside the ceiling") {
		t.Errorf("got %+v", d)
	}
}

func TestMCPHeadersNeedTLS(t *testing.T) {
	t.Parallel()
	policy, err := Compile(penstock.NetworkPolicy{MCP: []penstock.MCPHeaders{{
		Name: "tickets", URL: "http://api.example.test/sse", Headers: map[string]string{"X": "${{ secrets.TOKEN }}"},
	}}})
	if err != nil || len(policy.Warnings()) != 1 || !strings.Contains(policy.Warnings()[0], "tickets gets no headers") {
		t.Errorf("got %v, %v", policy.Warnings(), err)
	}
}
