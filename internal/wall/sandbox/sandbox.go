// Package sandbox runs one agent's process tree. It decides which parts of the machine the
// tree sees and how much it may use, and it ends the whole tree with the run.
//
// All kinds have the same contract, and one test suite (suite_linux_test.go) checks it.
// A supervisor, a small process of package inside, runs between the worker and the tree. If the worker
// is killed, the supervisor outlives it just long enough to kill the tree. If the worker is stopped,
// the supervisor freezes the tree until the worker runs again.
//
// A tree is sealed if [Spec] has a Relay: its network namespace has only loopback, and before its
// program starts, checks prove that nothing else can be reached (see [Proof]).
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The kinds of sandbox.
const (
	// Bubblewrap isolates files, processes and users by kernel namespaces.
	Bubblewrap = "bubblewrap"
	// Docker is a container of a Docker daemon. It isolates files, processes and the network, and
	// its programs come from an image. Its user is the worker's, without any capability.
	Docker = "docker"
	// Process isolates nothing: the tree runs as the worker's user and sees all that this
	// user sees. Only the limits and the end of the whole tree hold.
	Process = "process"
)

// Isolates reports whether a kind of sandbox keeps a tree from the files and processes of the host,
// and can seal it.
func Isolates(kind string) bool { return kind == Bubblewrap || kind == Docker }

// Sandbox starts process trees. It is safe for concurrent use.
type Sandbox interface {
	// Kind is one of the constants above.
	Kind() string

	// Layout returns the paths at which processes in the sandbox find the directories of
	// spec, for use in their arguments and environment.
	Layout(spec Spec) Layout

	// Start creates a sandbox and starts spec.Argv in it. After an error, nothing of the
	// sandbox is left, and the error gives the reason in one line. If the proof of a sealed
	// sandbox fails, the program never ran, and the error is an [*OpenError]. A program that
	// cannot be executed is not an error: as in a shell, it ends with a code other than zero
	// and the reason on its standard error. When ctx ends, the tree is killed.
	Start(ctx context.Context, spec Spec) (Running, error)
}

// Running is a started process tree.
type Running interface {
	// Stdin is the standard input of spec.Argv; the caller closes it.
	Stdin() io.WriteCloser

	// Stdout is the standard output of the tree, with the standard error if spec.Stderr is
	// nil. It ends when no process of the tree has it open. The caller reads it to the end
	// or closes it.
	Stdout() io.ReadCloser

	// Limits describes in a few words which of spec.Limits are enforced, and why the
	// others are not.
	Limits() string

	// Proof is what was checked before the program started. It is zero if spec.Relay is "".
	Proof() Proof

	// Wait waits for the end of the program and kills the processes that it left. It returns
	// once no process of the tree exists and spec.Stderr has all of its output. It may be
	// called more than once. An error means that the sandbox was lost; it never concerns the
	// program.
	Wait() (Exit, error)

	// Kill ends every process of the tree and returns when none exists. It may
	// be called more than once, and after the end.
	Kill()
}

