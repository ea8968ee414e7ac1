package factory_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/blob"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func (w *world) schedule(id string) penstock.Schedule {
	w.T.Helper()
	s, err := w.Schedules.Read(w.T.Context(), w.Admin, id)
	if err != nil {
		w.T.Fatal(err)
	}
	return s
}

// fire runs the job of every second at a given time.
func (w *world) fire(now penstock.Time) {
	w.T.Helper()
	if err := w.Schedules.FireDue(w.T.Context(), now); err != nil {
		w.T.Fatal(err)
	}
}

// runsOf lists the runs that a schedule started, the first one first.
func (w *world) runsOf(scheduleID string) []penstock.Run {
	w.T.Helper()
	page, err := w.Runs.List(
		w.T.Context(), w.Admin, penstock.RunQuery{ScheduleID: scheduleID, SortBy: "created_at", Ascending: true, Limit: 500},
	)
	if err != nil {
		w.T.Fatal(err)
	}
	return page.Runs
}

var hourly = factory.ScheduleRequest{Name: "hourly", Cron: "@every 1h", Prompt: "go"}

func TestScheduleFromItsCreationToItsEnd(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		e := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "app"})
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("nightwatch")})
		made := w.CreateSchedule(factory.ScheduleRequest{
			Name: " nightly ", Cron: " 0 3 * * * ", Skill: "acme/app:triage", AgentUID: agent.UID,
			Metadata: map[string]string{"k": "v"},
			Config:   &penstock.Config{EnvironmentID: e.UID},
		})
		next := *made.History.NextRun
		want := penstock.Schedule{
			ID: made.ID, Name: "nightly", Cron: "0 3 * * *", TimeZone: "UTC", CatchUp: "once", Overlap: "allow",
			Enabled: true, Mode: penstock.ModeNormal, CreatedAt: made.CreatedAt,
			UpdatedAt: made.CreatedAt,
			Config:    &penstock.Config{EnvironmentID: e.UID, SkillSpec: "acme/app:triage"}, AgentUID: agent.UID,
			Metadata:    map[string]string{"k": "v"},
			Environment: &e.Config, CreatedBy: &w.Admin.Actor, UpdatedBy: &w.Admin.Actor,
			History: &penstock.ScheduleHistory{NextRun: &next},
			Scope:   &penstock.Scoped{Type: "Team", UID: "default"},
		}
		for day := range 5 {
			want.Upcoming = append(want.Upcoming, next.Add(time.Duration(day)*24*time.Hour))
		}
		if diff := cmp.Diff(want, made); diff != "" || next <= made.CreatedAt {
			w.T.Errorf("-want +got:\n%s", diff)
		}
		if diff := cmp.Diff(made, w.schedule(made.ID)); diff != "" {
			w.T.Errorf("read, -made +read:\n%s", diff)
		}

		replaced, err := w.Schedules.Replace(
			ctx, w.Admin, made.ID, factory.ScheduleRequest{Name: "weekly", Cron: "@weekly", Enabled: new(true), Prompt: "go"},
		)
		if err != nil {
			w.T.Fatal(err)
		}
		if replaced.Name != "weekly" || replaced.Config != nil || replaced.AgentUID != "" || replaced.Environment != nil ||
			replaced.Metadata != nil || replaced.Upcoming[0] == next {
			w.T.Errorf("replaced: %+v", replaced)
		}
		_, err = w.Schedules.Replace(
			ctx, w.Admin, made.ID, factory.ScheduleRequest{Name: "weekly", Cron: "@weekly", Prompt: "go"},
		)
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/enabled")

		if err := w.Schedules.Delete(ctx, w.Admin, made.ID); err != nil {
			w.T.Fatal(err)
		}
		_, err = w.Schedules.Read(ctx, w.Admin, made.ID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, made.ID)
		testworld.WantCode(w.T, w.Schedules.Delete(ctx, w.Admin, made.ID), penstock.CodeNotFound, made.ID)
		_, err = w.Schedules.Replace(
			ctx, w.Admin, made.ID, factory.ScheduleRequest{Name: "x", Cron: "@daily", Enabled: new(true), Prompt: "go"},
		)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, made.ID)
		_, err = w.Schedules.Pause(ctx, w.Admin, made.ID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, made.ID)
	})
}

