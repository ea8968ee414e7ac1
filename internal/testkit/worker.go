package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// WorkerOptions configures [Server.Worker].
type WorkerOptions struct {
	Args []string // more arguments of worker
	// Env lists more variables (NAME=value). From its own environment, the test passes only PATH.
	Env []string
	// Prepare is called with the data folder before the worker starts; nil leaves it missing.
	Prepare func(data string)
}

// Worker is a worker process beside its server: the real binary.
type Worker struct {
	Data string // the data folder
	// Exited is closed when the process has ended.
	Exited chan struct{}

	tb  testing.TB
	cmd *exec.Cmd
	log bytes.Buffer
}

// Worker starts a worker of this server, with a key and a data folder of its own. It kills the
// worker at the end of the test.
func (s *Server) Worker(tb testing.TB, o WorkerOptions) *Worker {
	tb.Helper()
	dir := tb.TempDir()
	w := &Worker{Data: filepath.Join(dir, "data"), Exited: make(chan struct{}), tb: tb}
	keyFile := filepath.Join(dir, "key")
	if err := os.WriteFile(keyFile, []byte(s.workerKey(tb)), 0o600); err != nil {
		tb.Fatal(err)
	}
	if o.Prepare != nil {
		if err := os.Mkdir(w.Data, 0o700); err != nil {
			tb.Fatal(err)
		}
		o.Prepare(w.Data)
	}
	args := []string{"worker", "--server", s.URL, "--key-file", keyFile, "--data", w.Data}
	// Not CommandContext, because the test's context ends before its cleanups.
	w.cmd = exec.Command(Binary(tb), append(args, o.Args...)...)
	w.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + tb.TempDir()}, o.Env...)
	w.cmd.Stderr = &w.log
	if err := w.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = w.cmd.Wait() // the state is in ProcessState
		close(w.Exited)
	}()
	tb.Cleanup(func() {
		w.Kill9()
		showLog(tb, "worker", w.Logs)
	})
	return w
}

// workerKey creates an API key for a worker.
func (s *Server) workerKey(tb testing.TB) string {
	tb.Helper()
	r, err := http.NewRequestWithContext(
		tb.Context(), http.MethodPost, s.URL+"/api/v1/keys", strings.NewReader(`{"name":"box","scopes":["worker"]}`),
	)
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	var created struct {
		Key string `json:"key"`
	}
	if err == nil {
		err = json.Unmarshal(body, &created)
	}
	if err != nil || created.Key == "" {
		tb.Fatalf("create a key of a worker: %s: %v: %s", res.Status, err, body)
	}
	return created.Key
}

// Signal stops, freezes or kills the worker.
func (w *Worker) Signal(signal syscall.Signal) {
	w.tb.Helper()
	select {
	case <-w.Exited:
	default:
		_ = w.cmd.Process.Signal(signal) // it may have ended since
	}
}

// Kill9 kills the worker with SIGKILL, and waits until it has ended.
func (w *Worker) Kill9() {
	w.tb.Helper()
	w.Signal(syscall.SIGKILL)
	<-w.Exited
}

// Stop ends the worker gracefully.
func (w *Worker) Stop() {
	w.tb.Helper()
	w.Signal(syscall.SIGTERM)
	<-w.Exited
	if code := w.cmd.ProcessState.ExitCode(); code != 0 {
		w.tb.Error(fmt.Errorf("the worker ended with %d: %s", code, w.log.String()))
	}
}

// ExitCode returns the exit code of the worker, after its end.
func (w *Worker) ExitCode() int {
	<-w.Exited
	return w.cmd.ProcessState.ExitCode()
}

// Logs returns the output of the worker after its end.
func (w *Worker) Logs() string {
	<-w.Exited
	return w.log.String()
}
