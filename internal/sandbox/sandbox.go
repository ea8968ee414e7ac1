// Package sandbox owns the place where one agent's process tree lives: what of
// the machine the tree sees, how much of it it may use, and that all of it is
// gone when its run is over.
//
// Every kind keeps the same contract, and one test suite (suite_linux_test.go) holds
// every kind to it. On a machine of our own, [Supervise] stands between the
// worker and the tree: a small process of this same program that outlives a
// killed worker just long enough to take the tree with it.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The kinds of sandbox.
const (
	// Bubblewrap isolates files, processes and users by kernel namespaces.
	Bubblewrap = "bubblewrap"
	// Process isolates nothing: the tree runs as the worker's own user and sees
	// what it sees. What holds is that the tree is ended as a whole.
	Process = "process"
)

// Sandbox starts process trees. Its methods may be called at the same time.
type Sandbox interface {
	// Kind is one of the constants above.
	Kind() string

	// Layout tells where the processes of a sandbox made from spec find what
	// spec names, so that their arguments and environment can speak of it.
	Layout(spec Spec) Layout

	// Start makes a sandbox and starts spec.Argv in it. An error means that
	// there is no sandbox and nothing of it is left behind; it says why in one
	// line. A program that cannot be executed is no such error: it ends with
	// a code other than zero and the reason on its standard error, as in
	// a shell. When ctx ends, the tree is killed.
	Start(ctx context.Context, spec Spec) (Running, error)
}

// Running is a started process tree.
type Running interface {
	// Stdin is the standard input of spec.Argv; the caller closes it.
	Stdin() io.WriteCloser

	// Stdout is the standard output of the tree (with the standard error when
	// spec.Stderr is nil). It ends when no process of the tree holds it any
	// more; the caller reads it to the end, or closes it.
	Stdout() io.ReadCloser

	// Limits says in a few words which of spec.Limits hold, and why the others
	// do not.
	Limits() string

	// Wait waits until the program has ended, ends what it left running, and
	// returns once no process of the tree exists and spec.Stderr has been
	// written to for the last time. It may be called more than once. The error
	// is about the sandbox itself (it was lost), never about the program.
	Wait() (Exit, error)

	// Kill ends every process of the tree and returns when none exists. It may
	// be called more than once, and after the end.
	Kill()
}

// Spec is what to run and what it may see and use.
type Spec struct {
	// Dir and Home are directories of the host that the tree may write: the
	// workspace and a home of its own. Both are required and absolute.
	Dir, Home string
	// Cwd is where the program starts, relative to Dir; "" is Dir.
	Cwd string
	// ReadOnly are further files and directories of the host that the tree may
	// read. Kinds that hide nothing ignore it.
	ReadOnly []Mount
	// Argv is the program and its arguments; a name without a slash is looked
	// up in PATH. It can be seen in the host's list of processes: no secrets.
	Argv []string
	// Env is the environment, KEY=value, the last of equal keys wins. It comes
	// on top of PATH, HOME, USER, LOGNAME, SHELL and LANG, which every kind
	// sets; nothing is taken from the worker's own environment.
	Env []string
	// Sockets makes the standard input and output sockets instead of pipes. No process
	// can open those of another one through /proc, and a program that speaks a protocol
	// does not need to; scripts, however, expect /dev/stdout to work.
	Sockets bool
	// Stderr gets the standard error of the tree; nil sends it to Stdout, in
	// the order written.
	Stderr io.Writer
	// Limits bound the tree as a whole.
	Limits Limits
	// Exceeded, unless it is nil, is called once with the resource of which the tree uses more than
	// Limits allow, before the tree is ended for that. Wait returns after it has returned.
	Exceeded func(Resource)
	// Tmp and Shm are the sizes in bytes of /tmp and of /dev/shm, which are memory of the
	// tree; 0 is what the kernel gives. Kinds without places of their own ignore them.
	Tmp, Shm int64
}

// Mount shows Source, a path of the host, at Target.
type Mount struct {
	Source string
	// Target is a path in the sandbox; "" is the same path as Source.
	Target string
}

// Resource is what a tree may be ended for using too much of.
type Resource string

