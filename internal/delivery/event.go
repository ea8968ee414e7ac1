package delivery

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/filter"
	"github.com/penstock-dev/penstock/internal/trigger"
)

// reportedEvents holds the events that a delivery reports, or why it reports none.
type reportedEvents struct {
	events []trigger.Event
	why    string
}

// reportedEvents reads the events of a delivery if an automation of the plan needs them.
// headers are the logged headers.
func (p *Plan) reportedEvents(document *filter.Document, headers map[string]string) reportedEvents {
	if !p.events {
		return reportedEvents{}
	}
	return readEvents(p.row.SignatureScheme, eventName(p.row.SignatureScheme, headers), document)
}

// readEvents reads the events that a delivery to a webhook with the scheme reports.
func readEvents(scheme penstock.SignatureScheme, name string, document *filter.Document) reportedEvents {
	events, why := trigger.Events(string(scheme), name, document)
	return reportedEvents{events, why}
}

// eventName returns the event's name from the sender's header, or "".
func eventName(scheme penstock.SignatureScheme, headers map[string]string) string {
	if scheme != penstock.ProviderGitHub {
		return ""
	}
	return headers["x-github-event"]
}

// match reports whether a delivery fires the automation, and otherwise why not. The reason
// comes from the first trigger for this event, or else from the first trigger.
func (e *planEntry) match(trial *filter.Trial, reported reportedEvents) (matched bool, why filter.Failure) {
	if e.first == e.end && len(e.events) == 0 {
		return true, why // it is broken for every delivery
	}
	for i := e.first; i < e.end; i++ {
		ok, failure := trial.Match(i)
		if ok {
			return true, filter.Failure{}
		}
		if i == e.first {
			why = failure
		}
	}
	other := e.first == e.end
	for i, c := range e.events {
		ok, failure := reported.match(c)
		if ok {
			return true, filter.Failure{}
		}
		if other && (i == 0 || !c.IsOtherEvent(failure)) {
			why, other = failure, c.IsOtherEvent(failure)
		}
	}
	return false, why
}

func (t reportedEvents) match(c *trigger.Condition) (matched bool, why filter.Failure) {
	if len(t.events) == 0 {
		return false, filter.Failure{Reason: t.why}
	}
	return c.Match(t.events)
}

// eventsSize estimates the memory of the event conditions of a, in bytes.
func (a *planned) eventsSize() int64 {
	size := int64(0)
	for _, c := range a.events {
		size += c.Size()
	}
	return size
}

// pushEvents has the header and value by which Git hosts report a push, by the scheme of the
// webhook. The header is in lower case, as it is logged.
var pushEvents = map[penstock.SignatureScheme]struct{ header, event string }{
	"github":              {"x-github-event", "push"},
	penstock.SchemeGitLab: {"x-gitlab-event", "Push Hook"},
	"bitbucket":           {"x-event-key", "repo:push"},
}

// reportsPush reports whether an accepted delivery reports a push to a repository, and
// factories of the team come from repositories.
func (p *Plan) reportsPush(a *penstock.InboundDelivery) bool {
	reported := pushEvents[p.row.SignatureScheme]
	return p.pushes && a.Headers[reported.header] == reported.event
}
