package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// The test binary has more roles besides running the tests.
func TestMain(m *testing.M) {
	switch {
	case strings.HasPrefix(filepath.Base(os.Args[0]), "leak-"):
		syscall.Exit(leak())
	case len(os.Args) > 1 && os.Args[1] == "attack":
		syscall.Exit(attack(os.Args[2:]))
	case len(os.Args) > 1 && os.Args[1] == "calls":
		makeCalls()
		syscall.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == "supervise":
		syscall.Exit(inside.Main(os.Args[1:])) // not os.Exit, which waits for a second under the race detector
	case len(os.Args) > 1 && os.Args[1] == "enter":
		if slices.Contains(os.Args, inside.JoinArg) {
			pollAlways()
		}
		syscall.Exit(inside.Main(os.Args[1:]))
	case len(os.Args) > 1 && os.Args[1] == "spy":
		spy(os.Getenv("SECRET"))
		syscall.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == "keys":
		keys(os.Args[2:])
		syscall.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == "sockets":
		sockets(os.Args[2:])
		syscall.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == "fill":
		fill()
	case len(os.Args) > 1 && os.Args[1] == "hoard":
		hoard()
		syscall.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == "hello":
		fmt.Println("hello from this program")
		syscall.Exit(0) // likewise: with coverage on, os.Exit prints a warning
	case os.Getenv("SANDBOX_TEST_SERVER") != "":
		fmt.Fprintln(os.Stderr, serve())
		os.Exit(1)
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	var err error
	if programDir, err = os.MkdirTemp("", "penstock-inside-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programDir)
	return m.Run()
}

// pollAlways makes the runtime of Go use its descriptors all the time.
func pollAlways() {
	const many = 4
	runtime.GOMAXPROCS(many)
	for range many {
		go func() {
			for { // ends with the process
				<-time.After(time.Microsecond)
			}
		}()
	}
}

var kinds = []string{Bubblewrap, ownUser, withoutProgram, Process, Docker}

// ownUser is the kind Bubblewrap of a worker that is root and has a range of users.
const ownUser = "bubblewrap-with-own-users"

// withoutProgram is the kind Bubblewrap of a build without the small program: the test binary takes its
// place, with the race detector.
const withoutProgram = "bubblewrap-without-small-program"

// eachKind runs test for every kind of sandbox, at the same time.
func eachKind(t *testing.T, test func(t *testing.T, s Sandbox)) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, kind))
		})
	}
}

func open(t testing.TB, kind string) Sandbox {
	t.Helper()
	opts := Options{
		Kind: kind, Exe: self(t), Program: smallProgram(t), ProgramDir: programDir, AllowOpenNetwork: kind == Process,
	}
	if kind == withoutProgram {
		opts.Kind, opts.Program = Bubblewrap, nil
	}
	if kind == ownUser {
		if os.Geteuid() != 0 {
			t.Skip("only root can give each tree a user of its own")
		}
		opts.Kind, opts.Users = Bubblewrap, IDRange{2_000_000, 1000}
	}
	if kind == Docker {
		opts.Dir = t.TempDir()
		opts.DockerHost, opts.DockerImage = dockerHost(t)
	}
	if err := Probe(t.Context(), opts); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s, err := New(opts)
	if err == nil && kind == ownUser {
		err = SharesUser(s)
	}
	if err != nil {
		t.Fatal(err)
	}
	if why := StartsSlowly(s); why != nil && kind != withoutProgram {
		t.Fatal(why)
	}
	return s
}

// programDir is where the sandboxes of the tests have the small program.
var programDir string

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// spec returns a Spec with new directories that runs a shell script.
func spec(t testing.TB, script string, args ...string) Spec {
	t.Helper()
	return Spec{Dir: t.TempDir(), Home: t.TempDir(), Argv: append([]string{"/bin/sh", "-c", script, "sh"}, args...)}
}

func start(t testing.TB, s Sandbox, sp Spec) Running {
	t.Helper()
	r, err := s.Start(t.Context(), sp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Kill()
		_ = r.Stdin().Close()
		_ = r.Stdout().Close()
	})
	return r
}

