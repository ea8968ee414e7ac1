package testkit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Forge is a [GitServer] with the parts of Gitea's API that connections use. It answers as Gitea 1.26 does:
// scopes are checked before a repository is looked for.
type Forge struct {
	*GitServer

	mu     sync.Mutex
	tokens map[string][]string // their scopes
	repos  int
	calls  []string
	answer func(http.ResponseWriter, *http.Request) bool
}

// NewForge starts a forge with the repositories below root. Its tokens are "writer", "reader", which can only
// read, and "powerless".
func NewForge(tb testing.TB, root string) *Forge {
	tb.Helper()
	f := &Forge{GitServer: NewGitServer(tb, root, ""), repos: 3, tokens: map[string][]string{
		"writer": {"write:repository", "write:issue", "read:user"},
		"reader": {"read:repository", "read:issue", "read:user"}, "powerless": {"read:misc"},
	}}
	f.Break(f.serve)
	return f
}

// Answer sets what answers each request first. If it returns true, it has responded. nil removes it.
func (f *Forge) Answer(answer func(http.ResponseWriter, *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// Repositories sets how many repositories acme has.
func (f *Forge) Repositories(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.repos = n
}

// Grant gives a token scopes. Without any, the forge no longer knows it.
func (f *Forge) Grant(token string, scopes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tokens[token] = scopes; scopes == nil {
		delete(f.tokens, token)
	}
}

// Calls lists the requests since the last call, as METHOD PATH.
func (f *Forge) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

func (f *Forge) serve(w http.ResponseWriter, r *http.Request) bool {
	f.mu.Lock()
	f.calls = append(f.calls, r.Method+" "+r.URL.Path)
	answer, repos := f.answer, f.repos
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		_, token, _ = r.BasicAuth()
	}
	scopes, known := f.tokens[token]
	f.mu.Unlock()
	if answer != nil && answer(w, r) {
		return true
	}
	if !known {
		w.Header().Set("WWW-Authenticate", `Basic realm="Gitea"`)
		respond(w, http.StatusUnauthorized, map[string]string{"message": "invalid username, password or token"})
		return true
	}
	path, api := strings.CutPrefix(r.URL.Path, "/api/v1")
	need := "read:repository"
	if strings.HasSuffix(path, "/git-receive-pack") || r.URL.RawQuery == "service=git-receive-pack" ||
		api && r.Method != http.MethodGet {
		need = "write:repository"
	}
	switch {
	case path == "/user":
		need = "read:user"
	case strings.Contains(path, "/issues/"):
		need = "write:issue"
	}
	if !slices.Contains(scopes, need) && !slices.Contains(scopes, strings.Replace(need, "read", "write", 1)) {
		respond(w, http.StatusForbidden, map[string]string{"message": fmt.Sprintf(
			"token does not have at least one of required scope(s), required=[%s], token scope=%s", need,
			strings.Join(scopes, ","),
		)})
		return true
	}
	switch {
	case !api:
		return false
	case path == "/user":
		respond(w, http.StatusOK, map[string]any{"id": 42, "login": "penstock-bot", "email": "bot@example.com"})
	case path == "/user/repos":
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		list := []any{}
		for i := (page - 1) * 20; i < min(page*20, repos); i++ { // MAX_RESPONSE_ITEMS: 20
			list = append(list, map[string]any{
				"id": i + 1, "full_name": fmt.Sprintf("acme/shop%d", i), "default_branch": "main", "private": true,
				"permissions": map[string]bool{"push": i%2 == 0},
			})
		}
		respond(w, http.StatusOK, list)
	case strings.HasSuffix(path, "/assignees"): // all accounts that may write
		respond(w, http.StatusOK, []any{map[string]any{"id": 42, "login": "penstock-bot"}, map[string]any{
			"id": 3, "login": "ada",
		}})
	case path == "/repos/search":
		respond(w, http.StatusOK, map[string]any{"ok": true, "data": []any{}})
	case strings.HasPrefix(path, "/repos/acme/shop") && r.Method == http.MethodGet:
		respond(w, http.StatusOK, map[string]any{"id": 7, "full_name": "acme/shop"})
	case r.Method == http.MethodPost && strings.HasPrefix(path, "/repos/acme/shop"):
		respond(w, http.StatusCreated, map[string]any{})
	default:
		respond(w, http.StatusNotFound, map[string]string{"message": "The target couldn't be found."})
	}
	return true
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// Bare makes a bare repository below root that can be pushed to, with one commit on main.
func Bare(tb testing.TB, root, name string) *Repository {
	tb.Helper()
	source := NewRepository(tb, tb.TempDir(), "source")
	source.Commit("first", map[string]string{"README.md": "# Shop\n"})
	dir := filepath.Join(root, name)
	source.Git("clone", "-q", "--bare", source.Dir, dir)
	source.Git("-C", dir, "config", "http.receivepack", "true")
	return &Repository{Dir: dir}
}
