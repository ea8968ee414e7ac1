package definition

import (
	"reflect"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Automation is automations/NAME/automation.md, or automations/NAME.md.
type Automation struct {
	Name               string                `json:"-"`
	Enabled            *bool                 `json:"enabled,omitzero" about:"Whether it starts runs." default:"true"`
	Agent              string                `json:"agent,omitzero" rule:"name" about:"The agent whose runs it starts; the foreman where absent."`
	Title              string                `json:"title,omitzero" rule:"title" about:"Title of its runs; {{data.order}} stands for that value of the payload. The automation's name where absent."`
	CredentialStrategy string                `json:"credentialStrategy,omitzero" unset:"null" rule:"strategy" about:"Whose credentials its runs work with."`
	Triggers           []Trigger             `json:"triggers" about:"The events that start runs; each event starts one run, even where several match it."`
	Subject            string                `json:"subject,omitzero" unset:"null or empty" rule:"subject" about:"What events are about, such as {{repository.full_name}}#{{pull_request.number}}: later events about the same reach the same run. auto is what the provider names."`
	SubjectScope       penstock.SubjectScope `json:"subjectScope,omitzero" rule:"subjectScope" about:"Whose events about the same reach the same run: those of this automation, or of all automations of the factory that say factory. Those need the same agent, secrets and network." default:"\"automation\""`
	WhenBusy           penstock.WhenBusy     `json:"whenBusy,omitzero" rule:"whenBusy" about:"What an event does while a run works on its subject: coalesce (one follow-up after the turn), queue (one for each), replace (interrupt) or parallel (a run of its own)." default:"\"coalesce\""`
	Quiet              penstock.Period       `json:"quiet,omitzero" rule:"period" about:"How long no event of the subject must come before a run or follow-up starts, such as 30s. The default is 0 for a first event, and 30s for later ones."`
	LongestWait        penstock.Period       `json:"longestWait,omitzero" rule:"period" about:"The most that events wait for that." default:"\"5m\""`
	Keep               penstock.Period       `json:"keep,omitzero" rule:"period" about:"How long after its success events continue a run." default:"\"14d\""`
	MaxFollowups       *int                  `json:"maxFollowups,omitzero" rule:"followups" about:"How often events may continue a run before a person has to answer." default:"20"`
	FollowupPrompt     string                `json:"followupPrompt,omitzero" unset:"null or empty" rule:"text" about:"The prompt for later events; the prompt of the automation where absent."`
	ContinueOn         []Trigger             `json:"continueOn,omitzero" about:"Events that reach the run on their subject, and never start one."`
	Closes             []Trigger             `json:"closes,omitzero" about:"Events that end their subject: what waits is dropped, and nothing starts until a newer event of the triggers."`
	ClosesRun          bool                  `json:"closesRun,omitzero" about:"Whether they also cancel its run." default:"false"`
	PauseAfterFailures int                   `json:"pauseAfterFailures,omitzero" rule:"failures" about:"Pause it after so many runs in a row that ended FAILED or ERROR; 0 never does." default:"0"`
	ExpectEvery        penstock.Period       `json:"expectEvery,omitzero" rule:"expected" about:"How often it is expected to start or continue a run, such as 26h: if it does not for so long, it is silent, and event endpoints get a message; 0 never is."`
	OnHollow           penstock.OnHollow     `json:"onHollow,omitzero" rule:"onHollow" about:"What happens to a run that SUCCEEDED without doing anything: alert (endpoints get a message), fail (the run is FAILED) or none." default:"\"alert\""`
	Settings
	Later
	Named

	Prompt string `json:"-" body:"prompt"`
}

// automations reads all automations.
func (p *parser) automations(factory *Factory, agents []Agent) []Automation {
	var shares *sharer
	return each(p, KindAutomation, func(at place, d *document) Automation {
		a := Automation{Name: at.name}
		findings := p.count
		d.readMarkdown(p.files[at.path], true)
		if d.root == nil && p.count > findings {
			return a
		}
		d.decode(&a)
		d.prompt()
		p.refers(d, KindAgent, a.Agent, "agent")
		above := []Settings{factory.AgentDefaults, {Forge: factory.Forge}}
		if agent, ok := findAgent(agents, a.Agent); ok {
			above = slices.Insert(above, 0, agent.Settings)
		}
		p.settings(d, a.Settings, above)
		d.size(a.Overrides().Config())
		p.triggers(d, a.Triggers)
		shares = p.sharedSubjects(d, a, above, shares)
		p.subjectTriggers(d, "continueOn", a, a.ContinueOn)
		p.subjectTriggers(d, "closes", a, a.Closes)
		if a.Prompt == "" {
			d.badLinef(d.last, 1, InvalidDocument, "the prompt is missing: write the task of a run below the front matter")
		}
		return a
	})
}

// sharer is the first automation of a factory that shares its subjects.
type sharer struct {
	Automation
	document *document
	reported bool
}

// sharedSubjects checks an automation that may share its subjects, and whose layers are below above, against the
// first one that does, and returns that. If they differ, it reports both: either may be the one that was changed.
func (p *parser) sharedSubjects(d *document, a Automation, above []Settings, first *sharer) *sharer {
	if a.SubjectScope != penstock.SubjectScopeFactory {
		return first
	}
	node := d.find("subjectScope")
	if strings.TrimSpace(a.Subject) == "" {
		d.badf(node, InvalidValue, "subjectScope factory needs a subject")
	}
	for _, s := range above {
		a.Settings = a.below(s)
	}
	if first == nil {
		return &sharer{Automation: a, document: d}
	}
	var other string
	switch {
	case !strings.EqualFold(a.Agent, first.Agent):
		other = "another agent"
	case !sameSecrets(a.Settings, first.Settings):
		other = "other secrets"
	case a.EnvironmentID != first.EnvironmentID:
		other = "another environmentId"
	case !strings.EqualFold(a.Runner, first.Runner):
		other = "another runner"
	case a.WorkerHost != first.WorkerHost:
		other = "another workerHost"
	case len(a.MCPServers)+len(first.MCPServers) > 0 && !reflect.DeepEqual(a.MCPServers, first.MCPServers):
		other = "other mcpServers"
	case !reflect.DeepEqual(a.Forge.Settings().PushPolicy(), first.Forge.Settings().PushPolicy()),
		!reflect.DeepEqual(a.Forge.Settings().PolicyOfOutputs(), first.Forge.Settings().PolicyOfOutputs()):
		other = "other settings of forge"
	case !slices.Equal(a.Repositories, first.Repositories):
		other = "other repositories"
	default:
		return first
	}
	const rule = "subjectScope factory needs the same agent, secrets and network in all automations that have it: " +
		"automation %s has %s"
	d.badf(node, InvalidValue, rule, quote(first.Name), other)
	if !first.reported {
		first.reported = true
		first.document.badf(first.document.find("subjectScope"), InvalidValue, rule, quote(a.Name), other)
	}
	return first
}

// sameSecrets reports whether two configurations give the same managed secrets to a run.
func sameSecrets(a, b Settings) bool {
	secrets := func(s Settings) []string {
		list := slices.Clone(s.Secrets)
		if s.Harness != nil && s.Harness.Auth != nil {
			list = append(list, s.Harness.Auth.Source+" "+s.Harness.Auth.SecretName)
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	return slices.Equal(secrets(a), secrets(b))
}

// Automation returns a in the vocabulary of the server.
func (a Automation) Automation() penstock.Automation {
	automation := penstock.Automation{
		Name: a.Name, Enabled: value(a.Enabled, true), Agent: a.Agent, Title: a.Title,
		Prompt: a.Prompt, Triggers: []penstock.Trigger{},
		SubjectRules: penstock.SubjectRules{
			Subject: a.Subject, SubjectScope: a.SubjectScope, WhenBusy: a.WhenBusy,
			Quiet: a.Quiet, LongestWait: a.LongestWait, Keep: a.Keep,
			MaxFollowups: a.MaxFollowups, FollowupPrompt: a.FollowupPrompt,
			ContinueOn: triggersOf(a.ContinueOn), Closes: triggersOf(a.Closes), ClosesRun: a.ClosesRun,
		},
		HealthRules: penstock.HealthRules{PauseAfterFailures: a.PauseAfterFailures, ExpectEvery: a.ExpectEvery},
		OnHollow:    a.OnHollow,
		Overrides:   a.Overrides(),
	}
	automation.CredentialStrategy = a.CredentialStrategy
	automation.Triggers = append(automation.Triggers, triggersOf(a.Triggers)...)
	return automation
}

func triggersOf(list []Trigger) []penstock.Trigger {
	var triggers []penstock.Trigger
	for _, t := range list {
		triggers = append(triggers, t.Trigger())
	}
	return triggers
}

// AutomationOf returns the document of an automation.
func AutomationOf(a penstock.Automation) Automation {
	automation := Automation{
		Name: a.Name, Enabled: pointer(a.Enabled, true), Agent: a.Agent, Title: a.Title,
		CredentialStrategy: a.CredentialStrategy,
		Subject:            a.Subject, SubjectScope: a.SubjectScope, WhenBusy: a.WhenBusy,
		Quiet: a.Quiet, LongestWait: a.LongestWait, Keep: a.Keep,
		MaxFollowups: a.MaxFollowups, FollowupPrompt: a.FollowupPrompt, ClosesRun: a.ClosesRun,
		PauseAfterFailures: a.PauseAfterFailures, ExpectEvery: a.ExpectEvery, OnHollow: a.OnHollow,
		Settings: settingsOf(a.Overrides), Prompt: trimBody(a.Prompt),
	}
	if a.Harness != nil {
		automation.Model, automation.Harness = harnessModel(a.Harness, a.Model, a.HarnessAuthSecrets)
	}
	for _, list := range []struct {
		from []penstock.Trigger
		to   *[]Trigger
	}{{a.Triggers, &automation.Triggers}, {a.ContinueOn, &automation.ContinueOn}, {a.Closes, &automation.Closes}} {
		for _, t := range list.from {
			*list.to = append(*list.to, TriggerOf(t))
		}
	}
	return automation
}

// ApplyTo returns was with the values of the document. Its UID and dates stay unchanged. An equal
// value in another spelling also stays.
func (a Automation) ApplyTo(was penstock.Automation) penstock.Automation {
	next := a.Automation()
	next.UID, next.CreatedAt, next.UpdatedAt = was.UID, was.CreatedAt, was.UpdatedAt
	before, after := AutomationOf(was), AutomationOf(next)
	if before.Model == after.Model && reflect.DeepEqual(before.Harness, after.Harness) {
		next.Model, next.Harness, next.HarnessAuthSecrets = was.Model, was.Harness, was.HarnessAuthSecrets
	}
	if reflect.DeepEqual(before.MCPServers, after.MCPServers) {
		next.MCPServers = was.MCPServers
	}
	if reflect.DeepEqual(before.Triggers, after.Triggers) {
		next.Triggers = was.Triggers
	}
	if reflect.DeepEqual(before.ContinueOn, after.ContinueOn) {
		next.ContinueOn = was.ContinueOn
	}
	if reflect.DeepEqual(before.Closes, after.Closes) {
		next.Closes = was.Closes
	}
	return next
}