// output runs sp to its end, which must be exit code 0.
func output(t testing.TB, s Sandbox, sp Spec) string {
	t.Helper()
	result, err := Run(t.Context(), s, sp)
	if err != nil || result.Code != 0 {
		t.Fatalf("got %v, %v, output:\n%s", result.Exit, err, result.Output)
	}
	return result.Output
}

// mark returns a number of seconds that no other process of the machine sleeps.
func mark() string {
	return fmt.Sprintf("%d.%09d", 10_000+rand.IntN(80_000), rand.IntN(1e9))
}

// marked lists the processes of the whole machine that have mark on their command line.
func marked(mark string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && bytes.Contains(content, []byte(mark)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// eventually waits until ok, which takes at most d on an idle machine.
func eventually(t testing.TB, d time.Duration, what string, ok func() bool) {
	t.Helper()
	d *= testkit.Patience
	deadline := time.Now().Add(d)
	for tick := time.NewTicker(5 * time.Millisecond); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("after %v, not yet: %s", d, what)
		}
	}
}

func TestStreamsAndExitCode(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		var stderr bytes.Buffer
		sp := spec(t, `cat; echo problem >&2; exit 7`)
		sp.Stderr = &stderr
		r := start(t, s, sp)
		go func() {
			_, _ = io.WriteString(r.Stdin(), "line one\nline two\n")
			_ = r.Stdin().Close()
		}()
		stdout, err := io.ReadAll(r.Stdout())
		if err != nil {
			t.Fatal(err)
		}
		exit, err := r.Wait()
		if err != nil {
			t.Fatal(err)
		}
		got := []string{string(stdout), stderr.String(), exit.String()}
		want := []string{"line one\nline two\n", "problem\n", "exit code 7"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEndings(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		for name, test := range map[string]struct {
			script string
			want   int
		}{
			"success":            {"exit 0", 0},
			"the highest code":   {"exit 255", 255},
			"a signal to itself": {"kill -SEGV $$", 128 + int(unix.SIGSEGV)},
			// Except for 32 and 33, which glibc reserves: GNU make starts its children with these
			// ignored.
			"signals are defaults": {`set -- $(grep SigIgn /proc/self/status); exit $((0x$2 & 0x7ffffffe7fffffff))`, 0},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				result, err := Run(t.Context(), s, spec(t, test.script))
				if err != nil || result.Code != test.want {
					t.Errorf("got %v, %v, want code %d, output:\n%s", result.Exit, err, test.want, result.Output)
				}
			})
		}
	})
}

func TestProgramHasTheStandardStreamsAndNoOtherFile(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		sp := spec(t, "")
		sp.Argv = []string{"ls", "/proc/self/fd"}
		if got, want := output(t, s, sp), "0\n1\n2\n3\n"; got != want { // 3 is the directory that ls reads
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestMissingProgram(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		for _, program := range []string{"no-such-agent", "/no/such-agent"} {
			sp := spec(t, "")
			sp.Argv = []string{program}
			result, err := Run(t.Context(), s, sp)
			if err != nil || result.Code == 0 || !strings.Contains(result.Output, program) {
				t.Errorf("%s: got %v, %v, output %q, want a code and the program's name", program, result.Exit, err, result.Output)
			}
		}
	})
}

func TestPlaces(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		sp := spec(t, `echo from inside > "$1/made"; cat "$1/given"; echo state > "$HOME/.state"; pwd; "$2" hello`)
		sp.Cwd = "repo/sub"
		if err := os.MkdirAll(filepath.Join(sp.Dir, sp.Cwd), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sp.Dir, "given"), []byte("from outside\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := s.Layout(sp)
		sp.Argv = append(sp.Argv, at.Dir, at.Exe)
		want := "from outside\n" + at.Dir + "/repo/sub\nhello from this program\n"
		if diff := cmp.Diff(want, output(t, s, sp)); diff != "" {
			t.Error(diff)
		}
		for file, want := range map[string]string{sp.Dir + "/made": "from inside\n", sp.Home + "/.state": "state\n"} {
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("%s: got %q, %v, want %q", filepath.Base(file), got, err, want)
			}
		}
	})
}

