package skills

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
)

// File is the content of a SKILL.md.
type File struct {
	Name        string // "": the skill has the name of its folder
	Description string
	Body        string   // the instructions for the agent
	Notes       []string // what is odd about the file, for its author
}

// Limits of a SKILL.md: the first is ours, the others come from the Agent Skills specification.
const (
	MaxFileBytes   = 256 << 10
	maxName        = 64
	maxDescription = 1024 // characters
)

// Folders are the folders of skills in a repository, in the order in which they are searched. Each
// skill has a folder of its own there, or in a folder of skills there.
var Folders = []string{
	".agents/skills", ".claude/skills", ".codex/skills", ".copilot/skills", ".cursor/skills", ".factory/skills",
	".gemini/skills", ".github/skills", ".opencode/skills", ".warp/skills", "skills",
}

// Category reports whether a skill in a folder is one level below one of Folders, in a folder of several skills such
// as skills/office/pdf. ok is false for a folder that is nowhere below them.
func Category(folder string) (nested, ok bool) {
	switch parent := path.Dir(folder); {
	case slices.Contains(Folders, parent):
		return false, true
	case slices.Contains(Folders, path.Dir(parent)):
		return true, true
	}
	return false, false
}

// Parse reads a SKILL.md: YAML front matter between two lines ---, then the text. The front matter
// has a name and a description. Parse supports the YAML that such files use, also where it is not
// quite YAML, and ignores all other keys. What is missing comes from the rest of the file. The error
// says what the author must fix.
func Parse(content []byte) (File, error) {
	var f File
	if len(content) > MaxFileBytes {
		return f, fmt.Errorf("the file has %d bytes; at most %d are read", len(content), MaxFileBytes)
	}
	text := strings.TrimPrefix(string(content), "\ufeff")
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return f, errors.New("the file is not text in UTF-8")
	}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	start := f.opening(lines)
	if start < 0 {
		f.notef("the file has no front matter")
		f.Body = strings.TrimSpace(strings.Join(lines, "\n"))
		return f, f.complete()
	}
	end := start + 1 + slices.IndexFunc(lines[start+1:], isEnd)
	if end == start {
		return f, errors.New("the front matter does not end: a second line --- is missing")
	}
	values, err := f.frontmatter(lines[start+1:end], start+2)
	if err != nil {
		return f, err
	}
	f.Name, f.Description = values["name"], values["description"]
	f.Body = strings.TrimSpace(strings.Join(outOfCode(lines[:start], lines[end+1:]), "\n"))
	return f, f.complete()
}

// outOfCode removes the end of a block of code that began before the front matter: right behind it, or at the end.
func outOfCode(before, after []string) []string {
	isFilled := func(line string) bool { return strings.TrimSpace(line) != "" }
	last := slices.IndexFunc(before, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "```") })
	if last < 0 {
		return after
	}
	mark := strings.TrimSpace(before[last])
	mark = mark[:len(mark)-len(strings.TrimLeft(mark, "`"))]
	closes := func(i int) bool { return i >= 0 && strings.TrimSpace(after[i]) == mark }
	if first := slices.IndexFunc(after, isFilled); closes(first) {
		return after[first+1:]
	}
	for i, line := range slices.Backward(after) {
		if isFilled(line) {
			if closes(i) {
				return after[:i]
			}
			break
		}
	}
	return after
}

// notef adds a note.
func (f *File) notef(format string, args ...any) {
	const most = 10
	if len(f.Notes) < most {
		f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
	}
}

func isFence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// isEnd reports whether a line ends the front matter; ... ends a document of YAML (YAML 1.2 §9.1.2).
func isEnd(line string) bool { return isFence(line) || strings.TrimRight(line, " \t") == "..." }

var isKnownKey = penstock.LazyRegexp(`(?i)^\s*["']?(name|description)["']?\s*:`)

// opening returns the first line of the front matter, or -1. Blank lines and comments may come before
// it, if it has one of our keys: otherwise the line --- can be a rule in the text.
func (f *File) opening(lines []string) int {
	inComment := false
	for i, line := range lines {
		text := strings.TrimSpace(line)
		switch {
		case inComment:
			inComment = !strings.Contains(text, "-->")
		case isFence(line):
			if i > 0 && !slices.ContainsFunc(untilFence(lines[i+1:]), isKnownKey().MatchString) {
				return -1
			}
			if i > 0 {
				f.notef("the front matter begins in line %d instead of the first", i+1)
			}
			return i
		case strings.HasPrefix(text, "<!--"):
			inComment = !strings.Contains(text, "-->")
		case text != "" && text[0] != '#' && !strings.HasPrefix(text, "```"):
			return -1
		}
	}
	return -1
}

