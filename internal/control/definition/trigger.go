package definition

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// MaxTriggers is how many triggers an automation can have.
const MaxTriggers = 20

// Trigger is an event that starts an automation.
type Trigger struct {
	Provider string    `json:"provider" rule:"provider" about:"Where the event comes from."`
	Event    string    `json:"event" about:"The kind of event."`
	Filter   Tree      `json:"filter,omitzero" about:"Which of the events start a run: all keys must match, and an absent or empty one matches everything."`
	Schedule *Schedule `json:"schedule,omitzero" about:"A clock of its own, for the event cron_fired."`
}

// Schedule is the trigger's own schedule.
type Schedule struct {
	Cron     string           `json:"cron" rule:"text" about:"Five fields (minute hour day month weekday), or a descriptor such as @daily."`
	Name     string           `json:"name,omitzero" rule:"name" about:"Tells several schedules of an automation apart."`
	Timezone string           `json:"timezone,omitzero" alias:"timeZone" rule:"text" about:"IANA time zone, such as Europe/Berlin." default:"\"UTC\""`
	CatchUp  penstock.CatchUp `json:"catchUp,omitzero" rule:"catchUp" about:"What starts for times that passed while no server was there: once (one run for all), all (one for each, at most 100) or none." default:"\"once\""`
	Overlap  penstock.Overlap `json:"overlap,omitzero" rule:"overlap" about:"What happens while an earlier run has not ended: allow, queue, skip or replace." default:"\"allow\""`
}

// keyKind is the type of the value of a filter's key.
type keyKind byte

const (
	textMatcher   keyKind = iota // texts: a list, or a mapping with in and not_in
	numberMatcher                // whole numbers
	globMatcher                  // patterns of paths
	selection                    // texts: a textMatcher with at least one included value
	payloadFilter                // a filter of payloads
)

func kindOfKey(key string) keyKind {
	switch key {
	case "pr_numbers":
		return numberMatcher
	case "paths":
		return globMatcher
	case "webhook_ids", "schedule_ids":
		return selection
	case "payload":
		return payloadFilter
	}
	return textMatcher
}

// triggers checks what the rules of single values cannot check.
func (p *parser) triggers(d *document, triggers []Trigger) {
	node := d.find("triggers")
	switch {
	case node == nil || node.Kind != yaml.SequenceNode:
	case len(triggers) == 0:
		d.badf(node, MissingRequired, "an automation needs at least one trigger")
	case len(triggers) > MaxTriggers:
		d.badf(
			node, InvalidTrigger, "an automation has %d triggers; at most %d are allowed", len(triggers), MaxTriggers,
		)
	}
	var names []string
	for i, t := range triggers {
		at := d.find("triggers", i)
		if at == nil || at.Kind != yaml.MappingNode {
			continue
		}
		p.trigger(d, at, t)
		if s := t.Schedule; s != nil && s.Name != "" {
			if slices.Contains(names, s.Name) {
				d.badf(
					d.find("triggers", i, "schedule", "name"), InvalidTrigger,
					"the schedule %s exists twice: each schedule of an automation needs its own name", quote(s.Name),
				)
			}
			names = append(names, s.Name)
		}
	}
}

// subjectTriggers checks the triggers of events that continue or close a subject.
func (p *parser) subjectTriggers(d *document, key string, a Automation, triggers []Trigger) {
	node := d.find(key)
	switch {
	case len(triggers) == 0:
		return
	case len(triggers) > MaxTriggers:
		d.badf(node, InvalidTrigger, "%s has %d triggers; at most %d are allowed", key, len(triggers), MaxTriggers)
	case strings.TrimSpace(a.Subject) == "":
		d.badf(node, InvalidTrigger, "%s needs a subject", key)
	case a.WhenBusy == penstock.WhenBusyParallel:
		d.badf(node, InvalidTrigger, "%s needs another whenBusy than parallel, which gives each event a run of its own", key)
	}
	for i, t := range triggers {
		at := d.find(key, i)
		if at == nil || at.Kind != yaml.MappingNode {
			continue
		}
		p.trigger(d, at, t)
		if t.Provider == penstock.ProviderSchedule {
			d.badf(at, InvalidTrigger, "a schedule has no subject: %s takes events of webhooks, GitHub or Linear", key)
		}
	}
}

