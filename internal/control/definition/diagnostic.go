package definition

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/penstock-dev/penstock"
)

// Code names a kind of finding in the contract.
type Code string

// The codes of findings.
const (
	MissingFactory       Code = "FF_MISSING_FACTORY"
	UnsupportedVersion   Code = "FF_UNSUPPORTED_VERSION"
	UnsupportedPath      Code = "FF_UNSUPPORTED_PATH"
	DuplicatePath        Code = "FF_DUPLICATE_PATH"
	InvalidDocument      Code = "FF_INVALID_DOCUMENT"
	MalformedFrontmatter Code = "FF_MALFORMED_FRONTMATTER"
	InvalidYAML          Code = "FF_INVALID_YAML"
	DuplicateKey         Code = "FF_DUPLICATE_KEY"
	Anchor               Code = "FF_ANCHOR"
	Alias                Code = "FF_ALIAS"
	Tag                  Code = "FF_TAG"
	UnknownField         Code = "FF_UNKNOWN_FIELD"
	MissingRequired      Code = "FF_MISSING_REQUIRED"
	TypeMismatch         Code = "FF_TYPE_MISMATCH"
	InvalidValue         Code = "FF_INVALID_VALUE"
	InvalidReference     Code = "FF_INVALID_REFERENCE"
	InvalidMCP           Code = "FF_INVALID_MCP"
	InvalidTrigger       Code = "FF_INVALID_TRIGGER"
	InvalidEvent         Code = "FF_INVALID_EVENT"
	InvalidFilter        Code = "FF_INVALID_FILTER"
)

// Codes lists every code, in the contract's order.
func Codes() []Code {
	return []Code{
		MissingFactory, UnsupportedVersion, UnsupportedPath, DuplicatePath, InvalidDocument, MalformedFrontmatter,
		InvalidYAML,
		DuplicateKey, Anchor, Alias, Tag, UnknownField, MissingRequired, TypeMismatch, InvalidValue, InvalidReference,
		InvalidMCP,
		InvalidTrigger, InvalidEvent, InvalidFilter,
	}
}

// Severity says whether a tree with the finding can be applied.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note" // nothing to fix
)

// Diagnostic is one finding. Line and column count from 1; columns are characters, not bytes.
// Message quotes and cuts texts from the files, so that it is safe to print on a terminal.
type Diagnostic struct {
	Code     Code     `json:"code"`
	Message  string   `json:"message"`
	Path     string   `json:"path"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Severity Severity `json:"severity"`
	Nearest  string   `json:"nearest,omitempty"` // the most similar known name
}

// String formats the finding as compilers do: path:line:column: CODE message.
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", printable(d.Path), d.Line, d.Column, d.text())
}

// SameAs reports whether another finding has the same cause at the same place. Parts of the message
// about the rest of the tree may differ.
func (d Diagnostic) SameAs(other Diagnostic) bool {
	return d.Path == other.Path && d.Line == other.Line && d.Column == other.Column && d.Code == other.Code
}

// GitHub formats the finding as a workflow command. GitHub shows it beside the line of a pull
// request.
func (d Diagnostic) GitHub() string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	level := string(d.Severity)
	if d.Severity == SeverityNote {
		level = "notice"
	}
	return fmt.Sprintf(
		"::%s file=%s,line=%d,col=%d::%s", level, property.Replace(d.Path), d.Line, d.Column, data.Replace(d.text()),
	)
}

func (d Diagnostic) text() string {
	text := string(d.Code) + " "
	if d.Severity == SeverityWarning || d.Severity == SeverityNote {
		text += "(" + string(d.Severity) + ") "
	}
	text += d.Message
	if d.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", d.Nearest)
	}
	return text
}

// HasErrors reports whether a finding prevents the tree from being applied.
func HasErrors(findings []Diagnostic) bool {
	return slices.ContainsFunc(findings, func(d Diagnostic) bool { return d.Severity == SeverityError })
}

// Strict makes errors of the findings about a factory's own files. Notes about other files stay notes.
func Strict(all []Diagnostic) {
	for i := range all {
		if all[i].Severity == SeverityWarning || all[i].Code != UnsupportedPath {
			all[i].Severity = SeverityError
		}
	}
}

// maxFindings limits the findings of a hostile tree.
const maxFindings = 1000

// findings collects diagnostics.
type findings struct {
	all    []Diagnostic
	count  int // including dropped ones
	errors int // among them
}

func (f *findings) add(d Diagnostic) {
	d.Severity = cmp.Or(d.Severity, SeverityError)
	if d.Severity == SeverityError {
		f.errors++
	}
	if f.count++; f.count > maxFindings {
		return
	}
	d.Path = strings.ToValidUTF8(d.Path, "\ufffd")
	f.all = append(f.all, d)
}

// full reports whether no more findings are kept, and then counts the one that is dropped. Callers
// check it before they build an expensive finding.
func (f *findings) full() bool {
	if f.count < maxFindings {
		return false
	}
	f.count++
	f.errors++
	return true
}

// sorted returns the findings by path, line and column, without duplicates.
func (f *findings) sorted() []Diagnostic {
	slices.SortStableFunc(f.all, func(a, b Diagnostic) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			strings.Compare(string(a.Code), string(b.Code)), strings.Compare(a.Message, b.Message))
	})
	all := slices.Compact(f.all)
	if f.count > maxFindings {
		last := all[len(all)-1]
		all = append(all, Diagnostic{
			InvalidDocument, fmt.Sprintf("there are more than %d findings; fix these first", maxFindings),
			last.Path, last.Line, last.Column, SeverityError, "",
		})
	}
	return all
}

// quote formats a text from a file for a message: in one line, and cut if it is long.
func quote(text string) string {
	const most = 60
	if runes := []rune(text[:min(len(text), 4*most)]); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}

// printable returns a path unchanged if it is safe to print on a terminal, and otherwise quoted.
func printable(path string) string {
	if path == "" || strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// nearest returns the name that is most similar to word, or "". It skips long words, which take
// long to compare.
func nearest(word string, names []string) string {
	if len(word) > 64 {
		return ""
	}
	return penstock.Nearest(word, names)
}

// list joins the allowed words for a sentence.
func list(words []string) string { return strings.Join(words, ", ") }