func TestInvalidSchedules(t *testing.T) {
	worlds(t, nil, func(w *world) {
		with := func(change func(*factory.ScheduleRequest)) factory.ScheduleRequest {
			req := hourly
			change(&req)
			return req
		}
		config := func(c penstock.Config) factory.ScheduleRequest {
			return with(func(r *factory.ScheduleRequest) { r.Config = &c })
		}
		for name, test := range map[string]struct {
			req      factory.ScheduleRequest
			pointers []string
		}{
			"nothing at all": {factory.ScheduleRequest{}, []string{"/name", "/cron_schedule", "/prompt"}},
			"a blank prompt": {with(func(r *factory.ScheduleRequest) { r.Prompt = " \n" }), []string{"/prompt"}},
			"a time that never comes": {
				with(func(r *factory.ScheduleRequest) { r.Cron = "0 0 31 2 *" }), []string{"/cron_schedule"},
			},
			"a long name": {
				with(func(r *factory.ScheduleRequest) { r.Name = strings.Repeat("n", 101) }), []string{"/name"},
			},
			"a skill that is none": {with(func(r *factory.ScheduleRequest) { r.Skill = "a b" }), []string{"/skill"}},
			"bad metadata": {
				with(func(r *factory.ScheduleRequest) { r.Metadata = map[string]string{"a b": ""} }), []string{"/metadata/a b"},
			},
			"no such mode": {with(func(r *factory.ScheduleRequest) { r.Mode = "fast" }), []string{"/mode"}},
			"no such agent": {
				with(func(r *factory.ScheduleRequest) { r.AgentUID = "nobody" }), []string{"/agent_uid"},
			},
			"no such environment": {
				config(penstock.Config{EnvironmentID: "nowhere"}), []string{"/agent_config/environment_id"},
			},
			"no such harness": {
				config(penstock.Config{Harness: &penstock.Harness{Type: "x"}}), []string{"/agent_config/harness/type"},
			},
			"no such secret": {
				config(penstock.Config{Secrets: []string{"TOKEN"}}), []string{"/agent_config/secrets/0"},
			},
			"several things in config": {
				config(penstock.Config{SkillSpec: "a b", IdleTimeoutMinutes: new(-1)}),
				[]string{"/agent_config/skill_spec", "/agent_config/idle_timeout_minutes"},
			},
		} {
			_, err := w.Schedules.Create(w.T.Context(), w.Admin, test.req)
			var known *penstock.Error
			if !errors.As(err, &known) || known.Code != penstock.CodeInvalidRequest {
				w.T.Errorf("%s: got %v", name, err)
				continue
			}
			got := map[string]bool{}
			for _, f := range known.Fields {
				got[f.Pointer] = true
			}
			for _, pointer := range test.pointers {
				if !got[pointer] {
					w.T.Errorf("%s: got %v, want an error at %s", name, err, pointer)
				}
			}
			if len(known.Fields) != len(test.pointers) {
				w.T.Errorf("%s: got %v, want errors at %v alone", name, err, test.pointers)
			}
		}
		if list, err := w.Schedules.List(w.T.Context(), w.Admin); err != nil || len(list) != 0 {
			w.T.Errorf("%d were stored, %v", len(list), err)
		}
	})
}

func TestScheduledRunMatchesItsSchedule(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("nightwatch"), BaseModel: new("openai/x")})
		ada := w.CreateKeyFor("ada", penstock.ScopeRunsWrite)
		req := hourly
		req.AgentUID, req.Metadata, req.Config, req.Team = agent.UID, map[string]string{"k": "v"}, &penstock.Config{
			Name: "nightly",
		}, new(false)
		s, err := w.Schedules.Create(ctx, ada, req)
		if err != nil {
			w.T.Fatal(err)
		}
		w.fire(*s.History.NextRun - 1)
		if runs := w.runsOf(s.ID); len(runs) != 0 {
			w.T.Fatalf("it fired too early: %+v", runs)
		}
		w.fire(*s.History.NextRun)
		runs := w.runsOf(s.ID)
		if len(runs) != 1 {
			w.T.Fatalf("%d runs, want 1", len(runs))
		}
		run := runs[0]
		if run.Source != "SCHEDULED_AGENT" || run.Prompt != "go" || run.Title != "hourly" ||
			run.State != penstock.StateQueued ||
			run.Config.Name != "nightly" || run.Config.ModelID != "openai/x" || run.Metadata["k"] != "v" {
			w.T.Errorf("the run is %+v with %+v", run, run.Config)
		}
		if diff := cmp.Diff(&penstock.RunSchedule{ID: s.ID, Name: "hourly", Cron: "@every 1h"}, run.Schedule); diff != "" {
			w.T.Errorf("its schedule, -want +got:\n%s", diff)
		}
		if run.Creator == nil || run.Creator.UID != "ada" || run.Executor == nil || run.Executor.UID != agent.UID ||
			run.Scope.Type != "User" {
			w.T.Errorf("creator %+v, executor %+v, scope %+v", run.Creator, run.Executor, run.Scope)
		}
		after := w.schedule(s.ID)
		if *after.History.LastRan != *s.History.NextRun || *after.History.NextRun != s.History.NextRun.Add(time.Hour) ||
			after.LastSpawnError != nil || after.UpdatedAt != s.UpdatedAt {
			w.T.Errorf("after it the schedule is %+v, %+v", after, after.History)
		}
		if a := w.Claim(); a.Run.ID != run.ID {
			w.T.Errorf("a worker is given %s, want %s", a.Run.ID, run.ID)
		}
	})
}

