package penstock

// Waiting says what a run waits for that does not work, or what waits in a run that works. It is
// computed when the run is read.
type Waiting struct {
	For      WaitFor `json:"for"`
	Message  string  `json:"message"`   // what it waits for, a sentence
	EndsWhen string  `json:"ends_when"` // what ends the wait, a sentence
}

// WaitFor is what a run waits for.
type WaitFor string

// What a run can wait for.
const (
	WaitWorker       WaitFor = "worker"        // no connected worker can execute it
	WaitSlot         WaitFor = "slot"          // workers can execute it, and are busy
	WaitWorkerReturn WaitFor = "worker_return" // its worker is silent
	WaitBudget       WaitFor = "budget"        // a budget has no room
	WaitAnswer       WaitFor = "answer"        // its agent has a question, or was interrupted
	WaitFollowup     WaitFor = "followup"      // its session is open, and has no turn
	WaitTurn         WaitFor = "turn"          // follow-ups wait until the turn of the agent ends
)
