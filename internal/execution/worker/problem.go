package worker

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// providerProblem is the failure or refusal of the agent's latest call of a model. Agents report it in
// many ways, and some not at all.
type providerProblem struct {
	mu       sync.Mutex
	message  *penstock.StatusMessage // nil if the latest call succeeded
	rank     rank                    // the highest of this turn's calls
	failures int                     // calls that failed one after the other
	since    time.Time               // when the first of them began
}

// Some agents try again for ever. Both limits together end a turn whose calls only fail.
const (
	mostFailures = 5
	failingTime  = 30 * time.Second
)

// responded keeps a call that failed. A later call that does not replaces it.
func (o *outlet) responded(c gateway.Call) {
	if c.Operation.Generates() && o.problem.responded(c, o.task.model()) {
		o.task.stop(errProvider)
	}
}

// refusedCall keeps a call that the gateway refused. The demo needs no model: only its commands call one.
func (o *outlet) refusedCall(r gateway.Refusal) {
	model := o.task.model()
	if r.Operation.Generates() && model != penstock.ModelOffline &&
		o.problem.failed(rankOf(r.Model, model, r.Tools || r.Model == ""), refusalMessage(r), time.Now()) {
		o.task.stop(errProvider)
	}
}

// responded reports whether the agent of a run with this model has tried often enough.
func (p *providerProblem) responded(c gateway.Call, own string) (enough bool) {
	if c.Failed {
		return p.failed(rankOf(c.Model, own, c.Tools), problemMessage(c), c.Started)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts(rankOf(c.Model, own, c.Tools)) {
		p.message = nil
	}
	return false
}

// rank says how much a turn depends on a call. Agents also make calls for themselves, such as for a title:
// to another model than the run's, or without tools.
type rank int

const (
	ofOtherModel rank = iota
	withoutTools
	withTools
)

func rankOf(model, own string, tools bool) rank {
	switch {
	case model != "" && own != "" && !strings.HasSuffix("/"+own, "/"+model):
		return ofOtherModel
	case !tools:
		return withoutTools
	}
	return withTools
}

// counts reports whether the turn depends on a call. It does not if the agent has made one of a higher
// rank.
func (p *providerProblem) counts(of rank) bool {
	p.rank = max(p.rank, of)
	return of == p.rank
}

// failed keeps a call that failed.
func (p *providerProblem) failed(of rank, message penstock.StatusMessage, begun time.Time) (enough bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.counts(of) {
		return false
	}
	p.message = &message
	if p.failures++; p.failures == 1 {
		p.since = begun
	}
	return p.failures >= mostFailures && time.Since(p.since) >= failingTime
}

// settled counts a call, and ends the failures before it if it was complete.
func (o *outlet) settled(c gateway.Call) {
	o.traffic.settled(c)
	if c.Operation.Generates() && !c.Failed && c.Complete {
		o.problem.mu.Lock()
		defer o.problem.mu.Unlock()
		o.problem.failures = 0
	}
}

// forget begins another turn.
func (p *providerProblem) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.message, p.rank, p.failures = nil, 0, 0
}

// explain returns the result of a turn with the failure as its reason, if the turn ended with one.
func (p *providerProblem) explain(result penstock.Result) penstock.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.message == nil || result.State != penstock.StateFailed && result.State != penstock.StateSucceeded {
		return result
	}
	result.Message, result.State = p.message, penstock.StateFailed
	if p.message.ErrorCode.OurFault() {
		result.State = penstock.StateError
	}
	return result
}

// refusalMessage returns what a person has to know about a call that the gateway refused.
func refusalMessage(r gateway.Refusal) penstock.StatusMessage {
	code := penstock.CodeInvalidRequest
	if r.Spend != nil { // the call could not be counted
		return penstock.StatusMessage{Message: r.Reason, ErrorCode: r.Spend.Code, Retryable: r.Spend.Code.Retryable()}
	}
	return penstock.StatusMessage{
		Message: fmt.Sprintf("The model gateway refused a request of the agent to the provider %s: %s",
			r.Provider, r.Reason),
		ErrorCode: code, Retryable: code.Retryable(),
	}
}

// problemMessage returns what a person has to know about a call that failed.
func problemMessage(c gateway.Call) penstock.StatusMessage {
	code := penstock.CodeUnavailable
	var what string
	switch {
	case c.Status == 0: // the problem is a sentence of the gateway
		return penstock.StatusMessage{Message: c.Problem, ErrorCode: code, Retryable: code.Retryable()}
	case c.Status < http.StatusBadRequest:
		what = "ended its response too early"
	case c.Status == http.StatusUnauthorized, c.Status == http.StatusForbidden:
		code, what = penstock.CodeExternalAuthRequired, "rejected the key of the server"
	case c.Status == http.StatusNotFound && !aboutModel(c):
		code, what = penstock.CodeInvalidRequest, "has no model API at its address; check its base URL"
		if c.API == gateway.OpenAI {
			what += ", which usually ends in /v1"
		}
	case c.Status == http.StatusNotFound:
		code, what = penstock.CodeInvalidRequest, fmt.Sprintf("does not have the model %q", shorten(c.Model, maxModelName))
	case c.Status == http.StatusTooManyRequests:
		code, what = penstock.CodeRateLimited, "received too many requests"
	case c.Status >= http.StatusInternalServerError:
		what = "is not available"
	default:
		code, what = penstock.CodeInvalidRequest, "rejected the request of the agent"
	}
	text := fmt.Sprintf("The model provider %s %s", c.Provider, what)
	if c.Status >= http.StatusBadRequest {
		text += fmt.Sprintf(" (status %d)", c.Status)
	}
	if c.Problem != "" {
		text += ": " + strings.TrimSuffix(c.Problem, ".")
	}
	if time.Until(c.RetryAfter) > longWait {
		text += "; it accepts requests again at " + c.RetryAfter.UTC().Format("2006-01-02 15:04 UTC")
	}
	return penstock.StatusMessage{Message: text + ".", ErrorCode: code, Retryable: code.Retryable()}
}

// longWait is how long agents wait for a provider at most, about.
const longWait = 10 * time.Minute

// aboutModel reports whether an error 404 is about the model. Otherwise nothing is at the address.
func aboutModel(c gateway.Call) bool {
	problem := strings.ToLower(c.Problem)
	return strings.Contains(problem, "model") || c.Model != "" && strings.Contains(problem, strings.ToLower(c.Model))
}

// maxModelName limits the name of a model in a message.
const maxModelName = 100
