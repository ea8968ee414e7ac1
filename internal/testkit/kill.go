package testkit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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
	begins int    // how many more transactions begin until pause is called
	pause  func() // nil: never
}

// errKilled is the result of all statements of a server that was killed.
var errKilled = errors.New("a test has killed the server")

// BeforeStatement lets the server die before its n-th statement from now on, counted from 1.
func (k *Killer) BeforeStatement(n int) { k.arm(n-1, false) }

// AfterCommit lets the server die after its n-th commit from now on, counted from 1, before the caller knows of it.
func (k *Killer) AfterCommit(n int) { k.arm(n-1, true) }

// Somewhere lets the server die at one of the next statements or commits, and returns where.
func (k *Killer) Somewhere(random *rand.Rand) string {
	commit, n := random.IntN(3) == 0, 1+random.IntN(20)
	if commit {
		n = (n + 9) / 10
		k.AfterCommit(n)
		return fmt.Sprintf("after commit %d", n)
	}
	k.BeforeStatement(n)
	return fmt.Sprintf("before statement %d", n)
}

// Pause calls do before the n-th transaction from now on, counted from 1, for what another server does meanwhile.
func (k *Killer) Pause(n int, do func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begins, k.pause = n, do
}

// paused returns what is to be done before a statement, or nil.
func (k *Killer) paused(statement string) func() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pause == nil || !strings.HasPrefix(statement, "BEGIN") {
		return nil
	}
	if k.begins--; k.begins > 0 {
		return nil
	}
	do := k.pause
	k.pause = nil
	return do
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
	if do := k.paused(statement); do != nil {
		do()
	}
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