// createKeyFor creates another user's key.
func TestRunsOfAScheduleHaveItsMode(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		req := hourly
		req.Mode = penstock.ModePlan
		s := w.CreateSchedule(req)
		if list, err := w.Schedules.List(ctx, w.Admin); err != nil || s.Mode != penstock.ModePlan ||
			list[0].Mode != penstock.ModePlan {
			w.T.Fatalf("created %q, listed %+v, %v, want mode plan", s.Mode, list, err)
		}
		w.fire(*s.History.NextRun)
		a := w.Claim()
		if a.Run.Mode != penstock.ModePlan || len(a.Prompts) != 1 || a.Prompts[0].Mode != penstock.ModePlan {
			w.T.Errorf("the run has mode %q, its prompts %+v, want plan", a.Run.Mode, a.Prompts)
		}

		for _, mode := range []penstock.Mode{penstock.ModeOrchestrate, ""} {
			req.Mode, req.Enabled = mode, new(true)
			replaced, err := w.Schedules.Replace(ctx, w.Admin, s.ID, req)
			if err != nil {
				w.T.Fatal(err)
			}
			want := mode
			if want == "" {
				want = penstock.ModeNormal
			}
			if got := w.schedule(s.ID).Mode; replaced.Mode != want || got != want {
				w.T.Errorf("replaced with %q: responded %q, kept %q, want %q", mode, replaced.Mode, got, want)
			}
		}
		if _, err := w.Schedules.Pause(ctx, w.Admin, s.ID); err != nil || w.schedule(s.ID).Mode != penstock.ModeNormal {
			w.T.Errorf("paused: mode %q, %v, want it kept", w.schedule(s.ID).Mode, err)
		}
	})
}

func TestScheduleFiresOnceAfterDowntime(t *testing.T) {
	worlds(t, nil, func(w *world) {
		every := w.CreateSchedule(hourly)
		// Every hour, half an hour away from now.
		often := fmt.Sprintf("%d * * * *", (time.Now().Minute()+30)%60)
		cron := w.CreateSchedule(factory.ScheduleRequest{Name: "cron", Cron: often, Prompt: "go", Enabled: new(true)})
		back := every.History.NextRun.Add(5*time.Hour + 20*time.Minute)
		w.fire(back)
		w.fire(back)
		for name, s := range map[string]penstock.Schedule{"@every": every, "cron": cron} {
			if runs := w.runsOf(s.ID); len(runs) != 1 {
				w.T.Errorf("%s: %d runs, want 1", name, len(runs))
			}
		}
		// @every keeps its beat.
		if got, want := *w.schedule(every.ID).History.NextRun, every.History.NextRun.Add(6*time.Hour); got != want {
			w.T.Errorf("the next time is %s, want %s", got, want)
		}
		if got := *w.schedule(cron.ID).History.NextRun; got <= back || got > back.Add(time.Hour) {
			w.T.Errorf("the next time is %s, want the first after %s", got, back)
		}
	})
}

