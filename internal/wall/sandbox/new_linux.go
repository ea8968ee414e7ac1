package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/penstock-dev/penstock"
)

// New creates the sandbox that opts selects. The error says in one sentence why this machine
// cannot have it. [Probe] checks more and tries it.
func New(opts Options) (Sandbox, error) {
	if !filepath.IsAbs(opts.Exe) {
		return nil, errors.New("sandbox: the path of this program is required")
	}
	opts.Path = cmp.Or(opts.Path, defaultPath)
	dir := opts.ProgramDir
	if opts.Kind == Docker {
		dir = opts.Dir // which the daemon sees
	}
	m := machine{exe: opts.Exe, limits: newLimiter(), silence: cmp.Or(opts.Silence, penstock.LeaseTime*2/3)}
	m.program, m.noProgram = placeProgram(dir, opts.Program)
	switch cmp.Or(opts.Kind, Bubblewrap) {
	case Bubblewrap:
		return newBubblewrap(m, opts)
	case Docker:
		return newDocker(m, opts)
	case Process:
		return newProcess(m, opts)
	}
	return nil, fmt.Errorf("unknown kind of sandbox %q: use %s, %s or %s", opts.Kind, Bubblewrap, Docker, Process)
}
