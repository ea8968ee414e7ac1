package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

const (
	maxReadPaths = 20
	maxReadBytes = 64 << 10 // of one file, in the result for the model
	maxReadTotal = 160 << 10
)

type readInput struct {
	Files []readFile `json:"files"`
}

type readFile struct {
	Path  string `json:"path"`
	Start int    `json:"start_line"`
	Count int    `json:"line_count"`
}

func (in readInput) paths() []string {
	return pathsOf(in.Files, func(f readFile) string { return f.Path })
}

func pathsOf[T any](list []T, path func(T) string) []string {
	var paths []string
	for _, item := range list {
		paths = append(paths, path(item))
	}
	return paths
}

// readOutput is the curated result of read_files: without the content.
type readOutput struct {
	Files []readReport `json:"files"`
}

type readReport struct {
	Path  string `json:"path"`
	Bytes int    `json:"size_bytes"`
	Lines int    `json:"lines"`
	Error string `json:"error,omitempty"`
}

var readFilesTool = define(toolReadFiles, acp.ToolRead,
	"Read text files of the workspace, with line numbers. Long files are cut. To read more, request a range of lines.",
	`{"type":"object","properties":{"files":{"type":"array","minItems":1,"maxItems":20,"items":{
		"type":"object","properties":{
		"path":{"type":"string","description":"Relative to the workspace, or absolute within it."},
		"start_line":{"type":"integer","minimum":1,"description":"Default: 1."},
		"line_count":{"type":"integer","minimum":1,"description":"Default: all."}},
		"required":["path"]}}},"required":["files"]}`,
	func(in readInput) string { return "Read " + named(in.paths()) },
	func(_ context.Context, c *call, in readInput) (result, error) {
		if len(in.Files) == 0 || len(in.Files) > maxReadPaths {
			return result{}, fmt.Errorf("files must contain 1 to %d files", maxReadPaths)
		}
		var out readOutput
		var b strings.Builder
		failed := 0
		for _, f := range in.Files {
			text, report, err := c.session.readOne(f, maxReadTotal-b.Len())
			if err != nil {
				failed++
				report.Error = err.Error()
				text = "Error: " + err.Error() + "\n"
			}
			out.Files = append(out.Files, report)
			fmt.Fprintf(&b, "== %s\n%s", f.Path, text)
		}
		return result{text: b.String(), raw: out, failed: failed == len(in.Files)}, nil
	})

// readOne returns one file for the model, at most about room bytes of it.
func (s *session) readOne(f readFile, room int) (string, readReport, error) {
	report := readReport{Path: f.Path}
	data, err := s.files.read(f.Path)
	if err != nil {
		return "", report, err
	}
	report.Bytes = len(data)
	if isBinary(data) {
		return fmt.Sprintf("[binary, %d bytes]\n", len(data)), report, nil
	}
	lines := strings.SplitAfter(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	report.Lines = len(lines)
	first := max(f.Start, 1)
	last := len(lines)
	if f.Count > 0 {
		last = min(last, first+f.Count-1)
	}
	if first > len(lines) && len(lines) > 0 {
		return "", report, fmt.Errorf("the file has only %d lines", len(lines))
	}
	room = min(room, maxReadBytes)
	var b strings.Builder
	for i := first; i <= last; i++ {
		line := strings.TrimRight(lines[i-1], "\r\n")
		left := room - b.Len()
		if len(line) > left && i > first {
			fmt.Fprintf(&b, "[… cut before line %d of %d]\n", i, len(lines))
			break
		}
		fmt.Fprintf(&b, "%6d\t%s\n", i, cut(line, max(left, 0)))
	}
	if len(lines) == 0 {
		b.WriteString("[empty]\n")
	}
	return b.String(), report, nil
}

type editInput struct {
	Edits []edit `json:"edits"`
}

// edit is one change: a replacement of OldText, or Content as the whole file or
// its new end, or the file's removal.
type edit struct {
	Path    string  `json:"path"`
	OldText string  `json:"old_text,omitempty"`
	NewText string  `json:"new_text,omitempty"`
	All     bool    `json:"replace_all,omitempty"`
	Content *string `json:"content,omitempty"`
	Append  bool    `json:"append,omitempty"`
	Delete  bool    `json:"delete,omitempty"`
}

func (in editInput) paths() []string { return pathsOf(in.Edits, func(e edit) string { return e.Path }) }

type editOutput struct {
	Files []editReport `json:"files"`
}

type editReport struct {
	Path   string `json:"path"`
	Action string `json:"action"` // created, changed, deleted, unchanged
}

var editFilesTool = define(toolEditFiles, acp.ToolEdit,
	"Change files of the workspace. An edit replaces old_text with new_text, sets the whole content of a file (or "+
		"appends to it), or deletes the file. old_text must occur exactly once, unless replace_all is set. Missing "+
		"directories are created. If one edit fails, no file changes.",
	`{"type":"object","properties":{"edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{
		"path":{"type":"string","description":"Relative to the workspace, or absolute within it."},
		"old_text":{"type":"string","description":"The exact text of the file, without line numbers."},
		"new_text":{"type":"string"},
		"replace_all":{"type":"boolean"},
		"content":{"type":"string","description":"The whole new content, instead of old_text and new_text."},
		"append":{"type":"boolean","description":"Append content to the file."},
		"delete":{"type":"boolean"}},
		"required":["path"]}}},"required":["edits"]}`,
	func(in editInput) string { return "Edit " + named(in.paths()) },
	func(_ context.Context, c *call, in editInput) (result, error) {
		if len(in.Edits) == 0 {
			return result{}, errors.New("edits is empty")
		}
		changes, err := c.session.planEdits(in.Edits)
		if err != nil {
			return result{}, err
		}
		return c.session.applyEdits(changes)
	})

// fileText is the text of a file that may not exist.
type fileText struct {
	text  string
	there bool
}

// change is the change of one file.
type change struct {
	path     string
	old, new fileText
}

// planEdits computes the changes of the edits, without writing anything.
func (s *session) planEdits(edits []edit) ([]*change, error) {
	var changes []*change
	byPath := map[string]*change{}
	for i, e := range edits {
		path := s.files.absolute(e.Path)
		ch := byPath[path]
		if ch == nil {
			old, err := s.current(e.Path)
			if err != nil {
				return nil, fmt.Errorf("edit %d: %s: %w", i+1, e.Path, err)
			}
			ch = &change{path: e.Path, old: old, new: old}
			byPath[path] = ch
			changes = append(changes, ch)
		}
		next, err := e.apply(ch.new)
		if err != nil {
			return nil, fmt.Errorf("edit %d: %s: %w; no file was changed", i+1, e.Path, err)
		}
		ch.new = next
	}
	return changes, nil
}

func (s *session) current(path string) (fileText, error) {
	data, err := s.files.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fileText{}, nil
	}
	return fileText{string(data), err == nil}, err
}