// Spec is what to run and what it may see and use.
type Spec struct {
	// Dir and Home are directories of the host that the tree may write to: the workspace
	// and its HOME. Both are required and absolute.
	Dir, Home string
	// Cwd is where the program starts, relative to Dir; "" is Dir.
	Cwd string
	// Image is the file system of the tree instead of the host's programs, or nil. The kind Process
	// cannot use one. The kind Docker needs one, here or in its Options.
	Image *Image
	// ReadOnly are further files and directories of the host that the tree may read. The
	// kind Process ignores it.
	ReadOnly []Mount
	// Argv is the program and its arguments; a name without a slash is looked
	// up in PATH. It can be seen in the host's list of processes: no secrets.
	Argv []string
	// Env is the environment, KEY=value, the last of equal keys wins. It comes
	// on top of PATH, HOME, USER, LOGNAME, SHELL and LANG, which every kind
	// sets; nothing is taken from the worker's own environment.
	Env []string
	// Sockets makes standard input and output sockets instead of pipes. Other processes
	// cannot open a socket through /proc. Use it for programs that speak a protocol, but not
	// for scripts, which expect /dev/stdout to work.
	Sockets bool
	// Stderr gets the standard error of the tree; nil sends it to Stdout, in
	// the order written.
	Stderr io.Writer
	// Limits bound the tree as a whole.
	Limits Limits
	// Left returns how long the tree may run from now on. It is asked regularly. At zero or less, the
	// tree is frozen; it continues when Left returns more. nil: as long as this process runs.
	Left func() time.Duration
	// Exceeded, unless it is nil, is called once with the first resource whose limit the tree
	// exceeds, before the tree is killed for it. Wait returns after it has returned.
	Exceeded func(Resource)
	// Tmp and Shm are the sizes in bytes of /tmp and /dev/shm, which are memory of the tree;
	// 0 is the kernel's default. The kind Process ignores them.
	Tmp, Shm int64
	// Relay seals the tree. It is the path of a unix socket that listens, in a directory of
	// mode 0700 that belongs to this execution alone. The tree gets a network namespace with
	// nothing but loopback and no DNS. Each connection to [RelayAddress] in the sandbox (and
	// to the same port of ::1) becomes a connection to this socket. The socket must not be
	// replaced while the tree runs. The kind Process cannot seal a tree. "" leaves the tree in
	// the network of the host.
	Relay string
}

// RelayAddress is the address in a sealed sandbox at which Spec.Relay is reached. The relay
// listens before the program starts and ends with the sandbox. If the socket is gone,
// connections to this address are reset.
const RelayAddress = "127.0.0.1:3128"

// Image is a container image: an unpacked one for the kind Bubblewrap, and one of the daemon for the
// kind Docker. The tree may change an unpacked one: its changes are kept in a folder of the
// execution. The paths contain no colon, comma or backslash.
type Image struct {
	// Name is what the Docker daemon calls the image. The other kinds ignore it.
	Name string
	// Layers are sibling folders, the top one first. They stay as they are.
	Layers []string
	// Dir is a folder of the host for the changes. It may be used again after the end of the tree,
	// with the same layers. Limits.Disk counts it.
	Dir string
}

// Mount shows Source, a path of the host, at Target.
type Mount struct {
	Source string
	// Target is a path in the sandbox; "" is the same path as Source.
	Target string
}

// Resource is something that a tree of processes can use too much of.
type Resource string

// The resources.
const (
	Memory Resource = "memory"
	Disk   Resource = "disk"
)

// Limits bound a process tree. Zero disables a limit.
type Limits struct {
	// Memory is in bytes, with swap if the kernel counts it. Where no control group can limit
	// it, it is measured, and a tree that uses more is killed.
	Memory int64
	// Disk is in bytes: the content of Spec.Dir and Spec.Home and the changes to Spec.Image,
	// with deleted files that are still open. It is measured, and a tree that uses more is killed.
	Disk int64
	// Processes counts processes and threads.
	Processes int
	// CPUs is processor time per time: 1.5 is one and a half processors.
	CPUs float64
}

// Layout holds the paths of a Spec's directories as the tree sees them.
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
	// Exceeded is the resource whose limit the tree exceeded, or "". A control group that
	// limits memory kills single processes of the tree, so the program may have continued.
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

