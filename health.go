package penstock

import (
	"fmt"
	"time"
)

// HealthRules say when an automation or schedule is paused because its runs fail, and when it is silent.
type HealthRules struct {
	// PauseAfterFailures is after how many runs in a row that ended FAILED or ERROR it is paused;
	// 0: never. A CANCELLED run neither counts nor ends the row.
	PauseAfterFailures int `json:"pause_after_failures,omitempty"`
	// ExpectEvery is how often it is expected to start a run, or to continue one; "": not. If it does not for
	// so long, it is silent.
	ExpectEvery Period `json:"expect_every,omitempty"`
}

// ValidExpectEvery reports whether ExpectEvery is "", 0, or a time from [minExpectEvery] to [maxPeriod].
func (r HealthRules) ValidExpectEvery() bool {
	every := r.Expected()
	return r.ExpectEvery.Valid() && (every == 0 || every >= minExpectEvery)
}

// minExpectEvery is the shortest ExpectEvery, except 0.
const minExpectEvery = time.Minute

// Expected returns how often a start is expected; 0: not.
func (r HealthRules) Expected() time.Duration { return r.ExpectEvery.Or(0) }

// Health is what the runs of an automation or schedule say about it.
type Health struct {
	Paused   *Failures `json:"paused,omitempty"`   // it starts nothing until it is enabled again
	Degraded *Failures `json:"degraded,omitempty"` // one more failure pauses it
	Silent   *Silence  `json:"silent,omitempty"`   // it has started nothing for too long
}

// Silence says since when an automation or schedule has started nothing although it should have.
type Silence struct {
	Since  Time   `json:"since"`
	Reason string `json:"reason"`
}

// Failures are the runs in a row that failed.
type Failures struct {
	Since     Time   `json:"since"`
	Failures  int    `json:"failures"`
	LastRunID string `json:"last_run_id"`
	Reason    string `json:"reason"`
}

// Skips says why something that is paused starts nothing. what is an automation or a schedule.
func (f Failures) Skips(what string) string {
	return fmt.Sprintf("The %s is paused since %s: %s Enable it to start runs again.", what, f.Since, f.Reason)
}
