package trigger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String is the event with all that is known about it.
func (e Event) String() string {
	var out strings.Builder
	out.WriteString(e.Name)
	for _, key := range slices.Sorted(maps.Keys(e.values)) {
		fmt.Fprintf(&out, "\n        %s %q", key, e.values[key])
	}
	return out.String()
}

// Keys lists the keys about which the event says something.
func (e Event) Keys() []string { return slices.Sorted(maps.Keys(e.values)) }

// ReportedKeys lists the keys about which an event may say something.
func ReportedKeys(provider, event string) []string {
	return slices.Sorted(slices.Values(reportedKeys[provider][event]))
}

// Mentions, HasWords and Prose are what they are inside.
func Mentions(text string) []string { return mentions(text, githubName) }

// LinearMentions are those of a text of Linear.
func LinearMentions(text string) []string { return mentions(text, linearName) }

// HasWords is hasWords.
func HasWords(text, words string) bool { return hasWords(text, words) }
