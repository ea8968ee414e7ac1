package factory

import (
	"cmp"
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
	ctx context.Context, p *Plan,
) (list []store.AutomationRow, works map[string][]string, err error) {
	w := p.row
	if !ofConnection(w) {
		list, err = s.store.Automations.OfWebhook(ctx, w)
		return list, nil, err
	}
	connection, err := s.store.Forges.Find(ctx, w.Team, w.UID)
	if err != nil {
		return nil, nil, err
	}
	p.url = connection.URL
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
			path := r.Owner + "/" + r.Repo
			if !slices.Contains(part.ByAgent, strings.ToLower(path)) && connection.MayUse(a.FactoryUID, path) == "" {
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
	ends       bool   // it says that something was closed or merged
	fork       bool   // it is about a pull request from another repository
	place      string // the forge and the repository, for keys of subjects

	number  int64 // of its pull request or issue; 0: none
	looked  bool  // threads are known
	threads []store.PullThread

	asked           bool
	pointer, reason string // why it may start no run
}

// forgeEvent reads the repository and the sender of an event. unused says why no factory gets it.
func (s *Receiver) forgeEvent(
	ctx context.Context, p *Plan, document *trigger.Document, reported reportedEvents,
) (e forgeEvent, err error) {
	if !p.OfConnection() {
		return e, nil
	}
	e.receiver, e.plan = s, p
	payload, _ := document.Root() // without one, it names no repository
	if err := s.hastenChecks(ctx, p, payload); err != nil {
		return e, err
	}
	if len(p.automations) == 0 {
		e.unused = "No factory that works on a repository of this connection has an automation for its events."
		return e, nil
	}
	e.what = readForgeEvent(payload)
	name := store.RepositoryName{ForgeUID: p.row.UID, Path: e.what.Repository, ID: e.what.RepositoryID}
	if e.repository = repositoryOf(p.row, payload); e.repository == nil || name.ID <= 0 {
		e.unused = "The event names no repository."
		return e, nil
	}
	e.place = fmt.Sprintf("%s %d", p.url, name.ID)
	head := payload.At([]string{"pull_request", "head", "repo"})
	e.fork = payload.At([]string{"pull_request", "head"}).IsObject() && idOf(head.Member("id").Scalar()) != name.ID
	for _, event := range reported.events {
		e.ends = e.ends || strings.HasSuffix(event.Name, "_closed") || strings.HasSuffix(event.Name, "_merged")
	}
	known, err := s.store.Forges.Names(ctx, name)
	if err != nil {
		return e, err
	}
	owner, _, _ := strings.Cut(strings.ToLower(name.Path), "/")
	for _, path := range known.Paths { // a repository that was transferred leaves its names behind
		if strings.HasPrefix(path, owner+"/") {
			e.names = append(e.names, path)
		}
	}
	e.number = idOf(numberOf(payload))
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

// hastenChecks lets the forge be asked at once about the pull requests whose checks the event is about. It starts
// nothing by itself, so it does not matter who has caused it.
func (s *Receiver) hastenChecks(ctx context.Context, p *Plan, payload trigger.Value) error {
	commit := payload.Member("sha").Scalar() // of a status
	for _, object := range []string{"check_suite", "check_run", "workflow_run"} {
		commit = cmp.Or(commit, payload.At([]string{object, "head_sha"}).Scalar())
	}
	path := readForgeEvent(payload).Repository
	if commit == "" || penstock.CheckForgePath(path) != "" {
		return nil
	}
	url := strings.ToLower(penstock.Forge{URL: p.url}.CloneURL(path))
	return s.store.Forges.HastenPulls(ctx, p.row.Team, url, commit, penstock.Now())
}

// repositoryOf returns the repository of an event of a connection for the run that it starts, or nil.
func repositoryOf(w store.WebhookRow, payload trigger.Value) *penstock.RunRepository {
	path := readForgeEvent(payload).Repository
	if !ofConnection(w) || penstock.CheckForgePath(path) != "" {
		return nil
	}
	return &penstock.RunRepository{Connection: w.Label, Path: path}
}

// threadOf returns the issue or pull request of an event of a connection, or nil.
func threadOf(w store.WebhookRow, payload trigger.Value) *store.ForgeThread {
	number, repository := idOf(numberOf(payload)), repositoryOf(w, payload)
	if repository == nil || number <= 0 {
		return nil
	}
	t := store.ForgeThread{
		Connection: w.UID, Repository: repository.Path, RepositoryID: readForgeEvent(payload).RepositoryID, Number: number,
	}
	if payload.Member("issue").IsObject() { // a comment on a line is of another kind
		t.Cause = max(0, idOf(payload.At([]string{"comment", "id"}).Scalar()))
	}
	return &t
}

func readForgeEvent(payload trigger.Value) forge.Event {
	at := func(object, member string) string { return payload.At([]string{object, member}).Scalar() }
	return forge.Event{
		Repository: at("repository", "full_name"), RepositoryID: idOf(at("repository", "id")),
		Sender: at("sender", "login"), SenderID: idOf(at("sender", "id")), Bot: at("sender", "type") == "Bot",
	}
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
	var urls []string
	for _, name := range e.names {
		urls = append(urls, strings.ToLower(penstock.Forge{URL: e.plan.url}.CloneURL(name)))
	}
	var err error
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

// refuses notes why an event that matches may start or direct no run. That something was closed or merged ends the
// work on it: somebody could do that on the forge.
func (e *forgeEvent) refuses(
	ctx context.Context, a store.AutomationRow, does store.EventRole, match *store.DeliveryMatch,
) (refused bool, err error) {
	if e.plan == nil || does == store.EventCloses && e.ends && a.Subject == penstock.SubjectAuto {
		return false, nil
	}
	why := ""
	switch {
	case a.ByAgent:
		why = "The key of an agent has changed the automation last. Its runs cannot use connections before a person " +
			"saves it."
	case e.fork && does == store.EventStarts:
		why = "The pull request comes from another repository. Its own events start no runs yet."
	}
	if why != "" {
		match.FailedAt, match.Reason = new(store.FailedAtAutomation), why
		return true, nil
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
