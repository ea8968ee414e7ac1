package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
)

// printer writes the events of a run as lines: a word for the kind, then the text. Further lines of
// the text are indented, so that an agent cannot imitate our lines.
type printer struct {
	out   io.Writer
	limit int // lines of one text; 0: all
	err   error
}

// label is the width of the longest word, "artifact", and two spaces.
const label = 10

// line writes one entry.
func (p *printer) line(word, text string) {
	text = strings.TrimSpace(cleanText(text))
	if text == "" || p.err != nil {
		return
	}
	lines := strings.Split(text, "\n")
	if p.limit > 0 && len(lines) > p.limit {
		lines = append(lines[:p.limit], fmt.Sprintf("… %d more lines: penstock run logs", len(lines)-p.limit))
	}
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			word = ""
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", label, word, line), " ") + "\n")
	}
	_, p.err = io.WriteString(p.out, b.String())
}

// event writes an event of a stream, if it has something to show.
func (p *printer) event(e liveEvent) {
	switch e.Type {
	case penstock.EventState, penstock.EventDone:
		read(e, func(s penstock.StateData) {
			text := string(s.State)
			if message := statusText(s.StatusMessage); message != "" {
				text += ": " + message
			}
			word := "state"
			if e.Type == penstock.EventDone {
				word = "done"
			}
			p.line(word, text)
		})
	case penstock.EventMessage:
		read(e, p.message)
	case penstock.EventAction, penstock.EventActionResult:
		read(e, p.block)
	case penstock.EventPlan:
		read(e, p.plan)
	case penstock.EventUsage:
		read(e, func(u penstock.Usage) { p.line("usage", usage(&u)) })
	case penstock.EventArtifact:
		read(e, func(a penstock.Artifact) { p.line("artifact", artifactText(a)) })
	case penstock.EventTimeline:
		read(e, func(t penstock.TimelineData) {
			payload, err := json.Marshal(t.Payload, json.Deterministic(true))
			if err != nil {
				return
			}
			line, text := values(payload)
			p.line("timeline", strings.ReplaceAll(t.Type, "_", " ")+" "+line+"\n"+text)
		})
	}
}

// read passes the data of an event to use. It skips data of another form, which a newer server may
// send.
func read[T any](e liveEvent, use func(T)) {
	var data T
	if json.Unmarshal(e.Data, &data) == nil {
		use(data)
	}
}

func (p *printer) message(m penstock.Message) {
	for _, b := range m.Content {
		if b.Type == penstock.BlockText {
			p.line(m.Role, b.Text)
			continue
		}
		p.block(b)
	}
}

func (p *printer) block(b penstock.Block) {
	switch b.Type {
	case penstock.BlockAction:
		line, text := values(jsontext.Value(b.Input))
		p.line("action", b.Name+" "+line+"\n"+text)
	case penstock.BlockActionResult:
		if b.State == penstock.ActionRunning {
			return
		}
		line, text := values(jsontext.Value(b.Output))
		p.line("result", b.Name+" "+b.State+" "+line+"\n"+text)
	case penstock.BlockEvent:
		line, text := values(jsontext.Value(b.Data))
		p.line("event", b.Name+" "+line+"\n"+text)
	}
}

func (p *printer) plan(plan penstock.PlanData) {
	marks := map[string]string{"completed": "[x] ", "in_progress": "[>] "}
	var lines []string
	for _, entry := range plan.Entries {
		mark, ok := marks[entry.Status]
		if !ok {
			mark = "[ ] "
		}
		lines = append(lines, mark+cleanLine(entry.Content))
	}
	p.line("plan", strings.Join(lines, "\n"))
}
