package factory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// Plan is everything that the deliveries of a webhook are checked against, at one version of
// its team. The transaction that records a delivery checks that the plan is current.
type Plan struct {
	Snapshot WebhookSnapshot // the webhook as the ingress read it

	row         store.WebhookRow
	url         string // of the forge, if the webhook is of a connection
	automations []planEntry
	filters     *trigger.FilterSet // of all automations
	filtered    bool               // one of them has conditions: the body is parsed for it
	events      bool               // an automation needs events of the webhook's signature scheme
	pushes      bool               // its deliveries may report pushes to repositories of the team's factories
	size        int64

	fullUntil   atomic.Int64 // until then the rate limit rejects everything; Unix nanoseconds
	silentUntil atomic.Int64 // until then failed authentications are not logged
	senders     senders
}

// planEntry is an automation of a plan. It holds everything that a delivery without a match
// reads, so that many automations stay fast.
type planEntry struct {
	automation *planned
	works      []string             // on what its factory works, if the webhook is of a connection
	waits      [len(roles)]planWait // by the role of the events
}

// planWait is what an automation waits for in one role. One filter or event must match.
type planWait struct {
	first, end int                  // the range in the filters of the plan
	events     []*trigger.Condition // of the webhook's signature scheme
}

// roles lists what events may do, in the order in which they are tried.
var roles = [...]store.EventRole{store.EventCloses, store.EventStarts, store.EventContinues}

// planned is an automation that the webhook starts. Plans of one version of the team share it
// if their webhooks start it with the same filters.
type planned struct {
	row   store.AutomationRow
	waits [len(roles)]conditions // by the role of the events

	mu       sync.Mutex
	template *RunTemplate // resolved for the first delivery that starts it
	broken   string       // why it can start no runs
}

// ErrInactive is the cause of a penstock.CodeNotFound for a webhook that exists, but is disabled or
// suspended, or waits for its secret.
var ErrInactive = errors.New("the webhook accepts no deliveries")

// Plan returns the plan of the enabled webhook uid. token says that the path has a token. If no
// webhook accepts the path, Plan returns penstock.CodeNotFound, and never from memory. Unless
// fresh is set, an existing plan may come from memory: the transaction that records a delivery
// checks it.
func (s *Receiver) Plan(ctx context.Context, uid string, token, fresh bool) (*Plan, error) {
	known := s.plans.Find(uid)
	if known != nil && !fresh && known.takes(token) {
		return known, nil
	}
	row, err := s.webhookReads.Ask(
		ctx, uid, func(ctx context.Context) (store.WebhookRow, error) { return s.store.Webhooks.ByUID(ctx, uid) },
	)
	if err != nil {
		return nil, err
	}
	offers := row.PendingSecret && row.SignatureScheme == signature.Notion
	if token && row.AuthMode != penstock.AuthURLToken {
		return nil, penstock.NotFound("webhook", uid)
	}
	if !row.Enabled && !offers || row.Suspended || row.PendingSecret && !offers {
		missing := penstock.NotFound("webhook", uid)
		missing.Cause = ErrInactive
		return nil, missing
	}
	if known != nil && known.row.TeamVersion == row.TeamVersion {
		return known, nil
	}
	p, err := s.planning.Ask(ctx, uid, func(ctx context.Context) (*Plan, error) {
		p, err := s.newPlan(ctx, row)
		if err == nil {
			s.plans.Keep(uid, p, p.size)
		}
		return p, err
	})
	if err != nil {
		return nil, err
	}
	if p.row.TeamVersion >= row.TeamVersion { // another caller may have built it from an older row
		return p, nil
	}
	return s.Plan(ctx, uid, token, true)
}

func (p *Plan) takes(token bool) bool {
	return !token || p.Snapshot.AuthMode == penstock.AuthURLToken
}

