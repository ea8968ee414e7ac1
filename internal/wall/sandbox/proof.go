package sandbox

import (
	"strings"
	"time"
)

// Proof is the result of the checks that precede the program of a sealed sandbox. The worker
// makes them from outside, and package inside from inside, in the place of the later program.
type Proof struct {
	// Checked names the checks that passed, each in a few words.
	Checked []string
	// Took is the duration of all of them.
	Took time.Duration
}

// OpenError means that a sealed sandbox was not as sealed as intended. Its program never ran.
type OpenError struct {
	// Open names what was open, each in a few words. It has at least one entry.
	Open []string
	// Took is the duration of the checks.
	Took time.Duration
}

func (e *OpenError) Error() string {
	return "the sandbox is not sealed: " + strings.Join(e.Open, "; ")
}
