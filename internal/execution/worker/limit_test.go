package worker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// A run that exceeds a limit of this worker fails while it works. The reason names the setting, and
// the workspace is removed.
func TestRunThatUsesTooMuchFails(t *testing.T) {
	command := &penstock.Config{Harness: &penstock.Harness{Type: "command"}}
	const disk, memory = "16 MiB that --limit-disk allows", "256 MiB of memory that --limit-memory allows"
	for name, test := range map[string]struct {
		req    penstock.RunRequest
		setup  []string
		limits sandbox.Limits
		want   string // "" is success
	}{
		"disk": {
			penstock.RunRequest{Prompt: "demo: run head -c 64M /dev/zero > big; sleep 1000"},
			nil,
			sandbox.Limits{Disk: 16 << 20},
			disk,
		},
		"disk by an unlinked file": {
			penstock.RunRequest{Prompt: "demo: run exec 3> big; rm big; head -c 64M /dev/zero >&3; sleep 1000"},
			nil,
			sandbox.Limits{Disk: 16 << 20},
			disk,
		},
		"disk by a command that is done at once": {
			penstock.RunRequest{Prompt: "head -c 64M /dev/zero > ~/big", Config: command},
			nil,
			sandbox.Limits{Disk: 16 << 20},
			disk,
		},
		"disk while it is set up": {
			penstock.RunRequest{Prompt: "hello"},
			[]string{"head -c 64M /dev/zero > big"},
			sandbox.Limits{Disk: 16 << 20},
			disk,
		},
		"disk that is enough": {
			penstock.RunRequest{Prompt: "demo: run head -c 8M /dev/zero > big"},
			nil,
			sandbox.Limits{Disk: 16 << 20},
			"",
		},
		"memory": {
			penstock.RunRequest{Prompt: "exec tail /dev/zero", Config: command},
			nil,
			sandbox.Limits{Memory: 256 << 20},
			memory,
		},
		"memory while it is set up": {
			penstock.RunRequest{Prompt: "hello"},
			[]string{"tail /dev/zero"},
			sandbox.Limits{Memory: 256 << 20},
			memory,
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachKind(t, func(w *world, box sandbox.Sandbox) {
				w.plane.set(func(c *plane) {
					c.claimed = func(a *penstock.Assignment) {
						a.Environment = &penstock.EnvironmentSpec{Config: penstock.EnvironmentConfig{SetupCommands: test.setup}}
					}
				})
				var dir string
				wk, _ := w.start(func(o *worker.Options) { o.Sandbox, o.Limits, dir = box, test.limits, o.Dir })
				id := w.create(test.req)
				if test.want == "" {
					w.becomes(id, penstock.StateSucceeded)
					return
				}
				if m := w.becomes(id, penstock.StateFailed).StatusMessage; m == nil || !strings.Contains(m.Message, test.want) {
					w.t.Errorf("got %+v, want %q in it", m, test.want)
				}
				testkit.Eventually(w.t, timeout, func() error {
					if wk.Busy() != 0 {
						return errors.New("it is busy")
					}
					return nil
				})
				_, err := os.Stat(filepath.Join(dir, "runs", id))
				if test.limits.Disk > 0 && !errors.Is(err, os.ErrNotExist) {
					w.t.Errorf("the workspace is still there: %v", err)
				}
			})
		})
	}
}

// If the kernel limits memory, only the command that uses too much is killed, and the run
// continues. Otherwise the run fails. Either way, the run names the setting.
func TestCommandThatUsesTooMuchMemoryNamesTheSetting(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		w.start(func(o *worker.Options) { o.Sandbox, o.Limits.Memory = box, 256<<20 })
		id := w.create(penstock.RunRequest{}, "demo: run tail /dev/zero")
		w.says(id, "--limit-memory allows")
	})
}

// A run that waits for a follow-up fails like one that works.
func TestIdleRunThatUsesTooMuchFails(t *testing.T) {
	w := newWorld(t)
	w.start(func(o *worker.Options) { o.Limits.Disk = 16 << 20 })
	yes := true
	id := w.create(penstock.RunRequest{Interactive: &yes},
		"demo: run mkfifo go; setsid sh -c 'read now < go; head -c 64M /dev/zero > big' >/dev/null 2>&1 &")
	w.says(id, `"text":"All directives are done."`)
	w.followUp(id, "demo: run echo now > go")
	if m := w.becomes(id, penstock.StateFailed).StatusMessage; m == nil || !strings.Contains(m.Message, "--limit-disk") {
		t.Errorf("got %+v", m)
	}
}
