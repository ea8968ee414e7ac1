package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

const multipartForm = "multipart/form-data"

// form returns why the form in the body of r cannot be read as its host would read it, or "". Otherwise
// it makes the body fail at a field that replaces the method, before the host gets that field.
func (l limits) form(r *http.Request) string {
	if r.Body == nil || r.Body == http.NoBody {
		return ""
	}
	types := r.Header.Values("Content-Type")
	kind, parameters, err := mime.ParseMediaType(strings.Join(types, ","))
	text := strings.ToLower(strings.Join(types, ","))
	isForm := strings.Contains(text, "x-www-form-urlencoded") || strings.Contains(text, multipartForm)
	if !isForm {
		return ""
	}
	charset := strings.ToLower(parameters["charset"])
	boundary := parameters["boundary"]
	switch coding := r.Header.Get("Content-Encoding"); {
	case err != nil || len(types) > 1 || kind == multipartForm && boundary == "":
		return "a form with this Content-Type " + anotherMethod
	case coding != "" && !strings.EqualFold(coding, "identity"):
		return "a compressed form " + anotherMethod
	case !slices.Contains([]string{"", "utf-8", "us-ascii", "iso-8859-1"}, charset):
		return fmt.Sprintf("a form in the charset %q %s", cut(charset), anotherMethod)
	}
	body := &formBody{ReadCloser: r.Body, scan: &pairScanner{method: r.Method}}
	if kind == multipartForm {
		body.scan = &partScanner{boundary: "--" + boundary}
	}
	// Of a usual form, the host gets nothing before all of it was scanned.
	ahead := bufio.NewReaderSize(body, formAhead)
	if _, err := ahead.Peek(formAhead); err != nil {
		if replaced, ok := errors.AsType[*overrideError](err); ok {
			return replaced.Error()
		}
	}
	r.Body = tee{ahead, body}
	return ""
}

// formAhead is how much of a form is scanned before the request is sent.
const formAhead = 64 << 10

// overrideError is the error of a body with a form that replaces the method.
type overrideError struct{ field string }

func (e *overrideError) Error() string {
	return fmt.Sprintf("the form field %q %s", cut(e.field), anotherMethod)
}

// formBody is a body whose bytes pass only after they were scanned.
type formBody struct {
	io.ReadCloser
	scan interface{ Write(p []byte) (int, error) }
	err  error
}

func (b *formBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p)
	if _, b.err = b.scan.Write(p[:n]); b.err != nil {
		return 0, b.err
	}
	if err == io.EOF {
		if _, b.err = b.scan.Write([]byte("\n")); b.err != nil {
			return 0, b.err
		}
	}
	return n, err
}

// maxFormName is more than the name of a field that replaces the method needs, percent-encoded.
const maxFormName = 512

// pairScanner finds such a field in application/x-www-form-urlencoded. A long text without a name, such
// as JSON that a client sends with the Content-Type of a form, is none.
type pairScanner struct {
	method      string
	name, value []byte
	inValue     bool
}

func (s *pairScanner) Write(p []byte) (int, error) {
	for _, c := range p {
		switch {
		case isSeparator(rune(c)) || c == '\n':
			if err := s.end(); err != nil {
				return 0, err
			}
			s.name, s.value, s.inValue = s.name[:0], s.value[:0], false
		case !s.inValue && c == '=':
			s.inValue = true
		case s.inValue:
			s.value = appendUpTo(s.value, c)
		case len(s.name) > 0 || c != '+' && c != ' ':
			s.name = appendUpTo(s.name, c)
		}
	}
	return len(p), nil
}

// leadingSpace is what hosts may cut off before a name is complete.
var leadingSpace = regexp.MustCompile(`^(?:%20|%0[0-9a-fA-F]|[+\s])+`)

func (s *pairScanner) end() error {
	name := unescape(string(s.name))
	if replacesMethod(name) || isMethod(name, unescape(string(s.value)), s.method) ||
		len(s.name) == maxFormName && len(leadingSpace.Find(s.name)) > maxFormName/2 {
		return &overrideError{name}
	}
	return nil
}

func appendUpTo(text []byte, c byte) []byte {
	if len(text) < maxFormName {
		text = append(text, c)
	}
	return text
}

// maxPartLine is more than a line in the header of a part needs.
const maxPartLine = 4 << 10

// partScanner finds such a field in multipart/form-data. It takes each line that begins with the
// boundary for the end of a part, so that it sees every part that any host sees.
type partScanner struct {
	boundary string
	line     []byte
	inHeader bool
	field    []byte // a header field that may go on in the next line
}

func (s *partScanner) Write(p []byte) (int, error) {
	for _, c := range p {
		if c != '\n' {
			if len(s.line) <= maxPartLine {
				s.line = append(s.line, c)
			}
			continue
		}
		if err := s.endLine(); err != nil {
			return 0, err
		}
		s.line = s.line[:0]
	}
	return len(p), nil
}

func (s *partScanner) endLine() error {
	line := strings.TrimSuffix(string(s.line), "\r")
	switch {
	case strings.HasPrefix(line, s.boundary):
		s.inHeader = true
		return s.endField()
	case !s.inHeader:
		return nil
	case len(line) > maxPartLine || len(s.field) > maxPartLine:
		return &overrideError{"with a long header"}
	case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"):
		s.field = append(s.field, line...)
		return nil
	}
	s.inHeader = line != ""
	err := s.endField()
	s.field = append(s.field, line...)
	return err
}

// extendedName is the name of a field in the form of RFC 5987, which RFC 7578 §4.2 forbids.
var extendedName = regexp.MustCompile(`(?i)(?:^|[;\s])name\*`)

// endField checks a complete header field of a part.
func (s *partScanner) endField() error {
	name, value, _ := strings.Cut(string(s.field), ":")
	s.field = s.field[:0]
	if !strings.EqualFold(strings.TrimSpace(name), "Content-Disposition") {
		return nil
	}
	_, parameters, err := mime.ParseMediaType(value)
	field := parameters["name"]
	if err != nil || extendedName.MatchString(value) {
		plain := strings.ReplaceAll(strings.ToLower(value), `\`, "")
		if !strings.Contains(plain, "method") && !extendedName.MatchString(value) {
			return nil
		}
		return &overrideError{field}
	}
	if replacesMethod(strings.ReplaceAll(field, `\`, "")) {
		return &overrideError{field}
	}
	return nil
}
