package penstock

import "fmt"

// HealthRules say when an automation or schedule is paused because its runs fail.
type HealthRules struct {
	// PauseAfterFailures is after how many runs in a row that ended FAILED or ERROR it is paused;
	// 0: never. A CANCELLED run neither counts nor ends the row.
	PauseAfterFailures int `json:"pause_after_failures,omitempty"`
}

// MostFailures is the largest PauseAfterFailures.
const MostFailures = 100

// Health is what the runs of an automation or schedule say about it.
type Health struct {
	Paused   *Failures `json:"paused,omitempty"`   // it starts nothing until it is enabled again
	Degraded *Failures `json:"degraded,omitempty"` // one more failure pauses it
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
