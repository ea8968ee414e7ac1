package agent

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

const (
	defaultTimeout = 10 * time.Minute
	maxTimeout     = 2 * time.Hour

	// killAfter is how long a command has between SIGTERM and SIGKILL.
	killAfter = time.Second

	// drainFor is how long output is still read after a command has ended, if a process that it
	// started keeps the output open.
	drainFor = 500 * time.Millisecond

	// progressEvery is how often the output of a running command is shown.
	progressEvery = time.Second
	progressBytes = 4 << 10
)

type commandInput struct {
	Command string `json:"command"`
	Cwd     string `json:"cwd"`
	Timeout int    `json:"timeout_seconds"`
}

// commandOutput is the curated result of a command. ExitCode is 128 and more
// for one that a signal ended.
type commandOutput struct {
	ExitCode int    `json:"exit_code"`
	Output   string `json:"output"`
	TimedOut bool   `json:"timed_out,omitempty"`
	Millis   int64  `json:"duration_ms"`
}

var runCommandTool = define(toolRunCommand, acp.ToolExecute,
	"Run a shell command in the workspace, with bash if it is installed, otherwise with sh. Returns its output, "+
		"including standard error, and its exit code. The command has no input and no terminal. The middle of a long "+
		"output is left out. "+
		"Redirect the output of a command that continues in the background.",
	`{"type":"object","properties":{
		"command":{"type":"string","description":"The command line."},
		"cwd":{"type":"string","description":"The directory to run in, relative to the workspace. Default: the workspace."},
		"timeout_seconds":{"type":"integer","minimum":1,"maximum":7200,"description":"Default: 600."}},
		"required":["command"]}`,
	func(in commandInput) string { return "Run " + firstLine(in.Command, 100) },
	func(ctx context.Context, c *call, in commandInput) (result, error) {
		if in.Command == "" {
			return result{}, fmt.Errorf("command is empty")
		}
		dir, err := c.session.workdir(in.Cwd)
		if err != nil {
			return result{}, err
		}
		timeout := time.Duration(in.Timeout) * time.Second
		out, err := runShell(ctx, shell{
			command:  in.Command,
			dir:      dir,
			env:      c.session.env,
			timeout:  min(cmp.Or(max(timeout, 0), defaultTimeout), maxTimeout),
			progress: func(tail string) { c.progress(ctx, tail) },
		})
		if err != nil {
			return result{}, err
		}
		return result{text: out.forModel(), raw: out, failed: out.TimedOut}, nil
	})

func (o commandOutput) forModel() string {
	status := fmt.Sprintf("exit code %d", o.ExitCode)
	if o.ExitCode == 128+int(syscall.SIGKILL) {
		status += " (killed: perhaps the run used more memory than --limit-memory allows)"
	}
	if o.TimedOut {
		status = fmt.Sprintf("ended because its timeout of %s expired", time.Duration(o.Millis)*time.Millisecond)
	}
	if o.Output == "" {
		return "(no output)\n" + status
	}
	return strings.TrimSuffix(o.Output, "\n") + "\n" + status
}

// shell is a command line to run.
type shell struct {
	command  string
	dir      string
	env      []string
	timeout  time.Duration
	progress func(tail string) // called with the end of the output now and then
}

// runShell runs a command to its end. If ctx ends first, it ends the whole process group and
// returns an error. If the time limit comes first, it ends the group and sets TimedOut.
func runShell(ctx context.Context, sh shell) (commandOutput, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return commandOutput{}, err
	}
	defer r.Close()
	program := "/bin/bash"
	if _, err := os.Stat(program); err != nil {
		program = "/bin/sh"
	}
	cmd := exec.Command(program, "-c", sh.command) //nolint:noctx // process.wait ends it with its whole group
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = sh.dir, sh.env, w, w
	cmd.SysProcAttr = childAttr()

	start := time.Now()
	p := startProcess(cmd)
	w.Close()
	if p.err != nil {
		return commandOutput{}, fmt.Errorf("start the shell: %w", p.err)
	}
	var kept output
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&kept, r)
	}()

	timedOut := p.wait(ctx, sh.timeout, func() {
		if tail, changed := kept.tail(progressBytes); changed {
			sh.progress(clean(tail))
		}
	})
	state := p.reap()
	select {
	case <-read:
	case <-time.After(drainFor):
		r.Close()
		<-read
	}
	if ctx.Err() != nil {
		return commandOutput{}, context.Cause(ctx)
	}
	return commandOutput{
		ExitCode: exitCode(state),
		Output:   clean(kept.String()),
		TimedOut: timedOut,
		Millis:   time.Since(start).Milliseconds(),
	}, nil
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// process is a started command. Its thread is kept for it, see childAttr.
type process struct {
	cmd    *exec.Cmd
	err    error // of starting it
	exited chan struct{}
	reaped chan struct{}
	mayEnd chan struct{}
}

func startProcess(cmd *exec.Cmd) *process {
	p := &process{cmd: cmd, exited: make(chan struct{}), reaped: make(chan struct{}), mayEnd: make(chan struct{})}
	started := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.reaped)
		p.err = cmd.Start()
		close(started)
		if p.err != nil {
			return
		}
		awaitExit(cmd)
		close(p.exited)
		<-p.mayEnd
		// cmd.ProcessState has the result.
		_ = cmd.Wait()
	}()
	<-started
	return p
}

// wait returns when the process has ended. After ctx or the time limit, it ends the process group.
func (p *process) wait(ctx context.Context, timeout time.Duration, tick func()) (timedOut bool) {
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.exited:
			return false
		case <-ticker.C:
			tick()
			continue
		case <-limit.C:
			timedOut = true
		case <-ctx.Done():
		}
		p.kill()
		return timedOut
	}
}

// endsWithin reports whether the process ends by itself within a time.
func (p *process) endsWithin(limit time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(limit):
		return false
	}
}

// kill ends the process and the rest of its group.
func (p *process) kill() {
	group := -p.cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(killAfter):
	}
	// The leader is not reaped yet, so the group id is still ours.
	_ = syscall.Kill(group, syscall.SIGKILL)
	<-p.exited
}

// reap removes the ended process from the system's table.
func (p *process) reap() *os.ProcessState {
	close(p.mayEnd)
	<-p.reaped
	return p.cmd.ProcessState
}

const (
	keptHead = 32 << 10
	keptTail = 32 << 10
)

// output keeps the beginning and the end of what a command prints.
type output struct {
	mu    sync.Mutex
	head  []byte
	rest  []byte // the output after head, at least its last keptTail bytes
	total int64
	shown int64 // total at the last call of tail
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += int64(len(p))
	more := p
	if room := keptHead - len(o.head); room > 0 {
		n := min(room, len(more))
		o.head = append(o.head, more[:n]...)
		more = more[n:]
	}
	o.rest = append(o.rest, more...)
	if len(o.rest) > 2*keptTail {
		o.rest = slices.Delete(o.rest, 0, len(o.rest)-keptTail)
	}
	return len(p), nil
}

// String returns the whole output, or its beginning and end with a note about the missing part.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := o.rest[max(0, len(o.rest)-keptTail):]
	missing := o.total - int64(len(o.head)) - int64(len(rest))
	if missing == 0 {
		return string(o.head) + string(rest)
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", o.head, missing, rest)
}

// tail returns the end of the output, and whether there is new output since the last call.
func (o *output) tail(n int) (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	changed := o.total != o.shown
	o.shown = o.total
	rest := o.rest[max(0, len(o.rest)-n):]
	head := o.head[max(0, len(o.head)-(n-len(rest))):] // rest is short only while nothing is missing
	return string(head) + string(rest), changed
}
