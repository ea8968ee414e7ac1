package testworld

import (
	"path"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Received records the prompts in which workers have received events.
type Received struct {
	In map[string][]string // the prompts that had an event, by its delivery
	// Unmarked are prompts that were handed over again without saying so.
	Unmarked []string
	Again    int             // how many said so
	seen     map[string]bool // prompts
}

// NewReceived returns a record of nothing.
func NewReceived() *Received { return &Received{In: map[string][]string{}, seen: map[string]bool{}} }

// Has reports whether a worker has received a prompt.
func (r *Received) Has(prompt string) bool { return r.seen[prompt] }

// Add records the events in prompts of a run. A prompt that is delivered again counts once.
func (r *Received) Add(run penstock.Run, prompts []penstock.Prompt) {
	for _, p := range prompts {
		if r.seen[p.ID] {
			if p.Redelivered {
				r.Again++
			} else {
				r.Unmarked = append(r.Unmarked, p.ID)
			}
			continue
		}
		r.seen[p.ID] = true
		var ids []string
		for _, f := range p.Files {
			_, id, _ := strings.Cut(strings.TrimSuffix(path.Base(f.Path), ".json"), "-")
			ids = append(ids, id)
		}
		if p.ID == run.ID && len(ids) == 0 {
			ids = []string{run.Metadata["delivery_id"]}
		}
		for _, id := range ids {
			r.In[id] = append(r.In[id], p.ID)
		}
	}
}
