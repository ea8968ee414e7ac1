package factory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// opens records an open pull request of a thread of the factory.
func (h *hooks) opens(owner string) store.SeenPull {
	h.T.Helper()
	pull := store.PullRequest{
		BranchOwner: store.BranchOwner{Team: h.Admin.Team, Repository: "https://git.test/acme/shop.git", Owner: owner},
		Factory:     h.factory, Connection: "c", Base: "main", Branch: "penstock/x", Number: 1,
	}
	if err := h.Database().Write(h.T.Context(), func(tx *store.Tx) error {
		return tx.Forges().SetPullRequest(h.T.Context(), pull)
	}); err != nil {
		h.T.Fatal(err)
	}
	list, err := h.Database().Forges.UnseenPulls(h.T.Context(), penstock.Now().Add(time.Hour), 10)
	if err != nil || len(list) != 1 {
		h.T.Fatal(list, err)
	}
	return list[0]
}

func (h *hooks) closes(pull store.SeenPull) {
	h.T.Helper()
	if err := h.Database().Forges.ClosePull(h.T.Context(), pull); err != nil {
		h.T.Fatal(err)
	}
}

// limitOpen sets how many pull requests of the factory may be open.
func (h *hooks) limitOpen(n int) {
	h.T.Helper()
	if _, err := h.Factories.Update(h.T.Context(), h.Admin, h.factory, factory.FactoryRequest{
		Forge: &penstock.ForgeSettings{Outputs: &penstock.OutputSettings{
			PullRequest: &penstock.PullRequestSettings{OpenLimit: &n},
		}},
	}); err != nil {
		h.T.Fatal(err)
	}
}

const fullText = "It starts no run: the factory has reached its limit of open pull requests: 1 of 1 are open"

// At the limit of open pull requests, no automation starts a run, and the log says why. A person does. A delivery can
// be replayed once there is room.
func TestAutomationsStartNothingAtTheLimitOfOpenPullRequests(t *testing.T) {
	withFactory(t, func(d *run.Deps) {
		testworld.DefaultWebhooks(d)
		d.TimesByHand = true
	}, func(h *hooks) {
		ctx, webhook := h.T.Context(), h.hook(named("events", penstock.AuthToken))
		h.automate("one", webhook.Name, "")
		clocked, err := h.Resources.CreateAutomation(ctx, h.Admin, h.factory, factory.AutomationRequest{
			Name: new("clocked"), Prompt: new("Do it."), Triggers: &[]penstock.Trigger{{
				Provider: penstock.ProviderSchedule, Event: penstock.EventCronFired,
				Schedule: &penstock.CronTrigger{Cron: "@hourly"},
			}},
		})
		if err != nil {
			h.T.Fatal(err)
		}
		h.limitOpen(1)
		pull := h.opens("run:x")

		refused := h.arrive(webhook.UID, `{"n": 1}`).DeliveryID
		match := func(id string) store.DeliveryMatch {
			h.T.Helper()
			d, err := h.Deliveries.Read(ctx, h.Admin, h.factory, webhook.UID, id)
			if err != nil || len(d.Matches) != 1 {
				h.T.Fatal(d.Matches, err)
			}
			return d.Matches[0]
		}
		if m := match(refused); m.WouldTrigger || m.RunID != "" || m.Fate != store.FateSkipped ||
			!strings.HasPrefix(m.Reason, fullText) {
			h.T.Errorf("a delivery: %+v", m)
		}
		at := penstock.Now().Add(time.Hour)
		if err := h.Schedules.FireClocks(ctx, at); err != nil {
			h.T.Fatal(err)
		}
		page, err := h.Schedules.Occurrences(ctx, h.Admin, store.OccurrenceQuery{AutomationUID: clocked.UID})
		if err != nil || len(page.Occurrences) != 1 || page.Occurrences[0].Fate != store.FateSkipped ||
			!strings.HasPrefix(page.Occurrences[0].Reason, fullText) {
			h.T.Errorf("a clock: %+v, %v", page.Occurrences, err)
		}
		list, err := h.Runs.List(ctx, h.Admin, penstock.RunQuery{})
		if err != nil || len(list.Runs) != 0 {
			h.T.Errorf("%d runs, %v", len(list.Runs), err)
		}
		if _, err := h.Automations.Run(ctx, h.Admin, h.factory, clocked.UID, run.SourceAPI); err != nil {
			h.T.Errorf("by hand: %v", err)
		}
		h.dispatch()

		// A run that can open none needs no place.
		none := &penstock.ForgeSettings{Outputs: &penstock.OutputSettings{
			Limits: &penstock.OutputBounds{PullRequest: new(0)},
		}}
		if _, err := h.Resources.UpdateAutomation(ctx, h.Admin, h.factory, clocked.UID, factory.AutomationRequest{
			LayerKeysRequest: factory.LayerKeysRequest{Forge: none},
		}); err != nil {
			h.T.Fatal(err)
		}
		if err := h.Schedules.FireClocks(ctx, at.Add(time.Hour)); err != nil {
			h.T.Fatal(err)
		}
		page, err = h.Schedules.Occurrences(ctx, h.Admin, store.OccurrenceQuery{AutomationUID: clocked.UID})
		if err != nil || page.Occurrences[0].Fate != store.FateStarted {
			h.T.Errorf("without pull requests: %+v, %v", page.Occurrences, err)
		}

		h.closes(pull)
		replayed, err := h.Deliveries.Replay(ctx, h.Admin, h.factory, webhook.UID, refused)
		if err != nil || match(replayed.ID).RunID == "" {
			h.T.Errorf("replayed: %+v, %v", replayed, err)
		}
	})
}

// At the limit, events still reach the run on their subject, and may start the next one if its thread has one of the
// open pull requests. Events that waited for the end of a run start none.
func TestSubjectsAtTheLimitOfOpenPullRequests(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		w.limitOpen(1)
		first := w.event(7, 1)
		a := w.Work()
		other := w.opens("run:x")
		refused := w.event(8, 1)
		w.wantFates([]string{first, refused}, store.FateStarted, store.FateSkipped)
		if got := w.why(refused); !strings.HasPrefix(got, fullText) {
			w.T.Errorf("the match says %s", got)
		}
		waits := w.event(7, 2)
		w.wantFates([]string{waits}, store.FateWaiting)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed})
		w.after(time.Hour)
		w.wantFates([]string{waits}, store.FateSkipped)
		d, err := w.Deliveries.Read(w.T.Context(), w.Admin, w.factory, w.webhook.UID, waits)
		if err != nil || !strings.HasPrefix(d.Matches[0].FateReason, fullText) {
			w.T.Errorf("what waited: %+v, %v", d.Matches, err)
		}
		again := w.event(7, 3)
		w.wantFates([]string{again}, store.FateSkipped)
		if n := len(w.runs()); n != 1 {
			w.T.Errorf("there are %d runs", n)
		}

		w.closes(other)
		page, err := w.Subjects.List(w.T.Context(), w.Admin, store.SubjectQuery{Subject: "acme/shop#7"})
		if err != nil || len(page.Subjects) != 1 {
			w.T.Fatal(page, err)
		}
		w.opens("subject:" + page.Subjects[0].UID)
		w.wantFates([]string{w.event(8, 2), w.event(7, 4)}, store.FateSkipped, store.FateStarted)
		b := w.Work()
		waits = w.event(7, 5)
		w.Finish(b.Lease, penstock.Result{State: penstock.StateFailed})
		w.after(time.Hour)
		w.wantFates([]string{waits}, store.FateStarted)
	})
}
