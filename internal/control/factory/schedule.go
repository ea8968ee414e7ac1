package factory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// upcoming is how many next times of a schedule are shown.
const upcoming = 5

// List lists the schedules that the caller may see, by name.
func (s *Schedules) List(ctx context.Context, p penstock.Principal) ([]penstock.Schedule, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return nil, err
	}
	rows, err := s.store.Schedules.List(ctx, run.ViewerOf(p))
	schedules := make([]penstock.Schedule, len(rows))
	for i, r := range rows {
		schedules[i] = presentSchedule(r)
	}
	return schedules, err
}

// Read returns one schedule.
func (s *Schedules) Read(ctx context.Context, p penstock.Principal, id string) (penstock.Schedule, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return penstock.Schedule{}, err
	}
	r, err := s.store.Schedules.Find(ctx, run.ViewerOf(p), id)
	if err != nil {
		return penstock.Schedule{}, err
	}
	return presentSchedule(r), nil
}

// presentSchedule adds the values that are not stored.
func presentSchedule(r store.ScheduleRow) penstock.Schedule {
	out := r.Schedule
	out.Scope = &penstock.Scoped{Type: "Team", UID: r.Team}
	if r.Personal {
		out.Scope = &penstock.Scoped{Type: "User", UID: r.CreatedBy.UID}
	}
	out.History = &penstock.ScheduleHistory{}
	if r.LastAt != 0 {
		out.History.LastRan = &r.LastAt
	}
	out.Enabled = r.Enabled && r.Paused == nil
	if !out.Enabled || r.NextAt == 0 {
		return out
	}
	out.History.NextRun = &r.NextAt
	out.Upcoming = []penstock.Time{r.NextAt}
	if c, err := timesOf(r); err == nil {
		out.Upcoming = append(out.Upcoming, c.times(r.NextAt, upcoming-1)...)
	}
	return out
}

// Create creates a schedule. Every error of its runs is also an error of the schedule.
func (s *Schedules) Create(
	ctx context.Context, p penstock.Principal, req ScheduleRequest,
) (penstock.Schedule, error) {
	now := penstock.Now()
	r := store.ScheduleRow{
		Schedule: penstock.Schedule{ID: penstock.NewID(), CreatedAt: now, CreatedBy: &p.Actor},
		Team:     p.Team, Version: 1, PaidBy: p.PaidBy(),
	}
	if err := s.define(ctx, p, &r, req, now); err != nil {
		return penstock.Schedule{}, err
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (penstock.Schedule, error) {
		if err := run.UseEnvironment(ctx, tx, p, r.EnvironmentID(), "/agent_config/environment_id"); err != nil {
			return penstock.Schedule{}, err
		}
		if err := access.UseSecrets(ctx, tx, p, "/agent_config", r.Config); err != nil {
			return penstock.Schedule{}, err
		}
		if err := tx.Schedules().Add(ctx, r); err != nil {
			return penstock.Schedule{}, err
		}
		if err := s.catalog.RoomInList(ctx, tx, store.ListOfSchedules, r.Team); err != nil {
			return penstock.Schedule{}, err
		}
		if err := tx.Automations().SetHealth(ctx, healthOfSchedule(r), now); err != nil {
			return penstock.Schedule{}, err
		}
		return readSchedule(ctx, tx, p, r.ID)
	})
}

// Replace replaces all fields of a schedule that callers set; it clears omitted fields. Its
// runs still belong to its creator.
func (s *Schedules) Replace(
	ctx context.Context, p penstock.Principal, id string, req ScheduleRequest,
) (penstock.Schedule, error) {
	if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
		return penstock.Schedule{}, err
	}
	old, err := s.store.Schedules.Find(ctx, run.ViewerOf(p), id)
	if err != nil {
		return penstock.Schedule{}, err
	}
	if req.Enabled == nil {
		return penstock.Schedule{}, penstock.Invalid("/enabled", "is required: PUT replaces the whole schedule")
	}
	checked := old
	checked.ChangedBy = p.PaidBy()
	if err := s.define(ctx, p, &checked, req, penstock.Now()); err != nil {
		return penstock.Schedule{}, err
	}
	return s.changeSchedule(ctx, p, id, func(tx *store.Tx, r *store.ScheduleRow, now penstock.Time) error {
		if err := run.UseEnvironment(ctx, tx, p, checked.EnvironmentID(), "/agent_config/environment_id"); err != nil {
			return err
		}
		if err := changeTimes(ctx, tx, *r, checked, now); err != nil {
			return err
		}
		if err := access.UseSecrets(ctx, tx, p, "/agent_config", checked.Config); err != nil {
			return err
		}
		next, sameTimes := r.NextAt, r.Enabled && checked.Enabled && r.Cron == checked.Cron && r.TimeZone == checked.TimeZone
		r.TimeZone, r.CatchUp, r.Overlap = checked.TimeZone, checked.CatchUp, checked.Overlap
		r.Name, r.Cron, r.Enabled = checked.Name, checked.Cron, checked.Enabled
		r.HealthRules = checked.HealthRules
		r.Prompt, r.Personal = checked.Prompt, checked.Personal
		r.ChangedBy = checked.ChangedBy
		r.Mode, r.Config, r.AgentUID, r.Metadata = checked.Mode, checked.Config, checked.AgentUID, checked.Metadata
		if sameTimes { // @every continues from its last time
			r.NextAt = next
			return nil
		}
		return planSchedule(r, now)
	})
}

