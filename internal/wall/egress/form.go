package egress

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// form returns why the form in the body of r cannot be read as its host would read it, or "". Otherwise
// it makes the body fail at a field that replaces the method, before the host gets that field.
func (l limits) form(r *http.Request) string {
	if r.Body == nil || r.Body == http.NoBody {
		return ""
	}
	scan, reason := scannerOf(r)
	if scan == nil {
		return reason
	}
	body := &formBody{ReadCloser: r.Body, scan: scan}
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

// boundaries match the parameter of a multipart type, as parsers look for it. They disagree on which one
// counts, on its extended form (RFC 2231), and on what ends or escapes its value.
var (
	boundaries    = penstock.LazyRegexp(`(?i)boundary[\s*0-9]*=`)
	plainBoundary = penstock.LazyRegexp(`boundary=(?:"[a-z0-9'()+_./:=?-]{1,70}"|[a-z0-9'()+_./:=?-]{1,70}(?:[\s;]|$))`)
)

// scannerOf returns what looks for fields in the body of r, nil if hosts read none there. A reason
// means that they read it in different ways. Rack takes a POST without a type for a form, and every
// multipart type for one. Laravel reads the fields of JSON like the fields of a form.
func scannerOf(r *http.Request) (scan io.Writer, reason string) {
	types := r.Header.Values("Content-Type")
	text := strings.ToLower(strings.Join(types, ","))
	multipart := strings.Contains(text, "multipart/")
	isForm := multipart || strings.Contains(text, "x-www-form-urlencoded")
	isJSON := !isForm && (strings.Contains(text, "/json") || strings.Contains(text, "+json"))
	if !isForm && (r.Method != http.MethodPost || !isJSON && strings.TrimSpace(text) != "") {
		return nil, ""
	}
	_, parameters, err := mime.ParseMediaType(strings.Join(types, ","))
	charset, boundary := strings.ToLower(parameters["charset"]), parameters["boundary"]
	unclear := (err != nil || len(types) > 1) && (isForm || strings.Contains(text, "charset"))
	switch coding := strings.Join(r.Header.Values("Content-Encoding"), ","); {
	case unclear, multipart && (boundary == "" || len(boundaries().FindAllString(text, 2)) != 1):
		return nil, "a form with this Content-Type " + anotherMethod
	case multipart && !plainBoundary().MatchString(text):
		return nil, "a form whose boundary has other characters than letters, digits and '()+_./:=?- " + anotherMethod
	case coding != "" && !strings.EqualFold(coding, "identity"):
		return nil, "a compressed body " + anotherMethod
	case !slices.Contains([]string{"", "utf-8", "us-ascii", "iso-8859-1"}, charset):
		return nil, fmt.Sprintf("a body in the charset %q %s", cut(charset), anotherMethod)
	case isJSON:
		return &memberScanner{}, ""
	case multipart:
		return &partScanner{boundary: "--" + boundary}, ""
	}
	return &pairScanner{method: r.Method}, ""
}

// formAhead is how much of a form is scanned before the request is sent.
const formAhead = 64 << 10

// overrideError is the error of a body with a form that replaces the method.
type overrideError struct{ field string }

func (e *overrideError) Error() string {
	return fmt.Sprintf("the field %q of its body %s", cut(e.field), anotherMethod)
}

// formBody is a body whose bytes pass only after they were scanned.
type formBody struct {
	io.ReadCloser
	scan io.Writer
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
var leadingSpace = penstock.LazyRegexp(`^(?:%20|%0[0-9a-fA-F]|[+\s])+`)

func (s *pairScanner) end() error {
	name := unescape(string(s.name))
	if replacesMethod(name) || isMethod(name, unescape(string(s.value)), s.method) ||
		len(s.name) == maxFormName && len(leadingSpace().Find(s.name)) > maxFormName/2 {
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

// partScanner finds such a field in multipart/form-data. It takes each line with the boundary for the
// beginning of a part, and ends the header of a part where the strictest host does, so that it sees every
// header that any host sees.
type partScanner struct {
	boundary string
	line     []byte
	inHeader bool
	crlf     [2]bool // how the boundary and the line before this one end
	field    []byte  // a header field that may go on in the next line
}

func (s *partScanner) Write(p []byte) (int, error) {
	for _, c := range p {
		if c != '\n' {
			s.add(c)
			continue
		}
		if err := s.endLine(); err != nil {
			return 0, err
		}
		s.line = s.line[:0]
	}
	return len(p), nil
}

// add keeps the whole of a line that may be one of a header, and the end of another.
func (s *partScanner) add(c byte) {
	if len(s.line) > maxPartLine {
		return
	}
	s.line = append(s.line, c)
	if len(s.line) > maxPartLine && !s.inHeader && !strings.Contains(string(s.line), s.boundary) {
		s.line = append(s.line[:0], s.line[len(s.line)-len(s.boundary):]...)
	}
}

func (s *partScanner) endLine() error {
	line, crlf := strings.CutSuffix(string(s.line), "\r")
	begins := strings.Contains(line, s.boundary)
	last := s.crlf[1]
	if begins {
		s.crlf[0] = crlf
	}
	s.crlf[1] = crlf
	switch {
	case !s.inHeader && !begins:
		return nil
	case len(line) > maxPartLine || len(s.field) > maxPartLine:
		return &overrideError{"with a long header"}
	case !begins && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")):
		s.field = append(s.field, line...)
		return nil
	}
	err := s.endField()
	s.field = append(s.field, line...)
	s.inHeader = begins || line != "" || crlf != last || crlf != s.crlf[0]
	return err
}

// Hosts look for the name of a part in all of its header, whatever the field is called, and end a name at
// different characters. RFC 7578 §4.2 forbids the extended form of a name.
var (
	partName  = penstock.LazyRegexp(`(?i)(?:^|[^\w-])name[\x00-\x20]*(?:\*[\d*]*)?[\x00-\x20]*=[\x00-\x20]*`)
	partValue = penstock.LazyRegexp(`^(?:"[^";]*|'[^';]*|[^\s()<>,;:"'/?=]*)`)
	partID    = penstock.LazyRegexp(`(?i)content-id[\x00-\x20]*:(.*)`)
)

// endField checks a complete header field of a part.
func (s *partScanner) endField() error {
	text := strings.ReplaceAll(string(s.field), `\`, "")
	s.field = s.field[:0]
	for _, at := range partName().FindAllStringIndex(text, -1) { // also one within the value of another
		name := strings.Trim(partValue().FindString(text[at[1]:]), `"'`)
		if strings.Contains(text[at[0]:at[1]], "*") || replacesMethod(name) {
			return &overrideError{name}
		}
	}
	if match := partID().FindStringSubmatch(text); match != nil {
		id := strings.Trim(match[1], " \t<>\"")
		if replacesMethod(id) {
			return &overrideError{id} // Rack takes it for the name of a part that has none
		}
		if id == "" {
			s.field = append(s.field, "Content-ID:"...) // …also from the next line
		}
	}
	return nil
}

// memberScanner finds such a field at the top of JSON.
type memberScanner struct {
	depth            int
	inText, escaping bool
	text             []byte // the last string, or its beginning
}

func (s *memberScanner) Write(p []byte) (int, error) {
	for _, c := range p {
		switch {
		case s.escaping:
			s.escaping = false
			s.text = appendUpTo(s.text, c)
		case s.inText && c == '"':
			s.inText = false
		case s.inText:
			s.escaping = c == '\\'
			s.text = appendUpTo(s.text, c)
		case c == '"':
			s.inText, s.text = true, s.text[:0]
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			s.depth--
		case c == ':' && s.depth == 1:
			var name string
			_ = json.Unmarshal(slices.Concat([]byte{'"'}, s.text, []byte{'"'}), &name) // a longer name is none
			if replacesMethod(name) {
				return 0, &overrideError{name}
			}
		}
	}
	return len(p), nil
}
