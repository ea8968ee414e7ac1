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
