package worker_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
)

// The agent prints secrets in every way it can. They appear nowhere in the records: not in the log,
// the status, the timeline, the transcript or files.
func TestSecretsAreNowhereInTheRecords(t *testing.T) {
	const token, header = `tok_8Jq2vX7mZk"<&>?~`, "header-value-77"
	secrets := []string{token, header, "provider-key-123"}
	w := newWorld(t)
	var key string
	w.plane.set(func(c *plane) {
		c.claimed = func(a *penstock.Assignment) { key = a.APIKey }
	})
	w.secret("TOKEN", token)
	config := w.environment(penstock.EnvironmentConfig{SetupCommands: []string{`echo "setup with $TOKEN"`}})
	config.Secrets = []string{"TOKEN"}
	config.MCPServers = map[string]penstock.MCPServer{"tracker": {
		Command: self(t), Args: []string{"misbehave", "reveal"},
		Env: map[string]string{"T": "Token ${{ secrets.TOKEN }}", "H": "Bearer " + header},
	}}
	w.start(nil)
	id := w.create(penstock.RunRequest{Config: config},
		`demo: run echo "$TOKEN $PENSTOCK_API_KEY `+header+
			`"; printf %s "$TOKEN" | base64; printf 'user:%s' "$TOKEN" | base64 -w0; `+
			`printf %s "$TOKEN" | od -An -tx1 | tr -d ' \n'`,
		`demo: run printf '\033[31m%s\033[0m%s' "$(printf %s "$TOKEN" | cut -c1-9)" "$(printf %s "$TOKEN" | cut -c10-)"`,
		`demo: run printf '{"token": "%s"}' "$(printf %s "$TOKEN" | sed 's/"/\\"/g')"`,
		`demo: run printf 'the key is %s' "$TOKEN" > key.txt; echo "$TOKEN" >&2; `+
			`cat /proc/$PPID/environ 2>&1 | tr '\0' '\n' | grep OPENAI_API_KEY || true`,
		`demo: artifact key.txt`,
		`demo: call mcp__tracker__reveal {}`,
		`demo: say it is `+token+` and provider-key-123`,
		`demo: error cannot go on with `+token)
	run := w.becomes(id, penstock.StateFailed)

	var records strings.Builder
	for _, e := range w.events(id) {
		records.Write(e.Data)
		records.WriteByte('\n')
	}
	status, _ := json.Marshal(run.StatusMessage)
	records.Write(status)
	records.WriteString(w.artifact(id))
	all := records.String()
	for _, s := range append(secrets, key) {
		quoted, _ := json.Marshal(s)
		for form, text := range map[string]string{
			"as it is": s, "as JSON": strings.Trim(string(quoted), `"`), "as a query": url.QueryEscape(s),
			"in base64": base64.RawStdEncoding.EncodeToString([]byte(s))[:12], "in hexadecimal": hexOf(s),
		} {
			// The prompt is the user's own text, so the secret stays in it.
			if n := strings.Count(withoutPrompts(t, all), text); n > 0 {
				t.Errorf("a secret stands %d times in the records %s", n, form)
			}
		}
	}
	if n := strings.Count(all, "***"); n < 8 {
		t.Errorf("only %d values are masked:\n%s", n, all)
	}
	if out := strings.Join(w.outputs(id, "call_mcp_tool"), ""); !strings.Contains(out, "T=***") ||
		!strings.Contains(out, "H=***") {
		t.Errorf("the MCP server says %s", out)
	}
	if got := w.artifact(id); got != "the key is "+strings.Repeat("*", len(token)) {
		t.Errorf("the artifact holds %q", got)
	}
}

// secret makes a managed secret.
func (w *world) secret(name, value string) {
	w.t.Helper()
	if _, err := w.Secrets.Create(w.t.Context(), w.admin, access.SecretRequest{Name: name, Value: &value}); err != nil {
		w.t.Fatal(err)
	}
}

// Secrets that only an MCP server gets are not in the environment of the agent, but are masked all
// the same.
func TestSecretOfAnMCPServerIsNotTheAgents(t *testing.T) {
	w := newWorld(t)
	w.secret("OWN", "agents-own-1")
	w.secret("TRACKER", "trackers-own-2")
	w.start(nil)
	id := w.create(penstock.RunRequest{Config: &penstock.Config{
		Secrets: []string{"OWN"},
		MCPServers: map[string]penstock.MCPServer{"tracker": {
			Command: self(t), Args: []string{"misbehave", "reveal"}, Env: map[string]string{"T": "${{ secrets.TRACKER }}"},
		}, "managed": {ID: "m1"}}, // which the run goes without
	}}, `demo: run echo "${#OWN} [$TRACKER]"`, `demo: call mcp__tracker__reveal {}`)
	w.becomes(id, penstock.StateSucceeded)
	if out := strings.Join(w.outputs(id, "run_command"), ""); !strings.Contains(out, "12 []") {
		t.Errorf("the agent sees %s", out)
	}
	if out := strings.Join(w.outputs(id, "call_mcp_tool"), ""); !strings.Contains(out, "T=***") {
		t.Errorf("the MCP server says %s", out)
	}
}

func hexOf(s string) string {
	var b strings.Builder
	for i := range len(s) {
		const digits = "0123456789abcdef"
		b.WriteByte(digits[s[i]>>4])
		b.WriteByte(digits[s[i]&15])
	}
	return b.String()
}

// withoutPrompts drops the user's messages, which the worker does not record.
func withoutPrompts(t *testing.T, records string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(records) {
		var m penstock.Message
		if json.Unmarshal([]byte(line), &m) == nil && m.Role == penstock.RoleUser {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}
