package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/penstock-dev/penstock"
)

// The fields of each API's requests are data. A line names a field that holds objects, or request for
// the top, and the fields of these objects. A field may end with marks.
//
//go:embed fields/*.txt
var fieldFiles embed.FS

// mark says what a listed field holds. A field without marks holds objects whose fields are listed,
// or a value that is neither text nor a source.
type mark uint8

const (
	markText   mark = 1 << iota // = text, which may begin like a URL
	markOpaque                  // * data of the client, which the provider passes to the model as it is
	markModel                   // @ each string is a model
	markNames                   // {} an object with names of the client's choice
	markCostly                  // $ what it costs is unknown
)

var marks = map[rune]mark{
	'=': markText, '*': markOpaque, '@': markModel, '$': markCostly, '{': markNames, '}': markNames,
}

// topFields is the name of the list of fields at the top of a request.
const topFields = "request"

// fieldList lists the fields of a schema by the field that holds their object.
type fieldList map[string]map[string]mark

// The schemas: one for each API, two for OpenAI's. Most processes of this program need none.
var (
	anthropicFields = sync.OnceValue(func() fieldList { return readFields("anthropic") })
	chatFields      = sync.OnceValue(func() fieldList { return readFields("chat") })
	responsesFields = sync.OnceValue(func() fieldList { return readFields("responses") })
	geminiFields    = sync.OnceValue(func() fieldList { return readFields("gemini") })
)

// schemas lists the schemas of an API.
func schemas(api API) []fieldList {
	switch api {
	case Anthropic:
		return []fieldList{anthropicFields()}
	case Gemini:
		return []fieldList{geminiFields()}
	}
	return []fieldList{chatFields(), responsesFields()}
}

// schemaOf returns the schema of a call.
func schemaOf(api API, operation Operation) fieldList {
	list := schemas(api)
	if operation == ChatCompletions {
		return list[0]
	}
	return list[len(list)-1]
}

// readFields reads a list that is part of the program.
func readFields(name string) fieldList {
	data, err := fieldFiles.ReadFile("fields/" + name + ".txt")
	if err != nil {
		panic("gateway: " + err.Error())
	}
	list := fieldList{}
	var fields map[string]mark
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		if holder, rest, found := strings.Cut(line, ":"); found {
			fields, line = map[string]mark{}, rest
			list[holder] = fields
		}
		for word := range strings.FieldsSeq(line) {
			field := strings.TrimRight(word, "=*@${}")
			for _, r := range word[len(field):] {
				fields[field] |= marks[r]
			}
			fields[field] |= 0
		}
	}
	return list
}

// at lists the fields of the objects that a field holds.
func (l fieldList) at(holder string) map[string]mark {
	holder = cmp.Or(holder, topFields)
	return l[holder]
}

// costless reports whether a field changes nothing about what a call costs at most, or the bound reads
// it.
func (l fieldList) costless(holder, name string) bool {
	m, listed := l.at(holder)[name]
	return listed && m&markCostly == 0
}

// spelling returns the listed field that another spelling of a name stands for, "" if no such field is listed.
func (l fieldList) spelling(holder, name string) string {
	for known := range l.at(holder) {
		if fold(known) == fold(name) {
			return known
		}
	}
	return ""
}

// fold returns what lenient parsers compare: a name without case, underscores and hyphens.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, name)
}

// allowedField matches a field of Provider.AllowFields.
var allowedField = penstock.LazyRegexp(`^([A-Za-z0-9_$-]{1,100}\.)?[A-Za-z0-9_$-]{1,100}$`)

// checkAllowed checks a field of Provider.AllowFields.
func checkAllowed(api API, field string) error {
	if !allowedField().MatchString(field) {
		return fmt.Errorf("%.200q is not a field, such as top_field or messages.field", field)
	}
	holder, name := splitField(field)
	for _, list := range schemas(api) {
		known := list.spelling(holder, name)
		if known != "" && known != name {
			return fmt.Errorf("%s is another spelling of the field %s, which the gateway checks", field, known)
		}
	}
	return nil
}

func splitField(field string) (holder, name string) {
	if i := strings.LastIndexByte(field, '.'); i >= 0 {
		return field[:i], field[i+1:]
	}
	return "", field
}

// enter finds a field in the list of its place, and returns the place of its value.
func (c *checker) enter(n *node, i int, at place) (place, *Refusal) {
	name := n.members[i].name
	inside := place{pointer: at.pointer + "/" + name, key: name}
	switch at.scope {
	case scopeNames:
		inside.key = at.key
		return inside, nil
	case scopeOpen:
		inside.scope = scopeOpen
		for _, other := range n.members[:i] {
			if fold(other.name) == fold(name) {
				return inside, twice(inside.pointer, other.name)
			}
		}
		return inside, nil
	}
	m, listed := c.fields.at(at.key)[name]
	if listed {
		inside.mark = m
		if m&markNames != 0 {
			inside.scope = scopeNames
		}
		return inside, nil
	}
	if known := c.fields.spelling(at.key, name); known != "" {
		return inside, twice(inside.pointer, known)
	}
	setting := name
	if at.key != "" {
		setting = at.key + "." + name
	}
	allowed := slices.Contains(c.u.AllowFields, setting)
	if allowed && n.members[i].value.isOn() {
		c.allowed = cmp.Or(c.allowed, inside.pointer)
	}
	if allowed || c.u.API == Gemini && at.key == "tools" { // its tools are fields
		inside.scope = scopeOpen
		return inside, nil
	}
	return inside, refuse(inside.pointer, fmt.Sprintf("The model gateway does not know the field %.200s, and so does not "+
		"forward it. If the provider %s needs it, an administrator can add %.100q to providers.%s.allow_fields.",
		inside.pointer, c.u.Name, setting, cmp.Or(c.u.Vendor, c.u.Name)))
}

// twice refuses a field that a lenient parser takes for another one.
func twice(pointer, known string) *Refusal {
	return invalid(pointer, fmt.Sprintf("The field %.200s is another spelling of %.100q, so providers may read the "+
		"request in two ways.", pointer, known))
}
