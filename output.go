package penstock

// Output is something outside of a run that its agent declares and the control plane does after the turn, such
// as a pull request: Output of the API.
type Output struct {
	UID       string        `json:"uid"`
	RunID     string        `json:"run_id"`
	Turn      int64         `json:"turn"` // in which it was declared
	Kind      OutputKind    `json:"kind"`
	State     OutputState   `json:"state"`
	Target    OutputTarget  `json:"target"`
	Payload   OutputPayload `json:"payload"`
	URL       string        `json:"url,omitempty"`     // of the result on the forge
	Problem   string        `json:"problem,omitempty"` // why it failed, waits, or could do only a part
	CreatedAt Time          `json:"created_at"`
	UpdatedAt Time          `json:"updated_at"`
}

// OutputTarget is where an output goes.
type OutputTarget struct {
	Connection  string `json:"connection"` // its name
	Repository  string `json:"repository"` // owner/name
	PullRequest int64  `json:"pull_request,omitempty"`
}

// OutputPayload is what an output says. Its kind decides which fields it has.
type OutputPayload struct {
	Title  string `json:"title,omitempty"`
	Body   string `json:"body,omitempty"` // Markdown
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"` // "": the ref of the repository in the run, or else its default branch
	Draft  *bool  `json:"draft,omitempty"`
}

// OutputKind is the kind of an output.
type OutputKind string

// The kinds of outputs.
const (
	OutputPullRequest OutputKind = "pr"
	OutputComment     OutputKind = "comment"
)

// OutputKinds lists the kinds of outputs.
func OutputKinds() []OutputKind { return []OutputKind{OutputPullRequest, OutputComment} }

// OutputState says how far an output is.
type OutputState string

// The states of an output.
const (
	OutputDeclared  OutputState = "declared"  // its turn has not ended
	OutputHeld      OutputState = "held"      // a person has to release it
	OutputQueued    OutputState = "queued"    // the control plane does it
	OutputDone      OutputState = "done"      //
	OutputFailed    OutputState = "failed"    //
	OutputDiscarded OutputState = "discarded" // its turn failed or was stopped, or a person rejected it
)

// OutputStates lists the states of outputs.
func OutputStates() []OutputState {
	return []OutputState{OutputDeclared, OutputHeld, OutputQueued, OutputDone, OutputFailed, OutputDiscarded}
}
