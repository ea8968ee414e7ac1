package factory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// ofConnection reports whether a webhook is the ingress of a connection to a forge. It has no factory: its
// deliveries reach all that work on their repositories.
func ofConnection(w store.WebhookRow) bool { return w.FactoryUID == "" }

// OfConnection reports whether the plan is of the ingress of a connection.
func (p *Plan) OfConnection() bool { return ofConnection(p.row) }

// connectionRate is how many deliveries a connection takes in any 60 seconds.
const connectionRate = 1200

// listening returns the automations that deliveries of a webhook may start. Automations of a connection are of the
// factories that work on repositories which it may read for them, and works has these, in lower case.
func (s *Receiver) listening(
	ctx context.Context, w store.WebhookRow,
) (list []store.AutomationRow, works map[string][]string, err error) {
	if !ofConnection(w) {
		list, err = s.store.Automations.OfWebhook(ctx, w)
		return list, nil, err
	}
	connection, err := s.store.Forges.Find(ctx, w.Team, w.UID)
	if err != nil {
		return nil, nil, err
	}
	if list, err = s.store.Automations.OfConnection(ctx, w.Team, w.SignatureScheme); err != nil {
		return nil, nil, err
	}
	works = map[string][]string{}
	for _, a := range list {
		if _, known := works[a.FactoryUID]; known {
			continue
		}
		works[a.FactoryUID] = nil
		part, err := s.store.Factories.Part(ctx, w.Team, a.FactoryUID)
		if penstock.CodeOf(err) == penstock.CodeNotFound { // deleted since: the plan is stale
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, r := range part.WorksOn {
			if path := r.Owner + "/" + r.Repo; connection.MayUse(a.FactoryUID, path) == "" {
				works[a.FactoryUID] = append(works[a.FactoryUID], strings.ToLower(path))
			}
		}
	}
	return slices.DeleteFunc(list, func(a store.AutomationRow) bool { return works[a.FactoryUID] == nil }), works, nil
}

// forgeEvent is what a delivery to a connection reports. The zero value is a delivery to another webhook.
type forgeEvent struct {
	receiver   *Receiver
	plan       *Plan // nil: it is no delivery to a connection
	unused     string
	names      []string // of its repository, in lower case
	repository *penstock.RunRepository
	what       forge.Event

	number  int64 // of its pull request or issue; 0: none
	looked  bool  // threads are known
	threads []store.PullThread

	asked           bool
	pointer, reason string // why it may start no run
}

// forgeEvent reads the repository and the sender of an event. unused says why no factory gets it.
func (s *Receiver) forgeEvent(
	ctx context.Context, p *Plan, document *trigger.Document,
) (e forgeEvent, err error) {
	if !p.OfConnection() {
		return e, nil
	}
	e.receiver, e.plan = s, p
	if len(p.automations) == 0 {
		e.unused = "No factory that works on a repository of this connection has an automation for its events."
		return e, nil
	}
	payload, _ := document.Root() // without one, it names no repository
	name := store.RepositoryName{ForgeUID: p.row.UID}
	e.what, name.ID = readForgeEvent(payload)
	name.Path = e.what.Repository
	if e.repository = repositoryOf(p.row, payload); e.repository == nil || name.ID <= 0 {
		e.unused = "The event names no repository."
		return e, nil
	}
	known, err := s.store.Forges.Names(ctx, name)
	if err != nil {
		return e, err
	}
	e.names, e.number = known.Paths, idOf(numberOf(payload))
	if (known.New || known.Taken) && p.worksOn([]string{strings.ToLower(name.Path)}) {
		own, err := s.store.Forges.Name(ctx, name)
		if err != nil {
			return e, err
		}
		if known.Taken = !own; known.Taken {
			e.names = slices.DeleteFunc(e.names, func(n string) bool { return strings.EqualFold(n, name.Path) })
		}
	}
	switch {
	case p.worksOn(e.names):
	case known.Taken:
		e.unused = fmt.Sprintf("Another repository had the name %s before, with another id. To let the new one start runs, "+
			"check the connection.", name.Path)
	default:
		e.unused = fmt.Sprintf("No factory works on %s through this connection: none with an automation for its events "+
			"has it in the repositories of its factory.yaml.", name.Path)
	}
	return e, nil
}

// repositoryOf returns the repository of an event of a connection for the run that it starts, or nil.
func repositoryOf(w store.WebhookRow, payload trigger.Value) *penstock.RunRepository {
	what, _ := readForgeEvent(payload)
	if !ofConnection(w) || penstock.CheckForgePath(what.Repository) != "" {
		return nil
	}
	return &penstock.RunRepository{Connection: w.Label, Path: what.Repository}
}

func readForgeEvent(payload trigger.Value) (e forge.Event, repository int64) {
	at := func(path ...string) trigger.Value { return payload.At(path) }
	return forge.Event{
		Repository: at("repository", "full_name").Scalar(), Private: at("repository", "private").IsTrue(),
		Sender: at("sender", "login").Scalar(), SenderID: idOf(at("sender", "id").Scalar()),
		Bot: at("sender", "type").Scalar() == "Bot",
	}, idOf(at("repository", "id").Scalar())
}

// idOf reads a number of a forge. It returns 0 for other texts.
func idOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// threadsOf returns the subjects whose runs have opened the pull request of the event.
func (e *forgeEvent) threadsOf(ctx context.Context) ([]store.PullThread, error) {
	if e.plan == nil || e.number <= 0 || e.looked {
		return e.threads, nil
	}
	row := e.plan.row
	connection, err := e.receiver.store.Forges.Find(ctx, row.Team, row.UID)
	if err != nil {
		return nil, err
	}
	var urls []string
	for _, name := range e.names {
		urls = append(urls, strings.ToLower(connection.CloneURL(name)))
	}
	e.threads, err = e.receiver.store.Forges.Threads(ctx, row.Team, urls, e.number)
	e.looked = err == nil
	return e.threads, err
}

func (p *Plan) worksOn(names []string) bool {
	return slices.ContainsFunc(p.automations, func(e planEntry) bool { return e.worksOn(names) })
}

func (e *planEntry) worksOn(names []string) bool {
	return slices.ContainsFunc(e.works, func(path string) bool { return slices.Contains(names, path) })
}

// concerns reports whether the factory of an automation works on the repository of the event.
func (e *forgeEvent) concerns(a *planEntry) bool { return e.plan == nil || a.worksOn(e.names) }

// refuses notes why an event that matches may start or direct no run. What only closes a subject may come from
// anybody who can do it on the forge.
func (e *forgeEvent) refuses(
	ctx context.Context, does store.EventRole, match *store.DeliveryMatch,
) (refused bool, err error) {
	if e.plan == nil || does == store.EventCloses {
		return false, nil
	}
	if !e.asked {
		e.pointer, e.reason, err = e.receiver.connections.Refuses(ctx, e.plan.row.Team, e.plan.row.UID, e.what)
		e.asked = err == nil
	}
	if e.reason != "" {
		match.FailedAt, match.Reason = new(e.pointer), e.reason
	}
	return e.reason != "", err
}
