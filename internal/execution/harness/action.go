package harness

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

const (
	// runningEvery is the minimum time between two results of an active action.
	runningEvery = time.Second
	// runningBytes limits the output in such a result, which is the end of the output.
	runningBytes = 4 << 10
	// maxOpen limits the remembered actions of a turn. It includes ended actions, because the agent
	// may send more updates about them.
	maxOpen = 10_000
	// maxHeld limits the bytes of active actions. If an agent exceeds either limit, its active
	// actions count as done.
	maxHeld = 64 << 20
)

// actions turns an agent's tool calls into actions and their results. A call may first appear in an
// update, or in a permission request.
type actions struct {
	add     func(penstock.Draft)
	session *Session // has the workspace and the places of skills
	numbers bool     // the agent numbers the lines of a file that it read

	mu   sync.Mutex
	open map[string]*action // by the agent's id
	held int                // bytes of the calls in open
	most int                // of held; 0: maxHeld
}

// action is one tool call as it is known so far.
type action struct {
	id             string // our own, because agents reuse theirs
	category, name string
	call           acp.ToolCall
	printed        strings.Builder // output of the agent's own terminal
	bytes          int             // of call and printed
	recorded       bool            // as an action
	state          string
	shown          time.Time
	output         string // as last recorded
}

// over reports whether the action has ended.
func (a *action) over() bool { return a.state != "" && a.state != penstock.ActionRunning }

// see handles a tool call or a change of one. It records the action as soon as its input is known,
// and then its result.
func (s *actions) see(change acp.ToolCall, begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(change.ID, begins)
	s.merge(a, change)
	plan, plans := planOf(a.call)
	switch {
	case plans && !a.recorded:
		s.plan(a, plan)
	case change.Status == acp.ToolCompleted:
		s.result(a, penstock.ActionCompleted)
	case change.Status == acp.ToolFailed:
		s.result(a, penstock.ActionFailed)
	case a.over():
	case a.call.Status == acp.ToolInProgress, !begins, s.known(a):
		s.announce(a)
		if (len(change.Content) > 0 || a.printed.Len() > 0) && a.name != actionMCP { // which echoes its arguments
			s.result(a, penstock.ActionRunning)
		}
	}
	s.makeRoom()
}

// known reports whether a new call has its input. Some agents announce a command before they know
// it.
func (s *actions) known(a *action) bool {
	if a.call.Kind == acp.ToolExecute {
		return readRaw(a.call.RawInput).text(commandFields...) != ""
	}
	return len(a.call.RawInput) > len(`{}`)
}

// ask handles the tool call of a permission request. allowed is the decision.
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

// end closes the active actions of the turn. If the turn was cut, they were interrupted. Otherwise
// they count as complete.
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

// makeRoom ends active actions if there are too many, or if they use too much memory.
func (s *actions) makeRoom() {
	if s.held > cmp.Or(s.most, maxHeld) || len(s.open) > maxOpen {
		s.close(penstock.ActionCompleted)
	}
}

// close ends all active actions with the same state.
func (s *actions) close(state string) {
	for _, a := range s.open {
		if !a.over() {
			s.result(a, state)
		}
	}
}

// find returns the open action with the agent's id. A new call with the id of an ended action is
// another action.
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
	a.category, a.name = s.session.classify(a.call)
	if a.name == actionRead && s.readsSkill(a.call) {
		a.category, a.name = categorySkill, actionSkill
	}
	s.record(a, s.input(a))
}

// record records an action with its input.
func (s *actions) record(a *action, input map[string]any) {
	s.add(penstock.NewDraft(penstock.EventAction, penstock.Now(), penstock.Block{
		Type: penstock.BlockAction, ID: a.id, Category: a.category, Name: a.name, Input: object(input),
	}))
}

// result records the state of the action. A final state stays: an action that was denied does not
// fail later.
func (s *actions) result(a *action, state string) {
	if a.over() {
		return
	}
	s.announce(a)
	output := object(s.output(a, state))
	if state == penstock.ActionRunning {
		if time.Since(a.shown) < runningEvery || string(output) == a.output || string(output) == `{}` {
			return
		}
		a.shown, a.output = time.Now(), string(output)
	}
	a.state = state
	s.add(penstock.NewDraft(penstock.EventActionResult, penstock.Now(), penstock.Block{
		Type: penstock.BlockActionResult, ActionID: a.id, Category: a.category, Name: a.name, State: state, Output: output,
	}))
	if a.over() {
		s.forget(a)
	}
}

// plan records a plan in the place of the call that writes it.
func (s *actions) plan(a *action, plan acp.Plan) {
	a.recorded, a.state = true, penstock.ActionCompleted
	s.add(penstock.NewDraft(penstock.EventPlan, penstock.Now(), planData(plan)))
	s.forget(a)
}

// forget drops the content of an action that has ended, because it may be large.
func (s *actions) forget(a *action) {
	s.held -= a.bytes
	a.call, a.bytes = acp.ToolCall{}, 0
	a.printed.Reset()
}

// merge applies a change to an active action.
func (s *actions) merge(a *action, change acp.ToolCall) {
	if a.over() {
		return
	}
	var piece struct {
		Data string `json:"data"`
	}
	if change.Meta.Read(metaTerminalOutput, &piece) {
		a.printed.WriteString(piece.Data)
		delete(change.Meta, metaTerminalOutput)
	}
	merge(&a.call, change)
	text, _ := json.Marshal(a.call) // it came from JSON
	size := len(text) + a.printed.Len()
	s.held += size - a.bytes
	a.bytes = size
}

// Extensions of agents with their own terminal, which report its output in pieces, and the result
// of its program. Some agents send them even to clients that do not support them.
const (
	metaTerminalOutput = "terminal_output_delta"
	metaTerminalExit   = "terminal_exit"
)

// merge applies a change.
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

// text returns the first named field that is a string, or the joined strings of a list.
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

// list returns the first named field that is a list of strings, or of objects with a path.
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

// scalar returns the named field if it is a number, a boolean or a string. Some agents write names
// in camel case.
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
