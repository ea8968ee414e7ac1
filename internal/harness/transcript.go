package harness

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

// deltaEvery is the least time between two deltas: at most 20 a second.
const deltaEvery = 50 * time.Millisecond

// deltaBytes is the most that a delta holds.
const deltaBytes = 16 << 10

// transcript turns what an agent says into drafts, in the order in which it was
// said: pieces of a message become deltas and in the end the message that takes
// their place, everything else is recorded after the message that was being
// written before it.
type transcript struct {
	record func(penstock.Draft)

	mu    sync.Mutex
	open  *utterance // being written, nil for none
	timer *time.Timer
}

// utterance is a message that is being written.
type utterance struct {
	id      string // ours
	theirs  string // the agent's id of it, "" where it gives none
	thought bool
	text    bounded
	unshown []byte
	shown   time.Time // when the last delta was recorded
}

// say adds a piece to the message that is being written, or begins another
// where the agent's id or the kind differs.
func (t *transcript) say(theirs string, thought bool, piece string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if piece == "" {
		return
	}
	if u := t.open; u != nil && (u.thought != thought || theirs != "" && theirs != u.theirs) {
		t.finish()
	}
	if t.open == nil {
		t.open = &utterance{id: penstock.NewID(), theirs: theirs, thought: thought}
	}
	u := t.open
	u.text.add(piece)
	if thought || !u.text.whole() {
		return // no deltas of thoughts, nor of what the message may leave out
	}
	u.unshown = append(u.unshown, piece...)
	wait := deltaEvery - time.Since(u.shown)
	switch {
	case wait <= 0 || len(u.unshown) >= deltaBytes:
		t.show()
	case t.timer == nil:
		t.timer = time.AfterFunc(wait, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.open == u && len(u.unshown) > 0 {
				t.show()
			}
		})
	}
}

// show records what has been said since the last delta.
func (t *transcript) show() {
	t.stopTimer()
	u := t.open
	for len(u.unshown) > 0 {
		n := runeCut(u.unshown, deltaBytes)
		t.record(penstock.NewDraft(penstock.EventMessageDelta, penstock.Now(),
			penstock.MessageDelta{ID: u.id, Role: penstock.RoleAssistant, Text: string(u.unshown[:n])}))
		u.unshown = u.unshown[n:]
	}
	u.unshown = nil
	u.shown = time.Now()
}

func (t *transcript) stopTimer() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}

// finish records the message that is being written.
func (t *transcript) finish() {
	u := t.open
	if u == nil {
		return
	}
	t.stopTimer()
	t.open = nil
	content := penstock.Text(u.text.String())
	if u.thought {
		content = eventBlock("thought", map[string]any{"text": u.text.String()})
	}
	t.record(penstock.NewDraft(penstock.EventMessage, penstock.Now(), penstock.Message{
		ID: u.id, Role: penstock.RoleAssistant, Content: []penstock.Block{content}, Timestamp: penstock.Now(),
	}))
}

// end finishes what is being written.
func (t *transcript) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finish()
}

// add records a draft after what has been said before it.
func (t *transcript) add(d penstock.Draft) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finish()
	t.record(d)
}

// event records something that is neither said nor done, as it came.
func (t *transcript) event(name string, data map[string]any) {
	t.add(penstock.NewDraft(penstock.EventMessage, penstock.Now(), penstock.Message{
		ID: penstock.NewID(), Role: penstock.RoleAssistant, Content: []penstock.Block{eventBlock(name, data)},
		Timestamp: penstock.Now(),
	}))
}

func eventBlock(name string, data map[string]any) penstock.Block {
	return penstock.Block{Type: penstock.BlockEvent, Name: name, Data: object(data)}
}

// object is a JSON object of what can be encoded.
func object(fields map[string]any) json.RawMessage {
	raw, err := json.Marshal(fields)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return raw
}

// runeCut is the largest length up to limit at which text can be cut without
// cutting a character.
func runeCut(text []byte, limit int) int {
	if len(text) <= limit {
		return len(text)
	}
	for limit > 0 && text[limit]&0xc0 == 0x80 {
		limit--
	}
	return max(limit, 1)
}
