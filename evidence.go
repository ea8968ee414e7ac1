package penstock

// Evidence counts what a run has provably done, over all its executions. The counts come from
// stored rows: the transcript, the ledger of model calls, saved changes and artifacts.
type Evidence struct {
	Turns         int   `json:"turns"`          // prompts and follow-ups that the agent received
	ModelCalls    int64 `json:"model_calls"`    // through the model gateway
	Actions       int   `json:"actions"`        // tool calls
	FailedActions int   `json:"failed_actions"` // whose last result is a failure or a denial
	FilesChanged  int   `json:"files_changed"`  // in the run's repositories
	// Outputs counts plans, files and screenshots that are stored, and pull requests that the proxy
	// observed. A claimed pull request or link is not an output, and neither is an answer in words.
	Outputs int `json:"outputs"`
}

// OnHollow says what happens to a hollow run of an automation. The run always says that it is hollow.
type OnHollow string

// What happens to a hollow run.
const (
	HollowAlert OnHollow = "alert" // it stays SUCCEEDED, and endpoints get a message; the default
	HollowFail  OnHollow = "fail"  // it is FAILED
	HollowNone  OnHollow = "none"  // it stays SUCCEEDED, and nobody is alerted
)

// Hollow says in a sentence why a run with this evidence did nothing, although it succeeded. It
// returns "" if the run did something.
func (e Evidence) Hollow() string {
	switch {
	case e.Actions == 0 && e.Outputs == 0 && e.FilesChanged == 0:
		return "The agent ended its work without an action, a changed file or an output."
	case e.Actions == 1 && e.FailedActions == 1:
		return "The only action of the agent failed."
	case e.Actions > 0 && e.FailedActions == e.Actions:
		return "Every action of the agent failed."
	}
	return ""
}
