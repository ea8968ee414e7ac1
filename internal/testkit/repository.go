package testkit

import (
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Repository is a real Git repository with the branch main checked out.
type Repository struct {
	Dir string
	tb  testing.TB
}

// NewRepository creates an empty repository at dir/name. Without git, the test is skipped, and
// fails in CI.
func NewRepository(tb testing.TB, dir, name string) *Repository {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal(err)
		}
		tb.Skip(err)
	}
	r := &Repository{filepath.Join(dir, name), tb}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	r.Git("init", "-q", "-b", "main")
	return r
}

// URL returns the file: URL of the repository.
func (r *Repository) URL() string { return "file://" + r.Dir }

// Git runs git in the repository as a developer would, and returns its output.
func (r *Repository) Git(args ...string) string {
	r.tb.Helper()
	return r.GitWith("", args...)
}

// GitWith is [Repository.Git] with a standard input.
func (r *Repository) GitWith(stdin string, args ...string) string {
	r.tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.Dir, strings.NewReader(stdin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.Dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		"GIT_AUTHOR_NAME=Ada Brandt", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada Brandt",
		"GIT_COMMITTER_EMAIL=ada@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Commit replaces all files of the branch, and returns the commit's id.
func (r *Repository) Commit(message string, files map[string]string) string {
	r.tb.Helper()
	if r.Git("ls-files") != "" {
		r.Git("rm", "-q", "-r", "-f", "--ignore-unmatch", ".")
	}
	for name, content := range files {
		name = filepath.Join(r.Dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			r.tb.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			r.tb.Fatal(err)
		}
	}
	r.Git("add", "-A")
	r.Git("commit", "-q", "--allow-empty", "-m", message)
	return r.Git("rev-parse", "HEAD")
}

// GitServer serves repositories over HTTPS with git http-backend, like Git hosts.
type GitServer struct {
	*httptest.Server

	CAFile string // with the certificate that its clients must trust

	mu       sync.Mutex
	password string
	broken   func(http.ResponseWriter, *http.Request) bool
}

// NewGitServer serves the repositories below root. If password is not "", it requires this password
// of the user x-access-token.
func NewGitServer(tb testing.TB, root, password string) *GitServer {
	tb.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		tb.Skip(err)
	}
	s := &GitServer{password: password, CAFile: filepath.Join(tb.TempDir(), "ca.pem")}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory",
			"GIT_CONFIG_VALUE_0=*",
		},
		Stderr: io.Discard,
	}
	s.Server = httptest.NewTLSServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(backend, w, r) }),
	)
	tb.Cleanup(s.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(s.CAFile, certificate, 0o600); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *GitServer) serve(backend http.Handler, w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	password, broken := s.password, s.broken
	s.mu.Unlock()
	if broken != nil && broken(w, r) {
		return
	}
	if user, given, _ := r.BasicAuth(); password != "" && (user != "x-access-token" || given != password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	r.Header.Del("Authorization") // otherwise the backend would require its own
	rec := httptest.NewRecorder()
	backend.ServeHTTP(rec, r)
	maps.Copy(w.Header(), rec.Header())
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// SetPassword changes the required password.
func (s *GitServer) SetPassword(password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.password = password
}

// Break sets a handler for every request. If it returns true, it has responded. nil removes it.
func (s *GitServer) Break(broken func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}
