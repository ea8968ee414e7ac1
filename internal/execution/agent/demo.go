package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// demo is the model demo/offline. It is not a language model, but follows rules, so that all of a
// run can be seen and tested without a key or a network. It works only by calling tools, in the
// same loop as any model.
//
// Without directives, it reads the workspace and event-payload.json, edits a file of the first
// repository, writes summary.md, and stores that as an artifact. It adds follow-ups to summary.md. A
// prompt can have directives: lines that begin with "demo:", executed in order; see directiveForms.
// Directives count only in messages of the user, never in results of tools. If a directive asks a
// question, the remaining ones continue after the answer.
type demo struct {
	directives bool // executes directives
}

const (
	demoIntro = "I am `demo/offline`. I am not a language model. I follow a few fixed rules and need no key and no " +
		"network. I show what a run looks like. Choose another model for real work.\n\n"

	demoSummary = "summary.md"
	demoPayload = "event-payload.json"
)

// directiveForms lists the directives of demo/offline.
const directiveForms = `demo: say <text>                  says the text; \n is a line feed
demo: think <text>                shows the text as a thought; \n is a line feed
demo: run <shell command>         runs the command (run_command)
demo: write <path> <text>         writes a file; \n is a line feed (edit_files)
demo: read <path>                 reads a file (read_files)
demo: search <regular expression> searches the workspace (search_files)
demo: read_skill <name or path>   reads a skill (read_skill)
demo: artifact <path>             saves a file as an artifact (create_artifact)
demo: plan <step>; <step>; …      shows a plan (update_plan)
demo: ask <question>              asks and stops; \n is a line feed; the next prompt is the answer (ask_user)
demo: call <tool> <JSON>          calls any tool, also of an MCP server
demo: fail                        ends the turn with a refusal
demo: error <text>                ends the turn with an error`

// stream chooses the next step from the history alone, so that a loaded session continues where it
// stopped.
func (d demo) stream(ctx context.Context, r request, emit func(partKind, string)) (reply, error) {
	response, err := d.next(r.history)
	if err != nil {
		return reply{}, err
	}
	if first := !slices.ContainsFunc(r.history, func(m message) bool { return m.Role == roleAssistant }); first {
		response.parts = append([]part{text(demoIntro)}, response.parts...)
	}
	for _, p := range response.parts {
		if p.Kind != partText && p.Kind != partThought {
			continue
		}
		for _, word := range strings.SplitAfter(p.Text, " ") {
			if ctx.Err() != nil {
				return reply{}, context.Cause(ctx)
			}
			emit(p.Kind, word)
		}
	}
	return response, nil
}

func (d demo) next(history []message) (reply, error) {
	at := lastPrompt(history)
	if at < 0 {
		return reply{parts: []part{text("The prompt is empty.")}}, nil
	}
	steps := history[at+1:]
	script := script(history)
	switch {
	case len(script) > 0 && !d.directives:
		return say(
			"The server ignores the `demo:` lines of the prompt, because no sandbox isolates their commands.",
		), nil
	case len(script) > len(answersIn(steps)):
		return script[len(answersIn(steps))].step()
	case len(script) > 0:
		return say("All directives are done."), nil
	case at == 0:
		return firstTurn(history[at].text(), steps), nil
	}
	return laterTurn(history[at].text(), steps), nil
}

// lastPrompt returns the index of the user's last message.
func lastPrompt(history []message) int {
	for i, m := range slices.Backward(history) {
		if m.Role == roleUser {
			return i
		}
	}
	return -1
}

func answersIn(steps []message) []message {
	var responses []message
	for _, m := range steps {
		if m.Role == roleAssistant {
			responses = append(responses, m)
		}
	}
	return responses
}

// script returns the remaining directives of an earlier prompt that asked a question, and then the
// directives of the last prompt. Each is one response.
func script(history []message) []directive {
	at := lastPrompt(history)
	if at < 0 {
		return nil
	}
	own := directives(history[at].text())
	before := history[:at]
	asked := slices.ContainsFunc(lastCalls(before), func(c part) bool { return c.Tool == toolAskUser })
	if !asked {
		return own
	}
	rest := script(before)
	done := len(answersIn(before[lastPrompt(before)+1:]))
	return append(rest[min(done, len(rest)):], own...)
}

