package inside

import (
	"fmt"
	"os"
)

// TryArg is a command that does nothing and succeeds, to see whether the program can be executed.
const TryArg = "try"

// Main is the program, with its arguments. It returns the exit code.
func Main(args []string) int {
	switch {
	case len(args) == 1 && args[0] == "supervise":
		return supervise()
	case len(args) > 0 && args[0] == "enter":
		return enter(args[1:])
	case len(args) == 1 && args[0] == TryArg:
		return 0
	}
	fmt.Fprintln(os.Stderr, "penstock: this program is started by a sandbox, never by hand")
	return 2
}
