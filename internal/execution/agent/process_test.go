package agent

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// However the agent's process ends, its command ends with it.
func TestACommandEndsWithTheAgentsProcess(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		signal syscall.Signal
	}{
		{"killed", syscall.SIGKILL},
		{"asked to end, with its input still open", syscall.SIGTERM},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			workspace := t.TempDir()
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), "PENSTOCK_TEST_AGENT="+t.TempDir())
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			client := acp.NewClient(acp.Join(out, in), acp.ClientHandler{})
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = client.Run(ctx)
			}()
			if _, err := client.Initialize(ctx, acp.Implementation{Name: "test", Version: "1"}); err != nil {
				t.Fatal(err)
			}
			s, err := client.NewSession(ctx, acp.NewSessionRequest{Cwd: workspace})
			if err != nil {
				t.Fatal(err)
			}
			failed := make(chan error, 1)
			go func() {
				_, err := client.Prompt(ctx, s.ID, acp.Text("demo: run echo $$ > pid; exec sleep 600"))
				failed <- err
			}()
			var pid int
			eventually(t, "the command runs", func() bool {
				raw, err := os.ReadFile(filepath.Join(workspace, "pid"))
				if err == nil {
					pid, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
				}
				return pid > 0
			})
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			if err := <-failed; err == nil {
				t.Error("the prompt returned")
			}
			eventually(t, "the command has ended", func() bool { return !alive(pid) })
			<-ended
			_ = cmd.Wait()
		})
	}
}
