package factory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// about sets what the event that starts a run is about. Without a subject, it changes nothing.
func (t *RunTemplate) about(started *store.NewRun, on Cause) {
	started.Subject, started.Claim = claimOf(started.RunRow, t.rules, t.subject, on)
}

// claimOf returns what an event is about, and its claim unless each event has a run of its own.
func claimOf(
	run store.RunRow, rules penstock.SubjectRules, template penstock.SubjectTemplate, on Cause,
) (subject string, claim *store.Claim) {
	if rules.Subject == "" {
		return "", nil
	}
	subject, values := template.Expand(func(path []string) string { return on.Payload.At(path).Scalar() })
	if rules.Subject == penstock.SubjectAuto {
		subject, values = autoSubject(on.Scheme, on.Payload)
	}
	thread, known := on.thread(run, rules)
	if known {
		subject = thread.Subject
	}
	if len(values) == 0 || rules.WhenBusy == penstock.WhenBusyParallel {
		return subject, nil
	}
	rules.ContinueOn, rules.Closes = nil, nil // they are read from the automation
	source := on.WebhookUID
	if on.Place != "" { // whatever brings the event, and whatever the repository is called
		if source = on.Place; rules.Subject == penstock.SubjectAuto {
			values = slices.Delete(values, 1, 2)
		}
	}
	scope := run.AutomationID
	if rules.SubjectScope == penstock.SubjectScopeFactory {
		scope = run.FactoryUID
	}
	claim = &store.Claim{
		Key: store.ClaimKey(run.Team, scope, source, values...), Subject: subject, Rules: rules,
		Kind: store.OccurrenceDelivery,
	}
	if known {
		claim.Key = thread.Claim
	}
	return subject, claim
}

// thread returns the subject to which the pull request of an event belongs, because a run about it has opened it.
func (on Cause) thread(run store.RunRow, rules penstock.SubjectRules) (store.PullThread, bool) {
	if rules.Subject != penstock.SubjectAuto {
		return store.PullThread{}, false
	}
	shared := rules.SubjectScope == penstock.SubjectScopeFactory
	i := slices.IndexFunc(on.Threads, func(t store.PullThread) bool {
		return t.Shared() == shared && (t.AutomationUID == run.AutomationID || shared && t.FactoryUID == run.FactoryUID)
	})
	if i < 0 {
		return store.PullThread{}, false
	}
	return on.Threads[i], true
}

// closing returns what stands for an event that closes its subject. It starts no run, so that it also works
// for an automation that can start none.
func closing(a store.AutomationRow, on Cause) *store.NewRun {
	run := &store.NewRun{}
	run.ID, run.Team, run.FactoryUID, run.AutomationID = penstock.NewID(), a.Team, a.FactoryUID, a.UID
	run.WebhookUID, run.DeliveryID = on.WebhookUID, on.DeliveryID
	template, err := penstock.ParseSubject(a.Subject)
	if err == nil {
		run.Subject, run.Claim = claimOf(run.RunRow, a.SubjectRules, template, on)
	}
	return run
}

// changed lists where providers say when the object of an event has changed, the nearest object first.
var changed = [][]string{
	{"pull_request", "updated_at"},
	{"issue", "updated_at"},
	{"check_suite", "updated_at"},
	{"workflow_run", "updated_at"},
	{"object_attributes", "updated_at"},
	{"data", "updatedAt"},
	{"updated_at"},
	{"updatedAt"},
}

// changedAt returns when the object of an event has changed, as far as the event says so, at the latest when
// it was received. It decides whether an event comes after the one that closed its subject.
func changedAt(on Cause) penstock.Time {
	for _, path := range changed {
		var at penstock.Time
		if at.UnmarshalText([]byte(on.Payload.At(path).Scalar())) == nil {
			return min(at, on.At)
		}
	}
	return on.At
}

// autoSubject returns what an event of a provider is about, such as github:acme/shop#7 or linear:ENG-42.
func autoSubject(scheme penstock.SignatureScheme, payload trigger.Value) (subject string, values []string) {
	at := func(path string) string { return payload.At(strings.Split(path, ".")).Scalar() }
	switch scheme {
	case penstock.ProviderGitHub:
		repository, number := at("repository.full_name"), numberOf(payload)
		if repository == "" || number == "" {
			return "", nil
		}
		values = []string{penstock.ProviderGitHub, repository, number}
		return penstock.ShownSubject("github:" + repository + "#" + number), values
	case penstock.ProviderLinear:
		for _, path := range []string{
			"data.issue.identifier", "agentSession.issue.identifier", "data.identifier",
		} {
			if issue := at(path); issue != "" {
				return penstock.ShownSubject("linear:" + issue), []string{penstock.ProviderLinear, issue}
			}
		}
	}
	return "", nil
}

