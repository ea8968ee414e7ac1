package httpapi

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// conversations holds the handlers of conversations and their transcripts.
type conversations struct {
	runs  *run.Runs
	files *run.Files // transcripts and screenshots
}

func (h conversations) readOfRun(c *call) error {
	conversation, err := h.runs.RunConversation(c.ctx(), c.principal, c.param("runId"))
	if err != nil {
		return err
	}
	return c.respondConversation(conversation)
}

func (h conversations) read(c *call) error {
	conversation, err := h.runs.Conversation(c.ctx(), c.principal, c.param("id"))
	if err != nil {
		return err
	}
	return c.respondConversation(conversation)
}

// respondConversation streams a conversation: it writes each part as soon as it is read.
func (c *call) respondConversation(conversation *run.Conversation) error {
	c.w.Header()["Content-Type"] = jsonType
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	w := conversationWriter{
		bufio.NewWriter(&slowResponse{ResponseWriter: c.w, rc: http.NewResponseController(c.w)}), c, conversation,
	}
	if err := w.conversation(); err != nil {
		return err
	}
	_ = w.Flush() // the caller is gone after an error of the connection
	return nil
}

// conversationWriter writes the JSON of a conversation. It loads one block at a time.
type conversationWriter struct {
	*bufio.Writer
	call *call
	from *run.Conversation
}

func (w conversationWriter) conversation() error {
	outline := w.from.Outline
	shell := penstock.Conversation{ID: outline.ID, Steps: []penstock.Step{}}
	return within(w, shell, `"steps":[]`, outline.Steps, w.step)
}

func (w conversationWriter) step(step penstock.Step) error {
	shell := step
	shell.Messages = []penstock.Message{}
	return within(w, shell, `"messages":[]`, step.Messages, w.message)
}

func (w conversationWriter) message(m penstock.Message) error {
	shell := m
	shell.Content = []penstock.Block{}
	return within(w, shell, `"content":[]`, m.Content, w.block)
}

func (w conversationWriter) block(b penstock.Block) error {
	whole, err := w.from.Block(w.call.ctx(), b)
	if err != nil {
		return err
	}
	return json.MarshalWrite(w, whole, responseJSON)
}

// errNoPlace cannot occur, because every shell contains its list.
var errNoPlace = errors.New("no place for the list")

// within writes shell as JSON and inserts the items of list. empty is the text of the empty list in
// that JSON, and its last occurrence counts. write writes one item.
func within[T any](w conversationWriter, shell any, empty string, list []T, write func(T) error) error {
	text, err := json.Marshal(shell, responseJSON)
	if err != nil {
		return err
	}
	at := bytes.LastIndex(text, []byte(empty))
	if at < 0 {
		return errNoPlace
	}
	at += len(empty) - 1
	_, _ = w.Write(text[:at]) // the writer keeps its error, which Flush returns
	for i, item := range list {
		if i > 0 {
			_ = w.WriteByte(',')
		}
		if err := write(item); err != nil {
			return err
		}
	}
	_, _ = w.Write(text[at:])
	return nil
}

func (h conversations) transcriptOfRun(c *call) error {
	link, err := h.files.TranscriptLink(c.ctx(), c.principal, c.param("runId"))
	if err != nil {
		return err
	}
	return c.redirect(link)
}

func (h conversations) transcript(c *call) error {
	link, err := h.files.ConversationTranscriptLink(c.ctx(), c.principal, c.param("id"))
	if err != nil {
		return err
	}
	return c.redirect(link)
}

func (h conversations) screenshot(c *call) error {
	link, err := h.files.ScreenshotLink(c.ctx(), c.principal, c.param("id"), c.param("uid"))
	if err != nil {
		return err
	}
	return c.redirect(link)
}

// redirect redirects from a conversation to its live session, and redirectSession back
// after the session has ended. A caller who knows one id gets the other from them, and nothing
// else.
func (h conversations) redirect(c *call) error {
	id := c.param("id")
	if !penstock.ValidID(id) {
		return penstock.NotFound("conversation", id)
	}
	session, err := h.runs.ConversationRedirect(c.ctx(), id)
	return c.ok(optional("session_id", session), err)
}

func (h conversations) redirectSession(c *call) error {
	id := c.param("uuid")
	if !penstock.ValidID(id) {
		return penstock.NotFound("session", id)
	}
	conversation, err := h.runs.SessionRedirect(c.ctx(), id)
	return c.ok(optional("conversation_id", conversation), err)
}

// optional returns an object with one member, or nil if value is empty.
func optional(name, value string) map[string]string {
	if value == "" {
		return nil
	}
	return map[string]string{name: value}
}
