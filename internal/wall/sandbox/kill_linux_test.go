package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// hostile starts processes marked with $1 that ignore all signals they can, in separate sessions,
// orphaned, and one of them below an ended parent.
const hostile = `
trap '' TERM INT HUP QUIT
( ( setsid sleep "$1" & ) & )
setsid sh -c 'sleep "$1" & setsid setsid sleep "$1" & wait' sh "$1" &
( setsid sh -c '( setsid sleep "$1" & ); exec sleep "$1"' sh "$1" & )
sleep "$1" &
`

const hostileCount = 6 // sleeps; the shells that hold the mark come and go

func TestWaitEndsWhatTheProgramLeftRunning(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		m := mark()
		r := start(t, s, spec(t, hostile+`read line; exit 5`, m))
		eventually(t, 10*time.Second, "hostile tree", func() bool { return sleeping(m) == hostileCount })
		_ = r.Stdin().Close()
		exit, err := r.Wait()
		left := marked(m)
		if err != nil || exit.Code != 5 || len(left) > 0 {
			t.Errorf("got %v, %v, processes left %v", exit, err, left)
		}
	})
}

func TestKillEndsTheWholeTree(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		m := mark()
		r := start(t, s, spec(t, hostile+`wait; sleep "$1"`, m))
		eventually(t, 10*time.Second, "hostile tree", func() bool { return sleeping(m) == hostileCount })
		var all sync.WaitGroup
		for range 3 {
			all.Go(r.Kill)
		}
		all.Wait()
		if left := marked(m); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
		if exit, err := r.Wait(); err != nil || exit.Code != 128+int(unix.SIGKILL) {
			t.Errorf("got %v, %v", exit, err)
		}
	})
}

func TestKillOutrunsProcessesThatKeepForking(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		m := mark()
		// Each process lives only until its next fork, so a listed process no longer exists when it
		// is signaled.
		hop := `hop() { if [ -e stop ]; then exit; fi; ( hop "$1" & ); exit; }; ( hop "$1" & ) ; ( hop "$1" & ); sleep "$1"`
		r := start(t, s, spec(t, hop, m))
		eventually(t, 10*time.Second, "hopping", func() bool { return len(marked(m)) > 1 })
		r.Kill()
		if left := marked(m); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
	})
}

func TestContextEndsTheTree(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		m := mark()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := s.Start(ctx, spec(t, hostile+`wait`, m))
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, 10*time.Second, "hostile tree", func() bool { return sleeping(m) == hostileCount })
		cancel()
		if _, err := r.Wait(); err != nil {
			t.Error(err)
		}
		if left := marked(m); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
		if _, err := s.Start(ctx, spec(t, "exit 0")); !errors.Is(err, context.Canceled) {
			t.Errorf("start after the end: got %v, want %v", err, context.Canceled)
		}
		if _, err := Run(ctx, s, spec(t, "exit 0")); !errors.Is(err, context.Canceled) {
			t.Errorf("run after the end: got %v, want %v", err, context.Canceled)
		}
	})
}

// sleeping counts the sleeps with mark.
func sleeping(mark string) int {
	return len(slices.DeleteFunc(marked(mark), func(pid int) bool {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return err != nil || string(name) != "sleep\n"
	}))
}

// serve plays a server: it starts one tree or several in sequence, and waits for their end.
func serve() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	opts := Options{
		Kind: os.Getenv("SANDBOX_TEST_SERVER"), Exe: exe, AllowOpenNetwork: true, Dir: os.Getenv("SANDBOX_TEST_STATE"),
		DockerHost: os.Getenv("SANDBOX_TEST_DOCKER"), DockerImage: os.Getenv("SANDBOX_TEST_IMAGE"),
	}
	opts.ProgramDir = filepath.Dir(os.Getenv("SANDBOX_TEST_PROGRAM"))
	if opts.Program, err = os.ReadFile(os.Getenv("SANDBOX_TEST_PROGRAM")); err != nil {
		return err
	}
	if silence := os.Getenv("SANDBOX_TEST_SILENCE"); silence != "" {
		if opts.Silence, err = time.ParseDuration(silence); err != nil {
			return err
		}
	}
	s, err := New(opts)
	if err != nil {
		return err
	}
	dir := os.Getenv("SANDBOX_TEST_DIR")
	sp := Spec{Dir: dir, Home: dir, Argv: append([]string{"/bin/sh", "-c", hostile + "wait", "sh"}, os.Args[1:]...)}
	if limit := os.Getenv("SANDBOX_TEST_PROCESSES"); limit != "" {
		if sp.Limits.Processes, err = strconv.Atoi(limit); err != nil {
			return err
		}
	}
	for {
		if _, err := s.Start(context.Background(), sp); err != nil {
			return err
		}
		if os.Getenv("SANDBOX_TEST_FOREVER") == "" {
			select {}
		}
	}
}

func server(t *testing.T, kind, mark string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(self(t), mark)
	env = append(env, "SANDBOX_TEST_SERVER="+kind, "SANDBOX_TEST_DIR="+t.TempDir(), "SANDBOX_TEST_STATE="+t.TempDir())
	program, err := placeProgram(programDir, smallProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "SANDBOX_TEST_PROGRAM="+program.path)
	if kind == Docker {
		host, image := dockerHost(t)
		env = append(env, "SANDBOX_TEST_DOCKER="+host, "SANDBOX_TEST_IMAGE="+image)
	}
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func TestKilledServerLeavesNoProcess(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		m := mark()
		cmd := server(t, s.Kind(), m)
		eventually(t, 10*time.Second, "hostile tree", func() bool { return sleeping(m) == hostileCount })
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		eventually(t, 10*time.Second, "no process left", func() bool { return len(marked(m)) == 0 })
	})
}

