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
	Again    int               // how many said so
	texts    map[string]string // of prompts
}

// NewReceived returns a record of nothing.
func NewReceived() *Received { return &Received{In: map[string][]string{}, texts: map[string]string{}} }

// Has reports whether a worker has received a prompt.
func (r *Received) Has(prompt string) bool { return r.texts[prompt] != "" }

// Text returns the text of a prompt that a worker has received.
func (r *Received) Text(prompt string) string { return r.texts[prompt] }

// Add records the events in prompts of a run. A prompt that is delivered again counts once.
func (r *Received) Add(run penstock.Run, prompts []penstock.Prompt) {
	for _, p := range prompts {
		if r.Has(p.ID) {
			if p.Redelivered {
				r.Again++
			} else {
				r.Unmarked = append(r.Unmarked, p.ID)
			}
			continue
		}
		r.texts[p.ID] = p.Text
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
