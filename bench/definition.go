package main

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi" //nolint:gosec // G504 is about Go before 1.6.3
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
)

const (
	treeFiles    = 500 // of the validated and applied tree
	treeRounds   = 30
	repositories = 200
	pollFor      = 40 * time.Second // longer than the interval between polls, including its random part
)

// definitions measures factory files: how long it takes to validate a tree of 500 files and to
// change one of them, and the cost of polling 200 repositories every 30 s.
func (b *bench) definitions(ctx context.Context) error {
	if err := b.onEach(func(e engine) error { return b.trees(ctx, e) }); err != nil {
		return err
	}
	return b.polls(ctx)
}

// tree is a factory of 500 files; the round changes one of them.
func tree(round int) map[string]string {
	files := map[string]string{
		"factory.yaml":         "schemaVersion: v1alpha1\nname: Shop\nagentDefaults:\n  model: demo/offline\n",
		"agents/lead/agent.md": fmt.Sprintf("---\nagentType: FOREMAN\n---\n\nLead, for the %dth time.\n", round),
	}
	prose := strings.Repeat(
		"Look at what was asked for, do it, and check the result before you say that it is done.\n", 12,
	)
	for n := 0; len(files) < treeFiles; n++ {
		files[fmt.Sprintf(
			"agents/fixer-%d/agent.md", n,
		)] = "---\ndescription: Fixes one part of the shop.\nagentType: IMPLEMENT\n---\n\n" + prose
		files[fmt.Sprintf("skills/habit-%d/SKILL.md", n)] = fmt.Sprintf(
			"---\nname: habit-%d\ndescription: How we do one thing.\n---\n\n", n,
		) + prose
		files[fmt.Sprintf("automations/fix-%d/automation.md", n)] = fmt.Sprintf(
			"---\nagent: fixer-%d\ntriggers:\n  - provider: github\n    event: issue_labeled\n    filter:\n      repos: "+
				"[acme/shop]\n      labels: [part-%d]\n---\n\n%s",
			n, n, prose)
	}
	return files
}

func (b *bench) trees(ctx context.Context, e engine) error {
	p, end, err := b.serveFresh(ctx, e.fresh)
	if err != nil {
		return err
	}
	defer end()
	var factory penstock.Factory
	if err := p.call(ctx, http.MethodPost, "/factory", map[string]any{"files": tree(0)}, &factory); err != nil {
		return err
	}
	var validating, applying []time.Duration
	for round := range treeRounds {
		files := map[string]any{"files": tree(round + 1)}
		start := time.Now()
		if err := p.call(ctx, http.MethodPost, "/factory-files/validate", files, nil); err != nil {
			return err
		}
		validating = append(validating, time.Since(start))
		start = time.Now()
		if err := p.call(ctx, http.MethodPut, "/factory/"+factory.UID+"/definition", files, nil); err != nil {
			return err
		}
		applying = append(applying, time.Since(start))
	}
	report := func(what string, took []time.Duration, most time.Duration) {
		slices.Sort(took)
		median, longest := took[len(took)/2], took[len(took)-1]
		b.out.row(
			row{
				what: e.name + "  " + what + ", p50", penstock: millis(median),
				aim: below(float64(median), float64(most), fmt.Sprintf("< %d ms", most.Milliseconds())),
			},
		)
		b.out.row(row{what: e.name + "  " + what + ", longest", penstock: millis(longest)})
	}
	report("validate 500 files", validating, 100*time.Millisecond)
	report("apply one changed file of 500", applying, 50*time.Millisecond)
	return nil
}

// polls measures the CPU time of a server and its git processes while it polls many repositories.
func (b *bench) polls(ctx context.Context) error {
	root, err := manyRepositories(ctx, b.dir)
	if err != nil {
		return err
	}
	host, err := newGitHost(ctx, root)
	if err != nil {
		return err
	}
	defer host.Close()
	for _, from := range []struct{ name, base string }{{"https", host.URL + "/"}, {"file", "file://" + root + "/"}} {
		for _, e := range b.engines() {
			if err := b.poll(ctx, e, host, from.name, from.base); err != nil {
				return fmt.Errorf("%s, %s: %w", e.name, from.name, err)
			}
		}
	}
	return nil
}

