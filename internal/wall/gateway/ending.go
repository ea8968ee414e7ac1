package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"time"
)

// readOnTime bounds how long the gateway reads a response after the agent has gone.
const readOnTime = 30 * time.Second

// tokensPerSecond is the most that a provider generates for one completion, unless its configuration
// says otherwise.
const tokensPerSecond = 10_000

// EndTurn announces that the worker ends the agent's turn. The calls under a cap that are in flight
// are then read on after the agent has gone, for up to 30 seconds, because the provider's own count
// is less than what they have reserved.
func (s *Session) EndTurn() { s.turns.Add(1) }

// upstream returns the context of the request to the provider. It ends with the agent's context,
// unless the gateway reads on.
func (c *activeCall) upstream(agent context.Context) (context.Context, context.CancelFunc) {
	c.agent = agent
	ctx, end := context.WithCancel(context.WithoutCancel(agent))
	stop := context.AfterFunc(agent, func() {
		if !c.readsOn() {
			end()
			return
		}
		timer := time.AfterFunc(readOnTime, end)
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
	return ctx, func() {
		stop()
		end()
	}
}

// readsOn reports whether the response is read after the agent has gone: if the worker has ended the
// turn, or if the model has finished and only its usage may be missing. An agent that hangs up ends
// the call, because reading on would buy tokens.
func (c *activeCall) readsOn() bool {
	if c.reservation == nil {
		return false
	}
	return c.finished.Load() || c.reserved.Capped && c.turn < c.s.turns.Load()
}

// gone reports whether the agent has hung up or the session has ended.
func (c *activeCall) gone() bool { return c.agent != nil && c.agent.Err() != nil }

// possibleOutput is the most that the provider can have generated from the beginning of the call to its
// end.
func (c *activeCall) possibleOutput() int64 {
	rate := cmp.Or(c.u.TokensPerSecond, tokensPerSecond)
	seconds := max(0, c.Ended.Sub(c.begun).Seconds())
	return times(int64(min(math.Ceil(seconds*float64(rate)), maxCount)), max(1, c.reservation.Completions))
}

// unprocessed lists the statuses that mean that the request was not processed, whichever server
// sends them (RFC 9110 §15).
var unprocessed = []int{
	http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
	http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusNotFound, http.StatusMethodNotAllowed,
	http.StatusProxyAuthRequired, http.StatusLengthRequired, http.StatusRequestEntityTooLarge,
	http.StatusRequestURITooLong, http.StatusUnsupportedMediaType, http.StatusMisdirectedRequest,
	http.StatusUpgradeRequired, http.StatusTooManyRequests, http.StatusRequestHeaderFieldsTooLarge,
}

// rejected reports whether the provider refused the request, which costs nothing. An error that has not
// the form of the API can be a proxy's, which does not know what the provider has done.
func (c *activeCall) rejected() bool {
	return c.Status >= 300 && (slices.Contains(unprocessed, c.Status) || c.ownError)
}

// isOwnError reports whether the body of an error has the form of an API: an object with a message or
// a type.
func isOwnError(status int, body []byte) bool {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return false
	}
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	}
	if json.Unmarshal(outer.Error, &inner) == nil && inner.Message+inner.Type != "" {
		return true
	}
	// Compatible servers describe an invalid request in other forms, too.
	invalid := status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
	return invalid && (len(outer.Detail) > 0 || problemOf(body) != "")
}
