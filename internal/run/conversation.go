package run

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
)

// Conversation is one that is read block by block, since all of it may not fit into
// memory. It is for one goroutine.
type Conversation struct {
	// Outline has everything but the content of the blocks: see [Conversation.Block].
	Outline penstock.Conversation

	store *store.Store
	refs  []penstock.Event // without their data, by source - 1

	from   int              // in refs, of the events that are held
	held   []penstock.Event // with their data
	source int              // of the message that is held
	parts  []penstock.Block // of that message
}

// heldEvents is how many events are read at once. The size of one is bounded where it
// is appended.
const heldEvents = 16

// RunConversation reads the conversation of a run. It does not exist before the agent
// was given its first prompt.
func (s *Runs) RunConversation(ctx context.Context, p penstock.Principal, runID string) (*Conversation, error) {
	r, err := s.readableRun(ctx, p, runID)
	if err != nil {
		return nil, err
	}
	return s.conversation(ctx, p, r.ConversationID)
}

// Conversation reads a conversation by its own id, over all its runs that exist for
// the caller.
func (s *Runs) Conversation(ctx context.Context, p penstock.Principal, id string) (*Conversation, error) {
	if err := s.seesConversation(ctx, p, id); err != nil {
		return nil, err
	}
	return s.conversation(ctx, p, id)
}

func (s *Runs) conversation(ctx context.Context, p penstock.Principal, id string) (*Conversation, error) {
	refs, err := s.store.ConversationOutline(ctx, viewer(p), id)
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
	c.from, c.held = 0, nil // who reads the blocks begins anew
	if len(c.Outline.Steps) == 0 {
		return nil, penstock.Errorf(
			penstock.CodeNotFound, "the run has no conversation yet: the agent has not received its prompt",
		)
	}
	return c, nil
}

// Block reads the block that b of the outline stands for.
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

// event reads the i-th event with its data, mostly from what is held. One far from
// there is read alone: a result stands at the place of an earlier one.
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
	events, err := c.store.ConversationPart(ctx, first.RunID, first.Seq, c.refs[i+n-1].Seq)
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