func TestManySchedulesAtTheSameTime(t *testing.T) {
	worlds(t, nil, func(w *world) {
		const many = 230 // more than are read at once
		var last penstock.Schedule
		for i := range many {
			last = w.CreateSchedule(factory.ScheduleRequest{Name: fmt.Sprint("s", i), Cron: "@daily", Prompt: "go"})
		}
		w.fire(*last.History.NextRun)
		page, err := w.Runs.List(
			w.T.Context(), w.Admin, penstock.RunQuery{Sources: []penstock.Source{"SCHEDULED_AGENT"}, Limit: 500},
		)
		if err != nil || len(page.Runs) != many {
			w.T.Errorf("%d runs, %v, want %d", len(page.Runs), err, many)
		}
	})
}

// Several servers on one database handle every time at once.
func TestReplicasFireEachTimeOnce(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		replicas := []*control.Rules{w.Rules}
		for range 2 {
			replicas = append(replicas, control.New(run.Deps{
				Store: w.Database(), Log: slog.New(slog.DiscardHandler), Defaults: penstock.Config{ModelID: penstock.ModelOffline},
			}))
		}
		var schedules []penstock.Schedule
		for i := range 10 {
			schedules = append(
				schedules, w.CreateSchedule(factory.ScheduleRequest{Name: fmt.Sprint("s", i), Cron: "@every 1h", Prompt: "go"}),
			)
		}
		const times = 5
		now := schedules[len(schedules)-1].History.NextRun.Add(time.Second)
		for range times {
			var all sync.WaitGroup
			for _, r := range replicas {
				all.Go(func() {
					if err := r.Schedules.FireDue(ctx, now); err != nil {
						w.T.Error(err)
					}
				})
			}
			all.Wait()
			now = now.Add(time.Hour)
		}
		for _, s := range schedules {
			if runs := w.runsOf(s.ID); len(runs) != times {
				w.T.Errorf("schedule %s fired %d times, want %d", s.Name, len(runs), times)
			}
		}
	})
}

func TestScheduleContinuesWhenARunCannotBeCreated(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("nightwatch")})
		req := hourly
		req.AgentUID = agent.UID
		s := w.CreateSchedule(req)
		w.fire(*s.History.NextRun)
		if err := w.Resources.DeleteIdentity(ctx, w.Admin, agent.UID); err != nil {
			w.T.Fatal(err)
		}
		second := s.History.NextRun.Add(time.Hour)
		w.fire(second)
		got := w.schedule(s.ID)
		if got.LastSpawnError == nil || !strings.Contains(*got.LastSpawnError, agent.UID) {
			w.T.Errorf("last_spawn_error is %v, want that the agent is gone", got.LastSpawnError)
		}
		if !got.Enabled || *got.History.LastRan != *s.History.NextRun || *got.History.NextRun != second.Add(time.Hour) ||
			len(w.runsOf(s.ID)) != 1 {
			w.T.Errorf("after a time without a run it is %+v", got.History)
		}
		if _, err := w.Schedules.Replace(
			ctx, w.Admin, s.ID, factory.ScheduleRequest{Name: s.Name, Cron: s.Cron, Enabled: new(true), Prompt: "go"},
		); err != nil {
			w.T.Fatal(err)
		}
		w.fire(second.Add(time.Hour))
		if got := w.schedule(s.ID); got.LastSpawnError != nil || len(w.runsOf(s.ID)) != 2 {
			w.T.Errorf("mended, it has %v and %d runs, want none and 2", got.LastSpawnError, len(w.runsOf(s.ID)))
		}
	})
}

func TestPausedScheduleDoesNotFire(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		s := w.CreateSchedule(hourly)
		resumed, err := w.Schedules.Resume(ctx, w.Admin, s.ID)
		if diff := cmp.Diff(s, resumed); diff != "" || err != nil {
			w.T.Errorf("one that is not paused is changed by a resume, %v:\n%s", err, diff)
		}
		paused, err := w.Schedules.Pause(ctx, w.Admin, s.ID)
		if err != nil || paused.Enabled || paused.History.NextRun != nil || paused.Upcoming != nil {
			w.T.Errorf("paused: %+v, %v", paused, err)
		}
		again, err := w.Schedules.Pause(ctx, w.Admin, s.ID)
		if diff := cmp.Diff(paused, again); diff != "" || err != nil {
			w.T.Errorf("one that is paused is changed by a pause, %v:\n%s", err, diff)
		}
		w.fire(s.History.NextRun.Add(3 * time.Hour))
		resumed, err = w.Schedules.Resume(ctx, w.Admin, s.ID)
		if err != nil || !resumed.Enabled || len(resumed.Upcoming) != 5 || *resumed.History.NextRun < *s.History.NextRun {
			w.T.Errorf("resumed: %+v, %v", resumed, err)
		}
		w.fire(penstock.Now())
		if runs := w.runsOf(s.ID); len(runs) != 0 {
			w.T.Errorf("%d runs for the times that it was paused", len(runs))
		}
		disabled := w.CreateSchedule(
			factory.ScheduleRequest{Name: "off", Cron: "@hourly", Prompt: "go", Enabled: new(false)},
		)
		if disabled.Enabled || disabled.History.NextRun != nil {
			w.T.Errorf("made paused, it is %+v", disabled)
		}
	})
}

