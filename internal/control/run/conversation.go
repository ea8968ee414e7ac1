package run

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Conversation reads a conversation block by block, because all of it may not fit into memory. It
// is not safe for concurrent use.
type Conversation struct {
	// Outline holds everything but the content of the blocks: see [Conversation.Block].
	Outline penstock.Conversation

	store *store.Store
	refs  []penstock.Event // without their data, by source - 1

	from   int              // index in refs of the first held event
	held   []penstock.Event // with their data
	source int              // of the held message
	parts  []penstock.Block // of that message
}

// heldEvents is how many events are read at once. Append limits the size of each.
const heldEvents = 16

// RunConversation reads the conversation of a run. It does not exist before the agent has received
// its first prompt.
func (s *Runs) RunConversation(ctx context.Context, p penstock.Principal, runID string) (*Conversation, error) {
	r, err := s.readableRun(ctx, p, runID)
	if err != nil {
		return nil, err
	}
	return s.findConversation(ctx, p, r.ConversationID)
}

// Conversation reads a conversation by its own id, with all its runs that the caller may see.
func (s *Runs) Conversation(ctx context.Context, p penstock.Principal, id string) (*Conversation, error) {
	if err := s.seesConversation(ctx, p, id); err != nil {
		return nil, err
	}
	return s.findConversation(ctx, p, id)
}

func (s *Runs) findConversation(ctx context.Context, p penstock.Principal, id string) (*Conversation, error) {
	refs, err := s.store.Conversations.Outline(ctx, viewer(p), id)
	if err != nil {
		return nil, err
	}
	c := &Conversation{Outline: penstock.Conversation{ID: id, Steps: []penstock.Step{}}, store: s.store, refs: refs}
	for i := range refs {
		e, err := c.event(ctx, i)
		if err != nil {
			return nil, err
		}
		c.Outline.Outline(e, i+1)
	}
	c.from, c.held = 0, nil // readers of blocks start at the beginning
	if len(c.Outline.Steps) == 0 {
		return nil, penstock.Errorf(
			penstock.CodeNotFound, "the run has no conversation yet: the agent has not received its prompt",
		)
	}
	return c, nil
}

// Block reads the content of the block b of the outline.
func (c *Conversation) Block(ctx context.Context, b penstock.Block) (penstock.Block, error) {
	if c.source == b.Source {
		return c.parts[b.Part], nil
	}
	e, err := c.event(ctx, b.Source-1)
	if err != nil {
		return b, err
	}
	if e.Type != penstock.EventMessage {
		err := json.Unmarshal(e.Data, &b)
		return b, err
	}
	var m penstock.Message
	if err := json.Unmarshal(e.Data, &m); err != nil {
		return b, err
	}
	c.source, c.parts = b.Source, m.Content
	return m.Content[b.Part], nil
}

// event reads the i-th event with its data, usually from the held events. It reads a distant event
// alone: a result takes the place of an earlier one.
func (c *Conversation) event(ctx context.Context, i int) (penstock.Event, error) {
	if i >= c.from && i < c.from+len(c.held) {
		return c.held[i-c.from], nil
	}
	next, n := c.from+len(c.held), 1
	if i >= next && i < next+heldEvents {
		for n < heldEvents && i+n < len(c.refs) && c.refs[i+n].RunID == c.refs[i].RunID {
			n++
		}
	}
	first := c.refs[i]
	events, err := c.store.Conversations.Part(ctx, first.RunID, first.Seq, c.refs[i+n-1].Seq)
	if err != nil {
		return first, err
	}
	if len(events) != n {
		return first, fmt.Errorf("read the conversation %s: run %s was removed in the meantime", c.Outline.ID, first.RunID)
	}
	if n > 1 {
		c.from, c.held = i, events
	}
	return events[0], nil
}