// numberOf returns the number of the pull request or issue that an event of GitHub or Gitea is about, or "".
func numberOf(payload trigger.Value) string {
	for _, object := range []string{"pull_request", "issue"} {
		if number := payload.At([]string{object, "number"}).Scalar(); idOf(number) > 0 {
			return number
		}
	}
	here := payload.At([]string{"repository", "id"}).Scalar()
	for _, object := range []string{"check_suite", "check_run", "workflow_run"} {
		for pr := range payload.At([]string{object, "pull_requests"}).Elements() {
			// GitHub also lists pull requests of forks.
			if base := pr.At([]string{"base", "repo", "id"}).Scalar(); base == "" || here == "" || base == here {
				return pr.Member("number").Scalar()
			}
		}
	}
	return ""
}

// subjectBatch is how many due subjects are read at once.
const subjectBatch = 100

// GiveDue gives events that wait to the run that works on their subject, or starts another one. Every
// replica does this; the lock of the subject lets only one win.
func (s *Subjects) GiveDue(ctx context.Context, now penstock.Time) error {
	return share.Sweep(subjectBatch, func(after store.SubjectRow) ([]store.SubjectRow, error) {
		return s.store.Subjects.Due(ctx, now, after, subjectBatch)
	}, func(d store.SubjectRow) error {
		if err := s.give(ctx, d, now); err != nil {
			return fmt.Errorf("give events to subject %s: %w", d.UID, err)
		}
		return nil
	})
}

// give decides the events of one subject.
func (s *Subjects) give(ctx context.Context, d store.SubjectRow, now penstock.Time) error {
	if d.Closing {
		if err := s.executions.CancelClosed(ctx, d); err != nil || d.NextAt == 0 || d.NextAt > now {
			return err
		}
	}
	waiting, err := s.store.Subjects.Waiting(ctx, d.UID, 1)
	if err != nil || len(waiting) == 0 {
		return err
	}
	from, why, err := s.fromAutomation(ctx, d, waiting[0])
	if err != nil {
		return err
	}
	if why != "" {
		return s.drop(ctx, d, from.Event, why, now)
	}
	shares, err := s.mayShare(ctx, d, from)
	if err != nil {
		return err
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		subject, due, err := lockDue(ctx, tx, d, now)
		if err != nil || !due || subject.RunID != d.RunID {
			return err
		}
		if subject.RunID == "" || !shares {
			return run.ErrEventsRefused
		}
		return run.GiveEvents(ctx, tx, from, subject, now)
	})
	known, isKnown := errors.AsType[*penstock.Error](err)
	switch {
	case errors.Is(err, run.ErrEventsStay):
		return nil
	case errors.Is(err, run.ErrEventsRefused):
		return s.startNext(ctx, d, from, now)
	case isKnown && !known.Code.OurFault():
		return s.drop(ctx, d, from.Event, known.Explain(), now)
	}
	return err
}