func (p *parser) trigger(d *document, at *yaml.Node, t Trigger) {
	events := penstock.TriggerEvents(t.Provider)
	if len(events) == 0 {
		return
	}
	before := p.errors
	if event := child(at, "event"); isText(event) && !slices.Contains(events, t.Event) {
		d.nearf(
			event, InvalidEvent, nearest(t.Event, events), "%s has no event %s; it has %s", t.Provider, quote(t.Event),
			list(events),
		)
	}
	given := p.filter(d, child(at, "filter"), t.Provider)
	schedule := child(at, "schedule")
	switch {
	case given == nil:
	case t.Provider == penstock.ProviderWebhook && given["webhook_ids"] == nil:
		d.badf(at, InvalidFilter, "a webhook trigger needs a filter with webhook_ids")
	case t.Provider == penstock.ProviderSchedule && (schedule == nil) == (given["schedule_ids"] == nil):
		d.badf(at, InvalidTrigger, "a schedule trigger needs either a schedule or a filter with schedule_ids")
	}
	if schedule != nil && t.Provider != penstock.ProviderSchedule {
		d.badf(schedule, InvalidTrigger, "only a trigger of the provider schedule has a schedule")
	} else {
		p.schedule(d, schedule, t.Schedule)
	}
	unread := len(given) > 0 && t.Filter == nil || schedule != nil && t.Schedule == nil // reported at its place already
	if p.errors > before || given == nil || unread {
		return
	}
	// Also apply the rules of the API, above all its limits.
	for _, problem := range t.Trigger().Check("") {
		if problem.Pointer == "/event" { // missing or not a text, which is reported already
			continue
		}
		d.badf(pointed(at, problem.Pointer), InvalidFilter, "%s", strings.TrimPrefix(problem.String(), "/"))
	}
}

func (p *parser) schedule(d *document, at *yaml.Node, s *Schedule) {
	if at == nil || s == nil {
		return
	}
	if s.Cron != "" && p.known.CheckCron != nil {
		if err := p.known.CheckCron(s.Cron); err != nil {
			d.badf(child(at, "cron"), InvalidTrigger, "cron %s", err)
		}
	}
	if s.Timezone == "" {
		return
	}
	if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
		d.badf(
			child(at, "timezone"), InvalidTrigger, "%s is not an IANA time zone, such as Europe/Berlin", quote(s.Timezone),
		)
	}
}

// filter checks a trigger's filter and returns the values of its keys. It returns nil if the filter
// cannot be read, so that no missing key is reported.
func (p *parser) filter(d *document, at *yaml.Node, provider string) map[string]*yaml.Node {
	given := map[string]*yaml.Node{}
	switch {
	case at == nil || at.Kind == yaml.ScalarNode && kindOf(at) == nullScalar:
		return given
	case unusable(at):
		return nil
	case at.Kind != yaml.MappingNode:
		d.badf(at, InvalidFilter, "a filter must be a mapping, not %s", describe(at))
		return nil
	}
	keys := penstock.TriggerKeys(provider)
	for _, entry := range entries(at) {
		key, value := entry[0], entry[1]
		if !slices.Contains(keys, key.Value) {
			d.nearf(
				key, InvalidFilter, nearest(key.Value, keys), "%s has no filter key %s; it has %s", provider, quote(key.Value),
				list(keys),
			)
			continue
		}
		given[key.Value] = value
		d.subject = key.Value
		switch kind := kindOfKey(key.Value); {
		case unusable(value):
		case kind == selection:
			p.selects(d, key.Value, value)
		case kind == payloadFilter:
			payload(d, value)
		default:
			matcher(d, value, kind)
		}
	}
	return given
}

// selects checks the sources of a trigger: a list, or {in: […], not_in: […]}. A name that selects
// nothing is not an error, because the resource may be created later, or may be deleted.
func (p *parser) selects(d *document, key string, at *yaml.Node) {
	list := at
	switch {
	case at.Kind == yaml.MappingNode:
		matcher(d, at, selection)
		if list = child(at, "in"); list == nil {
			d.mustf(at, InvalidFilter, "", "have at least one text in the list in")
			return
		}
		if list.Kind != yaml.SequenceNode {
			return // reported by matcher
		}
		if len(list.Content) == 0 {
			d.mustf(list, InvalidFilter, "", "have at least one text in the list in")
		}
	case at.Kind != yaml.SequenceNode || len(at.Content) == 0:
		d.mustf(at, InvalidFilter, "", "be a list with at least one text, or a mapping with the lists in and not_in")
		return
	default:
		values(d, at, selection)
	}
	for _, item := range list.Content {
		switch {
		case !isText(item) || strings.TrimSpace(item.Value) == "":
		case key == "webhook_ids" && !p.selectsWebhook(item.Value):
			d.warnf(
				item, InvalidReference, nearest(item.Value, p.names(KindWebhook)),
				"no webhook has the UID or file name %s, so it starts no runs", quote(item.Value),
			)
		case key == "schedule_ids" && p.known.ScheduleIDs != nil && !slices.Contains(p.known.ScheduleIDs, item.Value):
			d.warnf(item, InvalidReference, "", "no schedule has the id %s, so it starts no runs", quote(item.Value))
		}
	}
}

// selectsWebhook reports whether a name is a known UID or a file of the tree.
func (p *parser) selectsWebhook(name string) bool {
	if slices.Contains(p.names(KindWebhook), name) {
		return true
	}
	if p.known.WebhookUIDs == nil {
		return len(name) == 22 && !strings.ContainsFunc(name, notAlphanumeric)
	}
	return slices.Contains(p.known.WebhookUIDs, name)
}

