package control

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// job is background work. Each replica does all of it, and every change is conditional.
type job struct {
	name  string
	topic string // nudges that start it immediately; "": none
	every time.Duration
	do    func(context.Context) error
}

func (r *Rules) jobs() []job {
	return []job{
		{"end lost leases", "", time.Second, r.Executions.SweepLeases()},
		{"continue runs whose budgets have room", store.TopicBudgets, time.Second, r.Executions.ResumeFunded},
		{"count abandoned calls as spent", "", 10 * time.Minute, r.Executions.SettleAbandoned},
		{"announce stalled runs", "", run.AnnounceStallsEvery, r.atNow(r.Executions.AnnounceStalls)},
		{"announce silent automations", "", run.AnnounceSilenceEvery, r.atNow(r.Executions.SweepSilence())},
		{"end runs that waited too long", "", 30 * time.Second, r.Executions.EndOverdue},
		{"index runs for the search", store.TopicSearch, 30 * time.Second, r.Upkeep.IndexRuns},
		{"start scheduled runs", store.TopicSchedules, time.Second, r.atNow(r.Schedules.FireDue)},
		{"start automations on a schedule", store.TopicSchedules, time.Second, r.atNow(r.Schedules.FireClocks)},
		{"give events to the runs on their subjects", store.TopicSubjects, time.Second, r.atNow(r.Subjects.GiveDue)},
		{"send messages to event endpoints", store.TopicEndpoints, time.Second, r.Endpoints.Send},
		{"follow comments on forges", store.TopicCommands, time.Second, r.Outputs.ObeyCommands},
		{"do outputs on forges", store.TopicOutputs, time.Second, r.Outputs.DoDue},
		{"look at open pull requests", "", 30 * time.Second, r.Outputs.LookAtPulls},
		{"check connections to forges", "", 30 * time.Second, r.Connections.CheckDue},
		{"clear old messages to event endpoints", "", 10 * time.Minute, r.Endpoints.ClearOld},
		{"clear old subjects", "", 10 * time.Minute, r.Subjects.ClearSubjects},
		{"plan again after a clock was set back", "", time.Minute, r.atNow(r.Schedules.Replan)},
		{"clear old occurrences", "", 10 * time.Minute, r.Schedules.ClearOccurrences},
		{"poll the repositories of factories", store.TopicRepositories, time.Second, r.Repositories.SyncRepositories},
		{"poll repositories early", "", time.Hour, r.Repositories.HastenSyncs},
		{"remove mirrors of repositories", "", time.Hour, r.Repositories.EvictMirrors},
		{"record when keys were used", "", 10 * time.Second, r.Keys.Touch},
		{"drop counts of requests", "", 10 * time.Minute, r.Keys.DropAllowances},
		{"record when sessions were used", "", 10 * time.Second, r.Sessions.Touch},
		{"drop sessions that have ended", "", 10 * time.Minute, r.Sessions.DropEnded},
		{"record when secrets were used", "", 10 * time.Second, r.Secrets.Touch},
		{"record which secrets sign deliveries", "", 3 * time.Second, r.Webhooks.TouchWebhookSecrets},
		{"count rejected deliveries", "", 3 * time.Second, r.Receiver.FlushRejections},
		{"announce webhooks that fail", "", factory.AnnounceFailingEvery, r.atNow(r.Webhooks.AnnounceFailing)},
		{"clear the logs of deliveries", "", time.Minute, r.Deliveries.ClearLogs},
		{"remove old runs", "", time.Minute, r.Upkeep.RemoveOldRuns},
		{"clear old prebuilds", "", 10 * time.Minute, r.Catalog.ClearPrebuilds},
		{"forget branches that runs have pushed", "", time.Hour, r.Connections.ClearBranches},
		{"remove attachments that no follow-up has named", "", 10 * time.Minute, r.Files.ExpireAttachments},
		{"remove saved files that no turn needs", "", time.Hour, r.Files.ClearPacks},
		{"remove unreferenced files", "", 24 * time.Hour, r.Files.RemoveOrphans},
		{"clear counts and senders of deliveries", "", 10 * time.Minute, r.Deliveries.ClearCounts},
		{"drop stored responses", "", 10 * time.Minute, r.Responses.DropKept},
	}
}

func (r *Rules) atNow(fire func(context.Context, penstock.Time) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if r.deps.TimesByHand {
			return nil
		}
		return fire(ctx, penstock.Now())
	}
}

// Run does the background work until ctx ends, and waits for it.
func (r *Rules) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, j := range r.jobs() {
		running.Go(func() { j.repeat(ctx, r.deps.Store.Nudges, r.deps.Log) })
	}
	running.Wait()
	r.Repositories.Wait()
	r.Endpoints.Wait()
	r.Outputs.Wait()
	r.Skills.Close()
	// Record the uses of the last seconds too.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return errors.Join(
		r.Keys.Touch(last), r.Sessions.Touch(last), r.Secrets.Touch(last), r.Webhooks.TouchWebhookSecrets(last),
		r.Receiver.FlushRejections(last),
	)
}

// calm is how long a job that is nudged rests after each time. Nudges that come meanwhile are one.
const calm = 20 * time.Millisecond

// repeat does the job until ctx ends. A failure is logged and tried again, at most once a second.
func (j job) repeat(ctx context.Context, nudges *store.Nudges, log *slog.Logger) {
	var nudged <-chan struct{}
	if j.topic != "" {
		c, stop := nudges.Subscribe(j.topic)
		defer stop()
		nudged = c
	}
	for {
		next := j.every
		if err := j.do(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
			log.Error("background work failed; trying again", "job", j.name, "error", err)
			next = max(next, time.Second)
		}
		if nudged != nil && share.Pause(ctx, calm) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-nudged:
		case <-time.After(next):
		}
	}
}
