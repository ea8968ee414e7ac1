package factory

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock/internal/control/store"
)

// eventHeaders are the headers in which senders name an event, and eventMembers the members of the
// payload. The first one counts.
var (
	eventHeaders = []string{
		"x-github-event", "x-forgejo-event", "x-gitea-event", "x-gitlab-event", "x-event-key",
		"x-shopify-topic", "x-wc-webhook-topic", "linear-event",
		"circleci-event-type", "x-buildkite-event", "x-contentful-topic", "sentry-hook-resource", "ce-type",
	}
	eventMembers = []string{"type", "event_type", "eventType", "event", "event_name", "topic"}
)

// The limits of a summary.
const (
	summaryValues  = 4
	summaryLength  = 60 // characters of a value, and of an event type
	summaryNesting = 2  // levels of objects
)

// describe sets the advice of a delivery, and its event type and summary from its headers and the
// start of its payload. The last two are hostile text for people: short and in one line.
func describe(d *store.Delivery) {
	d.Advice = adviceOn(d)
	members := firstMembers(d.Head)
	for _, name := range eventHeaders {
		if d.EventType == "" {
			d.EventType = shorten(d.Headers[name])
		}
	}
	if action := members.value("action"); d.EventType != "" && action != "" {
		d.EventType += "." + action
	}
	named := ""
	for _, name := range eventMembers {
		if d.EventType == "" {
			d.EventType, named = members.value(name), name
		}
	}
	var parts []string
	for _, m := range members {
		if m.name != named && m.value != "" && len(parts) < summaryValues {
			parts = append(parts, m.name+": "+m.value)
		}
	}
	d.Summary = strings.Join(parts, ", ")
}

// member is a value of a payload that is no object or array. Its name includes the names of the
// objects around it, such as data.order.
type member struct{ name, value string }

type members []member

func (list members) value(name string) string {
	for _, m := range list {
		if m.name == name {
			return m.value
		}
	}
	return ""
}

// firstMembers reads the members of a payload that may be cut off.
func firstMembers(head []byte) members {
	in := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if in.PeekKind() != '{' {
		return nil
	}
	if _, err := in.ReadToken(); err != nil {
		return nil
	}
	return readMembers(in, "", 1)
}

// readMembers reads the members of an object after its brace, until it or the text ends.
func readMembers(in *jsontext.Decoder, prefix string, depth int) members {
	var list members
	for {
		name, err := in.ReadToken()
		if err != nil || name.Kind() == '}' {
			return list
		}
		key := prefix + shorten(name.String())
		switch kind := in.PeekKind(); {
		case kind == '{' && depth < summaryNesting:
			if _, err := in.ReadToken(); err != nil {
				return list
			}
			list = append(list, readMembers(in, key+".", depth+1)...)
		case kind == '{' || kind == '[':
			if err := in.SkipValue(); err != nil {
				return list
			}
		default:
			value, err := in.ReadToken()
			if err != nil {
				return list
			}
			list = append(list, member{key, shorten(value.String())})
		}
	}
}

// shorten makes a text fit into one line, without characters that nobody sees.
func shorten(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError
	}), " ")
	if utf8.RuneCountInString(text) <= summaryLength {
		return text
	}
	return string([]rune(text)[:summaryLength]) + "…"
}