func TestReplacedScheduleKeepsItsTimes(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		s := w.CreateSchedule(hourly)
		w.fire(*s.History.NextRun) // so that its interval does not begin now
		next := *w.schedule(s.ID).History.NextRun
		got, err := w.Schedules.Replace(
			ctx, w.Admin, s.ID, factory.ScheduleRequest{Name: "n", Cron: s.Cron, Enabled: new(true), Prompt: "other"},
		)
		if err != nil || *got.History.NextRun != next {
			w.T.Errorf("the same times: next is %v, %v, want %s", got.History.NextRun, err, next)
		}
		got, err = w.Schedules.Replace(
			ctx, w.Admin, s.ID, factory.ScheduleRequest{Name: "n", Cron: "@every 3h", Enabled: new(true), Prompt: "other"},
		)
		if err != nil || *got.History.NextRun <= next {
			w.T.Errorf("other times: next is %v, %v", got.History.NextRun, err)
		}
	})
}

func TestOnlyItsCreatorSeesAPersonalSchedule(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		both := []penstock.Scope{penstock.ScopeRunsRead, penstock.ScopeRunsWrite}
		ada, bob := w.CreateKeyFor("ada", both...), w.CreateKeyFor("bob", both...)
		req := hourly
		req.Team = new(false)
		s, err := w.Schedules.Create(ctx, ada, req)
		if err != nil || s.Scope.Type != "User" || s.Scope.UID != "ada" {
			w.T.Fatalf("made %+v, %v", s, err)
		}
		_, err = w.Schedules.Read(ctx, bob, s.ID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, s.ID)
		_, err = w.Schedules.Pause(ctx, bob, s.ID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, s.ID)
		testworld.WantCode(w.T, w.Schedules.Delete(ctx, bob, s.ID), penstock.CodeNotFound, s.ID)
		_, err = w.Schedules.Replace(
			ctx, bob, s.ID, factory.ScheduleRequest{Name: "x", Cron: "@daily", Enabled: new(true), Prompt: "go"},
		)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, s.ID)
		for who, want := range map[*penstock.Principal]int{&ada: 1, &bob: 0, &w.Admin: 1} {
			if list, err := w.Schedules.List(ctx, *who); err != nil || len(list) != want {
				w.T.Errorf("%s lists %d, %v, want %d", who.Actor.UID, len(list), err, want)
			}
		}
	})
}

func TestAgentsScheduleMakesTheAgentsRuns(t *testing.T) {
	worlds(t, nil, func(w *world) {
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("nightwatch")})
		k := w.CreateKey(
			w.Admin, access.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeRunsWrite}, AgentUID: agent.UID},
		)
		p, err := w.Keys.Authenticate(w.T.Context(), k.Key)
		if err != nil {
			w.T.Fatal(err)
		}
		s, err := w.Schedules.Create(w.T.Context(), p, hourly)
		if err != nil || s.AgentUID != agent.UID {
			w.T.Errorf("made by the agent's key it is %+v, %v", s, err)
		}
	})
}

