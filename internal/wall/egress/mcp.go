package egress

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
)

// mcpServer holds the headers for the requests to one HTTP MCP server. They are for its URL alone,
// over TLS.
type mcpServer struct {
	name    string
	target  target
	path    string
	headers map[string]string // may name secrets
}

// compileMCP adds the headers of an MCP server. Without TLS it gets none, with a warning.
func (c *Policy) compileMCP(server penstock.MCPHeaders) error {
	address, err := url.Parse(server.URL)
	if err != nil || address.Hostname() == "" {
		return fmt.Errorf("the MCP server %s has no URL", server.Name)
	}
	if address.Scheme != "https" {
		c.warnings = append(c.warnings, fmt.Sprintf(
			"the MCP server %s gets no headers, because its URL is not https", server.Name))
		return nil
	}
	host, port, err := splitAuthority(address.Host, 443)
	if err != nil {
		return fmt.Errorf("the MCP server %s: %w", server.Name, err)
	}
	for name := range server.Headers {
		if reason := penstock.CheckCredentialHeader(name); reason != "" {
			return fmt.Errorf("the header %s of the MCP server %s %s", name, server.Name, reason)
		}
	}
	path := address.EscapedPath()
	if path == "" {
		path = "/"
	}
	c.mcp = append(c.mcp, mcpServer{server.Name, target{host: host, port: port, secure: true}, path, server.Headers})
	return nil
}

// hasHeaders reports whether the proxy adds headers to some requests to t, and so must read
// them.
func (c *Policy) hasHeaders(t target) bool {
	for _, server := range c.mcp {
		if server.target == t {
			return true
		}
	}
	return false
}

// mcpHeaders returns the headers for a request, with their secrets.
func (f *forwarder) mcpHeaders(t target, path string) (http.Header, error) {
	headers := http.Header{}
	for _, server := range f.policy.mcp {
		if server.target != t || server.path != path {
			continue
		}
		for name, text := range server.headers {
			value, err := f.fillSecrets(text)
			if err != nil {
				return nil, fmt.Errorf("the header %s of the MCP server %s: %w", name, server.name, err)
			}
			headers.Set(name, value)
		}
	}
	return headers, nil
}

// fillSecrets replaces each ${{ secrets.NAME }} in a text. Errors never contain a value.
func (f *forwarder) fillSecrets(text string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${{")
		out.WriteString(before)
		if !found {
			break
		}
		reference, after, _ := strings.Cut(rest, "}}")
		name := strings.TrimPrefix(strings.TrimSpace(reference), "secrets.")
		value, err := f.secret(name)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		text = after
	}
	return out.String(), nil
}

// secret returns the value of a managed secret for a header.
func (f *forwarder) secret(name string) (string, error) {
	value, ok := "", false
	if f.secrets != nil {
		value, ok = f.secrets(name)
	}
	if !ok || value == "" {
		return "", fmt.Errorf("the secret %s has no value", name)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("the secret %s has characters that no header can have", name)
	}
	return value, nil
}
