package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// The names of the tools, as the model, the client and the run's conversation
// know them.
const (
	toolRunCommand     = "run_command"
	toolReadFiles      = "read_files"
	toolEditFiles      = "edit_files"
	toolSearchFiles    = "search_files"
	toolReadSkill      = "read_skill"
	toolCreateArtifact = "create_artifact"
	toolAskUser        = "ask_user"
	toolUpdatePlan     = "update_plan"
	toolCallMCP        = "call_mcp_tool" // the name of every MCP tool for the client
)

// tool is something that the model can call.
type tool struct {
	name        string // for the model
	public      string // for the client; empty means name
	kind        acp.ToolKind
	description string
	schema      json.RawMessage // JSON Schema of the input, an object

	// prepare reads an input. The model sees its error and can fix the input.
	prepare func(s *session, input json.RawMessage) (prepared, error)
}

// prepared is a call that is ready to run.
type prepared struct {
	title     string
	shown     json.RawMessage // the input for the client
	locations []acp.Location
	run       func(ctx context.Context, c *call) (result, error)
}

// call is one active call of a tool.
type call struct {
	session *session
	id      string
	public  string // name of the tool
}

// result is the result of a tool. If a tool fails, it returns an error instead, which the model
// sees as a failed result.
type result struct {
	text    string                // for the model
	raw     any                   // for the client, curated; nil means the text
	content []acp.ToolCallContent // for the client; nil means the text
	failed  bool
	ask     string // the question that ends the turn
}

// progress shows what a call has printed so far.
func (c *call) progress(ctx context.Context, text string) {
	c.session.update(ctx, acp.Update{Kind: acp.UpdateToolCallUpdate, ToolCall: &acp.ToolCall{
		ID:      c.id,
		Status:  acp.ToolInProgress,
		Content: []acp.ToolCallContent{acp.TextOutput(text)},
		Meta:    acp.NewMeta(acp.MetaTool, c.public),
	}})
}

// define makes a tool from functions over its typed input.
func define[In any](name string, kind acp.ToolKind, description, schema string,
	title func(In) string, run func(context.Context, *call, In) (result, error),
) tool {
	return tool{
		name: name, public: name, kind: kind, description: description, schema: json.RawMessage(schema),
		prepare: func(s *session, input json.RawMessage) (prepared, error) {
			var in In
			if err := json.Unmarshal(input, &in); err != nil {
				return prepared{}, fmt.Errorf("the input does not match the tool's schema: %w", err)
			}
			p := prepared{
				title: title(in),
				shown: input,
				run:   func(ctx context.Context, c *call) (result, error) { return run(ctx, c, in) },
			}
			if at, ok := any(in).(located); ok {
				for _, path := range at.paths() {
					p.locations = append(p.locations, acp.Location{Path: s.files.absolute(path)})
				}
			}
			if v, ok := any(in).(viewed); ok {
				p.shown = v.view(s)
			}
			return p, nil
		},
	}
}

// located is an input that names files.
type located interface{ paths() []string }

// viewed is an input that is shown to the client in another form than the
// model's.
type viewed interface {
	view(s *session) json.RawMessage
}

// builtinTools are the tools that every session has.
func builtinTools() []tool {
	return []tool{
		runCommandTool, readFilesTool, editFilesTool, searchFilesTool, readSkillTool, createArtifactTool, askUserTool,
		updatePlanTool,
	}
}

// invoke runs one call and reports it to the client. It returns an error only at the end of the
// turn. The model gets all other errors as results.
func (s *session) invoke(ctx context.Context, wanted part) (result, error) {
	t, p, err := s.prepare(wanted)
	c := &call{session: s, id: wanted.CallID, public: t.public}
	meta := acp.NewMeta(acp.MetaTool, t.public)
	s.update(ctx, acp.Update{Kind: acp.UpdateToolCall, ToolCall: &acp.ToolCall{
		ID: c.id, Title: p.title, Name: t.name, Kind: t.kind, Status: acp.ToolInProgress,
		Locations: p.locations, RawInput: p.shown, Meta: meta,
	}})
	var r result
	if err == nil {
		r, err = p.run(ctx, c)
	}
	if ctx.Err() != nil {
		s.update(context.WithoutCancel(ctx), acp.Update{Kind: acp.UpdateToolCallUpdate, ToolCall: &acp.ToolCall{
			ID: c.id, Status: acp.ToolFailed, Content: []acp.ToolCallContent{acp.TextOutput("cancelled")}, Meta: meta,
		}})
		return result{}, context.Cause(ctx)
	}
	if err != nil {
		r = result{text: "Error: " + err.Error(), failed: true}
	}
	r.text = clean(r.text)
	s.update(ctx, acp.Update{Kind: acp.UpdateToolCallUpdate, ToolCall: r.end(c, meta)})
	if needed, ok := errors.AsType[*requiredError](err); ok {
		return result{}, needed.forClient()
	}
	return r, nil
}

// prepare finds the tool of a call and reads its input. Even with an error, tool and call can be
// reported.
func (s *session) prepare(wanted part) (tool, prepared, error) {
	t, ok := s.tools[wanted.Tool]
	if !ok {
		t = tool{name: wanted.Tool, public: wanted.Tool, kind: acp.ToolOther}
		return t, prepared{title: wanted.Tool, shown: wanted.Input}, fmt.Errorf("the tool %q does not exist", wanted.Tool)
	}
	p, err := t.prepare(s, wanted.Input)
	if err != nil {
		p = prepared{title: t.name, shown: wanted.Input}
	}
	return t, p, err
}

func (r result) end(c *call, meta acp.Meta) *acp.ToolCall {
	end := &acp.ToolCall{ID: c.id, Status: acp.ToolCompleted, Content: r.content, Meta: meta}
	if r.failed {
		end.Status = acp.ToolFailed
	}
	if end.Content == nil && r.text != "" {
		end.Content = []acp.ToolCallContent{acp.TextOutput(r.text)}
	}
	if r.raw == nil {
		r.raw = map[string]string{"text": r.text}
	}
	if raw, err := json.Marshal(r.raw); err == nil {
		end.RawOutput = raw
	}
	return end
}

// firstLine returns the beginning of s in one line, for a title.
func firstLine(s string, most int) string {
	line, more, _ := strings.Cut(strings.TrimSpace(s), "\n")
	runes := []rune(line)
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	if more != "" {
		return line + " …"
	}
	return line
}
