package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/execution/agent"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/supply/blob"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
	"github.com/penstock-dev/penstock/internal/wall/inside"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// The test binary is also the program that the sandboxes start: the supervisor, the built-in agent,
// and agents that misbehave.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "supervise":
		syscall.Exit(inside.Main(os.Args[1:])) // not os.Exit: the race detector's takes a second
	case "enter":
		syscall.Exit(inside.Main(os.Args[1:]))
	case "agent":
		_ = os.MkdirAll(os.Getenv("STATE"), 0o700)
		_ = os.WriteFile(filepath.Join(os.Getenv("STATE"), "environment"), []byte(strings.Join(os.Environ(), "\n")), 0o600)
		err := agent.Run(context.Background(), agent.Config{
			In: os.Stdin, Out: os.Stdout, StateDir: os.Getenv("STATE"), Env: os.Environ(), Directives: true,
			Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case harness.FrontCommand:
		syscall.Exit(agent.Front(os.Args[2:], os.Environ()))
	case "misbehave":
		os.Exit(misbehave(os.Args[2]))
	case "intrude":
		os.Exit(intrude(os.Stdout, len(os.Args) > 2))
	}
	os.Exit(m.Run())
}

// world is a control plane over a new SQLite database, with workers and a user.
type world struct {
	*control.Rules
	t     *testing.T
	admin penstock.Principal
	repos *git.Cache
	plane *plane
	url   string // of the database
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	url := "sqlite://" + filepath.Join(dir, "penstock.db")
	s, err := store.Open(t.Context(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	keyset, err := secret.OpenKeyset(t.Context(), secret.KeysetFile{Path: filepath.Join(dir, "keyset.json")})
	if err != nil {
		t.Fatal(err)
	}
	repos, err := git.Open(t.Context(), git.Options{Dir: filepath.Join(dir, "mirrors"), AllowLocal: true})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, repos: repos, url: url}
	w.Rules = control.New(run.Deps{
		Store: s, Blobs: blobs, Keyset: keyset, Log: quiet(t), PublicURL: "https://penstock.test",
		Harnesses: []string{"misbehaving"},
		Models:    penstock.Models(), Repositories: repos,
		Defaults: penstock.Config{ModelID: penstock.ModelOffline, Harness: &penstock.Harness{Type: penstock.HarnessBuiltin}},
	})
	w.plane = &plane{Control: w.Executions.Control()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = s.Close()
		_ = blobs.Close()
	})
	_, key, err := w.Keys.Bootstrap(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if w.admin, err = w.Keys.Authenticate(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	return w
}

// quiet sends the log to the test, at the level at which a person should act.
func quiet(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// ownUsers is bubblewrap whose runs have users of their own.
const ownUsers = "bubblewrap-with-own-users"

// eachKind runs a test in a world and a sandbox of each kind.
func eachKind(t *testing.T, test func(w *world, box sandbox.Sandbox)) {
	t.Parallel()
	for _, kind := range []string{sandbox.Bubblewrap, ownUsers, sandbox.Process} {
		t.Run(kind, func(t *testing.T) {
			if kind == ownUsers {
				testkit.TakesLong(t)
			}
			w := newWorld(t)
			test(w, newSandbox(t, kind))
		})
	}
}

func newSandbox(t *testing.T, kind string) sandbox.Sandbox {
	t.Helper()
	options := sandbox.Options{Kind: kind, Exe: self(t), AllowOpenNetwork: true}
	if kind == ownUsers {
		if os.Geteuid() != 0 {
			t.Skip("only root can give each run a user of its own")
		}
		options.Kind, options.Users = sandbox.Bubblewrap, sandbox.IDRange{First: 2_200_000, Count: 1000}
	}
	if err := sandbox.Probe(t.Context(), options); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	box, err := sandbox.New(options)
	if err == nil && kind == ownUsers {
		err = sandbox.SharesUser(box)
	}
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// start runs a worker in the world. stop requeues its runs and waits for its end, as does the end
// of the test.
func (w *world) start(change func(*worker.Options)) (*worker.Worker, func()) {
	w.t.Helper()
	o := worker.Options{
		Control: w.plane, Log: quiet(w.t), Host: "here", Local: true, Concurrency: 4, Dir: w.t.TempDir(),
		Repositories: w.repos, CheckpointBytes: 1 << 30,
		BaseURL: "http://127.0.0.1:1", Harnesses: programs(),
	}
	if change != nil {
		change(&o)
	}
	if o.Sandbox == nil && o.Demo == nil {
		o.Sandbox = newSandbox(w.t, sandbox.Process)
	}
	wk, err := worker.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = wk.Run(ctx)
	}()
	stop := func() {
		cancel()
		<-done
	}
	w.t.Cleanup(stop)
	return wk, stop
}

func in(box sandbox.Sandbox) func(*worker.Options) {
	return func(o *worker.Options) { o.Sandbox = box }
}

// programs are the built-in agent and the misbehaving ones.
func programs() map[string]harness.Program {
	return map[string]harness.Program{
		"builtin": {
			Argv: []string{"{exe}", "agent"},
			Env:  map[string]string{"STATE": "{home}/state", "OPENAI_API_KEY": "provider-key-123"}, EnvForTools: true,
			State: []string{"state"},
		},
		"misbehaving": {Argv: []string{"{exe}", "misbehave", "as told"}},
		"command":     {Protocol: harness.ProtocolCommand, Argv: []string{"/bin/sh", "-c", `sh -c "$(cat | tail -n 1)"`}},
	}
}

// create creates a run of the built-in agent with a script of demo: lines.
func (w *world) create(req penstock.RunRequest, lines ...string) string {
	w.t.Helper()
	if req.Prompt == "" {
		req.Prompt = strings.Join(lines, "\n")
	}
	created, err := w.Runs.Create(w.t.Context(), w.admin, req, "API")
	if err != nil {
		w.t.Fatal(err)
	}
	return created.ID
}

func (w *world) followUp(id string, lines ...string) {
	w.t.Helper()
	if _, err := w.Runs.FollowUp(
		w.t.Context(), w.admin, id, run.FollowupRequest{Message: strings.Join(lines, "\n")},
	); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) get(id string) penstock.Run {
	w.t.Helper()
	run, err := w.Runs.Read(w.t.Context(), w.admin, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// timeout limits waits for short operations: other tests share the machine.
const timeout = time.Minute

// becomes waits until the run is in the state.
func (w *world) becomes(id string, want penstock.State) penstock.Run {
	w.t.Helper()
	var run penstock.Run
	testkit.Eventually(w.t, timeout, func() error {
		if run = w.get(id); run.State != want {
			return fmt.Errorf("the run is %s (%+v), not %s", run.State, run.StatusMessage, want)
		}
		return nil
	})
	return run
}

// events returns the log of an ended run.
func (w *world) events(id string) []penstock.Event {
	w.t.Helper()
	stream, err := w.Streams.Watch(w.t.Context(), w.admin, id, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer stream.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), testkit.Patience*timeout)
	defer cancel()
	var all []penstock.Event
	for {
		some, err := stream.Next(ctx)
		all = append(all, some...)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// says waits until the log of the run contains the text.
func (w *world) says(id, text string) {
	w.t.Helper()
	stream, err := w.Streams.Watch(w.t.Context(), w.admin, id, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer stream.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), testkit.Patience*timeout)
	defer cancel()
	var seen strings.Builder
	for {
		some, err := stream.Next(ctx)
		for _, e := range some {
			seen.Write(e.Data)
			seen.WriteByte('\n')
		}
		if strings.Contains(seen.String(), text) {
			return
		}
		if err != nil {
			w.t.Fatalf("the run never says %q (%v):\n%s", text, err, seen.String())
		}
	}
}

// blocks returns the blocks of a run's conversation that pick selects, in order, as the texts that
// pick returns.
func (w *world) blocks(id string, pick func(role string, b penstock.Block) (text string, yes bool)) []string {
	w.t.Helper()
	c, err := w.RunConversation(w.t.Context(), w.admin, id)
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, step := range c.Steps {
		for _, m := range step.Messages {
			for _, b := range m.Content {
				if text, yes := pick(m.Role, b); yes {
					list = append(list, text)
				}
			}
		}
	}
	return list
}

// texts returns the messages of a role in a run's conversation.
func (w *world) texts(id, role string) []string {
	w.t.Helper()
	return w.blocks(id, func(by string, b penstock.Block) (string, bool) {
		return b.Text, by == role && b.Type == penstock.BlockText
	})
}

// inputs returns the inputs of the actions with a name.
func (w *world) inputs(id, name string) []string {
	w.t.Helper()
	return w.blocks(id, func(_ string, b penstock.Block) (string, bool) {
		return string(b.Input), b.Type == penstock.BlockAction && b.Name == name
	})
}

// outputs returns the results of a run's actions with a name.
func (w *world) outputs(id, name string) []string {
	w.t.Helper()
	return w.blocks(id, func(_ string, b penstock.Block) (string, bool) {
		return string(b.Output), b.Type == penstock.BlockActionResult && b.Name == name
	})
}

// timelineTypes returns the types of a run's timeline.
func (w *world) timelineTypes(id string) []string {
	w.t.Helper()
	events, err := w.Runs.Timeline(w.t.Context(), w.admin, id)
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, e := range events {
		list = append(list, e.Type)
	}
	return list
}

// payloads returns the payloads of the timeline events of a type.
func (w *world) payloads(id, moment string) []map[string]any {
	w.t.Helper()
	events, err := w.Runs.Timeline(w.t.Context(), w.admin, id)
	if err != nil {
		w.t.Fatal(err)
	}
	var list []map[string]any
	for _, e := range events {
		if e.Type == moment {
			list = append(list, e.Payload)
		}
	}
	return list
}

func count(list []string, what string) (n int) {
	for _, s := range list {
		if s == what {
			n++
		}
	}
	return n
}

// artifact returns the content of the run's last artifact.
func (w *world) artifact(id string) string {
	w.t.Helper()
	run := w.get(id)
	if len(run.Artifacts) == 0 {
		w.t.Fatal("the run has no artifact")
	}
	var data penstock.ArtifactData
	if err := json.Unmarshal(run.Artifacts[len(run.Artifacts)-1].Data, &data); err != nil {
		w.t.Fatal(err)
	}
	link, err := w.Files.ArtifactLink(w.t.Context(), w.admin, data.ArtifactUID)
	if err != nil {
		w.t.Fatal(err)
	}
	file, err := w.Files.Download(w.t.Context(), link[strings.LastIndexByte(link, '/')+1:])
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Content.Close()
	content, err := io.ReadAll(file.Content)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(content)
}

// plane is the server's control plane with hooks of a test.
type plane struct {
	penstock.Control
	mu       sync.Mutex
	claimed  func(*penstock.Assignment)
	before   func(method string) error // returns an error instead of calling
	after    func(method string) error // an error replaces the response
	opened   string                    // content of every file, "": its own
	late     time.Duration             // the delay of the response to Finish
	finished []penstock.Result
	sessions io.Writer // gets what is saved of sessions; nil: nothing does
}

func (c *plane) set(change func(*plane)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// call runs f between before and after.
func (c *plane) call(ctx context.Context, method string, f func() error) error {
	c.mu.Lock()
	before, after := c.before, c.after
	c.mu.Unlock()
	if before != nil {
		if err := before(method); err != nil {
			return err
		}
	}
	if err := f(); err != nil {
		return err
	}
	if after != nil && ctx.Err() == nil {
		return after(method)
	}
	return nil
}

func (c *plane) Claim(ctx context.Context, claim penstock.ClaimRequest) (a penstock.Assignment, err error) {
	err = c.call(ctx, "Claim", func() error {
		a, err = c.Control.Claim(ctx, claim)
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.claimed != nil {
		c.claimed(&a)
	}
	return a, err
}

func (c *plane) Heartbeat(ctx context.Context, l penstock.Lease, wait time.Duration) (s penstock.Signal, err error) {
	err = c.call(ctx, "Heartbeat", func() error {
		s, err = c.Control.Heartbeat(ctx, l, wait)
		return err
	})
	return s, err
}

func (c *plane) Append(ctx context.Context, l penstock.Lease, drafts []penstock.Draft) error {
	return c.call(ctx, "Append", func() error { return c.Control.Append(ctx, l, drafts) })
}

func (c *plane) Finish(
	ctx context.Context, l penstock.Lease, r penstock.Result,
) (prompts []penstock.Prompt, err error) {
	err = c.call(ctx, "Finish", func() error {
		prompts, err = c.Control.Finish(ctx, l, r)
		return err
	})
	if c.late > 0 && err == nil {
		select {
		case <-time.After(c.late):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	c.set(func(c *plane) { c.finished = append(c.finished, r) })
	return prompts, err
}

func (c *plane) Open(ctx context.Context, l penstock.Lease, f penstock.File) (r io.ReadCloser, err error) {
	err = c.call(ctx, "Open", func() error {
		r, err = c.Control.Open(ctx, l, f)
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.opened != "" {
		_ = r.Close()
		r = io.NopCloser(strings.NewReader(c.opened + strings.Repeat(" ", int(f.Size)-len(c.opened))))
	}
	return r, err
}

func (c *plane) Save(
	ctx context.Context, l penstock.Lease, u penstock.Upload, content io.Reader,
) (uid string, err error) {
	c.mu.Lock()
	if u.Session != nil && c.sessions != nil {
		content = io.TeeReader(content, c.sessions)
	}
	c.mu.Unlock()
	err = c.call(ctx, "Save", func() error {
		uid, err = c.Control.Save(ctx, l, u, content)
		return err
	})
	return uid, err
}

func (c *plane) ReportLayers(ctx context.Context, r penstock.LayerReport) (retired []string, err error) {
	err = c.call(ctx, "ReportLayers", func() error {
		retired, err = c.Control.ReportLayers(ctx, r)
		return err
	})
	return retired, err
}

var errAway = errors.New("connection refused")

// processes lists the command lines on this machine that contain a text.
func processes(text string) []string {
	var list []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		words := strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")
		if err == nil && strings.Contains(words, text) && f != fmt.Sprintf("/proc/%d/cmdline", os.Getpid()) {
			list = append(list, words)
		}
	}
	slices.Sort(list)
	return list
}

// marker is a text that only processes of this test have on their command line.
func marker() string { return "mark" + strings.ReplaceAll(penstock.NewID(), "-", "") }

// RunConversation reads a whole conversation.
func (w *world) RunConversation(
	ctx context.Context, p penstock.Principal, runID string,
) (penstock.Conversation, error) {
	c, err := w.Runs.RunConversation(ctx, p, runID)
	return testworld.WholeConversation(ctx, c, err)
}