// lastCalls returns the calls of the last response.
func lastCalls(history []message) []part {
	for _, m := range slices.Backward(history) {
		if m.Role == roleAssistant {
			return m.calls()
		}
	}
	return nil
}

// directive is one "demo:" line.
type directive struct{ verb, rest string }

func directives(prompt string) []directive {
	var found []directive
	for line := range strings.Lines(prompt) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "demo:"); ok {
			verb, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
			found = append(found, directive{verb, strings.TrimSpace(rest)})
		}
	}
	return found
}

// step returns the response that executes the directive.
func (d directive) step() (reply, error) {
	first, rest, _ := strings.Cut(d.rest, " ")
	switch d.verb {
	case "say":
		return reply{parts: []part{text(lines(d.rest))}, stop: stopMore}, nil
	case "think":
		return reply{parts: []part{{Kind: partThought, Text: lines(d.rest)}}, stop: stopMore}, nil
	case "run":
		return calling(toolRunCommand, map[string]any{"command": d.rest}), nil
	case "write":
		content := lines(rest)
		return calling(toolEditFiles, map[string]any{"edits": []edit{{Path: first, Content: &content}}}), nil
	case "read":
		return calling(toolReadFiles, map[string]any{"files": []map[string]any{{"path": d.rest}}}), nil
	case "search":
		return calling(toolSearchFiles, map[string]any{"pattern": d.rest}), nil
	case "read_skill":
		return calling(toolReadSkill, map[string]any{"skill": d.rest}), nil
	case "artifact":
		return calling(toolCreateArtifact, map[string]any{"type": "FILE", "path": d.rest}), nil
	case "plan":
		return calling(toolUpdatePlan, map[string]any{"entries": planSteps(d.rest)}), nil
	case "ask":
		return calling(toolAskUser, map[string]any{"question": lines(d.rest)}), nil
	case "call":
		return reply{parts: []part{newCall(first, validInput(rest))}}, nil
	case "fail":
		return reply{parts: []part{text("A directive told me to refuse.")}, stop: stopRefused}, nil
	case "error":
		return reply{}, &acp.Error{Code: acp.CodeInternal, Message: "a directive told demo/offline to fail: " + d.rest}
	}
	return reply{
		parts: []part{text(fmt.Sprintf("I do not know the directive %q. The directives are:\n%s\n", d.verb, directiveForms))},
		stop:  stopMore,
	}, nil
}

// lines returns a text of a directive with its line feeds.
func lines(text string) string { return strings.ReplaceAll(text, `\n`, "\n") }

func planSteps(list string) []map[string]string {
	var entries []map[string]string
	for step := range strings.SplitSeq(list, ";") {
		entries = append(entries, map[string]string{"content": strings.TrimSpace(step), "status": "pending"})
	}
	return entries
}

func say(s string) reply { return reply{parts: []part{text(s)}} }

func calling(tool string, input map[string]any, before ...part) reply {
	return reply{parts: append(before, newCall(tool, mustJSON(input)))}
}

func newCall(tool string, input json.RawMessage) part {
	return part{Kind: partCall, CallID: uuid.NewString(), Tool: tool, Input: input}
}

// resultOf returns the first result of a tool since the prompt.
func resultOf(steps []message, tool string) (r part, ok bool) {
	all := resultsOf(steps, tool)
	if len(all) == 0 {
		return part{}, false
	}
	return all[0], true
}

// resultsOf returns the results of a tool since the prompt.
func resultsOf(steps []message, tool string) (list []part) {
	for _, m := range steps {
		for _, p := range m.Parts {
			if p.Kind == partResult && p.Tool == tool {
				list = append(list, p)
			}
		}
	}
	return list
}