// newPlan builds the plan of a webhook. The caller has read the row with the team's version, so
// a later change makes the plan stale. Only Receiver.Plan may keep the plan: the webhook of a
// replay may be inactive.
func (s *Receiver) newPlan(ctx context.Context, row store.WebhookRow) (*Plan, error) {
	p := &Plan{row: row, size: 4 << 10}
	p.Snapshot = WebhookSnapshot{
		UID: row.UID, AuthMode: row.AuthMode, SignatureScheme: row.SignatureScheme, Signature: row.Signature,
		DeliveryIDHeader: row.DeliveryIDHeader, ReplayGuard: row.ReplayGuard, Pending: row.PendingSecret,
	}
	for _, sealed := range row.Sealed {
		value, err := s.webhooks.openWebhookSecret(row.UID, sealed)
		if err != nil {
			return nil, err
		}
		p.Snapshot.Secrets = append(p.Snapshot.Secrets, SnapshotSecret{Value: value, ExpiresAt: sealed.ExpiresAt})
	}
	if _, reports := pushEvents[row.SignatureScheme]; reports && s.repositories != nil {
		var err error
		if p.pushes, err = s.store.Repositories.Any(ctx, row.Team); err != nil {
			return nil, err
		}
	}
	automations, works, err := s.listening(ctx, p)
	if err != nil {
		return nil, err
	}
	var filters []*trigger.Filter
	for _, a := range automations {
		one, size := s.plannedFor(row, a)
		if one == nil {
			continue // one of its webhook_ids equals the database's name of the scheme
		}
		p.size += size
		p.filtered = p.filtered || strings.Contains(a.Title, "{{") || a.Subject != "" // they show values of the payload
		entry := planEntry{automation: one, works: works[a.FactoryUID]}
		for role, c := range one.waits {
			for _, f := range c.filters {
				p.filtered = p.filtered || !f.MatchesAll()
			}
			p.events = p.events || len(c.events) > 0
			first := len(filters)
			filters = append(filters, c.filters...)
			entry.waits[role] = planWait{first, len(filters), c.events}
		}
		p.automations = append(p.automations, entry)
	}
	p.filters, p.filtered = trigger.NewFilterSet(filters), p.filtered || p.events
	return p, nil
}

// plannedFor returns the part of an automation for the plan of a webhook, or nil, and about how
// many bytes of memory it adds. Other plans may share it.
func (s *Receiver) plannedFor(row store.WebhookRow, a store.AutomationRow) (one *planned, size int64) {
	key := plannedKey{uid: a.UID, version: row.TeamVersion}
	var filters [len(roles)][]json.RawMessage
	var events [len(roles)][]penstock.Trigger
	count := 0
	for role, triggers := range [len(roles)][]penstock.Trigger{
		store.EventStarts: a.Triggers, store.EventContinues: a.ContinueOn, store.EventCloses: a.Closes,
	} {
		filters[role] = penstock.PayloadFilters(triggers, row.UID, row.Name)
		events[role] = penstock.EventTriggers(triggers, row.SignatureScheme)
		count += len(filters[role]) + len(events[role])
		if len(events[role]) > 0 {
			key.scheme = row.SignatureScheme
		}
	}
	if count == 0 {
		return nil, 0
	}
	key.filters = fmt.Sprintf("%q", filters)
	if one = s.planned.Find(key); one != nil {
		return one, 0
	}
	one = newPlanned(a, filters, events)
	size = int64(4<<10+len(a.Prompt)) + one.eventsSize()
	s.planned.Keep(key, one, size)
	return one, size
}

func newPlanned(
	a store.AutomationRow, filters [len(roles)][]json.RawMessage, events [len(roles)][]penstock.Trigger,
) *planned {
	one := &planned{row: a}
	for role := range roles {
		if err := one.waits[role].compile(filters[role], events[role]); err != nil { // another release stored them
			one.waits, one.broken = [len(roles)]conditions{}, "its filter cannot be read: "+err.Error()
			break
		}
	}
	return one
}

// resolved returns the template of the automation's runs, or why it is broken. It is resolved
// once, after the plan was read, so a later change makes the plan stale.
func (a *planned) resolved(
	ctx context.Context, s *Receiver,
) (template *RunTemplate, broken string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.template != nil || a.broken != "" {
		return a.template, a.broken, nil
	}
	a.template, err = s.automations.ResolveAutomation(ctx, a.row)
	if reason, ok := WhyBroken(err); ok {
		a.broken, err = reason, nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("resolve automation %s: %w", a.row.UID, err)
	}
	return a.template, a.broken, nil
}

// conditions are what an automation waits for in one role.
type conditions struct {
	filters []*trigger.Filter // a filter without conditions matches every delivery
	events  []*trigger.Condition
}

func (c *conditions) compile(filters []json.RawMessage, events []penstock.Trigger) error {
	for _, text := range filters {
		var f *trigger.Filter
		if len(text) > 0 {
			var err error
			if f, err = trigger.ParseFilter(text); err != nil {
				return err
			}
		}
		c.filters = append(c.filters, f)
	}
	for _, t := range events {
		condition, err := trigger.Compile(t)
		if err != nil {
			return err
		}
		c.events = append(c.events, condition)
	}
	return nil
}

// plannedKey identifies what the plans of a team share: at one version, an automation is the
// same for all webhooks that start it with the same filters and events.
type plannedKey struct {
	uid     string
	version int64 // of the team, read before the automation
	filters string
	scheme  penstock.SignatureScheme // of the webhooks whose events also start it
}

