package agent

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// providerVariables configure how this process reaches its providers. Its commands must not get
// them.
var providerVariables = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL",
	"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL",
	"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL",
}

// withoutProviders returns env without the providers' variables, and without variables whose value
// is one of the keys.
func withoutProviders(env []string, keys ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return slices.Contains(providerVariables, name) || value != "" && slices.Contains(keys, value)
	})
}

// quiet prevents programs from waiting for a person.
var quiet = []string{
	"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "DEBIAN_FRONTEND=noninteractive",
}

// toolEnv returns the environment of a session's commands and MCP servers: the agent's own without
// the providers, then the client's, then quiet. The last of equal names counts.
func (a *agent) toolEnv(meta acp.Meta) []string {
	var sent []string
	meta.Read(acp.MetaEnvironment, &sent)
	return slices.Concat(a.cfg.Env, sent, quiet)
}

// lookPath finds a program as a shell would, in dir with the environment env. Our own PATH is not
// the session's.
func lookPath(program, dir string, env []string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	var list string
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			list = value
		}
	}
	for _, in := range filepath.SplitList(list) {
		if !filepath.IsAbs(in) {
			in = filepath.Join(dir, in)
		}
		if found, err := exec.LookPath(filepath.Join(in, program)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%q: %w", program, exec.ErrNotFound)
}
