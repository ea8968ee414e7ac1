package gate_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/gate"
)

const (
	token   = "the-token-that-writes"
	granted = "correct-horse-battery"
)

// world is a forge with acme/shop, a gate before it, and the clone of an agent whose pushes go to the gate.
type world struct {
	t          *testing.T
	forge      *testkit.GitServer
	shop       *testkit.Repository // of the forge
	gate       *gate.Gate
	url        string // of the gate's repository
	agent      string // the agent's clone
	home       string
	quarantine string            // its folder
	stop       func()            // ends the execution
	branch     map[string]string // that other threads have, or that nobody has

	reads atomic.Int64 // requests that the forge got

	mu      sync.Mutex
	results []gate.Result
	claims  []penstock.PushedBranch
}

func newWorld(t *testing.T, change ...func(*gate.Options)) *world {
	t.Helper()
	root := t.TempDir()
	w := &world{t: t, shop: testkit.Bare(t, root, "acme/shop.git"), branch: map[string]string{}, home: t.TempDir()}
	w.forge = testkit.NewGitServer(t, root, token)
	cache, err := git.Open(t.Context(), git.Options{
		Dir: filepath.Join(t.TempDir(), "mirrors"), Env: []string{"GIT_SSL_CAINFO=" + w.forge.CAFile},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "quarantine")
	w.quarantine = dir
	o := gate.Options{
		Repository: "acme/shop", Connection: "acme", Base: "main", Policy: penstock.DefaultPushPolicy(),
		Bot:   penstock.ForgeBot{Login: "penstock-bot", Email: "bot@example.com"},
		Known: secret.NewMasker(granted), Log: slog.New(slog.DiscardHandler),
		Open: func(ctx context.Context) (*git.Quarantine, error) {
			return git.NewQuarantine(ctx, cache, git.Source{URL: w.forge.URL + "/acme/shop.git", Password: token}, dir)
		},
		Claim: w.claim,
		Report: func(r gate.Result) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.results = append(w.results, r)
		},
	}
	for _, c := range change {
		c(&o)
	}
	done, stop := context.WithCancel(t.Context())
	w.stop = stop
	t.Cleanup(stop)
	w.gate = gate.New(done, o)
	server := httptest.NewServer(w.gate)
	t.Cleanup(server.Close)
	w.url = server.URL + "/acme/shop.git"
	w.agent = w.clone("agent")
	return w
}

// clone returns a clone of the forge's repository whose pushes go to the gate.
func (w *world) clone(name string) string {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), name)
	w.must(w.home, "clone", "-q", w.shop.Dir, dir)
	w.must(dir, "config", "remote.origin.pushurl", w.url)
	return dir
}

func (w *world) claim(_ context.Context, branches []penstock.PushedBranch) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claims = append(w.claims, branches...)
	refusals := make([]string, len(branches))
	for i, b := range branches {
		refusals[i] = w.branch[b.Name]
	}
	return refusals, nil
}

// git runs git as the agent does, in a folder.
func (w *world) git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=penstock-bot", "GIT_AUTHOR_EMAIL=bot@example.com", "GIT_COMMITTER_NAME=penstock-bot",
		"GIT_COMMITTER_EMAIL=bot@example.com", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow",
		"GIT_CONFIG_VALUE_0=always",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) must(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.git(dir, args...)
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// commit makes a branch from main with one commit that writes files.
func (w *world) commit(branch string, files map[string]string) {
	w.t.Helper()
	w.must(w.agent, "checkout", "-q", "-B", branch, "origin/main")
	w.add(files)
}

// add commits files to the current branch.
func (w *world) add(files map[string]string) {
	w.t.Helper()
	for name, content := range files {
		path := filepath.Join(w.agent, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	w.must(w.agent, "add", "-A", "-f")
	w.must(w.agent, "commit", "-q", "-m", "Change")
}

// refused pushes, and wants git to fail with these texts and the forge to stay as it is.
func (w *world) refused(args []string, want ...string) string {
	w.t.Helper()
	before := w.refs()
	out, err := w.git(w.agent, append([]string{"push", "origin"}, args...)...)
	if err == nil {
		w.t.Errorf("git push %v succeeds:\n%s", args, out)
	}
	for _, text := range want {
		if !strings.Contains(out, text) {
			w.t.Errorf("git push %v does not say %q:\n%s", args, text, out)
		}
	}
	if strings.Contains(out, token) {
		w.t.Errorf("git push %v shows the token:\n%s", args, out)
	}
	if after := w.refs(); after != before {
		w.t.Errorf("git push %v changes the forge:\n%s\n%s\n%s", args, before, after, out)
	}
	return out
}

func (w *world) pushed(args ...string) string {
	w.t.Helper()
	return w.must(w.agent, append([]string{"push", "origin"}, args...)...)
}

// refs are the refs of the forge.
func (w *world) refs() string {
	w.t.Helper()
	out, err := w.git(w.shop.Dir, "for-each-ref")
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// on returns the commit of a branch on the forge, "" if it has none.
func (w *world) on(branch string) string {
	w.t.Helper()
	out, err := w.git(w.shop.Dir, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// someone commits to a branch of the forge as a person does.
func (w *world) someone(branch string, files map[string]string) {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "someone")
	w.must(w.home, "clone", "-q", w.shop.Dir, dir)
	if _, err := w.git(dir, "checkout", "-q", branch); err != nil {
		w.must(dir, "checkout", "-q", "-b", branch)
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	w.must(dir, "add", "-A")
	w.must(dir, "-c", "user.name=Ada Brandt", "commit", "-q", "-m", "Mine", "--author", "Ada Brandt <ada@example.com>")
	w.must(dir, "push", "-q", "origin", "HEAD:refs/heads/"+branch)
}

// reported returns the refusals that were reported, "" for what was pushed.
func (w *world) reported() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, r := range w.results {
		list = append(list, strings.TrimSpace(r.Branch+" "+r.Refusal))
	}
	w.results = nil
	return slices.Clip(list)
}