// untilFence returns the lines before the next fence; without one, none.
func untilFence(lines []string) []string { return lines[:max(0, slices.IndexFunc(lines, isFence))] }

// complete checks the name, and finds what is missing in the rest of the file.
func (f *File) complete() error {
	if f.Name != "" && (!isName(f.Name) || len(f.Name) > maxName) {
		before := f.Name
		if f.Name = Slug(before); f.Name == "" {
			f.notef("the name %s has no letters or digits that a reference can have", shown(before))
		} else {
			f.notef("the name %s cannot be a reference; the skill is called %s", shown(before), f.Name)
		}
	}
	f.Description = oneClean(f.Description)
	switch {
	case f.Description == "" && f.Body == "":
		return errors.New("the file has neither a description nor a text")
	case f.Description == "":
		f.notef("there is no description; the first sentence of the text stands for it")
		f.Description = firstWords(f.Body)
	case f.Body == "":
		f.notef("there is no text after the front matter; the description stands for it")
		f.Body = f.Description
	}
	if n := utf8.RuneCountInString(f.Description); n > maxDescription {
		f.notef("the description has %d characters; agents see the first %d", n, maxDescription)
		f.Description = strings.TrimSpace(string([]rune(f.Description)[:maxDescription-1])) + "…"
	}
	return nil
}

// oneClean removes characters that are not printable from a text.
func oneClean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text))
}

// firstWords returns the first paragraph of a text that is not a heading, or else its first line.
func firstWords(body string) string {
	for paragraph := range strings.SplitSeq(body, "\n\n") {
		if text := oneClean(strings.Join(strings.Fields(paragraph), " ")); text != "" && text[0] != '#' && !isFence(text) {
			return text
		}
	}
	first, _, _ := strings.Cut(body, "\n")
	return cmp.Or(oneClean(strings.Trim(first, "# ")), "A skill without a description.")
}

func shown(text string) string {
	if runes := []rune(text); len(runes) > maxName {
		text = string(runes[:maxName]) + "…"
	}
	return strconv.Quote(text)
}

// isName reports whether the name alone can be a reference to a skill.
func isName(name string) bool {
	spec, err := penstock.ParseSkillSpec(name)
	return err == nil && spec.Bare()
}

// Slug returns a name as a reference can have it, such as active-directory-attacks, or "".
func Slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_')
	})
	slug := strings.Join(words, "-")
	return strings.Trim(slug[:min(len(slug), maxName)], "-._")
}

var isKey = penstock.LazyRegexp(`^[A-Za-z0-9._-]+$`)

// frontmatter reads the name and the description. first is the number of the first line.
func (f *File) frontmatter(lines []string, first int) (map[string]string, error) {
	values := map[string]string{}
	lines = f.dedent(lines)
	for i := 0; i < len(lines); {
		line := lines[i]
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			i++
			continue
		}
		key, value, ok := f.key(line, first+i)
		if !ok {
			i++
			continue
		}
		// Indented lines and list items belong to the key above them.
		next := i + 1
		for next < len(lines) && (lines[next] == "" || strings.ContainsRune(" \t-", rune(lines[next][0]))) {
			next++
		}
		if key == "name" || key == "description" {
			text, odd := scalar(strings.TrimSpace(value), lines[i+1:next])
			if odd != "" {
				f.notef("the %s is not quite YAML: %s", key, odd)
			}
			text = strings.TrimSpace(text)
			if before, twice := values[key]; twice && before != text {
				return nil, fmt.Errorf("the front matter has the key %s twice", key)
			}
			values[key] = text
		}
		i = next
	}
	return values, nil
}

