package service_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/blob"
	"github.com/penstock-dev/penstock/internal/run"
	"github.com/penstock-dev/penstock/internal/secret"
	"github.com/penstock-dev/penstock/internal/service"
	"github.com/penstock-dev/penstock/internal/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// world is a service over a new store with background work and a user.
type world struct {
	*service.Service
	t       *testing.T
	url     string // of the database
	files   string // the folder of the blobs
	options service.Options
	admin   penstock.Principal
}

// worlds runs a test in a new world of each engine.
func worlds(t *testing.T, change func(*service.Options), test func(w *world)) {
	t.Helper()
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		dir := t.TempDir()
		blobs, err := blob.Open(filepath.Join(dir, "blobs"))
		if err != nil {
			t.Fatal(err)
		}
		keyset, err := secret.OpenKeyset(t.Context(), secret.KeysetFile{Path: filepath.Join(dir, "keyset.json")})
		if err != nil {
			t.Fatal(err)
		}
		o := service.Options{
			Store: s, Blobs: blobs, Keyset: keyset, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
			PublicURL: "https://penstock.test",
			Models:    penstock.Models(),
			Defaults: penstock.Config{
				ModelID: penstock.ModelOffline, Harness: &penstock.Harness{Type: penstock.HarnessBuiltin},
			},
		}
		if change != nil {
			change(&o)
		}
		w := &world{Service: service.New(o), t: t, url: url, files: filepath.Join(dir, "blobs"), options: o}
		w.run()
		_, key, err := w.Keys.Bootstrap(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if w.admin, err = w.Keys.Authenticate(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		test(w)
	})
}

// run starts the background work, and stops it before the store is closed.
func (w *world) run() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Run(w.t.Context()) // ends with the test
	}()
	w.t.Cleanup(func() { <-done })
}

// as returns a principal with a key of the given scopes.
func (w *world) as(name string, scopes ...penstock.Scope) penstock.Principal {
	w.t.Helper()
	return penstock.Principal{Team: store.DefaultTeam, Actor: penstock.Actor{Type: "user", UID: name}, Scopes: scopes}
}

func (w *world) create(req penstock.RunRequest) penstock.RunCreated {
	w.t.Helper()
	created, err := w.Runs.Create(w.t.Context(), w.admin, req, penstock.SourceAPI)
	if err != nil {
		w.t.Fatal(err)
	}
	return created
}

func (w *world) get(id string) penstock.Run {
	w.t.Helper()
	run, err := w.Runs.Read(w.t.Context(), w.admin, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

func (w *world) mustBe(id string, want penstock.State) penstock.Run {
	w.t.Helper()
	run := w.get(id)
	if run.State != want {
		w.t.Fatalf("the run is %s, want %s (%+v)", run.State, want, run.StatusMessage)
	}
	return run
}

var anyWorker = penstock.ClaimRequest{
	WorkerID: "w1", Host: "here", Local: true, Harnesses: []string{penstock.HarnessBuiltin, penstock.HarnessCommand},
	Capacity: 100, Wait: 10 * time.Second,
}

func (w *world) claim() penstock.Assignment {
	w.t.Helper()
	a, err := w.Executions.Control().Claim(w.t.Context(), anyWorker)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// work claims the next run and starts its agent.
func (w *world) work() penstock.Assignment {
	w.t.Helper()
	a := w.claim()
	w.moves(a.Lease, penstock.StatePending, penstock.StateInProgress)
	return a
}

func (w *world) moves(l penstock.Lease, states ...penstock.State) {
	w.t.Helper()
	for _, state := range states {
		d := penstock.NewDraft(penstock.EventState, penstock.Now(), penstock.StateData{State: state})
		if err := w.Executions.Control().Append(w.t.Context(), l, []penstock.Draft{d}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) finish(l penstock.Lease, r penstock.Result) []penstock.Prompt {
	w.t.Helper()
	prompts, err := w.Executions.Control().Finish(w.t.Context(), l, r)
	if err != nil {
		w.t.Fatal(err)
	}
	return prompts
}

func (w *world) say(l penstock.Lease, id, text string) {
	w.t.Helper()
	m := penstock.NewDraft(
		penstock.EventMessage, penstock.Now(),
		penstock.Message{ID: id, Role: penstock.RoleAssistant, Content: []penstock.Block{penstock.Text(text)}},
	)
	if err := w.Executions.Control().Append(w.t.Context(), l, []penstock.Draft{m}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) followUp(id, message string) {
	w.t.Helper()
	if _, err := w.Runs.FollowUp(w.t.Context(), w.admin, id, penstock.FollowupRequest{Message: message}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) saveSession(l penstock.Lease) {
	w.t.Helper()
	u := penstock.Upload{
		ID: penstock.NewID(), Session: &penstock.SavedSession{SessionID: "s", Harness: penstock.HarnessBuiltin},
	}
	if _, err := w.Executions.Control().Save(w.t.Context(), l, u, strings.NewReader("home")); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) timelineTypes(id string) []string {
	w.t.Helper()
	events, err := w.Runs.Timeline(w.t.Context(), w.admin, id)
	if err != nil {
		w.t.Fatal(err)
	}
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

// loseLease makes the lease look as if its worker had been silent for long. A server that has just
// started would wait for the worker.
func (w *world) loseLease(l penstock.Lease) {
	w.t.Helper()
	testkit.Exec(w.t, w.url, "UPDATE queue SET lease_until = 1 WHERE token = '"+l.Token+"'")
	if err := w.Executions.EndLostLeases(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func readAll(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// RunConversation reads the whole conversation of a run.
func (w *world) RunConversation(
	ctx context.Context, p penstock.Principal, runID string,
) (penstock.Conversation, error) {
	c, err := w.Runs.RunConversation(ctx, p, runID)
	return whole(ctx, c, err)
}

// Conversation reads a whole conversation.
func (w *world) Conversation(ctx context.Context, p penstock.Principal, id string) (penstock.Conversation, error) {
	c, err := w.Runs.Conversation(ctx, p, id)
	return whole(ctx, c, err)
}

func whole(ctx context.Context, c *run.Conversation, err error) (penstock.Conversation, error) {
	if err != nil {
		return penstock.Conversation{}, err
	}
	for _, step := range c.Outline.Steps {
		for _, m := range step.Messages {
			for i, b := range m.Content {
				if m.Content[i], err = c.Block(ctx, b); err != nil {
					return penstock.Conversation{}, err
				}
			}
		}
	}
	return c.Outline, nil
}
