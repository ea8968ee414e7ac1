package testkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
)

// ServeOptions configures [Serve]. The zero value is a server with SQLite and an embedded worker. API
// keys have no rate limit, unless Args sets one.
type ServeOptions struct {
	Database string   // URL; empty: SQLite in the data folder
	Args     []string // more arguments of serve
	Binary   string   // default: what [Binary] returns
	// Env lists more variables (NAME=value). From its own environment, the test passes only
	// variables that programs need to run, so that no key of a developer is used.
	Env []string
}

// Server is a running server: the real binary.
type Server struct {
	URL  string // http://127.0.0.1:PORT, the same after a restart
	Key  string // an admin's API key
	Data string // the data folder

	tb      testing.TB
	options ServeOptions
	dir     string // holds the data folder, HOME and the log
	running *exec.Cmd
	exited  chan struct{} // closed when running has ended
	left    []process     // started by earlier processes of this server
}

// Time limits of a server on an idle machine: until it is ready, and until it has stopped. Tests wait
// [Patience] times as long. goneWithin is how long they wait until all processes that it started have ended.
const (
	readyWithin = 60 * time.Second
	stopWithin  = 60 * time.Second
	goneWithin  = 30 * time.Second
)

// Serve starts a server with a fresh data folder on a free loopback port and waits until it is
// ready. It stops the server at the end of the test. The test fails, with the end of the log, if
// the server has ended early, does not stop gracefully, or leaves a process behind.
func Serve(tb testing.TB, o ServeOptions) *Server {
	tb.Helper()
	dir := tb.TempDir()
	s := &Server{
		URL:     "http://127.0.0.1:" + FreePort(tb),
		Key:     "psk_" + strings.ReplaceAll(penstock.NewID()+penstock.NewID(), "-", ""),
		Data:    filepath.Join(dir, "data"),
		tb:      tb,
		options: o,
		dir:     dir,
	}
	for _, folder := range []string{s.Data, filepath.Join(dir, "home")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(s.end)
	s.start()
	return s
}

// Replica starts another server on the same database, with the same keys and files, like two
// servers behind a load balancer. The database must be PostgreSQL.
func (s *Server) Replica(o ServeOptions) *Server {
	s.tb.Helper()
	o.Database = s.options.Database
	o.Args = append(
		[]string{"--keyset", filepath.Join(s.Data, "keyset.json"), "--blobs", filepath.Join(s.Data, "blobs")}, o.Args...,
	)
	o.Env = append([]string{"PENSTOCK_BOOTSTRAP_KEY=" + s.Key}, o.Env...)
	other := Serve(s.tb, o)
	other.Key = s.Key
	return other
}

// PeakMemory returns the peak memory of the running server, in bytes.
func (s *Server) PeakMemory() int64 {
	s.tb.Helper()
	if err := s.alive(); err != nil {
		s.tb.Fatal(err)
	}
	return PeakMemory(s.tb, s.running.Process.Pid)
}

// PeakMemory returns the peak memory of a running process, in bytes (VmHWM of proc(5)). Without
// /proc, the test is skipped.
func PeakMemory(tb testing.TB, pid int) int64 {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Skip(err)
	}
	var kilobytes int64
	if _, after, found := strings.Cut(string(status), "VmHWM:"); !found {
		tb.Fatalf("no VmHWM in %s", status)
	} else if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		tb.Fatal(err)
	}
	return kilobytes << 10
}

// Logs returns the whole output of the server so far, over all restarts.
func (s *Server) Logs() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.tb.Error(err)
	}
	return string(text)
}

// Stop ends the server gracefully with SIGTERM, like a supervisor.
func (s *Server) Stop() {
	s.tb.Helper()
	if err := s.terminate(); err != nil {
		s.tb.Fatal(err)
	}
}

// Kill9 kills the server with SIGKILL. The kernel and the supervisors must end the processes that
// it has started: see [Server.Leftovers].
func (s *Server) Kill9() {
	s.tb.Helper()
	if err := s.alive(); err != nil {
		s.tb.Fatal(err)
	}
	// Stop it first, so that it starts nothing between the check and the kill.
	_ = s.running.Process.Signal(syscall.SIGSTOP)
	s.left = append(s.left, descendants(s.running.Process.Pid)...)
	_ = s.running.Process.Kill()
	<-s.exited
	s.running = nil
}

// Signal sends the running server a signal, such as SIGSTOP and SIGCONT.
func (s *Server) Signal(signal syscall.Signal) {
	s.tb.Helper()
	if err := s.alive(); err != nil {
		s.tb.Fatal(err)
	}
	if err := s.running.Process.Signal(signal); err != nil {
		s.tb.Fatal(err)
	}
}

// Restart starts the server again, on the same folder and port. It first stops a running server.
func (s *Server) Restart() {
	s.tb.Helper()
	if s.running != nil {
		s.Stop()
	}
	s.start()
}

