package signature

import (
	"errors"
	"fmt"
	"strings"
)

// PartKind is the kind of a part of a signed text.
type PartKind string

// The kinds of parts. All but PartText are written in braces in a template.
const (
	PartText          PartKind = ""
	PartBody          PartKind = "body"           // the body, byte for byte
	PartTimestamp     PartKind = "timestamp"      // as it is in its header
	PartMethod        PartKind = "method"         // of the request: POST
	PartURL           PartKind = "url"            // the public URL to which the delivery was sent
	PartPath          PartKind = "path"           // path and query of that URL
	PartHeader        PartKind = "header"         // {header:Name}: the value of a header
	PartSignedHeaders PartKind = "signed_headers" // only in presets: name:value;… of the headers that the request lists
)

// TemplatePart is one piece of a signed text.
type TemplatePart struct {
	Kind PartKind
	Text string // the text, or the header's name
}

// ParseTemplate reads the template of a signed text: literal text with {body}, {timestamp},
// {method}, {url}, {path} and {header:Name}. A literal brace is not possible.
func ParseTemplate(template string) ([]TemplatePart, error) {
	var parts []TemplatePart
	for rest := template; rest != ""; {
		text, after, found := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return nil, errors.New("has a } without a {")
		}
		if text != "" {
			parts = append(parts, TemplatePart{Kind: PartText, Text: text})
		}
		if !found {
			break
		}
		name, next, closed := strings.Cut(after, "}")
		if !closed {
			return nil, errors.New("has a { without a }")
		}
		kind, argument, _ := strings.Cut(name, ":")
		part := TemplatePart{PartKind(kind), argument}
		switch part.Kind {
		case PartHeader:
			if problem := checkHeaderName(argument); problem != "" {
				return nil, errors.New("the name in {header:Name} " + problem)
			}
		case PartBody, PartTimestamp, PartMethod, PartURL, PartPath, PartSignedHeaders:
			if name != kind {
				return nil, fmt.Errorf("has {%s}, which must not have a name", name)
			}
		default:
			return nil, fmt.Errorf(
				"has {%s}; allowed are {body}, {timestamp}, {method}, {url}, {path} and {header:Name}", name,
			)
		}
		parts, rest = append(parts, part), next
	}
	return parts, nil
}