// mayShare reports whether the events of an automation may reach the run that works on a subject: see [run.MayShare].
// A subject that is not shared has runs of one automation.
func (s *Subjects) mayShare(ctx context.Context, d store.SubjectRow, from run.EventsFrom) (bool, error) {
	a := from.Automation
	if a == nil || d.RunID == "" || from.Event.AutomationUID == "" {
		return true, nil
	}
	works, err := s.store.Runs.Find(ctx, d.Team, d.RunID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return true, nil // it receives none
	}
	if err != nil || works.AutomationID == a.UID {
		return err == nil, err
	}
	template, err := s.automations.ResolveAutomation(ctx, *a)
	if _, broken := WhyBroken(err); broken {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return run.MayShare(works, template.run.RunRow)
}

// fromAutomation returns an event that waits with its automation, or why that starts nothing.
func (s *Subjects) fromAutomation(
	ctx context.Context, d store.SubjectRow, first store.SubjectEventRow,
) (from run.EventsFrom, why string, err error) {
	from.Event = first
	if d.OfCalls() {
		return from, "", nil
	}
	row, err := s.store.Automations.ByUID(ctx, d.AutomationOf(first))
	switch {
	case penstock.CodeOf(err) == penstock.CodeNotFound:
		return from, "The automation was deleted.", nil
	case err != nil:
		return from, "", err
	case !row.Enabled:
		why = "The automation was disabled."
	case row.Paused != nil:
		why = row.Paused.Skips("automation")
	}
	from.Automation = &row
	return from, why, nil
}

// lockDue locks a due subject; due is false if another server was first.
func lockDue(
	ctx context.Context, tx *store.Tx, d store.SubjectRow, now penstock.Time,
) (subject store.SubjectRow, due bool, err error) {
	subject, err = tx.Subjects().Lock(ctx, d.UID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return subject, false, nil
	}
	due = subject.NextAt != 0 && (subject.NextAt <= now || subject.Interrupt)
	return subject, due && err == nil, err
}

// drop skips the events of a subject that wait and are of the automation of one of them, unless another run works on
// it since it was read.
func (s *Subjects) drop(
	ctx context.Context, d store.SubjectRow, like store.SubjectEventRow, reason string, now penstock.Time,
) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		subject, due, err := lockDue(ctx, tx, d, now)
		if err != nil || !due || subject.RunID != d.RunID {
			return err
		}
		return tx.Subjects().DropLike(ctx, subject, like, reason, now)
	})
}

// dropContinuing is drop, unless an event waits that may start a run. One may have come since the events were read.
func (s *Subjects) dropContinuing(
	ctx context.Context, d store.SubjectRow, like store.SubjectEventRow, now penstock.Time,
) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		subject, due, err := lockDue(ctx, tx, d, now)
		if err != nil || !due || subject.RunID != d.RunID {
			return err
		}
		if starts, err := tx.Subjects().WaitingStarts(ctx, like); err != nil || starts {
			return err
		}
		const reason = "These events only continue runs, and the run on their subject takes no more of them."
		return tx.Subjects().DropLike(ctx, subject, like, reason, now)
	})
}

// startNext starts a new run for the events that wait, because they cannot continue the last one.
func (s *Subjects) startNext(ctx context.Context, d store.SubjectRow, from run.EventsFrom, now penstock.Time) error {
	if starts, err := s.store.Subjects.WaitingStarts(ctx, from.Event); err != nil {
		return err
	} else if !starts {
		return s.dropContinuing(ctx, d, from.Event, now)
	}
	a, first := from.Automation, from.Event // the oldest one
	started, why, err := s.nextRun(ctx, d, a, first, now)
	if err != nil {
		return err
	}
	if why != "" {
		return s.drop(ctx, d, first, why, now)
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		subject, due, err := lockDue(ctx, tx, d, now)
		if err != nil || !due || subject.NextAt > now || subject.RunID != d.RunID {
			return err
		}
		before, err := tx.Runs().Lock(ctx, subject.RunID)
		if penstock.CodeOf(err) == penstock.CodeNotFound {
			before, err = store.RunRow{}, nil
		}
		if err != nil || before.ID != "" && !before.State.Done() {
			return err
		}
		events, err := tx.Subjects().WaitingLike(ctx, first, run.MostGathered)
		if err != nil || len(events) == 0 || events[0].UID != first.UID {
			return err
		}
		if a == nil {
			events = run.FittingCalls(events)
		}
		for _, e := range events {
			started.Payers = penstock.MorePayers(started.Payers, e.PaidBy...)
		}
		return tx.Subjects().Start(ctx, subject, started, before, events, now)
	})
}

// nextRun makes the run that an event starts which has waited, or says why it starts none.
func (s *Subjects) nextRun(
	ctx context.Context, d store.SubjectRow, a *store.AutomationRow, first store.SubjectEventRow, now penstock.Time,
) (started *store.NewRun, why string, err error) {
	started, err = s.runFor(ctx, d, a, first, now)
	if why, broken := WhyBroken(err); broken {
		who := "The call"
		if a != nil {
			who = "The automation"
		}
		return nil, who + " cannot start runs: " + why, nil
	}
	if err == nil && a != nil {
		why, err = s.automations.full(ctx, started, d.UID)
	}
	return started, why, err
}