func (b *bench) poll(ctx context.Context, e engine, host *gitHost, name, base string) error {
	url, drop, err := e.fresh(ctx)
	if err != nil {
		return err
	}
	defer drop()
	p, err := b.serveWith(ctx, url, []string{"GIT_SSL_CAINFO=" + host.certificate}, "--worker=false", "--git-allow-file")
	if err != nil {
		return err
	}
	defer p.stop()
	if err := sleep(ctx, settled); err != nil {
		return err
	}
	idle, err := p.share(ctx, 2*settled)
	if err != nil {
		return err
	}
	for n := range repositories {
		place := map[string]string{"url": base + repositoryName(n), "path": repositoryName(n)}
		if err := p.call(ctx, http.MethodPost, "/factory", map[string]any{"repository": place}, nil); err != nil {
			return err
		}
	}
	if err := p.tracked(ctx); err != nil {
		return err
	}
	asked := host.requests.Load()
	share, err := p.share(ctx, pollFor)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s  %d over %s every 30 s", e.name, repositories, name)
	b.out.row(
		row{what: what + ", of one core", penstock: fmt.Sprintf("%.1f %%", 100*share), aim: below(share, .05, "< 5 %")},
	)
	b.out.row(row{what: e.name + "  the same server with none", penstock: fmt.Sprintf("%.1f %%", 100*idle)})
	if name == "https" {
		b.out.note(fmt.Sprintf("the host was asked %d times in %s", host.requests.Load()-asked, pollFor))
	}
	return nil
}

// share returns the share of one core that a server uses for a while, including its child processes
// that have ended.
func (p *process) share(ctx context.Context, d time.Duration) (float64, error) {
	start, used := time.Now(), p.cpuTimeOfAll()
	if err := sleep(ctx, d); err != nil {
		return 0, err
	}
	return float64(p.cpuTimeOfAll()-used) / float64(time.Since(start)), nil
}

// cpuTimeOfAll returns [process.cpuTime] plus the time of children that have ended.
func (p *process) cpuTimeOfAll() time.Duration {
	stat := oneLine(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	var ticks int64
	for _, field := range fields[min(11, len(fields)):min(15, len(fields))] {
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// tracked waits until every factory equals its repository.
func (p *process) tracked(ctx context.Context) error {
	deadline := time.Now().Add(3 * time.Minute)
	for {
		var page struct {
			Factories []penstock.Factory `json:"factories"`
		}
		if err := p.call(ctx, http.MethodGet, "/factory?limit=500", nil, &page); err != nil {
			return err
		}
		applied := 0
		for _, f := range page.Factories {
			if f.Definition.Status == penstock.DefinitionApplied {
				applied++
			}
			if f.Definition.Problem+f.Definition.Detail != "" {
				return errors.New(f.Definition.Problem + f.Definition.Detail)
			}
		}
		if applied == repositories {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d repositories were applied in time", applied, repositories)
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

func repositoryName(n int) string { return fmt.Sprintf("factory-%d", n) }

// manyRepositories creates one repository with many folders, each with a factory, and as many names
// for the repository.
func manyRepositories(ctx context.Context, dir string) (root string, err error) {
	root = filepath.Join(dir, "repositories")
	origin := filepath.Join(root, "origin")
	for n := range repositories {
		folder := filepath.Join(origin, repositoryName(n))
		if err := os.MkdirAll(filepath.Join(folder, "agents", "lead"), 0o700); err != nil {
			return "", err
		}
		yaml := fmt.Sprintf(
			"schemaVersion: v1alpha1\nname: %s of git\nagentDefaults: {model: demo/offline}\n", repositoryName(n),
		)
		if err := errors.Join(
			os.WriteFile(filepath.Join(folder, "factory.yaml"), []byte(yaml), 0o600),
			os.WriteFile(
				filepath.Join(folder, "agents", "lead", "agent.md"), []byte("---\nagentType: FOREMAN\n---\nLead.\n"), 0o600,
			),
			os.Symlink(origin, filepath.Join(root, repositoryName(n))),
		); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "-A"},
		{"-c", "user.name=Bench", "-c", "user.email=bench@example.com", "commit", "-q", "-m", "Begin"},
	} {
		if out, err := command(ctx, "git", append([]string{"-C", origin}, args...)...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return root, nil
}

// gitHost serves repositories over https, as Git hosts do.
type gitHost struct {
	*httptest.Server

	certificate string // file
	requests    atomic.Int64
}

func newGitHost(ctx context.Context, root string) (*gitHost, error) {
	path, err := output(ctx, "git", "--exec-path")
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath(filepath.Join(path, "git-http-backend"))
	if err != nil {
		return nil, err
	}
	h := &gitHost{certificate: filepath.Join(root, "certificate.pem")}
	backend := &cgi.Handler{
		Path: program, Stderr: io.Discard,
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory",
			"GIT_CONFIG_VALUE_0=*",
		},
	}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.requests.Add(1)
		backend.ServeHTTP(w, r)
	}))
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	if err := os.WriteFile(h.certificate, block, 0o600); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}
