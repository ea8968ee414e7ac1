package testkit

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestServerKeepsWhatItHasWhenKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*testing.T) ServeOptions{
		"sqlite":   func(*testing.T) ServeOptions { return ServeOptions{} },
		"postgres": func(t *testing.T) ServeOptions { return ServeOptions{Database: Postgres(t)} },
	}
	for name, options := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Serve(t, options(t))
			for _, end := range []func(){func() {}, s.Kill9, s.Stop, func() {}} {
				end()
				s.Restart()
				if got := status(t, s); got != http.StatusOK {
					t.Errorf("got %d for the first key, want 200", got)
				}
			}
		})
	}
}

func TestServersRunBesideEachOther(t *testing.T) {
	t.Parallel()
	first, second := Serve(t, ServeOptions{}), Serve(t, ServeOptions{Args: []string{"--worker=false"}})
	first.Key, second.Key = second.Key, first.Key
	if a, b := status(t, first), status(t, second); a != http.StatusUnauthorized || b != http.StatusUnauthorized {
		t.Errorf("got %d and %d for the other's key, want 401", a, b)
	}
}

func TestReplicasShareKeys(t *testing.T) {
	t.Parallel()
	s := Serve(t, ServeOptions{Database: Postgres(t)})
	other := s.Replica(ServeOptions{})
	if got := status(t, other); got != http.StatusOK || other.URL == s.URL || other.Key != s.Key {
		t.Errorf("got %d from %s for the key of %s, want 200", got, other.URL, s.URL)
	}
}

func TestPeakMemoryOfAServer(t *testing.T) {
	t.Parallel()
	if got := Serve(t, ServeOptions{}).PeakMemory(); got < 10<<20 || got > 1<<30 {
		t.Errorf("got %d bytes", got)
	}
}

// TestServerThatMisbehavesFailsItsTest provokes everything that Serve promises to notice.
func TestServerThatMisbehavesFailsItsTest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		options ServeOptions
		do      func(*testing.T, *Server)
		want    string
	}{
		{
			name: "it ends by itself",
			do: func(_ *testing.T, s *Server) {
				_ = s.running.Process.Kill()
				<-s.exited
			},
			want: "the server ended by itself: signal: killed",
		},
		{
			name:    "it does not start",
			options: ServeOptions{Args: []string{"--no-such-flag"}},
			want:    "the server ended by itself: exit status 64",
		},
		{
			name: "a process is left behind",
			do: func(t *testing.T, s *Server) {
				child, err := os.StartProcess("/bin/sleep", []string{"sleep", "600"}, &os.ProcAttr{Dir: s.Data})
				if err != nil {
					t.Fatal(err)
				}
				go func() { _, _ = child.Wait() }()
			},
			want: "left these processes:\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			r.run(func() {
				s := Serve(r, test.options)
				if test.do != nil {
					test.do(t, s)
				}
			})
			const end = "the end of the log of the server"
			if got := r.String(); !strings.Contains(got, test.want) || !strings.Contains(got, end) {
				t.Errorf("the test was told %q, want %q and the log", got, test.want)
			}
		})
	}
}

func TestServerInheritsNoVariablesFromTheTest(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "a developer's own")
	s := Serve(t, ServeOptions{Env: []string{"SOME_SETTING=mine"}})
	environment, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(s.running.Process.Pid), "environ"))
	if err != nil {
		t.Skip(err)
	}
	if got := string(environment); strings.Contains(got, "ANTHROPIC") || !strings.Contains(got, "SOME_SETTING=mine") {
		t.Errorf("got %q", got)
	}
}

func TestReservedPortsAreNotGivenTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 50 {
		port := FreePort(t)
		if seen[port] {
			t.Fatalf("port %s was given twice", port)
		}
		seen[port] = true
	}
	path := filepath.Join(os.TempDir(), fmt.Sprintf("penstock-test-ports-%d", os.Getuid()), FreePort(t))
	if _, err := lockFile(path, syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		t.Error("a port that is taken can be taken")
	}
}

// status is the server's response to a caller with its key.
func status(t *testing.T, s *Server) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v1/me", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// recorder is a test that may fail without failing this one.
type recorder struct {
	testing.TB
	strings.Builder

	failed   bool
	cleanups []func()
}

type fatal struct{}

// run runs a test's body and then its cleanups.
func (r *recorder) run(body func()) {
	func() {
		defer func() {
			if cause := recover(); cause != nil && cause != (fatal{}) {
				panic(cause)
			}
		}()
		body()
	}()
	for len(r.cleanups) > 0 {
		last := len(r.cleanups) - 1
		next := r.cleanups[last]
		r.cleanups = r.cleanups[:last]
		next()
	}
}

func (r *recorder) Helper()                         {}
func (r *recorder) Cleanup(f func())                { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool                    { return r.failed }
func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(r, format+"\n", args...) }
func (r *recorder) Error(args ...any)               { r.failed = true; fmt.Fprintln(r, args...) }
func (r *recorder) Fatal(args ...any)               { r.Error(args...); panic(fatal{}) }