func TestEnvironmentHasOnlyTheGivenVariables(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		sp := spec(t, `env | sort`)
		sp.Env = []string{"TOKEN=first", "EMPTY=", "TOKEN=a=b \"c\"", "LANG=de_DE.UTF-8"}
		var got []string
		for line := range strings.Lines(output(t, s, sp)) {
			if key, _, _ := strings.Cut(line, "="); key != "PWD" && key != "OLDPWD" && key != "SHLVL" && key != "_" {
				got = append(got, strings.TrimSuffix(line, "\n"))
			}
		}
		name := map[string]string{Bubblewrap: insideUser, Docker: insideUser}[s.Kind()]
		if u, err := user.Current(); name == "" && err == nil {
			name = u.Username
		}
		want := []string{
			"EMPTY=", "HOME=" + s.Layout(sp).Home, "LANG=de_DE.UTF-8", "LOGNAME=" + name,
			"PATH=" + defaultPath, "SHELL=/bin/sh", `TOKEN=a=b "c"`, "USER=" + name,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEnvironmentIsOnNoCommandLine(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		secret := "secret-" + mark()
		sp := spec(t, `echo "$TOKEN"; read wait`)
		sp.Env = []string{"TOKEN=" + secret}
		r := start(t, s, sp)
		line := make([]byte, len(secret)+1)
		if _, err := io.ReadFull(r.Stdout(), line); err != nil || string(line) != secret+"\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		if pids := marked(secret); len(pids) > 0 {
			t.Errorf("the secret is on the command line of processes %v", pids)
		}
	})
}

func TestRunKeepsTheEndOfTheOutputInOrder(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		result, err := Run(t.Context(), s, spec(t, `for i in $(seq 1 2000); do echo out $i; echo err $i >&2; done; exit 3`))
		if err != nil || result.Code != 3 || len(result.Output) > TailSize || len(result.Output) < TailSize-10 {
			t.Fatalf("got %v, %v, %d bytes", result.Exit, err, len(result.Output))
		}
		if want := "out 1999\nerr 1999\nout 2000\nerr 2000\n"; !strings.HasSuffix(result.Output, want) {
			t.Errorf("got output that ends in %q", result.Output[len(result.Output)-80:])
		}
	})
}

func TestUnreadOutputBlocksNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		m := mark()
		sp := spec(t, `yes & yes >&2 & sleep "$1"`, m)
		sp.Stderr = brokenWriter{}
		r := start(t, s, sp)
		eventually(t, 10*time.Second, "running", func() bool { return sleeping(m) == 1 })
		r.Kill()
		if left := marked(m); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestFailedStartReportsWhyAndLeavesNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		good := spec(t, "exit 0")
		for name, test := range map[string]struct {
			change func(*Spec)
			want   string
		}{
			"no program":              {func(s *Spec) { s.Argv = nil }, "no program"},
			"a workspace of nowhere":  {func(s *Spec) { s.Dir = "" }, "not an absolute path"},
			"a relative home":         {func(s *Spec) { s.Home = "home" }, `"home" is not an absolute path`},
			"a working directory out": {func(s *Spec) { s.Cwd = "../other" }, "is outside the workspace"},
			"a relative mount":        {func(s *Spec) { s.ReadOnly = []Mount{{Source: "opt"}} }, `"opt"`},
			"an entry without key":    {func(s *Spec) { s.Env = []string{"A=1", "=x"} }, "entry 1 is not KEY=value"},
			"a NUL byte":              {func(s *Spec) { s.Env = []string{"A=1\x002"} }, "NUL"},
		} {
			t.Run(name, func(t *testing.T) {
				sp := good
				test.change(&sp)
				if _, err := s.Start(t.Context(), sp); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want an error with %q", err, test.want)
				}
			})
		}
	})
}

func TestManyAtTheSameTime(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		var all sync.WaitGroup
		for i := range 12 {
			sp := spec(t, `read line; echo "$1 $line" > result; exit "$1"`, strconv.Itoa(i))
			all.Go(func() {
				r, err := s.Start(t.Context(), sp)
				if err != nil {
					t.Error(err)
					return
				}
				fmt.Fprintln(r.Stdin(), "to", i)
				exit, err := r.Wait()
				got, _ := os.ReadFile(filepath.Join(sp.Dir, "result"))
				if want := fmt.Sprintf("%d to %d\n", i, i); err != nil || exit.Code != i || string(got) != want {
					t.Errorf("got %v, %v, %q, want code %d, %q", exit, err, got, i, want)
				}
			})
		}
		all.Wait()
	})
}
