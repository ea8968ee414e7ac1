package delivery

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/filter"
	"github.com/penstock-dev/penstock/internal/trigger"
)

// reportedEvents are the events that a delivery tells of; without any, why.
type reportedEvents struct {
	events []trigger.Event
	why    string
}

// reportedEvents reads the events that a delivery tells of, if an automation of the plan
// waits for any. headers are those of the log.
func (p *Plan) reportedEvents(document *filter.Document, headers map[string]string) reportedEvents {
	if !p.events {
		return reportedEvents{}
	}
	return readEvents(p.row.SignatureScheme, eventName(p.row.SignatureScheme, headers), document)
}

// readEvents reads the events that a delivery tells of to a webhook with the
// scheme.
func readEvents(scheme penstock.SignatureScheme, name string, document *filter.Document) reportedEvents {
	events, why := trigger.Events(string(scheme), name, document)
	return reportedEvents{events, why}
}

// eventName is what the sender's header calls the event, of those that have one.
func eventName(scheme penstock.SignatureScheme, headers map[string]string) string {
	if scheme != penstock.ProviderGitHub {
		return ""
	}
	return headers["x-github-event"]
}

// match reports whether a delivery is what the automation waits for, and else why
// not: what its first trigger says, but for one that waits for another event
// where a later one waits for this.
func (e *planEntry) match(trial *filter.Trial, reported reportedEvents) (matched bool, why filter.Failure) {
	if e.first == e.end && len(e.events) == 0 {
		return true, why // it is broken, whatever the delivery is
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

// eventsSize is about how many bytes of memory the events take that a waits for.
func (a *planned) eventsSize() int64 {
	size := int64(0)
	for _, c := range a.events {
		size += c.Size()
	}
	return size
}

// pushEvents are the deliveries by which Git hosts tell of a push, by the scheme of
// the webhook: a header, in lower case as it is recorded, and its value.
var pushEvents = map[penstock.SignatureScheme]struct{ header, event string }{
	"github":              {"x-github-event", "push"},
	penstock.SchemeGitLab: {"x-gitlab-event", "Push Hook"},
	"bitbucket":           {"x-event-key", "repo:push"},
}

// reportsPush reports whether an accepted delivery tells of a push to a repository
// that factories may come from.
func (p *Plan) reportsPush(a *penstock.InboundDelivery) bool {
	reported := pushEvents[p.row.SignatureScheme]
	return p.pushes && a.Headers[reported.header] == reported.event
}
