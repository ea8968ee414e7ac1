// Package skillfile reads SKILL.md files.
package skillfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// File is the content of a SKILL.md.
type File struct {
	Name        string // "": the skill has the name of its folder
	Description string
	Body        string // the instructions for the agent
}

// Limits of a SKILL.md: the first is ours, the others are those of the Agent
// Skills specification.
const (
	Max            = 256 << 10
	MaxName        = 64
	MaxDescription = 1024 // characters
)

// Parse reads a SKILL.md: YAML front matter between two lines ---, then the text. The front matter
// has a description and usually a name. Parse supports the YAML that such files use: plain, quoted
// and block text. It ignores all other keys. The error says what the author must fix.
func Parse(content []byte) (File, error) {
	var f File
	if len(content) > Max {
		return f, fmt.Errorf("the file has %d bytes; at most %d are read", len(content), Max)
	}
	text := strings.TrimPrefix(string(content), "\ufeff")
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return f, errors.New("the file is not text in UTF-8")
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if !isFence(lines[0]) {
		return f, errors.New("the file does not begin with front matter: its first line must be ---")
	}
	end := slices.IndexFunc(lines[1:], isFence) + 1
	if end == 0 {
		return f, errors.New("the front matter does not end: a second line --- is missing")
	}
	values, err := frontmatter(lines[1:end])
	if err != nil {
		return f, err
	}
	f = File{
		Name: values["name"], Description: values["description"], Body: strings.TrimSpace(strings.Join(lines[end+1:], "\n")),
	}
	return f, f.check()
}

func isFence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

func (f File) check() error {
	switch {
	case f.Name != "" && (!isName(f.Name) || len(f.Name) > MaxName):
		return fmt.Errorf("the name %q must have only letters, digits, . _ and -, at most %d", f.Name, MaxName)
	case f.Description == "":
		return errors.New("the front matter has no description")
	case utf8.RuneCountInString(f.Description) > MaxDescription:
		return fmt.Errorf("the description is longer than %d characters", MaxDescription)
	case f.Body == "":
		return errors.New("the text after the front matter is missing")
	}
	return nil
}

// isName reports whether the name alone can be a reference to a skill.
func isName(name string) bool {
	spec, err := penstock.ParseSkillSpec(name)
	return err == nil && spec.Bare()
}

var isKey = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// frontmatter reads the name and the description.
func frontmatter(lines []string) (map[string]string, error) {
	values := map[string]string{}
	for i := 0; i < len(lines); {
		line := lines[i]
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			i++
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || !isKey.MatchString(key) || value != "" && value[0] != ' ' && value[0] != '\t' {
			return nil, fmt.Errorf("line %d of the file is not key: value", i+2)
		}
		// Indented lines and list items belong to the key above them.
		next := i + 1
		for next < len(lines) && (lines[next] == "" || strings.ContainsRune(" \t-", rune(lines[next][0]))) {
			next++
		}
		if key == "name" || key == "description" {
			if _, twice := values[key]; twice {
				return nil, fmt.Errorf("the front matter has the key %s twice", key)
			}
			text, err := scalar(strings.TrimSpace(value), lines[i+1:next])
			if err != nil {
				return nil, fmt.Errorf("the %s: %w", key, err)
			}
			values[key] = strings.TrimSpace(text)
		}
		i = next
	}
	return values, nil
}

var errNoText = errors.New("must be text: quote it")

// scalar reads a text that begins after its key and continues in the lines below.
func scalar(first string, below []string) (string, error) {
	switch {
	case first == "":
		for _, line := range below { // text may begin in the next line, but a map or list may not
			if line = strings.TrimSpace(line); line != "" {
				if strings.HasPrefix(line, "- ") || strings.HasSuffix(line, ":") || strings.Contains(line, ": ") {
					return "", errNoText
				}
				break
			}
		}
		return plain(below), nil
	case first[0] == '|' || first[0] == '>':
		return block(first, below)
	case first[0] == '"' || first[0] == '\'':
		return quoted(fold(append([]string{first}, trimmed(below)...)))
	case strings.ContainsRune("[]{}&*!%@`,?#", rune(first[0])):
		return "", errNoText
	}
	return plain(append([]string{first}, below...)), nil
}

// plain joins lines without quotes, leaving out comments.
func plain(lines []string) string {
	lines = trimmed(lines)
	for i, line := range lines {
		if strings.HasPrefix(line, "#") {
			line = ""
		}
		line, _, _ = strings.Cut(line, " #")
		lines[i] = strings.TrimSpace(line)
	}
	return fold(lines)
}

func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimSpace(line)
	}
	return out
}

// fold joins lines as YAML does (YAML 1.2 §6.5): a line break is a space, an
// empty line a break. Lines that are indented further keep theirs.
func fold(lines []string) string {
	var b strings.Builder
	afterText := false // the previous line is text that the next one continues
	for _, line := range lines {
		switch {
		case line == "":
			b.WriteByte('\n')
			afterText = false
			continue
		case line[0] == ' ' || line[0] == '\t':
			b.WriteString("\n" + line + "\n")
			afterText = false
			continue
		case afterText:
			b.WriteByte(' ')
		}
		b.WriteString(line)
		afterText = true
	}
	return b.String()
}

// block reads a literal (|) or folded (>) text. How it ends does not matter
// here: the result is trimmed.
func block(header string, lines []string) (string, error) {
	style := header[0]
	header, _, _ = strings.Cut(header[1:], " #")
	if header = strings.Trim(header, "+- "); header != "" {
		return "", fmt.Errorf("%q after %c is not supported: remove it", header, style)
	}
	indent := -1
	out := make([]string, len(lines))
	for i, line := range lines {
		content := strings.TrimLeft(line, " ")
		if strings.TrimSpace(content) == "" {
			continue
		}
		width := len(line) - len(content)
		if indent < 0 {
			indent = width
		}
		if width < indent || width == 0 {
			return "", errors.New("its lines must have the same indentation")
		}
		out[i] = line[indent:]
	}
	if style == '>' {
		return fold(out), nil
	}
	return strings.Join(out, "\n"), nil
}

// quoted reads a text in double or single quotes, with nothing but a comment
// behind it.
func quoted(text string) (string, error) {
	quote, rest := text[0], text[1:]
	var b strings.Builder
	for rest != "" {
		switch {
		case rest[0] == quote && quote == '\'' && strings.HasPrefix(rest, "''"):
			b.WriteByte('\'')
			rest = rest[2:]
		case rest[0] == quote:
			if rest = strings.TrimSpace(rest[1:]); rest != "" && rest[0] != '#' {
				return "", errors.New("text follows the closing quote")
			}
			return b.String(), nil
		case rest[0] == '\\' && quote == '"':
			r, tail, err := escape(rest)
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			rest = tail
		default:
			b.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	return "", errors.New("the closing quote is missing")
}

// escape reads one escape sequence of a double-quoted text (YAML 1.2 §5.7).
func escape(text string) (r rune, rest string, err error) {
	bad := errors.New(`has a \ that starts no escape sequence: write \\`)
	if len(text) < 2 {
		return 0, "", bad
	}
	switch text[1] {
	case '/', ' ':
		return rune(text[1]), text[2:], nil
	case '0', '1', '2', '3', '4', '5', '6', '7': // octal in Go, not in YAML
		return 0, "", bad
	}
	r, _, rest, err = strconv.UnquoteChar(text, '"')
	if err != nil || r == 0 {
		return 0, "", bad
	}
	return r, rest, nil
}