// dedent removes an indentation that all lines have.
func (f *File) dedent(lines []string) []string {
	indent := -1
	for _, line := range lines {
		if text := strings.TrimLeft(line, " \t"); text != "" {
			if n := len(line) - len(text); indent < 0 || n < indent {
				indent = n
			}
		}
	}
	if indent <= 0 {
		return lines
	}
	f.notef("the front matter is indented")
	lines = slices.Clone(lines)
	for i, line := range lines {
		lines[i] = line[min(indent, len(line)):]
	}
	return lines
}

// key reads the key of a line. ok is false for another line, which is ignored.
func (f *File) key(line string, number int) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	key = strings.Trim(strings.TrimSpace(key), `"'`)
	known := strings.ToLower(key) == "name" || strings.ToLower(key) == "description"
	separate := value == "" || value[0] == ' ' || value[0] == '\t'
	if !ok || !isKey().MatchString(key) || !separate && !known {
		f.notef("line %d is not key: value, and is ignored", number)
		return "", "", false
	}
	if known && (!separate || key != strings.ToLower(key)) {
		f.notef("line %d should begin with %s: and a space", number, strings.ToLower(key))
		key = strings.ToLower(key)
	}
	return key, value, true
}

// scalar reads a text that begins after its key and continues in the lines below. odd says why it is not
// YAML, or no text in YAML: other readers see something else, or nothing.
func scalar(first string, below []string) (text, odd string) {
	if first != "" && strings.ContainsRune("[]{}&*!%@`,?#", rune(first[0])) {
		return fold(append([]string{first}, trimmed(below)...)), "it begins with " + first[:1] + " without quotes"
	}
	document := "text: " + first + "\n" + strings.Join(below, "\n")
	value, err := valueOf(document)
	switch {
	case err != nil:
		rest, inToken := stopsAt(document, err)
		return unread(first, below, rest, inToken)
	case value.Kind != yaml.ScalarNode:
		return plain(append([]string{first}, below...)), "it is a list or map"
	case value.ShortTag() != "!!null":
		return value.Value, ""
	}
	return "", ""
}

// valueOf returns the value of the only key of a document. Its text is hostile, so a panic of the parser becomes
// an error.
func valueOf(document string) (value *yaml.Node, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = errors.New("the YAML cannot be read")
		}
	}()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(document), &root); err != nil {
		return nil, err
	}
	return root.Content[0].Content[1], nil
}

// stopsAt returns what is left of a document where the scanner could not read it. ok is false if the parser did
// not understand what the scanner had read.
func stopsAt(document string, err error) (rest string, ok bool) {
	at, ok := errors.AsType[*yaml.LoadError](err)
	if !ok || at.Stage != yaml.ScannerStage {
		return "", false
	}
	runes := []rune(document)
	return strings.TrimSpace(string(runes[min(at.Mark.Index, len(runes)):])), true
}

// unread reads what people write although it is no YAML. rest and inToken are what [stopsAt] returns.
func unread(first string, below []string, rest string, inToken bool) (text, odd string) {
	switch lines := trimmed(below); {
	case strings.HasPrefix(first, "|") || strings.HasPrefix(first, ">"):
		odd = "its lines do not have the same indentation"
		rest := strings.TrimSpace(strings.TrimLeft(first[1:], "+-0123456789"))
		if rest != "" && rest[0] != '#' {
			odd, lines = "text follows "+first[:1], append([]string{rest}, lines...)
		}
		if first[0] == '>' {
			return fold(lines), odd
		}
		return strings.Join(lines, "\n"), odd
	case strings.HasPrefix(first, `"`) || strings.HasPrefix(first, "'"):
		text = strings.Trim(fold(append([]string{first}, lines...)), first[:1])
		switch {
		case !inToken:
			odd = "text follows the closing quote"
		case rest == "":
			odd = "the closing quote is missing"
		default:
			odd = `has a \ that starts no escape sequence: write \\`
		}
		return text, odd
	}
	if text = plain(append([]string{first}, below...)); strings.Contains(text, ": ") {
		odd = "a text with a colon and a space needs quotes"
	}
	return text, odd
}

// Document returns a SKILL.md that every agent can read.
func Document(name, description, body string) string {
	quoted, err := json.Marshal(description) // which YAML reads as the same text (YAML 1.2 §1.3)
	if err != nil {
		panic("skills: a text cannot be marshaled: " + err.Error())
	}
	return "---\nname: " + name + "\ndescription: " + string(quoted) + "\n---\n\n" + body + "\n"
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