// Pause stops a schedule from firing. It does nothing if the schedule is paused.
func (s *Schedules) Pause(ctx context.Context, p penstock.Principal, id string) (penstock.Schedule, error) {
	return s.changeSchedule(ctx, p, id, func(tx *store.Tx, r *store.ScheduleRow, now penstock.Time) error {
		if !r.Enabled {
			return errUnchanged
		}
		return pause(ctx, tx, r, now)
	})
}

// pause makes an enabled schedule stop.
func pause(ctx context.Context, tx *store.Tx, r *store.ScheduleRow, now penstock.Time) error {
	before := *r
	r.Enabled = false
	if err := changeTimes(ctx, tx, before, *r, now); err != nil {
		return err
	}
	return planSchedule(r, now)
}

// orphaned is why a schedule without its creator starts nothing.
const orphaned = "Its creator is disabled or deleted."

// PauseOf pauses the schedules of a member who is disabled or deleted.
func (s *Schedules) PauseOf(ctx context.Context, tx *store.Tx, team, creator string) error {
	rows, err := tx.Schedules().LockOf(ctx, team, creator)
	if err != nil {
		return err
	}
	now := penstock.Now()
	for _, r := range rows {
		if err := pause(ctx, tx, &r, now); err != nil {
			return err
		}
		if err := tx.Schedules().Set(ctx, r); err != nil {
			return err
		}
		if err := tx.Automations().SetHealth(ctx, healthOfSchedule(r), now); err != nil {
			return err
		}
		if err := tx.Schedules().Ticked(ctx, r.ID, 0, orphaned); err != nil {
			return err
		}
	}
	return nil
}

// Resume makes a paused schedule fire again at its next time. Times that passed during the
// pause are skipped. It does nothing if the schedule is not paused.
func (s *Schedules) Resume(ctx context.Context, p penstock.Principal, id string) (penstock.Schedule, error) {
	if err := s.checkResumed(ctx, p, id); err != nil {
		return penstock.Schedule{}, err
	}
	return s.changeSchedule(ctx, p, id, func(tx *store.Tx, r *store.ScheduleRow, now penstock.Time) error {
		if r.Enabled && r.Paused == nil {
			return errUnchanged
		}
		if r.Orphaned != 0 {
			return penstock.Errorf(
				penstock.CodeConflict, "the creator of the schedule is disabled or deleted: create it again, or enable the user",
			)
		}
		if uid := r.EnvironmentID(); uid != "" {
			err := tx.Environments().Use(ctx, p.Team, uid)
			if penstock.CodeOf(err) == penstock.CodeNotFound {
				return penstock.Errorf(
					penstock.CodeConflict, "the schedule's environment %q has been deleted: replace the schedule with another one",
					uid,
				)
			}
			if err != nil {
				return err
			}
		}
		err := access.UseSecrets(ctx, tx, p, "", r.Config)
		if penstock.CodeOf(err) == penstock.CodeInvalidRequest {
			return penstock.Errorf(
				penstock.CodeConflict, "the schedule names a deleted secret: create the secret again, or replace the schedule",
			)
		}
		if err != nil {
			return err
		}
		r.ChangedBy, err = access.Payers(
			ctx, tx, r.Team, penstock.MorePayers(r.ChangedBy, p.PaidBy()...), "replace the schedule, or create a new one",
		)
		if err != nil {
			return err
		}
		if r.Enabled { // failures have paused it: its times went on
			return nil
		}
		r.Enabled = true
		return planSchedule(r, now)
	})
}

// checkResumed refuses to resume a schedule if a cap on costs would apply to its runs, also the cap
// of the caller's key, and their model has no price.
func (s *Schedules) checkResumed(ctx context.Context, p penstock.Principal, id string) error {
	if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
		return err
	}
	r, err := s.store.Schedules.Find(ctx, run.ViewerOf(p), id)
	if err != nil || r.Enabled && r.Paused == nil {
		return err
	}
	r.ChangedBy = penstock.MorePayers(r.ChangedBy, p.PaidBy()...)
	_, err = s.runs.New(ctx, creatorOf(r), requestOf(r), originOf(r))
	if penstock.CodeOf(err) == penstock.CodeNotSupported {
		return err
	}
	return nil // any other problem is recorded when the schedule fires
}