// The limits of the caches: entries, and about how many bytes. A plan counts the automations
// that were created for it.
const (
	maxPlans        = 20_000
	maxPlanBytes    = 96 << 20
	maxPlanned      = 20_000
	maxPlannedBytes = 32 << 20
)

// senders remembers which sender addresses were stored recently, so that not every accepted
// delivery stores one. The zero value is ready.
type senders struct {
	mu sync.Mutex
	at map[string]penstock.Time
}

const (
	senderEvery = penstock.Time(time.Hour / time.Millisecond)
	maxSenders  = 256 // remembered for one webhook
)

// due reports whether ip must be stored, and marks it as stored.
func (k *senders) due(ip string, now penstock.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at, known := k.at[ip]; known && now-at < senderEvery {
		return false
	}
	if k.at == nil || len(k.at) >= maxSenders {
		k.at = map[string]penstock.Time{}
	}
	k.at[ip] = now
	return true
}

// reportedEvents holds the events that a delivery reports, or why it reports none.
type reportedEvents struct {
	events   []trigger.Event
	why      string // no event
	name     string // from the sender's header
	document *trigger.Document
}

// reportedEvents reads the events of a delivery if an automation of the plan needs them.
// headers are the logged headers.
func (p *Plan) reportedEvents(document *trigger.Document, headers map[string]string) reportedEvents {
	if !p.events {
		return reportedEvents{}
	}
	return readEvents(p.row.SignatureScheme, eventName(p.row.SignatureScheme, headers), document)
}

// readEvents reads the events that a delivery to a webhook with the scheme reports.
func readEvents(scheme penstock.SignatureScheme, name string, document *trigger.Document) reportedEvents {
	events, why := trigger.Events(string(scheme), name, document)
	return reportedEvents{events, why, name, document}
}

// eventName returns the event's name from the sender's header, or "". Gitea and Forgejo sign as GitHub
// does.
func eventName(scheme penstock.SignatureScheme, headers map[string]string) string {
	if scheme != penstock.ProviderGitHub {
		return ""
	}
	return cmp.Or(headers["x-github-event"], headers["x-forgejo-event"], headers["x-gitea-event"])
}

// match returns what a delivery does for the automation, or why it does nothing: preferably, why it starts
// nothing.
func (e *planEntry) match(
	trial *trigger.FilterTrial, reported reportedEvents,
) (does store.EventRole, why *trigger.Explanation) {
	for _, role := range roles {
		w := &e.waits[role]
		if w.none() {
			continue
		}
		reason := w.match(trial, reported)
		if reason == nil {
			return role, nil
		}
		if why == nil || does == store.EventCloses {
			does, why = role, reason
		}
	}
	return does, why // without any of these, it is broken for every delivery
}

func (w *planWait) none() bool { return w.first == w.end && len(w.events) == 0 }

// match returns why a delivery does not match, or nil if it does. The reason comes from the nearest
// payload filter, unless only the triggers on events wait for the delivery.
func (w *planWait) match(trial *trigger.FilterTrial, reported reportedEvents) *trigger.Explanation {
	for i := w.first; i < w.end; i++ {
		if ok, _ := trial.Match(i); ok {
			return nil
		}
	}
	if len(w.events) == 0 {
		return trial.Explain(w.first, w.end)
	}
	why := reported.explain(w.events)
	if why == nil || w.first == w.end {
		return why
	}
	filter := trial.Explain(w.first, w.end)
	if why.Path != "" && why.Others < filter.Others {
		return why
	}
	return filter
}

// explain returns why none of the triggers fires, or nil if one does.
func (t reportedEvents) explain(triggers []*trigger.Condition) *trigger.Explanation {
	return trigger.ExplainEvents(triggers, t.events, t.why, t.name, t.document)
}

// eventsSize estimates the memory of the event conditions of a, in bytes.
func (a *planned) eventsSize() int64 {
	size := int64(0)
	for _, waits := range a.waits {
		for _, c := range waits.events {
			size += c.Size()
		}
	}
	return size
}

// pushEvents lists the header and value by which Git hosts report a push, by the scheme of the
// webhook. The header is in lower case, as it is logged.
var pushEvents = map[penstock.SignatureScheme]struct{ header, event string }{
	"github":         {"x-github-event", "push"},
	signature.GitLab: {"x-gitlab-event", "Push Hook"},
	"bitbucket":      {"x-event-key", "repo:push"},
}

// reportsPush reports whether an accepted delivery reports a push to a repository, and
// factories of the team come from repositories.
func (p *Plan) reportsPush(a *InboundDelivery) bool {
	reported := pushEvents[p.row.SignatureScheme]
	return p.pushes && a.Headers[reported.header] == reported.event
}
