package openid

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// claims are the claims of an ID token or of UserInfo.
type claims map[string]json.RawMessage

// text returns a claim that is a text, or "".
func (c claims) text(name string) string {
	var text string
	_ = json.Unmarshal(c[name], &text)
	return strings.TrimSpace(text)
}

// find returns a claim, or a nested one if no claim has the name with its dots.
func (c claims) find(name string) (json.RawMessage, bool) {
	if value, ok := c[name]; ok && string(value) != "null" {
		return value, true
	}
	parent, child, nested := strings.Cut(name, ".")
	for nested { // "a.b.c" may be b.c in a, or c in a.b
		var inner claims
		if json.Unmarshal(c[parent], &inner) == nil {
			if value, ok := inner.find(child); ok {
				return value, true
			}
		}
		var next string
		next, child, nested = strings.Cut(child, ".")
		parent += "." + next
	}
	return nil, false
}

// leftOut reports whether the provider says that the groups are elsewhere, because they are too many for a token.
func (c claims) leftOut(name string) bool {
	var elsewhere claims
	_ = json.Unmarshal(c["_claim_names"], &elsewhere)
	marker := strings.Trim(string(c["hasgroups"]), `"`)
	return elsewhere[name] != nil || marker == "true" || marker == "1"
}

// maxGroups and maxGroup limit the groups of one person, and the bytes of a name.
const (
	maxGroups = 2000
	maxGroup  = 255
)

// groupNames reads groups as providers write them: a list of names, one name, or an object with the names as its
// keys. known is false for anything else.
func groupNames(value json.RawMessage) (names []string, known bool) {
	var one string
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(value, &names) == nil:
	case json.Unmarshal(value, &one) == nil:
		names = []string{one}
	case json.Unmarshal(value, &object) == nil:
		names = slices.Collect(maps.Keys(object))
	default:
		return nil, false
	}
	kept := []string{}
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" && len(name) <= maxGroup && !hasControl(name) {
			kept = append(kept, name)
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept), true
}

func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// groups reads a person's groups from what the provider says. known is false if it does not say them, which is not
// the same as none.
func (s Settings) groups(of ...claims) (names []string, known bool, err error) {
	claim := s.groupsClaim()
	for _, c := range of {
		if c.leftOut(claim) {
			return nil, false, s.refused(
				"left out the groups, because they are too many: let it send only those that are assigned to this application "+
					"(claim %s of auth.providers)", claim,
			)
		}
		if value, ok := c.find(claim); ok && !known {
			if names, known = groupNames(value); !known {
				return nil, false, s.refused("sent groups in a form that is not known (claim %s of auth.providers)", claim)
			}
		}
	}
	switch {
	case len(names) > maxGroups:
		return nil, false, s.refused("sent %d groups; at most %d are read", len(names), maxGroups)
	case !known && s.needsGroups():
		return nil, false, s.refused(
			"sent no claim %s, so it is not known what this person may do: let it send the claim, or set groups_claim or "+
				"scopes of auth.providers", claim,
		)
	}
	return names, known, nil
}

func (s Settings) refused(format string, args ...any) error {
	return notAuthorized("the identity provider %s %s", s.Name, fmt.Sprintf(format, args...))
}