// runFor makes the run that an event starts which has waited.
func (s *Subjects) runFor(
	ctx context.Context, d store.SubjectRow, a *store.AutomationRow, first store.SubjectEventRow, now penstock.Time,
) (*store.NewRun, error) {
	if a == nil {
		return run.RunOfCall(ctx, s.runs, *first.Call)
	}
	template, err := s.automations.ResolveAutomation(ctx, *a)
	if err != nil {
		return nil, err
	}
	return s.stamp(ctx, d, template, first, now)
}

// stamp makes the run of an automation for an event that has waited.
func (s *Subjects) stamp(
	ctx context.Context, d store.SubjectRow, template *RunTemplate, first store.SubjectEventRow, now penstock.Time,
) (*store.NewRun, error) {
	uid, connection, err := s.store.Webhooks.OfDelivery(ctx, first.DeliveryID) // another one may have begun the subject
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		uid, err = d.WebhookUID, nil
	}
	if err != nil {
		return nil, err
	}
	webhook, err := s.store.Webhooks.ByUID(ctx, uid)
	if err != nil && penstock.CodeOf(err) != penstock.CodeNotFound {
		return nil, err
	}
	if err != nil && connection {
		return nil, penstock.Errorf(penstock.CodeConflict, "the connection of the event was deleted")
	}
	if err != nil {
		webhook.UID, webhook.FactoryUID = uid, d.FactoryUID
	}
	on := Cause{
		Source: run.SourceWebhook, At: now, WebhookUID: uid, DeliveryID: first.DeliveryID,
		TriggerURL: s.receiver.deliveryURL(webhook, first.DeliveryID), Scheme: webhook.SignatureScheme,
		Envelope: envelope(webhook, first.DeliveryID), PaidBy: first.PaidBy,
	}
	body, err := s.store.Deliveries.Payload(ctx, first.DeliveryID)
	if err != nil && penstock.CodeOf(err) != penstock.CodeNotFound {
		return nil, err
	}
	if err == nil {
		if document, err := trigger.ParseDocument(body); err == nil {
			on.Payload, _ = document.Root() // without one, the title shows no values
			on.Repository = repositoryOf(webhook, on.Payload)
			on.Thread = threadOf(webhook, on.Payload)
		}
	}
	started, err := template.Stamp(ctx, on)
	if err != nil {
		return nil, err
	}
	started.Subject = d.Subject.Subject // also if the event is of a pull request that belongs to it
	started.Claim = nil                 // the subject is locked when the run is stored
	return started, nil
}

// SubjectQuery chooses subjects.
type SubjectQuery = store.SubjectQuery

// SubjectPage is a page of subjects, newest first.
type SubjectPage struct {
	Subjects []store.Subject `json:"subjects"`
	PageInfo store.PageInfo  `json:"page_info"`
}

// List returns one page of what events were about, newest first.
func (s *Subjects) List(ctx context.Context, p penstock.Principal, q SubjectQuery) (SubjectPage, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return SubjectPage{}, err
	}
	list, next, err := s.store.Subjects.List(ctx, p.Team, q)
	return SubjectPage{Subjects: list, PageInfo: store.PageInfo{HasNext: next != "", NextCursor: next}}, err
}

// Read returns one subject with its latest events.
func (s *Subjects) Read(ctx context.Context, p penstock.Principal, uid string) (store.Subject, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return store.Subject{}, err
	}
	return s.store.Subjects.Find(ctx, p.Team, uid)
}

// ClearSubjects removes subjects whose last event and run are no longer kept. Each has its own transaction,
// because a subject may have tens of thousands of events.
func (s *Subjects) ClearSubjects(ctx context.Context) error {
	if s.keepFor <= 0 {
		return nil
	}
	before := penstock.Now().Add(-s.keepFor)
	var began time.Time
	return share.Sweep(share.BatchSize, func(after store.OldSubject) ([]store.OldSubject, error) {
		if after.UID != "" { // it works at most a quarter of the time
			if err := share.Pause(ctx, 3*time.Since(began)); err != nil {
				return nil, err
			}
		}
		began = time.Now()
		return s.store.Subjects.Old(ctx, before, after.UID, share.BatchSize)
	}, func(old store.OldSubject) error {
		if !old.Dormant {
			return nil
		}
		err := s.store.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Subjects().Remove(ctx, old.UID, before)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove subject %s: %w", old.UID, err)
		}
		return nil
	})
}
