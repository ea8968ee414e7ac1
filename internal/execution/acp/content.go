package acp

import "encoding/json"

// Meta is the `_meta` of a message: additional data under keys that name their owner.
type Meta map[string]json.RawMessage

// NewMeta returns a Meta with one entry. The value must be encodable.
func NewMeta(key string, value any) Meta {
	return Meta{}.With(key, value)
}

// With adds an entry and returns m. It skips a value that cannot be encoded.
func (m Meta) With(key string, value any) Meta {
	if raw, err := encodeValue(value); err == nil {
		m[key] = raw
	}
	return m
}

// Read decodes the entry at key into value. It returns false if the entry is missing or has another
// form.
func (m Meta) Read(key string, value any) bool {
	raw, ok := m[key]
	return ok && json.Unmarshal(raw, value) == nil
}

// ContentBlock is a piece of a prompt, a message or a tool's output. Type is text, image, audio,
// resource_link or resource, and decides which fields count.
type ContentBlock struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"` // base64, of image and audio
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"` // of resource_link
	Title    string    `json:"title,omitempty"`
	Resource *Resource `json:"resource,omitempty"`
	Meta     Meta      `json:"_meta,omitempty"`
}

// Resource is embedded content: Text, or Blob in base64.
type Resource struct {
	URI      string `json:"uri"`
	MimeType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     string `json:"blob,omitempty"`
}

// Text returns a content block of plain text.
func Text(s string) ContentBlock { return ContentBlock{Type: "text", Text: s} }

// MarshalJSON writes the text of a text block even when it is empty, as the
// schema requires.
func (b ContentBlock) MarshalJSON() ([]byte, error) {
	type plain ContentBlock
	if b.Type != "text" {
		return encodeValue(plain(b))
	}
	return encodeValue(struct {
		plain
		Text string `json:"text"`
	}{plain(b), b.Text})
}

// ToolCallContent is the visible content of a tool call: a content block, a diff (Path, OldText,
// NewText; OldText is nil for a new file), or a terminal.
type ToolCallContent struct {
	Type       string        `json:"type"` // content, diff, terminal
	Content    *ContentBlock `json:"content,omitempty"`
	Path       string        `json:"path,omitempty"`
	OldText    *string       `json:"oldText,omitempty"`
	NewText    *string       `json:"newText,omitempty"`
	TerminalID string        `json:"terminalId,omitempty"`
}

// TextOutput returns tool output of plain text.
func TextOutput(s string) ToolCallContent {
	block := Text(s)
	return ToolCallContent{Type: "content", Content: &block}
}

// Diff returns a change of a file; old is nil for a new file.
func Diff(path string, old *string, text string) ToolCallContent {
	return ToolCallContent{Type: "diff", Path: path, OldText: old, NewText: &text}
}
