package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
)

const (
	maxStdout = 1 << 20 // of a command, in bytes
	maxStderr = 4 << 10 // of an error
)

const defaultSSH = "ssh -oBatchMode=yes -oStrictHostKeyChecking=yes"

const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// command is one call of git.
type command struct {
	args []string
	// repo is the repository for the command: a bare one, or a folder that contains one.
	repo string
	// remote is the remote that it contacts; nil for a local command.
	remote *remote
	// local allows reading from a repository of this machine, and nothing else.
	local bool
	// stdin is its input, or input, if that is not nil. most limits its output; 0 means maxStdout.
	stdin string
	input io.Reader
	most  int
	// silent discards its output, without a limit.
	silent bool
	// stdout gets its output instead, without a limit.
	stdout io.Writer
	// config adds to settings.
	config [][2]string
	// watch is the folder that it writes to, limited by Options.MaxBytes.
	watch string
	// lock stays locked while a process of the command runs.
	lock *os.File
	// pipes are inherited by the command and its hooks, from descriptor 3 on. They exclude lock.
	pipes []*os.File
}

// name returns the subcommand of git.
func (cmd command) name() string {
	return cmd.args[slices.IndexFunc(cmd.args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })]
}

// run runs git and returns its standard output. The error contains the end of its standard error,
// without secrets and control characters.
func (c *Cache) run(ctx context.Context, cmd command) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	args := cmd.args
	if cmd.repo != "" {
		args = append([]string{"-C", cmd.repo}, args...)
	}
	git := exec.CommandContext(ctx, c.program, args...)
	git.Env = c.environment(cmd)
	way, err := c.guard.open(ctx, c.env, cmd.remote)
	if err != nil {
		return "", fmt.Errorf("git %s: %w", cmd.name(), err)
	}
	git.Env = append(git.Env, way.env...)
	git.Dir = c.dir
	// End git's children with it, because they hold our pipes.
	git.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	git.Cancel = func() error { return syscall.Kill(-git.Process.Pid, syscall.SIGKILL) }
	git.WaitDelay = 5 * time.Second
	if cmd.lock != nil {
		git.ExtraFiles = []*os.File{cmd.lock}
	}
	git.ExtraFiles = append(git.ExtraFiles, cmd.pipes...)
	stdout, stderr := &prefixBuffer{left: cmp.Or(cmd.most, maxStdout)}, &tail{}
	git.Stdout, git.Stderr = stdout, stderr
	if cmd.silent || cmd.stdout != nil {
		git.Stdout = cmd.stdout
	}
	if git.Stdin = cmd.input; cmd.stdin != "" {
		git.Stdin = strings.NewReader(cmd.stdin)
	}

	var watching chan struct{}
	if cmd.watch != "" && c.max > 0 {
		watching = make(chan struct{})
		go func() {
			defer close(watching)
			watch(ctx, cmd.watch, c.max, cancel)
		}()
	}
	err = git.Run()
	way.close()
	if err == nil && watching != nil && diskUse(cmd.watch) > c.max {
		cancel(ErrTooLarge)
	}
	cause := context.Cause(ctx)
	cancel(nil)
	if watching != nil {
		<-watching
	}
	if cause != nil {
		return "", fmt.Errorf("git %s: %w", cmd.name(), cause)
	}
	if stdout.left < 0 {
		return "", fmt.Errorf("git %s: %w", cmd.name(), errLongOutput)
	}
	if reason := way.reason(); err != nil && reason != nil {
		return "", fmt.Errorf("git %s: %w", cmd.name(), reason)
	}
	if err != nil {
		text := strings.ReplaceAll(stderr.String(), c.dir+"/", "")
		if cmd.repo != "" {
			text = strings.ReplaceAll(text, cmd.repo+"/", "")
		}
		return "", &runError{command: cmd.name(), err: err, stderr: clean(text, cmd.remote)}
	}
	return stdout.String(), nil
}

// errLongOutput is returned if git printed more than allowed.
var errLongOutput = errors.New("it printed too much")

// runError is the error of a git that ran and failed.
type runError struct {
	command string
	err     error
	stderr  string
}

func (e *runError) Error() string {
	if e.stderr == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.stderr)
}

func (e *runError) Unwrap() error { return e.err }

// environment returns the whole environment of git. It excludes the configuration of the machine
// and the user, and has settings that no repository can change.
func (c *Cache) environment(cmd command) []string {
	protocols := "https:ssh"
	if c.local {
		protocols += ":http:file"
	}
	if cmd.local {
		protocols = "file"
	}
	env := []string{
		"PATH=" + searchPath,
		"HOME=" + c.dir, // no ~/.netrc, no ~/.config/git
		"LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1",
		"GIT_ALLOW_PROTOCOL=" + protocols,
		"GIT_ALLOC_LIMIT=" + c.memory,
		"GIT_SSH_COMMAND=" + defaultSSH,
	}
	env = append(env, c.env...)
	config := append(slices.Clip(settings), cmd.config...)
	if r := cmd.remote; r != nil && r.header != "" {
		// Send it to this host only, and not after a redirect to another.
		config = append(slices.Clip(config),
			[2]string{"http." + r.origin + "/.extraHeader", r.header},
			[2]string{"http.followRedirects", "false"})
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)))
	for i, s := range config {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}