// End to end with the clock: a time that passed while the server was down, and the job that runs
// every second.
func TestServerFiresWhatIsDueWhenItStarts(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		ctx := t.Context()
		db := testkit.OpenStore(t, url)
		past := penstock.Now().Add(-24 * time.Hour)
		who := penstock.Actor{Type: "user", UID: "ada"}
		row := store.ScheduleRow{
			Schedule: penstock.Schedule{
				ID: penstock.NewID(), Name: "n", Cron: "@hourly", Enabled: true, Prompt: "go", CreatedAt: past, UpdatedAt: past,
				CreatedBy: &who, UpdatedBy: &who,
			},
			Team: store.DefaultTeam, NextAt: past,
		}
		if err := db.Write(ctx, func(tx *store.Tx) error { return tx.Schedules().Add(ctx, row) }); err != nil {
			t.Fatal(err)
		}
		blobs, err := blob.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		w := &world{&testworld.World{Rules: control.New(
			run.Deps{Store: db, Blobs: blobs, Log: slog.New(slog.DiscardHandler)},
		), T: t, URL: url, Admin: penstock.Principal{
			Team: store.DefaultTeam, Actor: who, Scopes: []penstock.Scope{penstock.ScopeAdmin},
		}}}
		w.Background()
		testkit.Eventually(t, time.Minute, func() error {
			if runs := w.runsOf(row.ID); len(runs) != 1 {
				return fmt.Errorf("%d runs, want 1", len(runs))
			}
			return nil
		})
		if next := w.schedule(row.ID).History.NextRun; next == nil || *next <= penstock.Now() {
			t.Errorf("the next time is %v", next)
		}
	})
}

func TestRightsToSchedules(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		s := w.CreateSchedule(hourly)
		for name, try := range map[string]struct {
			scope penstock.Scope
			do    func(p penstock.Principal) error
		}{
			"list": {
				penstock.ScopeRunsRead, func(p penstock.Principal) error { _, err := w.Schedules.List(ctx, p); return err },
			},
			"read": {
				penstock.ScopeRunsRead, func(p penstock.Principal) error { _, err := w.Schedules.Read(ctx, p, s.ID); return err },
			},
			"create": {
				penstock.ScopeRunsWrite,
				func(p penstock.Principal) error { _, err := w.Schedules.Create(ctx, p, hourly); return err },
			},
			"pause": {
				penstock.ScopeRunsWrite, func(p penstock.Principal) error { _, err := w.Schedules.Pause(ctx, p, s.ID); return err },
			},
			"resume": {
				penstock.ScopeRunsWrite,
				func(p penstock.Principal) error { _, err := w.Schedules.Resume(ctx, p, s.ID); return err },
			},
			"replace": {penstock.ScopeRunsWrite, func(p penstock.Principal) error {
				_, err := w.Schedules.Replace(
					ctx, p, s.ID, factory.ScheduleRequest{Name: "n", Cron: "@daily", Enabled: new(true), Prompt: "go"},
				)
				return err
			}},
		} {
			for _, scope := range penstock.Scopes() {
				err := try.do(w.As("bob", scope))
				if allowed := scope == try.scope || scope == penstock.ScopeAdmin; allowed != (err == nil) ||
					!allowed && penstock.CodeOf(err) != penstock.CodeNotAuthorized {
					w.T.Errorf("%s with %s: got %v", name, scope, err)
				}
			}
		}
		testworld.WantCode(
			w.T, w.Schedules.Delete(ctx, w.As("bob", penstock.ScopeRunsRead), s.ID), penstock.CodeNotAuthorized, "runs:write",
		)
	})
}

// smallLists limits lists without pages to 16 KiB.
func smallLists(o *run.Deps) { o.MaxListBytes = 16 << 10 }

// The list of schedules has no pages, so its size is limited.
func TestSchedulesOfATeamAreBounded(t *testing.T) {
	worlds(t, smallLists, func(w *world) {
		enabled := false
		request := func(n int, prompt string) factory.ScheduleRequest {
			return factory.ScheduleRequest{Name: fmt.Sprint(n), Cron: "@daily", Prompt: prompt, Enabled: &enabled}
		}
		add := func(n int, prompt string) (penstock.Schedule, error) {
			return w.Schedules.Create(w.T.Context(), w.Admin, request(n, prompt))
		}
		large := strings.Repeat("p", 1<<10)
		for n := range 15 {
			if _, err := add(n, large); err != nil {
				w.T.Fatalf("schedule %d: %v", n, err)
			}
		}
		_, err := add(16, large)
		testworld.WantCode(w.T, err, penstock.CodeConflict, "16 KiB")
		small, err := add(17, "go")
		if err != nil {
			w.T.Fatal(err)
		}
		_, err = w.Schedules.Replace(w.T.Context(), w.Admin, small.ID, request(17, large))
		testworld.WantCode(w.T, err, penstock.CodeConflict, "16 KiB")

		// An environment counts for each schedule that shows it.
		environment, err := w.Catalog.CreateEnvironment(
			w.T.Context(), w.Admin, penstock.EnvironmentConfig{SetupCommands: []string{"true"}},
		)
		if err != nil {
			w.T.Fatal(err)
		}
		shows := request(17, "go")
		shows.Config = &penstock.Config{EnvironmentID: environment.UID}
		if _, err := w.Schedules.Replace(w.T.Context(), w.Admin, small.ID, shows); err != nil {
			w.T.Fatal(err)
		}
		_, err = w.Catalog.ReplaceEnvironment(
			w.T.Context(), w.Admin, environment.UID,
			penstock.EnvironmentConfig{SetupCommands: []string{strings.Repeat("x", 2<<10)}},
		)
		testworld.WantCode(w.T, err, penstock.CodeConflict, "the team's schedules")
		all, err := w.Schedules.List(w.T.Context(), w.Admin)
		if err != nil || len(all) != 16 {
			w.T.Errorf("got %d schedules, want 16 (%v)", len(all), err)
		}
	})
}

