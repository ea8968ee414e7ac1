package harness

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

// deltaEvery is the minimum time between two deltas: at most 20 per second.
const deltaEvery = 50 * time.Millisecond

// deltaBytes limits the size of a delta.
const deltaBytes = 16 << 10

// transcript converts the output of an agent to drafts, in order. Pieces of a message become
// deltas, and finally the message, which replaces them. Other events are recorded after the message
// that was open before them.
type transcript struct {
	record func(penstock.Draft)

	mu    sync.Mutex
	open  *utterance // the unfinished message, or nil
	timer *time.Timer
}

// utterance is an unfinished message.
type utterance struct {
	id      string // ours
	theirs  string // the agent's id of it, or ""
	thought bool
	text    bounded
	unshown []byte
	shown   time.Time // when the last delta was recorded
}

// say adds a piece to the unfinished message. It begins another message if the agent's id or the
// kind differs.
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
		return // no deltas for thoughts, and for parts that the message may omit
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

// show records the text since the last delta.
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

// finish records the unfinished message.
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

// end finishes the unfinished message.
func (t *transcript) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finish()
}

// add records a draft after the text before it.
func (t *transcript) add(d penstock.Draft) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finish()
	t.record(d)
}

// event records another kind of update, unchanged.
func (t *transcript) event(name string, data map[string]any) {
	t.add(penstock.NewDraft(penstock.EventMessage, penstock.Now(), penstock.Message{
		ID: penstock.NewID(), Role: penstock.RoleAssistant, Content: []penstock.Block{eventBlock(name, data)},
		Timestamp: penstock.Now(),
	}))
}

func eventBlock(name string, data map[string]any) penstock.Block {
	return penstock.Block{Type: penstock.BlockEvent, Name: name, Data: object(data)}
}

// object returns a JSON object with the fields that can be encoded.
func object(fields map[string]any) json.RawMessage {
	raw, err := json.Marshal(fields)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return raw
}

// runeCut returns the largest length up to limit that does not split a character.
func runeCut(text []byte, limit int) int {
	if len(text) <= limit {
		return len(text)
	}
	for limit > 0 && text[limit]&0xc0 == 0x80 {
		limit--
	}
	return max(limit, 1)
}
