// Package testworld has a control plane in one process for the tests of its rules: all rules over a
// new store of each engine, with background work, and what these tests do to it.
package testworld

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/blob"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// DefaultWebhookLimits are the limits of the contract.
func DefaultWebhookLimits() penstock.WebhookLimits {
	return penstock.WebhookLimits{
		WebhooksPerFactory: 20, DeliveryBytes: 256 << 10, DeliveriesPerMinute: 60, AuthFailuresPerAddress: 30,
		AuthFailuresPerWebhook: 300, LoggedRejections: 60, KeepDeliveries: 50,
		KeepDeliveriesFor: 7 * 24 * time.Hour, DedupBodyWindow: 7 * 24 * time.Hour,
	}
}

// World is a control plane over a new store with background work and a user.
type World struct {
	*control.Rules
	T       *testing.T
	URL     string // of the database
	BlobDir string // the folder of the blobs
	Deps    run.Deps
	Admin   penstock.Principal
	Killer  *testkit.Killer // of this server
}

// Each runs a test in a new world of each engine.
func Each(t *testing.T, change func(*run.Deps), test func(w *World)) {
	t.Helper()
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		w := New(t, url, change)
		w.Background()
		test(w)
	})
}

// New returns a world over a new store, without background work.
func New(t *testing.T, url string, change func(*run.Deps)) *World {
	t.Helper()
	killer := new(testkit.Killer)
	s := testkit.OpenMortal(t, url, killer)
	dir := t.TempDir()
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	keyset, err := secret.OpenKeyset(t.Context(), secret.KeysetFile{Path: filepath.Join(dir, "keyset.json")})
	if err != nil {
		t.Fatal(err)
	}
	o := run.Deps{
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
	w := &World{
		Rules: control.New(o), T: t, URL: url, BlobDir: filepath.Join(dir, "blobs"), Deps: o, Killer: killer,
	}
	_, key, err := w.Keys.Bootstrap(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if w.Admin, err = w.Keys.Authenticate(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	return w
}

// Beside returns another server over the same database, without background work.
func (w *World) Beside() *World {
	w.T.Helper()
	other := *w
	other.Killer = new(testkit.Killer)
	other.Deps.Store = testkit.OpenMortal(w.T, w.URL, other.Killer)
	other.Restart()
	return &other
}

// Twin returns another server that has the same connections to the database. A kill hits both.
func (w *World) Twin() *World {
	other := *w
	other.Restart()
	return &other
}

// Restart replaces the server by a new one, which knows only what is stored.
func (w *World) Restart() {
	w.Killer.Revive()
	w.Rules = control.New(w.Deps)
}

// Background starts the background work, and stops it before the store is closed.
func (w *World) Background() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Run(w.T.Context()) // ends with the test
	}()
	w.T.Cleanup(func() { <-done })
}

// As returns a principal with a key of the given scopes.
func (w *World) As(name string, scopes ...penstock.Scope) penstock.Principal {
	w.T.Helper()
	return penstock.Principal{Team: store.DefaultTeam, Actor: penstock.Actor{Type: "user", UID: name}, Scopes: scopes}
}

// Deliver delivers to a webhook as its ingress does.
func (w *World) Deliver(uid string, d *factory.InboundDelivery) (factory.DeliveryResult, error) {
	w.T.Helper()
	for fresh := false; ; fresh = true {
		in, err := w.Receiver.Plan(w.T.Context(), uid, false, fresh)
		if err != nil {
			return factory.DeliveryResult{}, err
		}
		result, err := w.Receiver.Deliver(w.T.Context(), in, d)
		if !errors.Is(err, factory.ErrStale) {
			return result, err
		}
	}
}

// Create creates a run.
func (w *World) Create(req penstock.RunRequest) run.Created {
	w.T.Helper()
	created, err := w.Runs.Create(w.T.Context(), w.Admin, req, run.SourceAPI)
	if err != nil {
		w.T.Fatal(err)
	}
	return created
}

// Get reads a run.
func (w *World) Get(id string) penstock.Run {
	w.T.Helper()
	run, err := w.Runs.Read(w.T.Context(), w.Admin, id)
	if err != nil {
		w.T.Fatal(err)
	}
	return run
}

// MustBe fails the test unless a run has a state.
func (w *World) MustBe(id string, want penstock.State) penstock.Run {
	w.T.Helper()
	run := w.Get(id)
	if run.State != want {
		w.T.Fatalf("the run is %s, want %s (%+v)", run.State, want, run.StatusMessage)
	}
	return run
}

// AnyWorker is the claim of a worker that can execute every run.
var AnyWorker = penstock.ClaimRequest{
	WorkerID: "w1", Host: "here", Local: true, Harnesses: []string{penstock.HarnessBuiltin, penstock.HarnessCommand},
	Capacity: 100, Wait: 10 * time.Second,
}

// Claim claims the next run. Its lease is good for an hour, as if a worker renewed it, however slow the machine is.
func (w *World) Claim() penstock.Assignment {
	w.T.Helper()
	a, err := w.Executions.Control().Claim(w.T.Context(), AnyWorker)
	if err != nil {
		w.T.Fatal(err)
	}
	testkit.Exec(w.T, w.URL, "UPDATE queue SET lease_until = lease_until + 3600000 WHERE token = '"+a.Lease.Token+"'")
	return a
}

// Work claims the next run and starts its agent.
func (w *World) Work() penstock.Assignment {
	w.T.Helper()
	a := w.Claim()
	w.Moves(a.Lease, penstock.StatePending, penstock.StateInProgress)
	return a
}

// Moves appends moves to states.
func (w *World) Moves(l penstock.Lease, states ...penstock.State) {
	w.T.Helper()
	for _, state := range states {
		d := penstock.NewDraft(penstock.EventState, penstock.Now(), penstock.StateData{State: state})
		if err := w.Executions.Control().Append(w.T.Context(), l, []penstock.Draft{d}); err != nil {
			w.T.Fatal(err)
		}
	}
}

// Finish ends the turn, and returns the prompts of the next one.
func (w *World) Finish(l penstock.Lease, r penstock.Result) []penstock.Prompt {
	w.T.Helper()
	prompts, err := w.Executions.Control().Finish(w.T.Context(), l, r)
	if err != nil {
		w.T.Fatal(err)
	}
	return prompts
}

// Say appends a message of the agent.
func (w *World) Say(l penstock.Lease, id, text string) {
	w.T.Helper()
	m := penstock.NewDraft(
		penstock.EventMessage, penstock.Now(),
		penstock.Message{ID: id, Role: penstock.RoleAssistant, Content: []penstock.Block{penstock.Text(text)}},
	)
	if err := w.Executions.Control().Append(w.T.Context(), l, []penstock.Draft{m}); err != nil {
		w.T.Fatal(err)
	}
}

// FollowUp sends a message to a run.
func (w *World) FollowUp(id, message string) {
	w.T.Helper()
	if _, err := w.Runs.FollowUp(w.T.Context(), w.Admin, id, run.FollowupRequest{Message: message}); err != nil {
		w.T.Fatal(err)
	}
}

// SaveSession saves a session of the agent.
func (w *World) SaveSession(l penstock.Lease) {
	w.T.Helper()
	u := penstock.Upload{
		ID: penstock.NewID(), Session: &penstock.SavedSession{SessionID: "s", Harness: penstock.HarnessBuiltin},
	}
	if _, err := w.Executions.Control().Save(w.T.Context(), l, u, strings.NewReader("home")); err != nil {
		w.T.Fatal(err)
	}
}

// TimelineTypes returns the types of the events in the timeline of a run.
func (w *World) TimelineTypes(id string) []string {
	w.T.Helper()
	events, err := w.Runs.Timeline(w.T.Context(), w.Admin, id)
	if err != nil {
		w.T.Fatal(err)
	}
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

// LoseLease makes the lease look as if its worker had been silent for long. A server that has just
// started would wait for the worker.
func (w *World) LoseLease(l penstock.Lease) {
	w.T.Helper()
	testkit.Exec(w.T, w.URL, "UPDATE queue SET lease_until = 1 WHERE token = '"+l.Token+"'")
	if err := w.Executions.EndLostLeases(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
}

// ReadAll reads and closes r.
func ReadAll(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// RunConversation reads the whole conversation of a run.
func (w *World) RunConversation(
	ctx context.Context, p penstock.Principal, runID string,
) (penstock.Conversation, error) {
	c, err := w.Runs.RunConversation(ctx, p, runID)
	return WholeConversation(ctx, c, err)
}

// Conversation reads a whole conversation.
func (w *World) Conversation(ctx context.Context, p penstock.Principal, id string) (penstock.Conversation, error) {
	c, err := w.Runs.Conversation(ctx, p, id)
	return WholeConversation(ctx, c, err)
}

// WholeConversation reads the blocks of a conversation that a rule has returned.
func WholeConversation(ctx context.Context, c *run.Conversation, err error) (penstock.Conversation, error) {
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

// ClearLogs runs the periodic clearing of logs at once.
func (w *World) ClearLogs(ctx context.Context) error {
	return errors.Join(w.Deliveries.ClearLogs(ctx), w.Deliveries.ClearCounts(ctx))
}

// EndOverdue runs the half-minute job at once.
func (w *World) EndOverdue(ctx context.Context) { _ = w.Executions.EndOverdue(ctx) }

// WebhookValues returns the secret values that verify deliveries of a webhook, the current one
// first.
func (w *World) WebhookValues(ctx context.Context, uid string) ([]string, error) {
	row, err := w.Deps.Store.Webhooks.ByUID(ctx, uid)
	if err != nil {
		return nil, err
	}
	values := []string{}
	for _, sealed := range row.Sealed {
		value, err := w.Deps.Keyset.Open(sealed.Sealed, access.WebhookSecretContext(uid, sealed.N))
		if err != nil {
			return nil, err
		}
		values = append(values, string(value))
	}
	return values, nil
}

// SecretValue returns the value of a managed secret.
func (w *World) SecretValue(ctx context.Context, name string) (string, error) {
	row, err := w.Deps.Store.Secrets.Find(ctx, store.DefaultTeam, name)
	if err != nil {
		return "", err
	}
	return w.Secrets.Open(row)
}

// TeamVersion counts the changes to the rules by which deliveries are evaluated.
func (w *World) TeamVersion(ctx context.Context) (int64, error) {
	return w.Deps.Store.TeamVersion(ctx, store.DefaultTeam)
}

// SignedWith records that a delivery was signed with the current secret of a webhook, and runs the
// job of every minute at once.
func (w *World) SignedWith(ctx context.Context, uid string) error {
	row, err := w.Deps.Store.Webhooks.ByUID(ctx, uid)
	if err != nil {
		return err
	}
	w.Webhooks.MarkSigned(store.WebhookSecretKey{WebhookUID: uid, N: row.Sealed[0].N})
	return w.Webhooks.TouchWebhookSecrets(ctx)
}

// DefaultWebhooks sets the limits of the contract.
func DefaultWebhooks(d *run.Deps) { d.Webhooks = DefaultWebhookLimits() }

// KeepSecret sets the value of a webhook and its managed secret without checks, like servers from
// before values had a minimum length.
func (w *World) KeepSecret(ctx context.Context, p penstock.Principal, webhook penstock.Webhook, value string) error {
	return w.Responses.Alter(ctx, p.Team, func(tx *store.Tx) error {
		row, err := tx.Secrets().Lock(ctx, p.Team, webhook.SecretName)
		if err != nil {
			return err
		}
		if err := w.Secrets.GiveValue(ctx, tx, p, &row, value); err != nil {
			return err
		}
		return w.Webhooks.GiveWebhook(ctx, tx, store.WebhookRow{Webhook: webhook}, value, 0)
	})
}

// Findings returns the findings about files in err.
func Findings(err error) []penstock.Diagnostic {
	if known, ok := errors.AsType[*penstock.Error](err); ok {
		return known.Diagnostics
	}
	return nil
}

// ClockAutomation is an automation that fires on a schedule.
func ClockAutomation(name string, crons ...string) factory.AutomationRequest {
	triggers := []penstock.Trigger{}
	for _, cron := range crons {
		triggers = append(
			triggers, penstock.Trigger{Provider: "schedule", Event: "cron_fired", Schedule: &penstock.CronTrigger{Cron: cron}},
		)
	}
	return factory.AutomationRequest{Name: &name, Prompt: new("go"), Triggers: &triggers}
}

// AddBudget adds a budget of the team, of ten dollars.
func (w *World) AddBudget(change func(*store.BudgetRow)) store.BudgetRow {
	w.T.Helper()
	b := store.BudgetRow{SharedBudget: penstock.SharedBudget{
		UID: penstock.NewUID(), Scope: store.BudgetOfTeam, Period: penstock.BudgetTotal, TimeZone: "UTC", MaxCostUSD: 10,
		Action: penstock.BudgetPause, CreatedAt: penstock.Now(), UpdatedAt: penstock.Now(),
	}, Team: store.DefaultTeam}
	if change != nil {
		change(&b)
	}
	w.Write(func(tx *store.Tx) error { return tx.Budgets().Add(w.T.Context(), b) })
	return b
}

func (w *World) Write(do func(*store.Tx) error) {
	w.T.Helper()
	if err := w.Database().Write(w.T.Context(), do); err != nil {
		w.T.Fatal(err)
	}
}

// Spend makes a call with this cost.
func (w *World) Spend(l penstock.Lease, usd float64) penstock.Reserved {
	w.T.Helper()
	r := penstock.Reservation{
		ID: penstock.NewID(), Provider: "anthropic", Model: "m", InputTokens: 10, InputCost: penstock.NanosOf(usd),
		Completions: 1,
	}
	got, err := w.Executions.Control().Reserve(w.T.Context(), l, r)
	if err != nil {
		w.T.Fatal(err)
	}
	if got.Refusal != nil || got.Wait {
		return got
	}
	if err := w.Executions.Control().Settle(w.T.Context(), l, penstock.Settlement{
		ID: r.ID, Tokens: penstock.TokenUsage{Input: 10}, Cost: &penstock.CallCost{Input: r.InputCost},
	}); err != nil {
		w.T.Fatal(err)
	}
	return got
}

// Becomes waits until a run has a state.
func (w *World) Becomes(id string, want penstock.State) {
	w.T.Helper()
	testkit.Eventually(w.T, 20*time.Second, func() error {
		if run := w.Get(id); run.State != want {
			return fmt.Errorf("the run is %s, want %s (%+v)", run.State, want, run.StatusMessage)
		}
		return nil
	})
}

// CreateBudget creates a budget.
func (w *World) CreateBudget(req run.SharedBudgetRequest) penstock.SharedBudget {
	w.T.Helper()
	b, err := w.Budgets.Create(w.T.Context(), w.Admin, req)
	if err != nil {
		w.T.Fatal(err)
	}
	return b
}

// OfTeam requests a budget of the team.
func OfTeam(period penstock.BudgetPeriod, usd float64) run.SharedBudgetRequest {
	return run.SharedBudgetRequest{Scope: new(store.BudgetOfTeam), Period: &period, MaxCostUSD: &usd}
}

// Pointers returns the pointers of the errors of fields in err.
func Pointers(err error) []string {
	var list []string
	if known, ok := errors.AsType[*penstock.Error](err); ok {
		for _, f := range known.Fields {
			list = append(list, f.Pointer)
		}
	}
	return list
}

// CreateEnvironment creates an environment.
func (w *World) CreateEnvironment(config penstock.EnvironmentConfig) penstock.Environment {
	w.T.Helper()
	e, err := w.Catalog.CreateEnvironment(w.T.Context(), w.Admin, config)
	if err != nil {
		w.T.Fatal(err)
	}
	return e
}

// Database opens the world's database like another server.
func (w *World) Database() *store.Store { return testkit.OpenStore(w.T, w.URL) }

// Once returns a key for a request and its body.
func Once(key, body string) access.Idempotency {
	return access.Idempotency{Key: key, Method: "POST", Path: "/p", BodyHash: sha256.Sum256([]byte(body)), Status: 201}
}

// Replay requires a kept response.
func (w *World) Replay(p penstock.Principal, i access.Idempotency, into any) (status int) {
	w.T.Helper()
	body, status, found, err := w.Responses.Replay(w.T.Context(), p, i)
	if err != nil || !found {
		w.T.Fatalf("no response is kept: %v", err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		w.T.Fatal(err)
	}
	return status
}

// CreateAgent creates an agent.
func (w *World) CreateAgent(req factory.IdentityRequest) penstock.Identity {
	w.T.Helper()
	agent, err := w.Resources.CreateIdentity(w.T.Context(), w.Admin, req)
	if err != nil {
		w.T.Fatal(err)
	}
	return agent
}

// DefineFactory creates a factory of files that are indented for reading.
func (w *World) DefineFactory(files map[string]string) penstock.Factory {
	w.T.Helper()
	f, err := w.Factories.Create(w.T.Context(), w.Admin, factory.FactoryRequest{Files: files})
	if err != nil {
		w.T.Fatalf("%v\n%+v", err, Findings(err))
	}
	return f
}

// CreateKey creates a key for a caller.
func (w *World) CreateKey(p penstock.Principal, req access.KeyRequest) penstock.Key {
	w.T.Helper()
	k, err := w.Keys.Create(w.T.Context(), p, req)
	if err != nil {
		w.T.Fatal(err)
	}
	return k
}

// WantCode fails the test unless err has the code and contains the text.
func WantCode(t *testing.T, err error, code penstock.Code, mentions string) {
	t.Helper()
	if got := penstock.CodeOf(err); got != code || err != nil && !strings.Contains(err.Error(), mentions) {
		t.Errorf("got %q (%v), want %q that mentions %q", got, err, code, mentions)
	}
}

// WantField fails the test unless err has an error at a field.
func WantField(t *testing.T, err error, pointer string) {
	t.Helper()
	var e *penstock.Error
	if !errors.As(err, &e) || e.Code != penstock.CodeInvalidRequest {
		t.Errorf("%s: got %v, want an invalid request", pointer, err)
		return
	}
	for _, f := range e.Fields {
		if f.Pointer == pointer && f.Detail != "" {
			return
		}
	}
	t.Errorf("got %+v, want a message about %s", e.Fields, pointer)
}

// SkillAbout is a SKILL.md.
func SkillAbout(name, body string) string {
	return "---\nname: " + name + "\ndescription: About " + body + ".\n---\n" + body + "\n"
}

// Skilled is a factory whose agents have skills of their own and in common.
func Skilled() map[string]string {
	return map[string]string{
		"factory.yaml": "schemaVersion: v1alpha1\nname: acme\nagentDefaults: {model: " +
			"demo/offline}\n",
		"agents/lead/agent.md":                     "---\nagentType: FOREMAN\n---\nLead.\n",
		"agents/lead/skills/release/SKILL.md":      SkillAbout("release", "the lead's"),
		"agents/lead/skills/release/run.sh":        "#!/bin/sh\necho released\n",
		"agents/leader/agent.md":                   "Be led.\n",
		"agents/leader/skills/secretive/SKILL.md":  SkillAbout("secretive", "another agent's"),
		"skills/release/SKILL.md":                  SkillAbout("release", "the factory's"),
		"skills/release/notes/template.md":         "# Notes\n",
		"skills/tidy/SKILL.md":                     SkillAbout("tidy", "tidiness"),
		"skills/create-skill/SKILL.md":             SkillAbout("create-skill", "the factory's own"),
		"agents/lead/skills/pr-comments/SKILL.md":  SkillAbout("pr-comments", "the lead's own"),
		"agents/lead/skills/pr-comments/README.md": "Read me.\n",
	}
}

// CreateSchedule creates a schedule of the administrator.
func (w *World) CreateSchedule(req factory.ScheduleRequest) penstock.Schedule {
	w.T.Helper()
	s, err := w.Schedules.Create(w.T.Context(), w.Admin, req)
	if err != nil {
		w.T.Fatal(err)
	}
	return s
}

// CreateKeyFor returns a caller with a key of its own.
func (w *World) CreateKeyFor(name string, scopes ...penstock.Scope) penstock.Principal {
	w.T.Helper()
	p := w.As(name, append(scopes, penstock.ScopeKeysManage)...)
	k := w.CreateKey(p, access.KeyRequest{Name: name, Scopes: scopes})
	p, err := w.Keys.Authenticate(w.T.Context(), k.Key)
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

// CreateSecret creates a secret. Without a value it is pending.
func (w *World) CreateSecret(name, value string) penstock.ManagedSecret {
	w.T.Helper()
	req := access.SecretRequest{Name: name, Value: &value}
	if value == "" {
		req.Value = nil
	}
	made, err := w.Secrets.Create(w.T.Context(), w.Admin, req)
	if err != nil {
		w.T.Fatal(err)
	}
	return made
}

// SetSecret gives a managed secret another value.
func (w *World) SetSecret(name, value string) penstock.ManagedSecret {
	w.T.Helper()
	set, err := w.Secrets.Set(w.T.Context(), w.Admin, name, access.SecretChange{Value: &value})
	if err != nil {
		w.T.Fatal(err)
	}
	return set
}

// CopyOf returns the name of a copy of a file.
func CopyOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// NewFactory creates a factory, and returns its UID.
func (w *World) NewFactory(name string) string {
	w.T.Helper()
	f, err := w.Factories.Create(w.T.Context(), w.Admin, factory.FactoryRequest{Name: &name})
	if err != nil {
		w.T.Fatal(err)
	}
	return f.UID
}
