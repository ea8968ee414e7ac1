package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// served is a server process for tests for which testkit.Serve does not fit.
type served struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	data string
	done chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

func (s *served) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *served) logs() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

var servingURL = regexp.MustCompile(`msg=serving url=(\S+)`)

// serve starts a server on a free port and waits until it prints its address.
func serve(t *testing.T, env []string, args ...string) *served {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	// Not CommandContext: the test's context ends before its cleanups.
	cmd := exec.Command(
		testkit.Binary(t), append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, args...)...,
	)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	s := launch(t, cmd)
	s.data = data
	return s
}

// launch starts a server and waits until it prints its address.
func launch(t *testing.T, cmd *exec.Cmd) *served {
	t.Helper()
	s := &served{t: t, cmd: cmd, done: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = s, s
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait() // the state is in ProcessState
		close(s.done)
	}()
	t.Cleanup(func() { s.stop() })
	testkit.Eventually(t, timeout, func() error {
		found := servingURL.FindStringSubmatch(s.logs())
		if found == nil {
			return fmt.Errorf("it does not serve: %s", s.logs())
		}
		s.url = found[1]
		return nil
	})
	return s
}

// stop ends the server as a supervisor does, and returns its exit code.
func (s *served) stop() int {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-s.done:
	case <-time.After(testkit.Patience * timeout):
		_ = s.cmd.Process.Kill()
		<-s.done
		s.t.Errorf("it did not stop: %s", s.logs())
	}
	return s.cmd.ProcessState.ExitCode()
}

func (s *served) key() string {
	s.t.Helper()
	content, err := os.ReadFile(s.keyFile())
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}

func (s *served) keyFile() string { return filepath.Join(s.data, "admin.key") }

// client calls the binary with the server's address and key.
func (s *served) client(args ...string) called {
	s.t.Helper()
	return call(s.t, []string{"PENSTOCK_BASE_URL=" + s.url, "PENSTOCK_KEY_FILE=" + s.keyFile()}, args...)
}

func TestFirstStartMakesAKey(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	key := s.key()
	info, err := os.Stat(s.keyFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("admin.key has the mode %v (%v), want 0600", info.Mode(), err)
	}
	if !regexp.MustCompile(`^psk_[A-Za-z0-9_-]{43}$`).MatchString(key) {
		t.Errorf("got the key %q, want psk_ and 32 random bytes", key)
	}
	for _, want := range []string{
		"Your API key is in " + s.keyFile(), "curl -sS " + s.url + "/api/v1/agent/runs",
	} {
		testkit.Eventually(t, timeout, func() error { // it is printed after the address
			if !strings.Contains(s.logs(), want) {
				return fmt.Errorf("got %s, want %q in it", s.logs(), want)
			}
			return nil
		})
	}
	if strings.Contains(s.logs(), key) {
		t.Errorf("a log has the key: %s", s.logs())
	}
	s.client("key", "list").want(t, 0, "admin")
	if code := s.stop(); code != 0 {
		t.Errorf("a graceful stop ended with %d", code)
	}
}

// The server prints the key only to a terminal: other destinations of standard error may be stored,
// and other users may read them.
func TestATerminalIsShownTheFirstKeyOnce(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	start := func() *terminal {
		term := newTerminal(t)
		cmd := command(t, nil, "serve", "--listen", "127.0.0.1:0", "--data", data)
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		term.attach(cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, timeout, func() error { return term.shows("Penstock listens on") })
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		return term
	}
	first := start()
	key, err := os.ReadFile(filepath.Join(data, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(first.screen(), strings.TrimSpace(string(key))); n != 1 {
		t.Errorf("the key is shown %d times, want once: %s", n, first.screen())
	}
	if second := start(); strings.Contains(second.screen(), strings.TrimSpace(string(key))) {
		t.Errorf("the next start shows it again: %s", second.screen())
	}
}

func TestOperatorSetsTheFirstKey(t *testing.T) {
	t.Parallel()
	s := serve(t, []string{"PENSTOCK_BOOTSTRAP_KEY=" + someKey})
	call(t, []string{"PENSTOCK_BASE_URL=" + s.url, "PENSTOCK_API_KEY=" + someKey}, "run", "list").want(t, 0)
	if strings.Contains(s.logs(), someKey) {
		t.Error("the log shows the key")
	}
	if _, err := os.Stat(s.keyFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("admin.key is there: %v", err)
	}
}

// If a first start was killed after it wrote the key file and before it wrote the database, the
// next start uses the key in the file.
func TestKeyOfAStartThatWasCutOffIsUsed(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "admin.key"), []byte(someKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil, "--data", data)
	call(t, []string{"PENSTOCK_BASE_URL=" + s.url, "PENSTOCK_API_KEY=" + someKey}, "run", "list").want(t, 0)
}

func TestDataFolderBelongsToOneProcess(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"migrate"}} {
		call(t, nil, append(args, "--data", s.data)...).want(t, 78, fmt.Sprintf("process %d is using the data "+
			"folder", s.cmd.Process.Pid))
	}
	info, err := os.Stat(s.data)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data folder has the mode %v (%v), want 0700", info.Mode(), err)
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.done
	call(t, nil, "migrate", "--data", s.data).want(t, 0, "up to date") // the lock went with the process
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()
	call(t, nil, "serve", "--listen", address).want(
		t, 78, address+" is already in use: stop the process that uses it, or set --listen to another address",
	)
	call(t, nil, "doctor", "--listen", address).want(t, 1, "fail  address", "--listen")
}