// settings is the configuration of every git that we run.
var settings = [][2]string{
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	{"core.askPass", ""},
	{"credential.helper", ""},
	{"core.symlinks", "true"},
	{"core.protectHFS", "true"},
	{"core.protectNTFS", "true"},
	{"submodule.recurse", "false"},
	{"fetch.recurseSubmodules", "false"},
	{"protocol.ext.allow", "never"},
	{"advice.detachedHead", "false"},
	{"core.logAllRefUpdates", "false"}, // a copy's first entry would name the mirror
	// After a power cut, everything is intact: packs instead of thousands of loose files, flushed
	// to disk.
	{"fetch.unpackLimit", "1"},
	{"core.fsync", "committed,loose-object"},
	// Clean up under our lock, not in the background.
	{"gc.autoDetach", "false"},
	{"maintenance.autoDetach", "false"},
	// Give up on a remote that has sent nothing for a minute.
	{"http.lowSpeedLimit", "1"},
	{"http.lowSpeedTime", "60"},
	// Check objects for attacks on a checkout (.git in a tree, bad .gitmodules). Ignore other
	// errors, which many honest repositories have.
	{"transfer.fsckObjects", "true"},
	{"fetch.fsck.badDate", "ignore"},
	{"fetch.fsck.badDateOverflow", "ignore"},
	{"fetch.fsck.badEmail", "ignore"},
	{"fetch.fsck.badName", "ignore"},
	{"fetch.fsck.badTimezone", "ignore"},
	{"fetch.fsck.duplicateEntries", "ignore"},
	{"fetch.fsck.emptyName", "ignore"},
	{"fetch.fsck.missingAuthor", "ignore"},
	{"fetch.fsck.missingEmail", "ignore"},
	{"fetch.fsck.missingNameBeforeEmail", "ignore"},
	{"fetch.fsck.missingSpaceBeforeDate", "ignore"},
	{"fetch.fsck.missingSpaceBeforeEmail", "ignore"},
	{"fetch.fsck.multipleAuthors", "ignore"},
	{"fetch.fsck.nulInCommit", "ignore"},
	{"fetch.fsck.nullSha1", "ignore"},
	{"fetch.fsck.zeroPaddedDate", "ignore"},
	{"fetch.fsck.zeroPaddedFilemode", "ignore"},
}

// hiddenError is an error that is safe to store and show. Its text has no credential and is valid
// text, even if the remote sent something else.
type hiddenError struct {
	err  error
	text string
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }

// hide makes err safe to show.
func (r *remote) hide(err error) error {
	if err == nil {
		return nil
	}
	return &hiddenError{err, clean(err.Error(), r)}
}

// clean makes output of git safe to show.
func clean(s string, r *remote) string {
	if r != nil {
		for _, secret := range r.secrets {
			if secret != "" {
				s = strings.ReplaceAll(s, secret, "***")
			}
		}
	}
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\r", "\n"))
	if over := len(s) - maxStderr; over > 0 {
		s = strings.ToValidUTF8(s[over:], "")
	}
	return strings.TrimSpace(s)
}

// watch measures the size of dir until ctx ends. It cancels if the size exceeds limit.
func watch(ctx context.Context, dir string, limit int64, cancel context.CancelCauseFunc) {
	pause := 250 * time.Millisecond
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		start := time.Now()
		if diskUse(dir) > limit {
			cancel(ErrTooLarge)
			return
		}
		// Spend at most a tenth of the time on measuring.
		pause = min(max(pause, 10*time.Since(start)), time.Second)
	}
}

// diskUse estimates how many bytes the files in dir use. Each file counts as at least one block,
// because names alone can fill a disk, too.
func diskUse(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			n += 4 << 10
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				n += info.Size()
			}
		}
		return nil // ignore files that disappear during the walk
	})
	return n
}

// prefixBuffer keeps the first bytes. More bytes are an error.
type prefixBuffer struct {
	bytes.Buffer
	left int
}

func (h *prefixBuffer) Write(p []byte) (int, error) {
	if h.left -= len(p); h.left < 0 {
		return 0, io.ErrShortBuffer
	}
	return h.Buffer.Write(p)
}

// tail keeps the last bytes, twice as many as are shown. A secret that is cut at the start is not
// recognized, so it must not be in the shown part.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - 2*maxStderr; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.buf) }
