package testkit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/store"
)

// Killer kills a server between two statements of its store: from then on all its writes fail, as if it was no
// longer there. Its zero value lets the server live.
type Killer struct {
	mu     sync.Mutex
	armed  bool
	after  int // how many more statements or commits pass
	commit bool
	dead   bool
}

// errKilled is the result of all statements of a server that was killed.
var errKilled = errors.New("a test has killed the server")

// Somewhere lets the server die soon, if it writes much enough: before a statement, or after a commit and before it
// can say so. It returns where.
func (k *Killer) Somewhere(random *rand.Rand) string {
	commit, n := random.IntN(3) == 0, random.IntN(20)
	if commit {
		n /= 10
		k.arm(n, true)
		return fmt.Sprintf("after commit %d", n+1)
	}
	k.arm(n, false)
	return fmt.Sprintf("before statement %d", n+1)
}

func (k *Killer) arm(n int, commit bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.armed, k.after, k.commit = true, n, commit
}

// Spare calls off a kill that has not come. It reports whether one has.
func (k *Killer) Spare() (killed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.armed = false
	return k.dead
}

// Revive lets the store work again, for the server that takes the place of the killed one.
func (k *Killer) Revive() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.armed, k.dead = false, false
}

func (k *Killer) at(statement string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.armed && k.commit == (statement == store.Committed) {
		k.after--
		if k.after < 0 {
			k.armed, k.dead = false, true
		}
	}
	if k.dead {
		return errKilled
	}
	return nil
}

// OpenMortal opens the database of a test for a server that can be killed, and closes it at the end of the test.
func OpenMortal(t *testing.T, url string, k *Killer) *store.Store {
	t.Helper()
	return openStore(t, store.Options{URL: url, Fault: k.at})
}