// A stop notifies watchers, and completes while they are connected. A second signal stops the
// server at once.
func TestStop(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, "--no-worker")
	created := s.client("run", "create", "x")
	created.want(t, 0)
	request, err := http.NewRequestWithContext(
		t.Context(), http.MethodGet, s.url+"/api/v1/agent/runs/"+strings.TrimSpace(created.out)+"/events", nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if code := s.stop(); code != 0 {
		t.Errorf("it ended with %d: %s", code, s.logs())
	}
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Errorf("the stream was cut: %v", err)
	}
}

// The second signal stops the server although a request is in flight.
func TestSecondSignalEndsItAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(
		conn,
		"POST /api/v1/agent/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+s.key()+
			"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
	)
	if _, err := conn.Read(make([]byte, 25)); err != nil { // 100: it waits for the body
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, timeout, func() error { // it has begun to stop
		other, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			_ = other.Close()
			return errors.New("it still listens")
		}
		return nil
	})
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.done
	if status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v, want by the signal", s.cmd.ProcessState)
	}
}

// When a server stops, its active runs go back to the queue at once for the next server.
func TestStopRequeuesActiveRuns(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	id := startRun(t, env, "demo: run sleep 4\ndemo: run echo slept")
	testkit.Eventually(t, timeout, func() error { return inState(t, env, id, "INPROGRESS") })
	s.Restart()
	call(t, env, "run", "wait", id, "--timeout", "240s").want(t, 0, "SUCCEEDED")
}

// If an agent took over the port of a stopped server, returning clients would send it their keys.
func TestAStoppingServerKeepsItsPortFromAgents(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	// A sleep time that no other test uses identifies the process.
	nap := fmt.Sprintf("600.%d", time.Now().UnixNano())
	startRun(t, env, "demo: run trap '' TERM INT HUP; sleep "+nap+"; sleep "+nap)
	testkit.Eventually(t, timeout, func() error {
		if !isRunning(t, nap) {
			return errors.New("the command has not begun")
		}
		return nil
	})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.Stop()
	}()
	testkit.Eventually(t, timeout, func() error {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			return err
		}
		if isRunning(t, nap) {
			t.Error("the port is free while a command still runs")
		}
		return l.Close()
	})
	<-stopped
}

// isRunning reports whether a process has the word in its command line.
func isRunning(t *testing.T, word string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Skip("processes are not to be seen here")
	}
	return slices.ContainsFunc(files, func(file string) bool {
		line, err := os.ReadFile(file)
		return err == nil && bytes.Contains(line, []byte(word))
	})
}

