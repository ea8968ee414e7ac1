package worker_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// A workspace that is kept for follow-ups has no secret in it. A follow-up finds its files as they
// were.
func TestKeptWorkspaceHasNoSecrets(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		const token, header = "tok-8Jq2vX7mZk-99", "header-value-77"
		w.secret("TOKEN", token)
		w.secret("HEADER", header)
		config := w.environment(penstock.EnvironmentConfig{SetupCommands: []string{
			`printf '//registry/:_authToken=%s\n' "$TOKEN" > $HOME/.npmrc; chmod 400 $HOME/.npmrc`,
		}})
		config.Secrets = []string{"TOKEN"}
		config.MCPServers = map[string]penstock.MCPServer{"tracker": {
			Command: box.Layout(sandbox.Spec{}).Exe, Args: []string{"misbehave", "reveal"},
			Env: map[string]string{"H": "Bearer ${{ secrets.HEADER }}"},
		}}
		dir := t.TempDir()
		wk, _ := w.start(func(o *worker.Options) { o.Sandbox, o.Dir, o.KeepWorkspaces = box, dir, time.Hour })
		id := w.create(penstock.RunRequest{Config: config},
			`demo: run mkdir -p repo/.git; printf 'url = https://x:%s@host/\n' "$TOKEN" > repo/.git/config; `+
				`printf 'user:%s' "$TOKEN" | base64 > $HOME/netrc; echo '`+header+`' > .mcp.json; `+
				`touch -d 2001-01-01 .mcp.json; `+
				`find . $HOME -type f ! -path '*/state/*' ! -name sums | sort | xargs sha256sum > sums`,
		)
		idle := func(commands int) {
			w.becomes(id, penstock.StateSucceeded)
			testkit.Eventually(t, timeout, func() error {
				if n := len(w.outputs(id, "run_command")); wk.Busy() != 0 || n != commands {
					return fmt.Errorf("%d commands have ended", n)
				}
				return nil
			})
		}
		idle(1)
		code := base64.RawStdEncoding.EncodeToString([]byte("user:" + token))
		forms := []string{token, header, code[7 : len(code)-2]}
		seen := map[string]bool{}
		err := filepath.WalkDir(filepath.Join(dir, "runs", id), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			seen[filepath.Base(path)] = true
			for _, form := range forms {
				if strings.Contains(string(content), form) {
					t.Errorf("%s contains %q", path, form)
				}
			}
			return err
		})
		if err != nil || !seen[".npmrc"] || !seen["config"] || !seen["netrc"] {
			t.Fatalf("the files are %v (%v)", seen, err)
		}
		w.followUp(id, "demo: run sha256sum -c sums && stat -c %y .mcp.json | grep ^2001 && stat -c %a $HOME/.npmrc")
		idle(2)
		out := w.outputs(id, "run_command")
		if last := out[1]; strings.Contains(last, "FAILED") || !strings.Contains(last, "2001") ||
			!strings.Contains(last, "400") {
			t.Errorf("the follow-up finds other files: %s", last)
		}
	})
}
