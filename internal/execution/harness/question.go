package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// question is what the agent asks its user.
type question struct {
	text string
	// refused means that the agent has got a refusal, after which it ends its turn by itself.
	refused bool
}

// elicit handles a question of the agent to its user. The user answers with the next prompt, so the
// question ends the turn.
func (a *acpAgent) elicit(ctx context.Context, r acp.ElicitationRequest) (response acp.ElicitationResponse, err error) {
	defer a.contain(ctx, "elicitation", &err)
	text := formText(r)
	if text == "" || r.Mode != "form" {
		return acp.ElicitationResponse{Action: "decline"}, nil
	}
	a.ask(acp.ToolCall{ID: r.ToolCallID}, question{text: text})
	<-ctx.Done() // of the turn
	return acp.ElicitationResponse{Action: "cancel"}, nil
}

// ask shows a question of a call, and ends the turn.
func (a *acpAgent) ask(call acp.ToolCall, q question) {
	a.did.question(call, q.text)
	select {
	case a.question <- q:
	default: // the turn already ends with another question
	}
}

// question records that a call asks the user. The call is then complete.
func (s *actions) question(call acp.ToolCall, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(call.ID, false)
	s.merge(a, call)
	if !a.recorded {
		a.recorded, a.category, a.name = true, categories[actionAsk], actionAsk
		s.record(a, map[string]any{"question": text})
	}
	s.result(a, penstock.ActionCompleted)
}

// option is a choice of a question.
type option struct {
	Title       string `json:"title"`
	Label       string `json:"label"`
	Const       string `json:"const"`
	Description string `json:"description"`
}

// formField is a field of a form.
type formField struct {
	Title       string   `json:"title"`
	Description string   `json:"description"`
	OneOf       []option `json:"oneOf"`
	AnyOf       []option `json:"anyOf"`
	Enum        []string `json:"enum"`
	Items       struct {
		OneOf []option `json:"oneOf"`
		AnyOf []option `json:"anyOf"`
		Enum  []string `json:"enum"`
	} `json:"items"`
}

// formText returns the questions of a form as text.
func formText(r acp.ElicitationRequest) string {
	lines := []string{strings.TrimSpace(r.Message)}
	for _, name := range slices.Sorted(maps.Keys(r.Schema.Properties)) {
		var field formField
		if json.Unmarshal(r.Schema.Properties[name], &field) != nil {
			continue
		}
		options := slices.Concat(field.OneOf, field.AnyOf, field.Items.OneOf, field.Items.AnyOf)
		for _, value := range slices.Concat(field.Enum, field.Items.Enum) {
			options = append(options, option{Title: value})
		}
		text := field.Description // one of both is only a heading
		if len(field.Title) > len(text) {
			text = field.Title
		}
		if len(options) == 0 && len(r.Schema.Properties) > 1 {
			continue // such as a field for a remark
		}
		lines = append(lines, questionText(text, options)...)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// questionText returns a question with its choices, in lines.
func questionText(text string, options []option) (lines []string) {
	if text = strings.TrimSpace(text); text != "" {
		lines = append(lines, text)
	}
	for _, o := range options {
		line := "- " + cmp.Or(o.Label, o.Title, o.Const)
		if o.Description != "" {
			line += ": " + o.Description
		}
		lines = append(lines, line)
	}
	return lines
}

// questions returns the questions of a tool call that asks the user, or "" if it does not.
func questions(input json.RawMessage) string {
	var in struct {
		Questions []struct {
			Question string   `json:"question"`
			Options  []option `json:"options"`
		} `json:"questions"`
	}
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	var lines []string
	for _, q := range in.Questions {
		if q.Question == "" {
			return ""
		}
		lines = append(lines, questionText(q.Question, q.Options)...)
	}
	return strings.Join(lines, "\n")
}