func TestLogFormats(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.client("run", "list").want(t, 0)
	testkit.Eventually(t, timeout, func() error { // the line comes after the response
		if log := s.logs(); !strings.Contains(log, "msg=request") {
			return fmt.Errorf("got %s, want a line for the request", log)
		}
		return nil
	})
	cmd := command(
		t, nil, "migrate", "--log-format", "json", "--log-level", "debug", "--data", filepath.Join(t.TempDir(), "d"),
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestBehindAProxyThatEndsTLS(t *testing.T) {
	t.Parallel()
	s := serve(
		t, nil, "--listen", "0.0.0.0:0", "--trusted-proxies", "10.0.0.0/8, 127.0.0.1", "--public-url",
		"https://penstock.example.com/",
	)
	if !strings.Contains(s.logs(), "url=https://penstock.example.com ") {
		t.Errorf("got %s, want the public address", s.logs())
	}
}

func TestMetricsSayWhichBuildThisIs(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"penstock_build_info{", "go_goroutines", "process_resident_memory_bytes", "penstock_store_batch_members",
	} {
		if !bytes.Contains(body, []byte(name)) {
			t.Errorf("the metrics lack %s", name)
		}
	}
}

func TestMetricsAreOpenWhenAskedFor(t *testing.T) {
	t.Parallel()
	if got := serve(t, nil).status("/metrics"); got != http.StatusUnauthorized {
		t.Errorf("got %d, want 401", got)
	}
	if got := serve(t, nil, "--metrics-open").status("/metrics"); got != http.StatusOK {
		t.Errorf("with --metrics-open: got %d, want 200", got)
	}
}

// The server sends traces where the OTEL_ variables say, and nowhere without them.
func TestTracesAreSentWhenAskedFor(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 100)
	collector := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived <- r.URL.Path }),
	)
	t.Cleanup(collector.Close)
	s := serve(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL})
	s.client("run", "list").want(t, 0)
	s.stop() // sends what is left
	select {
	case path := <-arrived:
		if path != "/v1/traces" {
			t.Errorf("got a request for %s", path)
		}
	default:
		t.Errorf("no trace was sent: %s", s.logs())
	}
	none := []string{"OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}
	if s = serve(t, none); s.stop() != 0 ||
		len(arrived) > 0 {
		t.Errorf("without an exporter: %d requests, log %s", len(arrived), s.logs())
	}
	for _, wrong := range []string{"OTEL_TRACES_EXPORTER=carrier-pigeon", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json"} {
		env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, wrong}
		call(t, env, "serve", "--listen", "127.0.0.1:0").want(t, 78, "OTEL_")
	}
}

// A collector that speaks gRPC, and nothing else, gets traces with the protocol grpc.
func TestTracesAreSentOverGRPC(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	began := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return // the test is over
		}
		preface := make([]byte, len("PRI * HTTP/2.0"))
		_, _ = io.ReadFull(conn, preface) // the comparison fails
		_ = conn.Close()
		began <- string(preface)
	}()
	s := serve(t, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + listener.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
	})
	s.client("run", "list").want(t, 0)
	s.stop()
	select {
	case got := <-began:
		if got != "PRI * HTTP/2.0" {
			t.Errorf("the connection begins with %q", got)
		}
	default:
		t.Errorf("no trace was sent: %s", s.logs())
	}
}

// A supervisor restarts a server whose database is temporarily unavailable, but not one with wrong
// settings.
func TestServeReportsWhyItHasNoDatabase(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		database string
		code     int
		says     []string
	}{
		"nobody listens": {
			"postgres://me:hunter2@127.0.0.1:1/x", 69,
			[]string{"cannot be reached", "start postgres://me:xxxxx@127.0.0.1:1/x", "--database"},
		},
		"no such port": {
			"postgres://me:hunter2@127.0.0.1:99999/x", 78, []string{"invalid port", "correct --database"},
		},
		"no such port, a query": {
			"postgres://me@127.0.0.1:99999/x?password=hunter2", 78, []string{"invalid port", "correct --database"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"serve", "migrate"} {
				got := call(
					t, []string{"PENSTOCK_DATABASE=" + test.database, "PENSTOCK_LISTEN=127.0.0.1:0"}, command, "--data", t.TempDir(),
				)
				got.want(t, test.code, test.says...)
				if strings.Contains(got.out+got.err, "hunter2") {
					t.Errorf("%s shows the password: %s%s", command, got.out, got.err)
				}
			}
		})
	}
	t.Run("no such database", func(t *testing.T) {
		t.Parallel()
		u, err := url.Parse(testkit.Postgres(t))
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/nowhere"
		call(
			t, []string{"PENSTOCK_DATABASE=" + u.String()}, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(),
		).want(t, 78, `database "nowhere" does not exist`, "correct --database")
	})
}
