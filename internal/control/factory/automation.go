package factory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

var resourceName = penstock.LazyRegexp(`^[a-z0-9][a-z0-9-]{0,62}$`)

// ResourceName turns a label into the name of an automation or webhook, which is also the name of
// its file. The name is in lower case and has one - for consecutive spaces. ok is false if the
// result is not a valid name.
func ResourceName(label string) (name string, ok bool) {
	name = strings.Join(strings.Fields(strings.ToLower(label)), "-")
	return name, resourceName().MatchString(name)
}

// resourceNameRule describes the labels that [ResourceName] accepts.
const resourceNameRule = "must be 1 to 63 letters, digits, - and spaces, the first one a letter or digit"

// AutomationRequest creates or changes an automation. In a change, an absent field stays
// unchanged, and null clears it.
type AutomationRequest struct {
	Name     *string             `json:"name,omitempty"`
	Enabled  *bool               `json:"enabled,omitempty"`
	Agent    *string             `json:"agent,omitempty"`
	Title    *string             `json:"title,omitempty"`
	Prompt   *string             `json:"prompt,omitempty"`
	Triggers *[]penstock.Trigger `json:"triggers,omitempty"`
	SubjectRequest
	HealthRequest
	OnHollow *penstock.OnHollow `json:"on_hollow,omitempty"`

	Model         *string                        `json:"model,omitempty"`
	Harness       *penstock.Harness              `json:"harness,omitempty"`
	RunnerID      *string                        `json:"runner,omitempty"`
	EnvironmentID *string                        `json:"environment_id,omitempty"`
	Secrets       *[]string                      `json:"secrets,omitempty"`
	MCPServers    *map[string]penstock.MCPServer `json:"mcp_servers,omitempty"`
	Repositories  *[]penstock.RunRepository      `json:"repositories,omitempty"`
	LayerKeysRequest

	Cleared []string `json:"-"` // the fields that were given as null
}

// SubjectRequest changes what events are about.
type SubjectRequest struct {
	Subject        *string                `json:"subject,omitempty"`
	SubjectScope   *penstock.SubjectScope `json:"subject_scope,omitempty"`
	WhenBusy       *penstock.WhenBusy     `json:"when_busy,omitempty"`
	Quiet          *penstock.Period       `json:"quiet,omitempty"`
	LongestWait    *penstock.Period       `json:"longest_wait,omitempty"`
	Keep           *penstock.Period       `json:"keep,omitempty"`
	MaxFollowups   *int                   `json:"max_followups,omitempty"`
	FollowupPrompt *string                `json:"followup_prompt,omitempty"`

	ContinueOn *[]penstock.Trigger `json:"continue_on,omitempty"`
	Closes     *[]penstock.Trigger `json:"closes,omitempty"`
	ClosesRun  *bool               `json:"closes_run,omitempty"`
}

// HealthRequest changes when failures pause an automation or schedule, and when it is silent.
type HealthRequest struct {
	PauseAfterFailures *int             `json:"pause_after_failures,omitempty"`
	ExpectEvery        *penstock.Period `json:"expect_every,omitempty"`
}

// List lists a factory's automations by name.
func (s *Automations) List(
	ctx context.Context, p penstock.Principal, factoryUID string,
) ([]penstock.Automation, error) {
	if err := access.Require(p, penstock.ScopeFactoriesRead); err != nil {
		return nil, err
	}
	factory, err := s.store.Factories.Find(ctx, p.Team, factoryUID)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.Automations.List(ctx, factory.UID)
	if err != nil {
		return nil, err
	}
	return s.presentAutomations(ctx, factory, rows)
}

// Read returns one automation of a factory.
func (s *Automations) Read(
	ctx context.Context, p penstock.Principal, factoryUID, uid string,
) (penstock.Automation, error) {
	if err := access.Require(p, penstock.ScopeFactoriesRead); err != nil {
		return penstock.Automation{}, err
	}
	return s.ReadAutomation(ctx, p, factoryUID, uid)
}

// ReadAutomation reads an automation with its problems.
func (s *Automations) ReadAutomation(
	ctx context.Context, p penstock.Principal, factoryUID, uid string,
) (penstock.Automation, error) {
	factory, err := s.store.Factories.Find(ctx, p.Team, factoryUID)
	if err != nil {
		return penstock.Automation{}, err
	}
	row, err := s.store.Automations.Find(ctx, factory.UID, uid)
	if err != nil {
		return penstock.Automation{}, err
	}
	list, err := s.presentAutomations(ctx, factory, []store.AutomationRow{row})
	if err != nil {
		return penstock.Automation{}, err
	}
	return list[0], nil
}

// Change is a request to create or change an automation.
type Change struct {
	AutomationRequest
	All bool // for a new automation: every field counts as given
}

