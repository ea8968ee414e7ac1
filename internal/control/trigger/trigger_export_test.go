package trigger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String returns the event with everything that is known about it.
func (e Event) String() string {
	var out strings.Builder
	out.WriteString(e.Name)
	for _, key := range slices.Sorted(maps.Keys(e.values)) {
		fmt.Fprintf(&out, "\n        %s %q", key, e.values[key])
	}
	return out.String()
}

// Keys lists the keys for which the event has values.
func (e Event) Keys() []string { return slices.Sorted(maps.Keys(e.values)) }

// ReportedKeys lists the keys for which an event may have values.
func ReportedKeys(provider, event string) []string {
	return slices.Sorted(slices.Values(reportedKeys[provider][event]))
}

// Mentions, HasWords and Prose export the functions of the same names.
func Mentions(text string) []string { return mentions(text, githubName) }

// LinearMentions returns the mentions in a text of Linear.
func LinearMentions(text string) []string { return mentions(text, linearName) }

// HasWords is hasWords.
func HasWords(text, words string) bool { return hasWords(text, words) }