// A stopped server cannot renew its leases. Its trees must do nothing after the leases have expired,
// and continue if the server does.
func TestTreeIsStoppedWhileItsServerIs(t *testing.T) {
	testkit.TakesLong(t)
	eachKind(t, func(t *testing.T, s Sandbox) {
		m := mark()
		cmd := server(t, s.Kind(), m, "SANDBOX_TEST_SILENCE=8s")
		eventually(t, 10*time.Second, "hostile tree", func() bool { return sleeping(m) == hostileCount })
		<-time.After(9 * time.Second)
		tree := slices.DeleteFunc(marked(m), func(pid int) bool { return pid == cmd.Process.Pid })
		for range 2 {
			if n := sleeping(m); n != hostileCount || stopped(tree) != 0 {
				t.Fatalf("of a server that runs %d of %d processes are left, %d stopped", n, hostileCount, stopped(tree))
			}
			if err := cmd.Process.Signal(unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			eventually(t, 20*time.Second, "a stopped tree", func() bool { return stopped(tree) == len(tree) })
			if err := cmd.Process.Signal(unix.SIGCONT); err != nil {
				t.Fatal(err)
			}
			eventually(t, 20*time.Second, "a tree that runs", func() bool { return stopped(tree) == 0 })
		}
		_ = cmd.Process.Signal(unix.SIGSTOP)
		eventually(t, 20*time.Second, "a stopped tree", func() bool { return stopped(tree) == len(tree) })
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		eventually(t, 10*time.Second, "no process left", func() bool { return len(marked(m)) == 0 })
	})
}

// stopped counts the processes that have got a SIGSTOP.
func stopped(pids []int) (n int) {
	for _, pid := range pids {
		if stat, exists := inside.ReadStat(pid); exists && stat.Stopped {
			n++
		}
	}
	return n
}

// A tree runs only as long as it is allowed to. What it has stopped itself stays stopped, and a shell
// does not take a process for stopped by its user.
func TestTreeIsStoppedWhenItMayNotRun(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		m := mark()
		var left atomic.Int64
		left.Store(int64(time.Minute))
		sp := spec(t, `sleep "$1" & sleep "$1" & sleep 0.5; kill -STOP $!
			sh -c 'while [ ! -e go ]; do sleep 0.1; done; : "$1"' sh "$1"; echo "ended $?"; read line`, m)
		sp.Left = func() time.Duration { return time.Duration(left.Load()) }
		if s.Kind() != Docker { // whose image has no bash; that shell has job control without a terminal
			sp.Argv[0], sp.Argv[2] = "bash", "set -m; "+sp.Argv[2]
		}
		r := start(t, s, sp)
		eventually(t, 10*time.Second, "all processes", func() bool { return sleeping(m) == 2 && stopped(marked(m)) == 1 })
		tree := marked(m)
		left.Store(0)
		eventually(t, 10*time.Second, "a stopped tree", func() bool { return stopped(tree) == len(tree) })
		left.Store(int64(time.Minute))
		eventually(t, 10*time.Second, "one stopped process", func() bool { return stopped(tree) == 1 })
		if err := os.WriteFile(filepath.Join(sp.Dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var last string
		for lines := bufio.NewScanner(r.Stdout()); !strings.HasPrefix(last, "ended") && lines.Scan(); {
			last = lines.Text()
		}
		if last != "ended 0" {
			t.Errorf("got %q, want the end of the command", last)
		}
		left.Store(-1)
		eventually(t, 10*time.Second, "a stopped tree", func() bool { return stopped(tree) >= 2 })
		r.Kill()
		if left := marked(m); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
	})
}

// The machine may sleep for longer than the tree may run. The timer of the supervisor counts this time,
// so that the tree does not run on when the machine wakes. No test lets a machine sleep.
func TestTimerOfATreeCountsSleep(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		r, ok := start(t, s, spec(t, `read line`)).(*tree)
		if !ok {
			t.Fatal("another kind of sandbox")
		}
		eventually(t, 10*time.Second, "a timer of CLOCK_BOOTTIME that runs", func() bool {
			files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", r.pid()))
			return slices.ContainsFunc(files, func(file string) bool {
				info, _ := os.ReadFile(file)
				return strings.Contains(string(info), fmt.Sprintf("clockid: %d\n", unix.CLOCK_BOOTTIME)) &&
					!strings.Contains(string(info), "it_value: (0, 0)")
			})
		})
	})
}

// A server can be killed at any moment of a start.
func TestServerKilledWhileItStartsTreesLeavesNoProcess(t *testing.T) {
	testkit.TakesLong(t)
	eachKind(t, func(t *testing.T, s Sandbox) {
		for range 8 {
			m := mark()
			cmd := server(t, s.Kind(), m, "SANDBOX_TEST_FOREVER=1")
			eventually(t, 10*time.Second, "first tree", func() bool { return len(marked(m)) > 2 })
			<-time.After(rand.N(60 * time.Millisecond))
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			eventually(t, 10*time.Second, "no process left", func() bool { return len(marked(m)) == 0 })
		}
	})
}

func TestKilledSupervisorIsAnErrorAndLeavesNoProcess(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		m := mark()
		r := start(t, s, spec(t, `sleep "$1"; exit 0`, m))
		eventually(t, 10*time.Second, "running", func() bool { return sleeping(m) == 1 })
		if tree, ok := r.(*tree); !ok || unix.Kill(tree.pid(), unix.SIGKILL) != nil {
			t.Fatal("the supervisor was not killed")
		}
		if exit, err := r.Wait(); err == nil || exit.Code != 128+int(unix.SIGKILL) {
			t.Errorf("got %v, %v, want an error", exit, err)
		}
		eventually(t, 10*time.Second, "no process left", func() bool { return len(marked(m)) == 0 })
	})
}