// Options select and configure a kind of sandbox.
type Options struct {
	// Kind defaults to Bubblewrap.
	Kind string
	// Exe is the path of this program. The tree sees it at Layout.Exe. It takes the place of Program
	// if that is missing: started with the argument "supervise", or with "enter" and more, it must
	// then call inside.Main. Required.
	Exe string
	// Program is a small executable that calls inside.Main, for this system. Several processes of it
	// start for each tree. If it is empty or cannot be executed here, Exe takes its place; see
	// [StartsSlowly].
	Program []byte
	// ProgramDir is the folder from which Program is executed. It is created, and trees do not see it.
	// The kind Docker uses Dir.
	ProgramDir string
	// Path is the PATH of the trees; the default is the usual directories of
	// a Linux system.
	Path string
	// Bwrap is the program of the kind Bubblewrap: a path, or a name to look up.
	// The default is "bwrap".
	Bwrap string
	// Dir is a folder for small files and sockets of the kind Docker, which requires it. The daemon
	// sees it at the same path. It also identifies the containers of this worker: [New] removes
	// those that an earlier process has left. No other process uses it at the same time.
	Dir string
	// DockerHost is the address of the daemon, unix:// and a path. The default is the same as in
	// Docker's own client.
	DockerHost string
	// DockerRuntime is the OCI runtime of the containers. The default is the daemon's.
	DockerRuntime string
	// DockerImage is the image of trees without Spec.Image. The daemon has it.
	DockerImage string
	// Silence is how long this process may be frozen (stopped, stuck in the kernel) before its
	// trees are frozen as well. Otherwise they would work on after their leases have ended. They
	// continue with this process. The default is two thirds of penstock.LeaseTime, which leaves
	// the time between two renewals.
	Silence time.Duration
	// AllowOpenNetwork accepts sandboxes that reach the network of the host. Without it, the kind
	// Process is rejected, and [Probe] requires that this machine can seal a tree.
	AllowOpenNetwork bool
	// Users are users of the machine. If this process is root, each tree of the kind Bubblewrap gets
	// one of them for itself, so that it does not use up what the kernel allows each user. The
	// default is the range of this process's user in /etc/subuid and /etc/subgid.
	Users IDRange
	// Trees is how many trees run at once at most. Where they share the worker's user, each can take
	// only a part of what the kernel allows that user. 4 by default.
	Trees int
	// Runs and Layers are existing folders below which trees of the kind Bubblewrap have their Spec.Dir,
	// and their Image.Layers. It depends on their file systems whether a tree can have a user of its own,
	// so it is tried there. Runs is the folder for temporary files by default, and Layers is Runs.
	Runs, Layers string
	// AllowUserNamespaces lets trees of the kind Bubblewrap create user namespaces, and with
	// them mounts and other namespaces. In one, a hostile program reaches far more of the
	// kernel. Without it, the kind needs a bwrap that can disable them.
	AllowUserNamespaces bool
}

// IDRange is a range of users of the machine that belong to nobody else, and of groups with the same
// numbers. Zero: none.
type IDRange struct{ First, Count int }

const defaultTrees = 4

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// check rejects a Spec that no kind can run.
func (s Spec) check() error {
	for _, dir := range []string{s.Dir, s.Home} {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("sandbox: directory %q is not an absolute path", dir)
		}
	}
	if s.Cwd != "" && !filepath.IsLocal(s.Cwd) {
		return fmt.Errorf("sandbox: working directory %q is outside the workspace", s.Cwd)
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

// checkRelay rejects a socket that others could reach or replace.
func (s Spec) checkRelay() error {
	if s.Relay == "" {
		return nil
	}
	if !filepath.IsAbs(s.Relay) {
		return fmt.Errorf("sandbox: relay socket %q is not an absolute path", s.Relay)
	}
	socket, err := os.Lstat(s.Relay)
	if err != nil {
		return fmt.Errorf("sandbox: relay socket: %w", err)
	}
	if socket.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("sandbox: relay socket %s is not a socket", s.Relay)
	}
	dir, err := os.Lstat(filepath.Dir(s.Relay))
	if err != nil {
		return fmt.Errorf("sandbox: relay socket: %w", err)
	}
	if dir.Mode().Perm() != 0o700 || !dir.IsDir() {
		return fmt.Errorf("sandbox: the directory of relay socket %s has mode %v instead of 0700", s.Relay, dir.Mode())
	}
	return nil
}

// environment returns the whole environment of a tree, with one entry for each key.
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
