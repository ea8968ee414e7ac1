package git

import (
	"bytes"
	"errors"
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

func open(t *testing.T, o Options) *Cache {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.AllowLocal = true
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// git runs git in dir as a developer would, and returns its output.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + searchPath, "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main",
		"GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// origin makes a repository with two commits on main, a branch and a tag.
func origin(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, "init", "-q")
	commit(t, dir, "README.md", "one\n")
	git(t, dir, "tag", "-a", "-m", "first", "v1")
	git(t, dir, "branch", "feature/x")
	commit(t, dir, "README.md", "two\n")
	return dir
}

func commit(t *testing.T, dir, name, content string) (id string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "change "+name)
	return git(t, dir, "rev-parse", "HEAD")
}

func fileURL(dir string) string { return "file://" + dir }

// site is a Git server over HTTP.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	packs    int // responses that moved objects
	header   string
}

// serve serves the repositories below root. wrap may replace the handler.
func serve(t *testing.T, root string, wrap func(http.Handler) http.Handler) *site {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory",
			"GIT_CONFIG_VALUE_0=*",
		},
		Stderr: io.Discard,
	}
	s := &site{}
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		backend.ServeHTTP(rec, r)
		s.mu.Lock()
		s.requests++
		s.header = r.Header.Get("Authorization")
		if bytes.Contains(rec.Body.Bytes(), []byte("PACK")) {
			s.packs++
		}
		s.mu.Unlock()
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
	if wrap != nil {
		handler = wrap(handler)
	}
	s.Server = httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

func (s *site) counts() (requests, packs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.packs
}

// program writes a script in another process. If this process wrote it, a fork of a concurrent test
// might still hold the file open, and then the script could not be executed.
func program(t *testing.T, path, text string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `cat > "$1" && chmod 755 "$1"`, "sh", path)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
