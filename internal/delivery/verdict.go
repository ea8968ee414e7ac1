package delivery

import (
	"hash/maphash"
	"sync"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
)

// longMatches is a text that is kept once for all deliveries that meant the same
// to the automations: kept with each, it would take a page of the database of
// its own.
const longMatches = 512

// verdicts remembers which such texts were written down, by what they say. The
// zero value is ready.
type verdicts struct {
	mu sync.Mutex
	at map[uint64]verdict
}

type verdict struct {
	hash string // that names the text
	at   penstock.Time
}

const maxVerdicts = 1024 // that are remembered of one plan

// verdictSeed is chance: nobody can send what collides.
var verdictSeed = maphash.MakeSeed()

// of tells what is said about the automations of a plan from all else that can
// be said.
func (v *verdicts) of(meant []meaning) uint64 {
	var h maphash.Hash
	h.SetSeed(verdictSeed)
	for _, m := range meant {
		for _, text := range []string{m.at, m.reason} {
			_, _ = h.WriteString(text) // never fails
			_ = h.WriteByte(0)
		}
	}
	return h.Sum64()
}

// known is the hash of a text that was written down in the last day, else "".
func (v *verdicts) known(alike uint64, now penstock.Time) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if one, known := v.at[alike]; known && now.Sub(one.at) < store.VerdictFor {
		return one.hash
	}
	return ""
}

// written takes a text for written down.
func (v *verdicts) written(alike uint64, hash string, now penstock.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.at == nil || len(v.at) >= maxVerdicts {
		v.at = map[uint64]verdict{}
	}
	v.at[alike] = verdict{hash, now}
}
