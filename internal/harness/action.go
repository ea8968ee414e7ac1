package harness

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/acp"
)

const (
	// runningEvery is the least time between two results of an action that is
	// still under way.
	runningEvery = time.Second
	// runningBytes is how much of its output such a result holds: the end.
	runningBytes = 4 << 10
	// maxOpen is how many actions of a turn are remembered, those after their end
	// included, in case the agent has more to say about them.
	maxOpen = 10_000
	// maxHeld is how many bytes of actions that are under way are kept. An agent
	// that begins more, of either, and ends none has them taken for done.
	maxHeld = 64 << 20
)

// actions turns an agent's tool calls into actions and their results. A call
// may become known by its update, or by the question whether it may go on.
type actions struct {
	add     func(penstock.Draft)
	session *Session // knows the workspace, and which skills lie where

	mu   sync.Mutex
	open map[string]*action // by the agent's id
	held int                // bytes of the calls in open
	most int                // of held; 0: maxHeld
}

// action is one tool call as it is known so far.
type action struct {
	id             string // ours: agents use theirs again
	category, name string
	call           acp.ToolCall
	bytes          int  // of call
	recorded       bool // as an action
	state          string
	shown          time.Time
	output         string // as last recorded
}

// over tells that nothing more is expected of the action.
func (a *action) over() bool { return a.state != "" && a.state != penstock.ActionRunning }

// see takes a tool call or a change of one. It announces the action as soon as
// its input is known, and records its result.
func (s *actions) see(change acp.ToolCall, begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(change.ID, begins)
	s.merge(a, change)
	switch {
	case change.Status == acp.ToolCompleted:
		s.result(a, penstock.ActionCompleted)
	case change.Status == acp.ToolFailed:
		s.result(a, penstock.ActionFailed)
	case a.over():
	case a.call.Status == acp.ToolInProgress, !begins, len(change.RawInput) > len(`{}`):
		s.announce(a)
		if len(change.Content) > 0 {
			s.result(a, penstock.ActionRunning)
		}
	}
	s.makeRoom()
}

// ask takes the tool call that a permission is asked for, and whether it was
// given.
func (s *actions) ask(change acp.ToolCall, allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(change.ID, false)
	s.merge(a, change)
	s.announce(a)
	if !allowed {
		s.result(a, penstock.ActionDenied)
	}
	s.makeRoom()
}

// end closes what the turn has left open: an action that is still under way
// was cut off when the turn was, and is otherwise as complete as it will be.
func (s *actions) end(cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := penstock.ActionCompleted
	if cut {
		state = penstock.ActionFailed
	}
	s.close(state)
	clear(s.open)
}

// makeRoom ends what is under way where that takes more memory, or is more, than
// it may.
func (s *actions) makeRoom() {
	if s.held > cmp.Or(s.most, maxHeld) || len(s.open) > maxOpen {
		s.close(penstock.ActionCompleted)
	}
}

// close gives all actions that are under way the same end.
func (s *actions) close(state string) {
	for _, a := range s.open {
		if !a.over() {
			s.result(a, state)
		}
	}
}

// find returns the open action with the agent's id. A call that begins under
// the id of one that is over is another one.
func (s *actions) find(theirs string, begins bool) *action {
	a := s.open[theirs]
	if a == nil || begins && a.over() {
		if len(s.open) >= maxOpen {
			maps.DeleteFunc(s.open, func(_ string, a *action) bool { return a.over() })
		}
		a = &action{id: penstock.NewID()}
		s.open[theirs] = a
	}
	return a
}

func (s *actions) announce(a *action) {
	if a.recorded {
		return
	}
	a.recorded = true
	a.category, a.name = classify(a.call)
	if a.name == actionRead && s.readsSkill(a.call) {
		a.category, a.name = categorySkill, actionSkill
	}
	s.add(penstock.NewDraft(penstock.EventAction, penstock.Now(), penstock.Block{
		Type: penstock.BlockAction, ID: a.id, Category: a.category, Name: a.name, Input: object(s.input(a)),
	}))
}

// result records how the action stands. What is final stays: an action that was
// denied does not fail.
func (s *actions) result(a *action, state string) {
	if a.over() {
		return
	}
	s.announce(a)
	output := object(s.output(a, state))
	if state == penstock.ActionRunning {
		if time.Since(a.shown) < runningEvery || string(output) == a.output {
			return
		}
		a.shown, a.output = time.Now(), string(output)
	}
	a.state = state
	s.add(penstock.NewDraft(penstock.EventActionResult, penstock.Now(), penstock.Block{
		Type: penstock.BlockActionResult, ActionID: a.id, Category: a.category, Name: a.name, State: state, Output: output,
	}))
	if a.over() { // its content may be large
		s.held -= a.bytes
		a.call, a.bytes = acp.ToolCall{}, 0
	}
}

// merge takes over what change says of an action that is under way.
func (s *actions) merge(a *action, change acp.ToolCall) {
	if a.over() {
		return
	}
	merge(&a.call, change)
	text, _ := json.Marshal(a.call) // it was decoded
	s.held += len(text) - a.bytes
	a.bytes = len(text)
}

// merge takes over what change says.
func merge(call *acp.ToolCall, change acp.ToolCall) {
	set(&call.ID, change.ID)
	set(&call.Title, change.Title)
	set(&call.Name, change.Name)
	set(&call.Kind, change.Kind)
	set(&call.Status, change.Status)
	if change.Content != nil {
		call.Content = change.Content
	}
	if change.Locations != nil {
		call.Locations = change.Locations
	}
	if len(change.RawInput) > 0 {
		call.RawInput = change.RawInput
	}
	if len(change.RawOutput) > 0 {
		call.RawOutput = change.RawOutput
	}
	for key, value := range change.Meta {
		if call.Meta == nil {
			call.Meta = acp.Meta{}
		}
		call.Meta[key] = value
	}
}

func set[T ~string](field *T, value T) {
	if value != "" {
		*field = value
	}
}

// raw is a harness's own parameters or result, read leniently.
type raw map[string]json.RawMessage

func readRaw(data json.RawMessage) raw {
	var r raw
	if json.Unmarshal(data, &r) != nil {
		return nil
	}
	return r
}

// text is the first of the named fields that is a string, or a list of strings
// put together.
func (r raw) text(names ...string) string {
	for _, name := range names {
		var one string
		if json.Unmarshal(r[name], &one) == nil && one != "" {
			return one
		}
		if list := r.list(name); len(list) > 0 {
			return joinWords(list)
		}
	}
	return ""
}

// list is the first of the named fields that is a list of strings, or of
// objects with a path.
func (r raw) list(names ...string) []string {
	for _, name := range names {
		var words []string
		if json.Unmarshal(r[name], &words) == nil && len(words) > 0 {
			return words
		}
		var objects []raw
		if json.Unmarshal(r[name], &objects) != nil {
			continue
		}
		var paths []string
		for _, o := range objects {
			if path := o.text(pathFields...); path != "" {
				paths = append(paths, path)
			}
		}
		if len(paths) > 0 {
			return paths
		}
	}
	return nil
}

// scalar is the named field where it is a number, a truth value or a string. Some
// agents write names in camel case.
func (r raw) scalar(name string) (any, bool) {
	value, ok := r[name]
	if !ok {
		words := strings.Split(name, "_")
		for i, w := range words[1:] {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
		value = r[strings.Join(words, "")]
	}
	var v any
	if json.Unmarshal(value, &v) != nil {
		return nil, false
	}
	switch v.(type) {
	case float64, bool, string:
		return value, true
	}
	return nil, false
}
