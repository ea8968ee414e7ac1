package gateway

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
)

// Call is a request that was forwarded, after its end.
type Call struct {
	Provider  string
	API       API
	Operation Operation
	Host      string // of the provider
	Port      int
	Model     string // as the agent asked for it, without prefix
	Stream    bool   // the agent asked for a stream
	Tools     bool   // the request offers tools
	Started   time.Time
	Ended     time.Time

	// Sent means that the request reached the provider at least in part. A call that was
	// not sent cost nothing.
	Sent bool
	// Status is the provider's; 0 if no response came.
	Status int
	// Failed means that the provider returned an error, could not be reached or interrupted its
	// response. Problem is its message in an error, without its key, or why it could not be reached.
	Failed  bool
	Problem string
	// RetryAfter is when the provider accepts requests again, by its header Retry-After; zero if it did
	// not say so.
	RetryAfter time.Time
	// Complete means that the whole response arrived, with the provider's last event of a stream.
	// Otherwise the provider, the agent or the end of the session interrupted it.
	Complete bool
	// RequestBytes and ResponseBytes count the bodies.
	RequestBytes  int64
	ResponseBytes int64
	// OutputBytes is the part of ResponseBytes that can be output of the model. If a stream was cut,
	// the output that arrived has at most as many tokens.
	OutputBytes int64

	// ResponseModel is the model that the provider names in its response.
	ResponseModel string
	// Usage is nil if it is unknown: the provider did not report it, or the gateway could
	// not read it. If Complete is false, it is what was reported before the cut. It is
	// zero for calls that generate nothing and for requests that the provider rejected.
	Usage *Usage
}

// Usage is what a provider reports to have used. The counts of the embedded TokenUsage are
// disjoint.
type Usage struct {
	penstock.TokenUsage

	Reasoning int64 // the part of Output that is reasoning
	// CacheWriteTTL splits CacheWrite by how long the cache lives: "5m", "1h", "30m", "12h". Tokens in
	// CacheWrite that are not listed here have an unknown lifetime.
	CacheWriteTTL map[string]int64
	// Audio and AudioCacheRead are the parts of Input and CacheRead that are audio.
	Audio, AudioCacheRead int64
	// ServerTools counts the calls of the provider's own tools by name, such as web_search.
	ServerTools map[string]int64
	Tier        string // service tier of the response
	Speed       string // Anthropic's fast mode
	Region      string // Anthropic's inference_geo
	// Others are inferences of the same call that the counts above do not include: an
	// advisor, a compaction, the generation of an image.
	Others []OtherUsage
}

// OtherUsage is the usage of one inference within a call.
type OtherUsage struct {
	Kind  string // advisor_message, compaction, image_generation
	Model string // "" is the model of the call
	penstock.TokenUsage

	CacheWriteTTL map[string]int64
}

// activeCall is a Call in progress.
type activeCall struct {
	Call

	s       *Session
	u       *upstream
	target  *url.URL
	route   route
	checked checked
	body    []byte // nil once it was sent
	reader  *reader

	reservation *penstock.Reservation // nil if the call is not counted
	reserved    penstock.Reserved

	agent    context.Context //nolint:containedctx // ends when the agent hangs up or the session ends
	turn     int64           // of the session
	begun    time.Time       // when the request was sent
	cut      bool            // the agent or the worker ended the call, not the provider
	finished atomic.Bool     // the model has generated everything
	ownError bool            // the provider returned an error in the form of its API
}

type callKey struct{}

// responded reports how the response begins, or that it was cut.
func (c *activeCall) responded(failed bool) {
	c.Failed = failed
	if c.s.opts.Responded != nil {
		c.s.opts.Responded(c.Call)
	}
}

// key is the credential of the call.
func (c *activeCall) key() string {
	if key, ok := c.s.opts.Keys[c.u.Name]; ok {
		return strings.TrimSpace(key)
	}
	return c.u.Key
}

// runKey reports whether the key is the run's own, or another than the operator's.
func (c *activeCall) runKey() bool {
	return c.u.OwnKey || strings.TrimSpace(c.s.opts.Keys[c.u.Name]) != ""
}

func megabytes(n int64) string { return fmt.Sprintf("%d MB", n>>20) }