// Leftovers lists the processes that a server of this folder started and that still exist after its
// end.
func (s *Server) Leftovers() []string {
	var commands []string
	for _, p := range s.leftoverProcesses() {
		commands = append(commands, p.command())
	}
	return commands
}

func (s *Server) start() {
	s.tb.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	args := []string{"serve", "--listen", strings.TrimPrefix(s.URL, "http://"), "--data", s.Data}
	if s.options.Database != "" {
		args = append(args, "--database", s.options.Database)
	}
	binary := s.options.Binary
	if binary == "" {
		binary = Binary(s.tb)
	}
	// Not CommandContext, because the test's context ends before the cleanup that stops the server
	// gracefully.
	cmd := exec.Command(binary, append(args, s.options.Args...)...)
	cmd.Env = append(s.environment(), s.options.Env...)
	cmd.Dir = s.dir
	// A file, not a pipe: with a pipe, Wait would wait for every child that holds it.
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state is in cmd.ProcessState
		close(exited)
	}()
	s.running, s.exited = cmd, exited
	Eventually(s.tb, readyWithin, s.ready)
}

func (s *Server) environment() []string {
	env := []string{
		"HOME=" + filepath.Join(s.dir, "home"),
		"PENSTOCK_LIMIT_REQUESTS_PER_MINUTE=0", // on a slow machine, tests ask more often while they wait
		"PENSTOCK_BOOTSTRAP_KEY=" + s.Key,
	}
	for _, name := range []string{"PATH", "TMPDIR", "LANG", "GOCOVERDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (s *Server) ready() error {
	if err := s.alive(); err != nil {
		s.tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz: %s: %s", res.Status, body)
	}
	return nil
}

// alive returns an error if the server does not run.
func (s *Server) alive() error {
	if s.running == nil {
		return errors.New("the server does not run")
	}
	select {
	case <-s.exited:
		state := s.running.ProcessState
		s.running = nil
		return fmt.Errorf("the server ended by itself: %s", state)
	default:
		return nil
	}
}

func (s *Server) terminate() error {
	if err := s.alive(); err != nil {
		return err
	}
	s.left = append(s.left, descendants(s.running.Process.Pid)...)
	_ = s.running.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(Patience * stopWithin):
		_ = s.running.Process.Signal(syscall.SIGQUIT) // prints where it hangs
		<-s.exited
		s.running = nil
		return fmt.Errorf("the server did not stop within %s of SIGTERM", Patience*stopWithin)
	}
	state := s.running.ProcessState
	s.running = nil
	if !state.Success() {
		return fmt.Errorf("the server stopped with %s", state)
	}
	return nil
}

// end is the cleanup.
func (s *Server) end() {
	if s.running != nil {
		if err := s.terminate(); err != nil {
			s.tb.Error(err)
		}
	}
	err := poll(goneWithin, func() error {
		if left := s.Leftovers(); len(left) > 0 {
			return fmt.Errorf("the server is gone and left these processes:\n%s", strings.Join(left, "\n"))
		}
		return nil
	})
	if err != nil {
		s.tb.Error(err)
		for _, p := range s.leftoverProcesses() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	showLog(s.tb, "server", s.Logs)
}

// showLog shows the end of a process's log if the test has failed, without the requests that succeeded: a test
// that waits makes many.
func showLog(tb testing.TB, process string, log func() string) {
	tb.Helper()
	if !tb.Failed() {
		return
	}
	var kept []byte
	for line := range strings.Lines(log()) {
		if !strings.Contains(line, "msg=request") || !strings.Contains(line, "status=2") {
			kept = append(kept, line...)
		}
	}
	tb.Logf("the end of the log of the %s:\n%s", process, kept[max(0, len(kept)-8<<10):])
}

// leftoverProcesses returns the known descendants of earlier processes of this server. While no server
// runs, it also returns all other processes that work in its folder.
func (s *Server) leftoverProcesses() []process {
	var left []process
	seen := map[int]bool{}
	all := s.left
	if s.running == nil {
		all = append(slices.Clip(all), workingIn(s.dir)...)
	}
	for _, p := range all {
		if !seen[p.pid] && p.alive() {
			left = append(left, p)
			seen[p.pid] = true
		}
	}
	return left
}

// FreePort reserves a loopback port for the whole test, including restarts. The port is below the
// ports of outgoing connections. A lock reserves it against other test processes on this machine.
func FreePort(tb testing.TB) string {
	tb.Helper()
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("penstock-test-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	for range 1000 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		unlock, err := lockFile(filepath.Join(dir, port), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue
		}
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			unlock()
			continue
		}
		_ = listener.Close()
		tb.Cleanup(unlock)
		return port
	}
	tb.Fatal("found no free port")
	return ""
}
