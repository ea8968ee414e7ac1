package penstock

import (
	"slices"
	"time"
)

// Stalled says that a run works, but has had no event for some time.
type Stalled struct {
	Since     Time         `json:"since"` // when the time without an event was over
	LastEvent stalledEvent `json:"last_event"`
}

// stalledEvent is the last event of a stalled run. The text of an unfinished message may no longer
// be in the log.
type stalledEvent struct {
	Seq  int64     `json:"seq"`
	Type EventType `json:"type"`
	At   Time      `json:"at"`
}

// OnStall says what happens to a run that stalls, besides the alert.
type OnStall string

// The bounds of the time after which a run stalls.
const (
	MinStallAfter = time.Minute
	maxStallAfter = 30 * 24 * time.Hour
)

// StallRule says when a run that works has stalled.
type StallRule struct {
	After time.Duration // without an event; 0: never
	On    OnStall
}

// Check returns what is wrong with r, "" if nothing is.
func (r StallRule) Check() string {
	if r.After != 0 && (r.After < MinStallAfter || r.After > maxStallAfter) {
		return "must be a duration from 1m to 720h, such as 15m; 0 disables it"
	}
	return ""
}

// ParseStallAfter reads the time of an environment.
func ParseStallAfter(text string) (time.Duration, string) {
	after, err := time.ParseDuration(text)
	if err != nil {
		return 0, StallRule{After: -1}.Check()
	}
	return after, StallRule{After: after}.Check()
}

// StallRule returns the rule of the runs of an environment: what it sets itself, otherwise what the
// server has set.
func (c *EnvironmentConfig) StallRule(server StallRule) StallRule {
	if after, wrong := ParseStallAfter(c.StallAfter); c.StallAfter != "" && wrong == "" {
		server.After = after
	}
	if c.OnStall != "" {
		server.On = c.OnStall
	}
	return server
}

// NoProgress lists the timeline events that do not show that a run goes on. Requests of callers do not: a
// message to an agent that hangs waits like its prompt.
func NoProgress() []string {
	return []string{TimelineFollowup, TimelineInterrupt, TimelineStalled, TimelineStallEnded}
}

// Progress reports whether the event of a draft shows that the run goes on.
func (d Draft) Progress() bool {
	return d.Type != EventTimeline || !slices.Contains(NoProgress(), d.Key)
}
