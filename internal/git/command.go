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

const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// command is one call of git.
type command struct {
	args []string
	// repo is the repository it works on: a bare one, or a folder with one in it.
	repo string
	// remote is whom it speaks with, if with anybody.
	remote *remote
	// local permits reading from a repository of this machine, and nothing else.
	local bool
	// stdin is what it reads, and most how much it may print; 0: maxStdout.
	stdin string
	most  int
	// silent drops what it prints, however much that is.
	silent bool
	// watch is the folder that it writes to, limited by Options.MaxBytes.
	watch string
	// lock stays locked for as long as a process of it lives.
	lock *os.File
}

// run runs git and returns its standard output. The error ends with the last of
// its standard error, without secrets and control characters.
func (c *Cache) run(ctx context.Context, cmd command) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	args := cmd.args
	if cmd.repo != "" {
		args = append([]string{"-C", cmd.repo}, args...)
	}
	git := exec.CommandContext(ctx, c.program, args...)
	git.Env = c.environment(cmd)
	git.Dir = c.dir
	// Git's own children, which hold our pipes, end with it.
	git.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	git.Cancel = func() error { return syscall.Kill(-git.Process.Pid, syscall.SIGKILL) }
	git.WaitDelay = 5 * time.Second
	if cmd.lock != nil {
		git.ExtraFiles = []*os.File{cmd.lock}
	}
	stdout, stderr := &head{left: cmp.Or(cmd.most, maxStdout)}, &tail{}
	git.Stdout, git.Stderr = stdout, stderr
	if cmd.silent {
		git.Stdout = nil
	}
	if cmd.stdin != "" {
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
	err := git.Run()
	if err == nil && watching != nil && diskUse(cmd.watch) > c.max {
		cancel(ErrTooLarge)
	}
	cause := context.Cause(ctx)
	cancel(nil)
	if watching != nil {
		<-watching
	}
	if cause != nil {
		return "", fmt.Errorf("git %s: %w", cmd.args[0], cause)
	}
	if stdout.left < 0 {
		return "", fmt.Errorf("git %s: %w", cmd.args[0], errLongAnswer)
	}
	if err != nil {
		return "", &runError{
			command: cmd.args[0], err: err, stderr: clean(strings.ReplaceAll(stderr.String(), c.dir+"/", ""), cmd.remote),
		}
	}
	return stdout.String(), nil
}

// errLongAnswer is a git that has printed more than was asked for.
var errLongAnswer = errors.New("it printed too much")

// runError is a git that ran and failed.
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

// environment is everything that git gets from us: nothing of the machine's or
// the user's configuration, and settings that no repository can change.
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
		"GIT_SSH_COMMAND=ssh -oBatchMode=yes -oStrictHostKeyChecking=yes",
	}
	env = append(env, c.env...)
	config := settings
	if r := cmd.remote; r != nil && r.header != "" {
		// For this host only, and not to where it may redirect.
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

// settings are the configuration of every git that we run.
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
	// What a power cut leaves is whole: packs, not thousands of loose files, and on the disk.
	{"fetch.unpackLimit", "1"},
	{"core.fsync", "committed,loose-object"},
	// Cleaning up happens under our lock, not in the background.
	{"gc.autoDetach", "false"},
	{"maintenance.autoDetach", "false"},
	// A remote that has stopped to send is given up after a minute.
	{"http.lowSpeedLimit", "1"},
	{"http.lowSpeedTime", "60"},
	// Objects are checked for what attacks a checkout (.git in a tree, bad
	// .gitmodules); old faults that only look ugly are in many honest repositories.
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

// hiddenError is one whose text can be stored and shown, whatever the remote has
// put into it: its credential, or what is no text.
type hiddenError struct {
	err  error
	text string
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }

// hide makes err one that can be shown, whatever the remote has said.
func (r *remote) hide(err error) error {
	if err == nil {
		return nil
	}
	return &hiddenError{err, clean(err.Error(), r)}
}

// clean makes output of git fit to be shown.
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

// watch looks how much is in dir until ctx ends, and ends ctx when it is more than limit.
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
		// Looking must not become the work.
		pause = min(max(pause, 10*time.Since(start)), time.Second)
	}
}

// diskUse is about how many bytes the files in dir take. Each counts for a block
// at least, since a disk can be filled with names as well.
func diskUse(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			n += 4 << 10
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				n += info.Size()
			}
		}
		return nil // files that come and go meanwhile
	})
	return n
}

// head keeps the first bytes, and errs on more.
type head struct {
	bytes.Buffer
	left int
}

func (h *head) Write(p []byte) (int, error) {
	if h.left -= len(p); h.left < 0 {
		return 0, io.ErrShortBuffer
	}
	return h.Buffer.Write(p)
}

// tail keeps the last bytes: twice what will be shown, so that a secret that is
// cut, and so not recognised, is not in what is shown.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - 2*maxStderr; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.buf) }