// The resources.
const (
	Memory Resource = "memory"
	Disk   Resource = "disk"
)

// Limits bound a process tree; zero is no limit.
type Limits struct {
	// Memory is in bytes, swap included where the kernel counts it. Where no control group can
	// limit it, it is measured, and a tree that uses more is ended.
	Memory int64
	// Disk is in bytes: what Spec.Dir and Spec.Home hold and what is unlinked there but still
	// open. It is measured, and a tree that uses more is ended.
	Disk int64
	// Processes counts processes and threads.
	Processes int
	// CPUs is processor time per time: 1.5 is one and a half processors.
	CPUs float64
}

// Layout is where a tree finds what its Spec names.
type Layout struct {
	Dir, Home string
	// Exe is this program.
	Exe string
}

// Exit is how a program ended.
type Exit struct {
	// Code is the exit code, or 128 plus the number of the signal that ended
	// the program.
	Code int
	// Exceeded is the resource of which the tree used more than its Limits allow, "" for none.
	// A control group that limits memory ends single processes of the tree: the program may have
	// gone on.
	Exceeded Resource
}

func (e Exit) String() string {
	s := fmt.Sprintf("exit code %d", e.Code)
	if e.Code > 128 {
		s = fmt.Sprintf("ended by signal %d", e.Code-128)
	}
	if e.Exceeded != "" {
		s += ", more " + string(e.Exceeded) + " than allowed"
	}
	return s
}

// Options choose and set up a kind of sandbox.
type Options struct {
	// Kind defaults to Bubblewrap.
	Kind string
	// Exe is the path of this program: it is started as the supervisor (its
	// first argument is then "supervise", which calls [Supervise]) and within
	// a sandbox (then "enter", with more arguments, which calls [Enter]), and is
	// visible to the tree at Layout.Exe. Required.
	Exe string
	// Path is the PATH of the trees; the default is the usual directories of
	// a Linux system.
	Path string
	// Bwrap is the program of the kind Bubblewrap: a path, or a name to look up.
	// The default is "bwrap".
	Bwrap string
	// Silence is how long this process may be frozen (stopped, stuck in the
	// kernel) until its trees are ended without it: what has not run for that long
	// cannot end them before its leases do. The default is two thirds of
	// penstock.LeaseTime, which leaves the time between two renewals.
	Silence time.Duration
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// check refuses what no kind can run.
func (s Spec) check() error {
	for _, dir := range []string{s.Dir, s.Home} {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("sandbox: directory %q is not an absolute path", dir)
		}
	}
	if s.Cwd != "" && !filepath.IsLocal(s.Cwd) {
		return fmt.Errorf("sandbox: working directory %q leads out of the workspace", s.Cwd)
	}
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return errors.New("sandbox: no program to run")
	}
	for _, m := range s.ReadOnly {
		if !filepath.IsAbs(m.Source) || m.Target != "" && !filepath.IsAbs(m.Target) {
			return fmt.Errorf("sandbox: read-only %q at %q is not an absolute path", m.Source, m.Target)
		}
	}
	for _, e := range s.Env {
		if key, _, ok := strings.Cut(e, "="); !ok || key == "" {
			return fmt.Errorf("sandbox: environment entry %d is not KEY=value", slices.Index(s.Env, e))
		}
	}
	if slices.ContainsFunc(slices.Concat(s.Argv, s.Env), func(a string) bool { return strings.ContainsRune(a, 0) }) {
		return errors.New("sandbox: an argument or environment entry contains a NUL byte")
	}
	return nil
}

// environment is the whole environment of a tree, one entry for each key.
func environment(path, user string, l Layout, extra []string) []string {
	env := append([]string{
		"PATH=" + path,
		"HOME=" + l.Home,
		"USER=" + user,
		"LOGNAME=" + user,
		"SHELL=/bin/sh",
		"LANG=C.UTF-8",
	}, extra...)
	at := map[string]int{}
	var out []string
	for _, e := range env {
		key, _, _ := strings.Cut(e, "=")
		if i, ok := at[key]; ok {
			out[i] = e
			continue
		}
		at[key] = len(out)
		out = append(out, e)
	}
	return out
}