// apply returns the file after the edit.
func (e edit) apply(old fileText) (fileText, error) {
	switch {
	case e.Content != nil && e.Append:
		return fileText{old.text + *e.Content, true}, nil
	case e.Content != nil:
		return fileText{*e.Content, true}, nil
	case !old.there:
		return old, fs.ErrNotExist
	case e.Delete:
		return fileText{}, nil
	case e.OldText == "":
		return old, errors.New("old_text is empty; to write the whole file, set content")
	}
	n := strings.Count(old.text, e.OldText)
	switch {
	case n == 0:
		return old, errors.New("old_text does not occur")
	case n > 1 && !e.All:
		return old, fmt.Errorf("old_text occurs %d times; make it longer, or set replace_all", n)
	}
	return fileText{strings.ReplaceAll(old.text, e.OldText, e.NewText), true}, nil
}

func (s *session) applyEdits(changes []*change) (result, error) {
	var out editOutput
	var r result
	var b strings.Builder
	for _, ch := range changes {
		action, err := s.applyChange(ch)
		if err != nil {
			return result{}, fmt.Errorf("%s: %w (already done: %s)", ch.path, err, b.String())
		}
		out.Files = append(out.Files, editReport{Path: ch.path, Action: action})
		fmt.Fprintf(&b, "%s %s\n", action, ch.path)
		if d, ok := ch.diff(s); ok {
			r.content = append(r.content, d)
		}
	}
	r.text, r.raw = b.String(), out
	return r, nil
}

func (s *session) applyChange(ch *change) (action string, err error) {
	switch {
	case !ch.new.there && !ch.old.there:
		return "unchanged", nil
	case !ch.new.there:
		return "deleted", s.files.remove(ch.path)
	case !ch.old.there:
		return "created", s.files.write(ch.path, []byte(ch.new.text))
	}
	return "changed", s.files.write(ch.path, []byte(ch.new.text))
}

// maxDiff is the largest text that is shown to the client as a diff.
const maxDiff = 128 << 10

func (ch *change) diff(s *session) (acp.ToolCallContent, bool) {
	old, text := ch.old.text, ch.new.text
	if len(old)+len(text) > maxDiff || isBinary([]byte(old)) || isBinary([]byte(text)) {
		return acp.ToolCallContent{}, false
	}
	var before *string
	if ch.old.there {
		before = &old
	}
	return acp.Diff(s.files.absolute(ch.path), before, text), true
}

// named lists files for a title.
func named(paths []string) string {
	const most = 3
	if len(paths) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}
