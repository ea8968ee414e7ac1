package definition

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// editor collects changes of a YAML text. They do not overlap.
type editor struct {
	text   string
	starts []int // of the lines
	crlf   bool
	edits  []edit
}

type edit struct {
	from, to int
	text     string
}

func newEditor(text string) *editor {
	e := editor{text: text, starts: []int{0}, crlf: strings.Contains(text, "\r\n")}
	for i := range len(text) {
		if text[i] == '\n' {
			e.starts = append(e.starts, i+1)
		}
	}
	return &e
}

// lines returns a text with the line ends of the document.
func (e *editor) lines(text string) string {
	if e.crlf {
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

func (e *editor) replace(from, to int, text string) {
	e.edits = append(e.edits, edit{from, to, e.lines(text)})
}

func (e *editor) apply() string {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, change := range e.edits {
		if change.from < at {
			return "" // never matches, so the document is rewritten
		}
		b.WriteString(e.text[at:change.from] + change.text)
		at = change.to
	}
	return b.String() + e.text[at:]
}

// offset returns where a node begins, in bytes.
func (e *editor) offset(at *yaml.Node) int {
	offset := e.starts[min(at.Line, len(e.starts))-1]
	column := 1
	for i := range e.text[offset:] {
		if column == at.Column {
			return offset + i
		}
		column++
	}
	return len(e.text)
}

// line returns where the line of an offset begins, and whether only spaces are before the offset.
func (e *editor) line(offset int) (start int, alone bool) {
	start = strings.LastIndexByte(e.text[:offset], '\n') + 1
	return start, strings.TrimLeft(e.text[start:offset], " ") == ""
}

// lineEnd returns the end of an offset's line.
func (e *editor) lineEnd(offset int) int {
	if i := strings.IndexByte(e.text[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(e.text)
}

// mapping changes a block mapping, which ends before limit, to the wanted content. It returns false
// if the layout does not allow that.
func (e *editor) mapping(at *yaml.Node, wanted node, limit int) bool {
	if at.Style&yaml.FlowStyle != 0 || len(wanted.items) == 0 {
		return false
	}
	all := entries(at)
	kept, end := 0, e.offset(at)
	for i, entry := range all {
		next := limit
		if i+1 < len(all) {
			next, _ = e.line(e.offset(all[i+1][0]))
		}
		stop := e.end(entry[1], next)
		value, ok := wanted.get(entry[0].Value)
		switch {
		case !ok && !e.remove(entry[0], stop):
			return false
		case ok && !e.value(entry[0], entry[1], value, next):
			return false
		case ok:
			kept++
		}
		end = max(end, stop, e.offset(entry[0]))
	}
	if kept == 0 {
		return false
	}
	return e.add(at, all, wanted, end)
}

// add appends the keys of wanted that a mapping lacks.
func (e *editor) add(at *yaml.Node, all [][2]*yaml.Node, wanted node, end int) bool {
	fresh := node{kind: yaml.MappingNode}
	for i, key := range wanted.keys {
		if !slices.ContainsFunc(all, func(entry [2]*yaml.Node) bool { return entry[0].Value == key }) {
			fresh.keys, fresh.items = append(fresh.keys, key), append(fresh.items, wanted.items[i])
		}
	}
	if len(fresh.items) > 0 {
		e.insert(end, fresh.block(strings.Repeat(" ", at.Column-1)))
	}
	return true
}

// insert adds lines below the line of an offset.
func (e *editor) insert(after int, lines string) {
	if after > 0 && e.text[after-1] == '\n' { // a block scalar ends with its line
		e.replace(after, after, lines)
		return
	}
	end := e.lineEnd(after)
	if end == len(e.text) && !strings.HasSuffix(e.text, "\n") {
		lines = "\n" + strings.TrimSuffix(lines, "\n")
	}
	e.replace(end, end, lines)
}

// remove removes a key and its value with their lines.
func (e *editor) remove(key *yaml.Node, stop int) bool {
	start, alone := e.line(e.offset(key))
	if !alone {
		return false
	}
	end := e.lineEnd(stop)
	if stop > start && e.text[stop-1] == '\n' {
		end = stop
	}
	e.replace(start, end, "")
	return true
}

// value changes the value of a key to the wanted one.
func (e *editor) value(key, at *yaml.Node, wanted node, limit int) bool {
	if nodeIn(at).equal(wanted) {
		return true
	}
	mark := len(e.edits)
	if at.Kind == wanted.kind && at.Kind != yaml.ScalarNode && e.inside(at, wanted, limit) {
		return true
	}
	e.edits = e.edits[:mark]
	colon := e.keyEnd(key)
	if colon < 0 {
		return false
	}
	start, end := e.offset(at), e.end(at, limit)
	comment := "" // beside the value
	if end > 0 && e.text[end-1] != '\n' {
		comment = strings.TrimRight(e.text[end:e.lineEnd(end)], " \t\r\n")
	}
	indent := strings.Repeat(" ", key.Column-1)
	block := at.Kind == yaml.ScalarNode && at.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	text := wanted.behind(indent, comment != "")
	switch {
	case at.Style&yaml.FlowStyle != 0 && len(wanted.items) > 0 && start < e.lineEnd(colon):
		e.replace(start, end, wanted.flow())
	case at.Kind == yaml.ScalarNode && !block && at.Value != "" && !strings.Contains(text, "\n") &&
		start < e.lineEnd(colon):
		e.replace(start, end, text[1:])
	case comment != "" && len(wanted.items) > 0: // moved to the line of the key
		e.replace(colon, max(end, colon)+len(comment), " "+strings.TrimSpace(comment)+text)
	default:
		if end > colon && e.text[end-1] == '\n' {
			text += "\n"
		}
		e.replace(colon, max(end, colon), text)
	}
	return true
}

// inside changes the items of a block mapping or list.
func (e *editor) inside(at *yaml.Node, wanted node, limit int) bool {
	if at.Kind == yaml.MappingNode {
		return e.mapping(at, wanted, limit)
	}
	if at.Style&yaml.FlowStyle != 0 || len(at.Content) == 0 || len(wanted.items) == 0 {
		return false
	}
	old := nodeIn(at)
	same := 0 // equal items at the end
	for same < min(len(old.items), len(wanted.items)) &&
		old.items[len(old.items)-1-same].equal(wanted.items[len(wanted.items)-1-same]) {
		same++
	}
	changed, fresh := len(old.items)-same, len(wanted.items)-same
	end := 0
	for i, item := range at.Content[:changed] {
		next := limit
		if i+1 < len(at.Content) {
			next, _ = e.line(e.offset(at.Content[i+1]))
		}
		stop := e.end(item, next)
		end = max(stop, e.offset(item))
		switch {
		case i >= fresh && !e.removeItem(item, stop):
			return false
		case i < fresh && !e.item(item, wanted.items[i], next):
			return false
		}
	}
	if fresh <= changed {
		return true
	}
	dash := e.dash(at.Content[0])
	if dash < 0 {
		return false
	}
	start, _ := e.line(dash)
	lines := node{kind: yaml.SequenceNode, items: wanted.items[changed:fresh]}.block(strings.Repeat(" ", dash-start))
	if changed == 0 { // before all existing items
		if _, alone := e.line(dash); !alone {
			return false
		}
		e.replace(start, start, lines)
		return true
	}
	e.insert(end, lines)
	return true
}

// item changes an item of a list to the wanted one.
func (e *editor) item(at *yaml.Node, wanted node, limit int) bool {
	if nodeIn(at).equal(wanted) {
		return true
	}
	mark := len(e.edits)
	if at.Kind == yaml.MappingNode && wanted.kind == yaml.MappingNode && e.mapping(at, wanted, limit) {
		return true
	}
	e.edits = e.edits[:mark]
	dash := e.dash(at)
	if dash < 0 {
		return false
	}
	start, _ := e.line(dash)
	end := e.end(at, limit)
	indent := strings.Repeat(" ", dash-start)
	text := node{kind: yaml.SequenceNode, items: []node{wanted}}.block(indent)[len(indent):]
	if end == 0 || e.text[end-1] != '\n' {
		text = strings.TrimSuffix(text, "\n")
		if rest := strings.TrimSpace(e.text[end:e.lineEnd(end)]); rest != "" && strings.Contains(text, "\n") {
			return false
		}
	}
	e.replace(dash, max(end, dash+1), text)
	return true
}

func (e *editor) removeItem(at *yaml.Node, stop int) bool {
	dash := e.dash(at)
	if dash < 0 {
		return false
	}
	start, alone := e.line(dash)
	if !alone {
		return false
	}
	end := e.lineEnd(max(stop, dash))
	if stop > dash && e.text[stop-1] == '\n' {
		end = stop
	}
	e.replace(start, end, "")
	return true
}

// dash returns the offset of the dash before an item in the same line, or -1.
func (e *editor) dash(item *yaml.Node) int {
	offset := e.offset(item)
	before := strings.TrimRight(e.text[:offset], " ")
	if !strings.HasSuffix(before, "-") || item.Kind == yaml.ScalarNode && item.Value == "" {
		return -1
	}
	return len(before) - 1
}