// Delete deletes a schedule. Its runs continue.
func (s *Schedules) Delete(ctx context.Context, p penstock.Principal, id string) error {
	if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
		return err
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		before, err := tx.Schedules().Lock(ctx, run.ViewerOf(p), id)
		if err != nil {
			return err
		}
		if err := skipTimes(ctx, tx, before, "deleted", penstock.Now()); err != nil {
			return err
		}
		return tx.Schedules().Delete(ctx, id)
	})
}

// errUnchanged is returned to changeSchedule if there is nothing to store.
var errUnchanged = errors.New("the schedule is unchanged")

// changeSchedule changes one schedule in a transaction and returns it.
func (s *Schedules) changeSchedule(
	ctx context.Context, p penstock.Principal, id string, change func(*store.Tx, *store.ScheduleRow, penstock.Time) error,
) (penstock.Schedule, error) {
	if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
		return penstock.Schedule{}, err
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (penstock.Schedule, error) {
		r, err := tx.Schedules().Lock(ctx, run.ViewerOf(p), id)
		if err != nil {
			return penstock.Schedule{}, err
		}
		now := penstock.Now()
		switch err := change(tx, &r, now); {
		case errors.Is(err, errUnchanged):
			return presentSchedule(r), nil
		case err != nil:
			return penstock.Schedule{}, err
		}
		r.UpdatedAt, r.UpdatedBy = now, &p.Actor
		if err := tx.Schedules().Set(ctx, r); err != nil {
			return penstock.Schedule{}, err
		}
		if err := s.catalog.RoomInList(ctx, tx, store.ListOfSchedules, r.Team); err != nil {
			return penstock.Schedule{}, err
		}
		if err := tx.Automations().SetHealth(ctx, healthOfSchedule(r), now); err != nil {
			return penstock.Schedule{}, err
		}
		return readSchedule(ctx, tx, p, id)
	})
}

// healthOfSchedule returns what is stored about the health of a schedule that is created or changed. A
// caller that leaves it enabled enables it.
func healthOfSchedule(r store.ScheduleRow) store.HealthOf {
	return store.HealthOf{
		Source: r.ID, Team: r.Team, Enabled: r.Enabled, Rules: r.HealthRules, Resume: r.Enabled && r.Paused != nil,
	}
}

// readSchedule returns a schedule as the transaction sees it.
func readSchedule(ctx context.Context, tx *store.Tx, p penstock.Principal, id string) (penstock.Schedule, error) {
	r, err := tx.Schedules().Lock(ctx, run.ViewerOf(p), id)
	if err != nil {
		return penstock.Schedule{}, err
	}
	return presentSchedule(r), nil
}

// planSchedule sets the next time after now.
func planSchedule(r *store.ScheduleRow, now penstock.Time) error {
	r.NextAt = 0
	if !r.Enabled {
		return nil
	}
	c, err := timesOf(*r)
	if err != nil {
		return penstock.Invalid("/cron_schedule", "%s", err)
	}
	r.NextAt = c.next(now)
	return nil
}

// timesOf reads the times of a schedule.
func timesOf(r store.ScheduleRow) (cronTimes, error) {
	place, err := parsePlace(r.TimeZone)
	if err != nil {
		return cronTimes{}, err
	}
	return parseCronIn(r.Cron, place)
}

// refuseRepositories reports repositories that an agent names: the runs of a schedule do not have its limits.
func refuseRepositories(bad func(string, string, ...any), p penstock.Principal, config *penstock.Config) {
	if p.IsAgent() && config != nil && len(config.Repositories) > 0 {
		bad("/agent_config/repositories", "must not be set with the key of an agent: use an environment")
	}
}

