package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// stdio holds the standard streams of a command.
type stdio struct {
	in, out, err *os.File

	format resultFormat // of results, set by [resultFlags]
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// mayAsk reports whether a person can answer a question: the streams are a terminal.
func (s *stdio) mayAsk() bool { return isTerminal(s.in) && isTerminal(s.err) }

// ask shows prompt and reads a line without echo; Ctrl-C and Ctrl-D are io.EOF.
func (s *stdio) ask(prompt string) (string, error) {
	// Disable the echo before showing the prompt, because pasted text may arrive at once.
	fd := int(s.in.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	line, err := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{s.in, s.err}, "").ReadPassword(prompt)
	return line, errors.Join(err, term.Restore(fd, before))
}

// notef prints a note for the person, outside of the result.
func (s *stdio) notef(format string, args ...any) {
	fmt.Fprintln(s.err, cleanText(fmt.Sprintf(format, args...)))
}

// text returns the argument itself, or standard input for "-".
func (s *stdio) text(argument string) (string, error) {
	if argument != "-" {
		return argument, nil
	}
	content, err := io.ReadAll(s.in)
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	return decodeText("standard input", content)
}

// decodeText returns text that another program wrote, as UTF-8: without a byte order mark, and from
// UTF-16 if it begins with one, as PowerShell writes it. Any other encoding is a usage error.
func decodeText(source string, content []byte) (string, error) {
	decoded, _, err := transform.Bytes(unicode.BOMOverride(transform.Nop), content)
	if err != nil || !utf8.Valid(decoded) {
		return "", exitf(exitUsage, "%s is not UTF-8 text: convert it, such as with iconv -f LATIN1 -t UTF-8", source)
	}
	return string(decoded), nil
}

// table prints rows under a header. On a terminal, it cuts lines at the width, so that one row
// stays one line.
func (s *stdio) table(header []string, rows [][]string) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = cleanLine(cell); cells[i] == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	width := 0
	if isTerminal(s.out) {
		width, _, _ = term.GetSize(int(s.out.Fd())) // 0 if unknown: nothing is cut
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(s.out, cut(strings.TrimRight(line, " \n"), width)); err != nil {
			return err
		}
	}
	return nil
}

// fact is one line of the details of something.
type fact struct{ name, value string }

// facts prints details, except those without a value.
func (s *stdio) facts(list []fact) error {
	width := 0
	for _, f := range list {
		if f.value != "" {
			width = max(width, len(f.name))
		}
	}
	for _, f := range list {
		if f.value == "" {
			continue
		}
		indent := strings.Repeat(" ", width+2)
		text := strings.ReplaceAll(strings.TrimRight(cleanText(f.value), "\n"), "\n", "\n"+indent)
		if _, err := fmt.Fprintf(s.out, "%-*s%s\n", width+2, f.name, text); err != nil {
			return err
		}
	}
	return nil
}

// cut shortens s to width characters, with an ellipsis at the end; 0 means no limit.
func cut(s string, width int) string {
	if width <= 0 || utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}
