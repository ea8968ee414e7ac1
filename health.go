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

// ValidExpectEvery reports whether ExpectEvery is "", 0, or a time from [MinExpectEvery] to [MaxPeriod].
func (r HealthRules) ValidExpectEvery() bool {
	every := r.Expected()
	return r.ExpectEvery.Valid() && (every == 0 || every >= MinExpectEvery)
}

// MinExpectEvery is the shortest ExpectEvery, except 0.
const MinExpectEvery = time.Minute

// Expected returns how often a start is expected; 0: not.
func (r HealthRules) Expected() time.Duration { return r.ExpectEvery.Or(0) }

// MostFailures is the largest PauseAfterFailures.
const MostFailures = 100

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

// NewSilence returns a silence with its reason in words. last is the last start, or since when one is expected.
func NewSilence(since, last Time, every Period) *Silence {
	return &Silence{since, fmt.Sprintf("It has started nothing since %s; a start is expected every %s.", last, every)}
}

// Failures are the runs in a row that failed.
type Failures struct {
	Since     Time   `json:"since"`
	Failures  int    `json:"failures"`
	LastRunID string `json:"last_run_id"`
	Reason    string `json:"reason"`
}

// NewFailures returns failures with their reason in words.
func NewFailures(since Time, n int, lastRunID string) *Failures {
	f := Failures{Since: since, Failures: n, LastRunID: lastRunID}
	f.Reason = fmt.Sprintf("%d runs in a row failed; the last one is run %s.", n, lastRunID)
	if n == 1 {
		f.Reason = fmt.Sprintf("Run %s failed.", lastRunID)
	}
	return &f
}

// Skips says why something that is paused starts nothing. what is an automation or a schedule.
func (f Failures) Skips(what string) string {
	return fmt.Sprintf("The %s is paused since %s: %s Enable it to start runs again.", what, f.Since, f.Reason)
}