// define applies the request to r and returns all errors.
func (s *Schedules) define(
	ctx context.Context, p penstock.Principal, r *store.ScheduleRow, req ScheduleRequest, now penstock.Time,
) error {
	if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
		return err
	}
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	r.Name, r.Cron = strings.TrimSpace(req.Name), strings.TrimSpace(req.Cron)
	r.Enabled = req.Enabled == nil || *req.Enabled
	r.Prompt, r.Metadata, r.AgentUID = req.Prompt, req.Metadata, req.AgentUID
	r.Mode = cmp.Or(req.Mode, penstock.ModeNormal)
	if r.AgentUID == "" {
		r.AgentUID = p.AgentUID // the key of an agent creates runs of that agent, also later
	}
	r.Personal = req.Team != nil && !*req.Team
	r.Config = req.Config
	if req.Skill != "" {
		config := penstock.Config{}
		request.Set(&config, req.Config)
		config.SkillSpec, r.Config = req.Skill, &config
	}
	refuseRepositories(bad, p, r.Config)
	r.UpdatedAt, r.UpdatedBy = now, &p.Actor
	request.Name(bad, r.Name, true)
	if _, err := parseCronIn(r.Cron, time.UTC); err != nil {
		bad("/cron_schedule", "%s", err)
	}
	// These are later than the other fields: a client that does not know them does not change them.
	r.CatchUp = cmp.Or(req.CatchUp, r.CatchUp, penstock.CatchUpOnce)
	r.Overlap = cmp.Or(req.Overlap, r.Overlap, penstock.OverlapAllow)
	checkTicks(bad, "", r.CatchUp, r.Overlap)
	request.Set(&r.PauseAfterFailures, req.PauseAfterFailures)
	request.Set(&r.ExpectEvery, req.ExpectEvery)
	checkHealth(bad, r.HealthRules)
	zone, field, problem := zoneOf(changedZone(req.TimeZone, req.Timezone, r.TimeZone))
	if problem != "" {
		bad("/"+field, "%s", problem)
	}
	r.TimeZone = cmp.Or(zone, r.TimeZone, "UTC")
	nothing := strings.TrimSpace(r.Prompt) == "" && (r.Config == nil ||
		r.Config.SkillSpec == "" && len(r.Config.Skills) == 0)
	if nothing {
		bad("/prompt", "is required unless skill, agent_config.skill_spec or agent_config.skills is given")
	}
	if err := access.MayName(p, "/agent_config", req.Config); err != nil {
		return err
	}
	if err := s.tryRun(ctx, p, *r, req.Skill != ""); err != nil {
		var known *penstock.Error
		if !errors.As(err, &known) || len(known.Fields) == 0 {
			return err
		}
		for _, f := range known.Fields {
			if f.Pointer != "/prompt" || !nothing { // reported above
				errs = append(errs, f)
			}
		}
	}
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	return planSchedule(r, now)
}

// tryRun builds the run that the schedule would start now, without storing it. Errors name the
// schedule's fields, and secrets only to a caller who manages them.
func (s *Schedules) tryRun(ctx context.Context, p penstock.Principal, r store.ScheduleRow, fromSkill bool) error {
	creator := creatorOf(r)
	if p.May(penstock.ScopeSecretsManage) {
		creator.Scopes = append(creator.Scopes, penstock.ScopeSecretsManage)
	}
	_, err := s.runs.New(ctx, creator, requestOf(r), originOf(r))
	var known *penstock.Error
	if !errors.As(err, &known) {
		return err
	}
	for i := range known.Fields {
		f := &known.Fields[i]
		switch rest, inConfig := strings.CutPrefix(f.Pointer, "/config"); {
		case fromSkill && f.Pointer == "/config/skill_spec":
			f.Pointer = "/skill"
		case inConfig:
			f.Pointer = "/agent_config" + rest
		case f.Pointer == "/agent_identity_uid":
			f.Pointer = "/agent_uid"
		}
	}
	return known
}

// creatorOf returns the principal of a schedule's runs: the creator of the schedule, with only
// the right to create them. The author of the configuration had the right to name its secrets.
func creatorOf(r store.ScheduleRow) penstock.Principal {
	p := penstock.Principal{
		Team: r.Team, Actor: *r.CreatedBy, Scopes: []penstock.Scope{penstock.ScopeRunsWrite, penstock.ScopeSecretsUse},
		Makers: payersOf(r),
	}
	if len(p.Makers) > 0 { // whose run it is in sums by key
		p.KeyUID, p.Makers = p.Makers[0], p.Makers[1:]
	}
	return p
}

// payersOf lists the keys that pay for the runs that a schedule starts.
func payersOf(r store.ScheduleRow) []string { return penstock.MorePayers(r.PaidBy, r.ChangedBy...) }

func requestOf(r store.ScheduleRow) penstock.RunRequest {
	shared := !r.Personal
	return penstock.RunRequest{
		Prompt: r.Prompt, Mode: r.Mode, Title: r.Name, Config: r.Config, AgentIdentityUID: r.AgentUID, Metadata: r.Metadata,
		Team: &shared,
	}
}

func originOf(r store.ScheduleRow) run.Origin {
	return run.Origin{
		Source: run.SourceSchedule, Schedule: &penstock.RunSchedule{ID: r.ID, Name: r.Name, Cron: r.Cron},
	}
}