// firstTurn returns the next step of the first turn.
func firstTurn(prompt string, steps []message) reply {
	listing, listed := resultOf(steps, toolSearchFiles)
	if !listed {
		return calling(toolSearchFiles, map[string]any{"max_results": 200}, text("First, I look at the workspace.\n"))
	}
	payload, read := resultOf(steps, toolReadFiles)
	if !read && slices.Contains(strings.Split(listing.Text, "\n"), demoPayload) {
		return calling(toolReadFiles, map[string]any{"files": []map[string]any{{"path": demoPayload}}},
			text("A webhook delivery started this run, so I read its payload.\n"))
	}
	edits := resultsOf(steps, toolEditFiles)
	repository, done := demoRepository(prompt), "Done. I saved the summary as the artifact `summary.md`."
	if repository != "" {
		if len(edits) == 0 {
			return changing(repository, listing.Text)
		}
		done = endOfChange(repository, edits[0]) + done
		edits = edits[1:]
	}
	if len(edits) == 0 {
		content := summary(prompt, listing, payload)
		return calling(toolEditFiles, map[string]any{"edits": []edit{{Path: demoSummary, Content: &content}}},
			text("Now I write a summary.\n"))
	}
	return keepSummary(edits[0], steps, done)
}

// laterTurn adds a follow-up to summary.md.
func laterTurn(prompt string, steps []message) reply {
	written, wrote := resultOf(steps, toolEditFiles)
	if !wrote {
		content := "\n## Follow-up\n\n" + quote(prompt)
		return calling(toolEditFiles, map[string]any{"edits": []edit{{Path: demoSummary, Content: &content, Append: true}}},
			text("I read your message. I cannot understand it, but I add it to `summary.md`.\n"))
	}
	return keepSummary(written, steps, "I added your message to `summary.md` and saved the artifact again.")
}

func keepSummary(written part, steps []message, done string) reply {
	kept, tried := resultOf(steps, toolCreateArtifact)
	switch {
	case written.Failed:
		return say("I could not write `summary.md`. " + written.Text)
	case !tried:
		return calling(toolCreateArtifact, map[string]any{
			"type": penstock.ArtifactFile, "path": demoSummary, "title": "Summary", "description": "Summary of demo/offline",
		})
	case kept.Failed:
		return say("I wrote `summary.md`, but could not save it as an artifact. " + kept.Text)
	}
	return say(done)
}

// summary returns the content of summary.md.
func summary(prompt string, listing, payload part) string {
	var b strings.Builder
	b.WriteString("# Summary\n\nWritten by `demo/offline`, which is not a language model.\n\n")
	b.WriteString("## The task\n\n" + quote(prompt))
	b.WriteString("\n## The workspace\n\n")
	if listing.Failed {
		b.WriteString("I could not list the workspace.\n")
	} else {
		b.WriteString(indent(cut(listing.Text, 8<<10)))
	}
	if payload.Text != "" {
		b.WriteString("\n## The webhook's payload\n\n" + describePayload(payload.Text))
	}
	return b.String()
}

var lineNumber = penstock.LazyRegexp(`(?m)^ *\d+\t`)

// describePayload lists the top-level keys of a JSON object, or shows the beginning of another
// payload. Its argument is the output of read_files.
func describePayload(output string) string {
	_, body, _ := strings.Cut(output, "\n")
	body = lineNumber().ReplaceAllString(body, "")
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &object) != nil {
		return indent(cut(body, 1000))
	}
	var b strings.Builder
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys[:min(len(keys), 50)] {
		fmt.Fprintf(&b, "- `%s`: %s\n", firstLine(key, 60), kindOf(object[key]))
	}
	return b.String()
}

func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return "`" + firstLine(string(raw), 80) + "`"
}

func quote(s string) string { return prefixLines(s, "> ") }

func indent(s string) string { return prefixLines(s, "    ") }

func prefixLines(s, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(s, "\n")) {
		b.WriteString(prefix + strings.TrimRight(line, "\r\n") + "\n")
	}
	return b.String()
}