// given reports whether the request sets the field at a pointer, or part of it.
func (c Change) given(pointer string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	if c.All || name == "" || slices.Contains(c.Cleared, name) {
		return true
	}
	i := slices.IndexFunc(automationSettable, func(f request.Settable) bool { return f.Name == name })
	return i >= 0 && automationSettable[i].Given(&c.AutomationRequest)
}

// settable lists the fields of an automation that a request may set, clear or leave unchanged.
var automationSettable = request.SettableOf[AutomationRequest, penstock.Automation]()

// Apply applies the request to the row, and returns all errors of the given fields. The other
// fields were checked when they were stored.
func (c Change) Apply(s *Automations, row *store.AutomationRow) error {
	stored := row.Triggers
	for _, f := range automationSettable {
		if slices.Contains(c.Cleared, f.Name) {
			f.Clear(&row.Automation)
		}
		f.Set(&c.AutomationRequest, &row.Automation)
	}
	if c.Triggers != nil {
		row.Triggers = givenTriggers(*c.Triggers, stored)
	}
	errs := c.Check(s, row)
	errs = slices.DeleteFunc(errs, func(e penstock.FieldError) bool { return !c.given(e.Pointer) })
	if len(errs) > 0 {
		return penstock.InvalidFields(errs...)
	}
	return nil
}

// Check returns all errors that the automation alone shows, and makes its name canonical.
func (c Change) Check(s *Automations, row *store.AutomationRow) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	name, ok := ResourceName(row.Name)
	switch {
	case name == "":
		bad("/name", "is required")
	case !ok:
		bad("/name", "%s", resourceNameRule)
	default:
		row.Name = name
	}
	if slices.Contains(c.Cleared, "enabled") {
		bad("/enabled", "must be true or false")
	}
	request.Text(bad, "/agent", row.Agent, request.MaxName)
	if _, err := penstock.ParseTitle(row.Title); err != nil {
		bad("/title", "%s", err)
	}
	if strings.TrimSpace(row.Prompt) == "" {
		bad("/prompt", "is required")
	}
	request.Text(bad, "/prompt", row.Prompt, request.MaxAgentPrompt)
	errs = append(errs, checkSubject(row.SubjectRules)...)
	checkHealth(bad, row.HealthRules)
	if row.OnHollow != "" && !slices.Contains(definition.OnHollows(), row.OnHollow) {
		bad("/on_hollow", "must be alert, fail or none")
	}
	switch n := len(row.Triggers); {
	case n == 0:
		bad("/triggers", "must have at least one trigger")
	case n > definition.MaxTriggers:
		bad("/triggers", "has %d triggers; at most %d are allowed", n, definition.MaxTriggers)
	default:
		errs = append(errs, checkTriggers("/triggers", row.Triggers)...)
	}
	return append(errs, c.checkOverrides(s, row.Overrides)...)
}

// checkSubject returns the errors of what events are about.
func checkSubject(r penstock.SubjectRules) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if _, err := penstock.ParseSubject(r.Subject); err != nil {
		bad("/subject", "%s", err)
	}
	switch shared := r.SubjectScope == penstock.SubjectScopeFactory; {
	case !r.SubjectScope.Valid():
		bad("/subject_scope", "must be automation or factory")
	case shared && strings.TrimSpace(r.Subject) == "":
		bad("/subject_scope", "factory needs a subject")
	}
	if !r.WhenBusy.Valid() {
		bad("/when_busy", "must be coalesce, queue, replace or parallel")
	}
	for _, p := range []struct {
		pointer string
		value   penstock.Period
	}{{"/quiet", r.Quiet}, {"/longest_wait", r.LongestWait}, {"/keep", r.Keep}} {
		if !p.value.Valid() {
			bad(p.pointer, "must be a time such as 30s, 5m or 14d, at most 366d")
		}
	}
	if n := r.MaxFollowups; n != nil && (*n < 1 || *n > definition.MostFollowups) {
		bad("/max_followups", "must be 1 to %d", definition.MostFollowups)
	}
	request.Text(bad, "/followup_prompt", r.FollowupPrompt, request.MaxAgentPrompt)
	errs = append(errs, checkSubjectTriggers(r, "/continue_on", r.ContinueOn)...)
	return append(errs, checkSubjectTriggers(r, "/closes", r.Closes)...)
}

// checkSubjectTriggers returns the errors of events that continue or close a subject.
func checkSubjectTriggers(r penstock.SubjectRules, pointer string, list []penstock.Trigger) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	switch {
	case len(list) == 0:
	case len(list) > definition.MaxTriggers:
		bad(pointer, "has %d triggers; at most %d are allowed", len(list), definition.MaxTriggers)
		return errs
	case strings.TrimSpace(r.Subject) == "":
		bad(pointer, "needs a subject")
	case r.WhenBusy == penstock.WhenBusyParallel:
		bad(pointer, "needs another when_busy than parallel, which gives each event a run of its own")
	}
	for i, t := range list {
		if t.Provider == penstock.ProviderSchedule {
			bad(fmt.Sprintf("%s/%d/provider", pointer, i), "must be webhook, github or linear: a schedule has no subject")
		}
	}
	return append(errs, checkTriggers(pointer, list)...)
}