// isText reports whether a node exists and is text, so that its value was read.
func isText(at *yaml.Node) bool {
	return at != nil && at.Kind == yaml.ScalarNode && kindOf(at) == textScalar && !unusable(at)
}

func notAlphanumeric(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
}

// text reports whether a node is text. If not, it adds a finding.
func (d *document) text(at *yaml.Node, code Code) bool {
	switch {
	case unusable(at):
		return false
	case isText(at):
		if strings.TrimSpace(at.Value) != "" {
			return true
		}
		d.mustf(at, code, "", "not have an empty text")
	case at.Kind == yaml.ScalarNode && kindOf(at) != nullScalar:
		d.mustf(at, code, "", "have text, not %s: write %q", describe(at), at.Value)
	default:
		d.mustf(at, code, "", "have text, not %s", describe(at))
	}
	return false
}

// matcher checks a list of values, or {in: […], not_in: […]}.
func matcher(d *document, at *yaml.Node, kind keyKind) {
	switch {
	case at.Kind == yaml.ScalarNode && kindOf(at) == nullScalar:
	case at.Kind == yaml.SequenceNode:
		values(d, at, kind)
	case at.Kind != yaml.MappingNode:
		d.mustf(at, InvalidFilter, "", "be a list of values, or a mapping with the lists in and not_in, not %s", describe(at))
	default:
		var in []string
		for _, entry := range entries(at) {
			key, list := entry[0], entry[1]
			switch {
			case key.Value != "in" && key.Value != "not_in":
				d.nearf(
					key, InvalidFilter, nearest(key.Value, []string{"in", "not_in"}), "unknown key %s; allowed are in, not_in",
					quote(key.Value),
				)
			case unusable(list):
			case list.Kind != yaml.SequenceNode:
				d.nearf(list, InvalidFilter, "", "%s of %s must be a list, not %s", key.Value, d.subject, describe(list))
			default:
				for _, item := range values(d, list, kind) {
					if slices.Contains(in, item.Value) {
						d.badf(item, InvalidFilter, "%s is in both in and not_in", quote(item.Value))
					}
				}
				for _, item := range list.Content {
					in = append(in, item.Value)
				}
			}
		}
	}
}

// values checks the items of a list and returns the valid ones.
func values(d *document, at *yaml.Node, kind keyKind) []*yaml.Node {
	var good []*yaml.Node
	for _, item := range at.Content {
		switch {
		case unusable(item):
		case kind == numberMatcher:
			if item.Kind == yaml.ScalarNode && kindOf(item) == numberScalar && !strings.ContainsAny(item.Value, ".eE-") {
				good = append(good, item)
				continue
			}
			d.mustf(item, InvalidFilter, "", "have whole numbers, not %s", describe(item))
		case !d.text(item, InvalidFilter):
		case kind == globMatcher && !penstock.ValidPaths(item.Value):
			d.badf(
				item, InvalidFilter,
				"%s is not a path pattern: close each [ with ], put a character after each \\, "+
					"and exclude paths with not_in instead of !", quote(item.Value),
			)
		default:
			good = append(good, item)
		}
	}
	return good
}

// payload checks a payload filter with the package that evaluates it.
func payload(d *document, at *yaml.Node) {
	if at.Kind != yaml.MappingNode {
		d.badf(at, InvalidFilter, "a payload filter must be a mapping, not %s", describe(at))
		return
	}
	if !d.exact(at) {
		return
	}
	_, err := trigger.ParseFilter(jsonOf(at))
	refused, ok := errors.AsType[*penstock.Error](err)
	if !ok {
		return
	}
	for _, f := range refused.Fields {
		d.badf(pointed(at, f.Pointer), InvalidFilter, "payload filter %s: %s", quote(f.Pointer), f.Detail)
	}
}

// Trigger returns t in the vocabulary of the server.
func (t Trigger) Trigger() penstock.Trigger {
	trigger := penstock.Trigger{Provider: t.Provider, Event: t.Event, Filter: json.RawMessage(t.Filter)}
	if string(t.Filter) == "null" {
		trigger.Filter = nil
	}
	if s := t.Schedule; s != nil {
		trigger.Schedule = &penstock.CronTrigger{
			Cron: s.Cron, Name: s.Name, Timezone: s.Timezone, CatchUp: s.CatchUp, Overlap: s.Overlap,
		}
	}
	return trigger
}

// TriggerOf returns a trigger as it is in a file.
func TriggerOf(t penstock.Trigger) Trigger {
	trigger := Trigger{Provider: t.Provider, Event: t.Event}
	if len(t.Filter) > 0 {
		trigger.Filter = Tree(t.Filter)
	}
	if s := t.Schedule; s != nil {
		trigger.Schedule = &Schedule{Cron: s.Cron, Name: s.Name, Timezone: s.Timezone, CatchUp: s.CatchUp, Overlap: s.Overlap}
	}
	return trigger
}