func TestAgentsOfATeamAreBounded(t *testing.T) {
	worlds(t, smallLists, func(w *world) {
		large := strings.Repeat("p", 1<<10-500)
		n := 0
		for ; ; n++ {
			_, err := w.Resources.CreateIdentity(
				w.T.Context(), w.Admin, factory.IdentityRequest{Name: new(fmt.Sprint("a", n)), Prompt: &large},
			)
			if err != nil {
				testworld.WantCode(w.T, err, penstock.CodeConflict, "of the team's agents have more than 16 KiB")
				break
			}
			if n > 32 {
				w.T.Fatal("the list has no bound")
			}
		}
		all, err := w.Resources.ListIdentities(w.T.Context(), w.Admin, "")
		if err != nil || len(all) != n || n < 10 {
			w.T.Fatalf("got %d agents, want %d (%v)", len(all), n, err)
		}
		_, err = w.Resources.UpdateIdentity(
			w.T.Context(), w.Admin, all[0].UID, factory.IdentityRequest{Prompt: new(strings.Repeat("p", 3<<10))},
		)
		testworld.WantCode(w.T, err, penstock.CodeConflict, "16 KiB")
		_, err = w.Factories.Create(w.T.Context(), w.Admin, factory.FactoryRequest{Files: map[string]string{
			"factory.yaml":            "schemaVersion: v1alpha1\nname: Pay\nagentDefaults: {model: auto}\n",
			"agents/foreman/AGENT.md": "---\nkind: FOREMAN\n---\n" + strings.Repeat("p", 3<<10),
		}})
		if penstock.CodeOf(err) == "" {
			w.T.Error("the files of a factory add to a list that is full")
		}
		if err := w.Resources.DeleteIdentity(w.T.Context(), w.Admin, all[0].UID); err != nil {
			w.T.Fatal(err)
		}
		if _, err := w.Resources.CreateIdentity(
			w.T.Context(), w.Admin, factory.IdentityRequest{Name: new("b"), Prompt: &large},
		); err != nil {
			w.T.Errorf("there is room again: %v", err)
		}
	})
}

func TestEnvironmentsOfATeamAreBounded(t *testing.T) {
	worlds(t, smallLists, func(w *world) {
		config := func(n, size int) penstock.EnvironmentConfig {
			return penstock.EnvironmentConfig{Name: fmt.Sprint("e", n), SetupCommands: []string{strings.Repeat("x", size)}}
		}
		n := 0
		for ; ; n++ {
			_, err := w.Catalog.CreateEnvironment(w.T.Context(), w.Admin, config(n, 1<<10))
			if err != nil {
				testworld.WantCode(w.T, err, penstock.CodeConflict, "of the team's environments have more than 16 KiB")
				break
			}
			if n > 32 {
				w.T.Fatal("the list has no bound")
			}
		}
		all, err := w.Catalog.ListEnvironments(w.T.Context(), w.Admin, "name")
		if err != nil || len(all) != n || n < 10 {
			w.T.Fatalf("got %d environments, want %d (%v)", len(all), n, err)
		}
		_, err = w.Catalog.ReplaceEnvironment(w.T.Context(), w.Admin, all[0].UID, config(n+1, 4<<10))
		testworld.WantCode(w.T, err, penstock.CodeConflict, "16 KiB")
	})
}