// checkHealth checks what pauses an automation or schedule, and what makes it silent.
func checkHealth(bad func(pointer, format string, args ...any), r penstock.HealthRules) {
	if n := r.PauseAfterFailures; n < 0 || n > definition.MostFailures {
		bad("/pause_after_failures", "must be 1 to %d, or 0 for never", definition.MostFailures)
	}
	if !r.ValidExpectEvery() {
		bad("/expect_every", "must be a time such as 30m, 26h or 7d, from 1m to 366d, or 0 for never")
	}
}

// checkOverrides returns the errors of an automation's own configuration.
func (c Change) checkOverrides(s *Automations, o penstock.Overrides) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if o.Model != "" && o.Harness != nil {
		if c.Model != nil {
			bad("/model", "cannot be given together with harness, which has a model of its own")
		} else {
			bad("/harness", "cannot be given together with model: clear model with null")
		}
	}
	for _, given := range []struct{ pointer, text string }{
		{"/model", o.Model}, {"/runner", o.RunnerID}, {"/environment_id", o.EnvironmentID}, {"/worker_host", o.WorkerHost},
	} {
		request.Text(bad, given.pointer, given.text, request.MaxName)
	}
	config := o.Config()
	errs = append(errs, s.catalog.CheckRepositories("/repositories", o.Repositories)...)
	for _, e := range append(config.Check("", s.harnesses), s.catalog.Reserved(config)...) {
		e.Pointer = overridePointer(e.Pointer)
		errs = append(errs, e)
	}
	return errs
}

func checkTriggers(pointer string, list []penstock.Trigger) []penstock.FieldError {
	var errs []penstock.FieldError
	names := map[string]bool{}
	for i, t := range list {
		at := fmt.Sprintf("%s/%d", pointer, i)
		errs = append(errs, checkTrigger(at, t)...)
		if t.Schedule == nil || t.Schedule.Name == "" {
			continue
		}
		name := t.Schedule.Name
		if names[name] {
			errs = append(
				errs,
				penstock.FieldError{
					Pointer: at + "/schedule/name", Detail: "is already the name of another trigger's schedule",
				},
			)
		}
		names[name] = true
	}
	return errs
}

// checkTrigger returns all errors of a trigger.
func checkTrigger(at string, t penstock.Trigger) []penstock.FieldError {
	errs := t.Check(at)
	if c := t.Schedule; c != nil && t.Provider == penstock.ProviderSchedule {
		request.Text(func(pointer, format string, args ...any) {
			errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
		}, at+"/schedule/name", c.Name, request.MaxName)
		errs = append(errs, checkClock(at+"/schedule", *c)...)
	}
	if t.Provider != penstock.ProviderWebhook {
		return errs
	}
	var fields penstock.WebhookFilter
	if json.Unmarshal(t.Filter, &fields) != nil || len(fields.Payload) == 0 || string(fields.Payload) == "null" {
		return errs
	}
	_, err := trigger.ParseFilter(fields.Payload)
	found, _ := request.FieldErrors(err)
	for _, e := range found {
		errs = append(errs, penstock.FieldError{Pointer: at + "/filter/payload" + e.Pointer, Detail: e.Detail})
	}
	return errs
}

// Use ensures that everything the request names exists when the transaction commits. Fields
// that the request omits may name deleted resources: the automation is then broken and reports
// it.
func (c Change) Use(
	ctx context.Context, tx *store.Tx, p penstock.Principal, factory store.FactoryRow, row store.AutomationRow,
) error {
	var errs []penstock.FieldError
	collect := func(err error) error {
		found, ok := request.FieldErrors(err)
		errs = append(errs, found...)
		if ok {
			return nil
		}
		return err
	}
	if c.given("/agent") {
		_, err := agentOf(factory, row.Agent)
		if err := collect(err); err != nil {
			return err
		}
	}
	if c.given("/environment_id") {
		if err := collect(run.UseEnvironment(ctx, tx, p, row.EnvironmentID, "/environment_id")); err != nil {
			return err
		}
	}
	if c.given("/secrets") || c.given("/mcp_servers") {
		if err := collect(access.UseSecrets(ctx, tx, p, "", row.Config())); err != nil {
			return err
		}
	}
	errs = slices.DeleteFunc(errs, func(e penstock.FieldError) bool { return !c.given(e.Pointer) })
	if len(errs) > 0 {
		return penstock.InvalidFields(errs...)
	}
	return nil
}
