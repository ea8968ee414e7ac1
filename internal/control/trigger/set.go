package trigger

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/penstock-dev/penstock"
)

// set is a set of values. Some of them may be patterns.
type set struct {
	texts    map[string]bool
	patterns []*regexp.Regexp
	words    []string // to find in a text
}

// newSet creates the set of a key's values: numbers or texts.
func newSet(key string, values []json.RawMessage) (set, error) {
	s := set{texts: map[string]bool{}}
	for _, raw := range values {
		var text string
		if key == "pr_numbers" {
			var n int64
			if err := json.Unmarshal(raw, &n); err != nil {
				return s, fmt.Errorf("read a value of %s: %w", key, err)
			}
			text = fmt.Sprint(n)
		} else if err := json.Unmarshal(raw, &text); err != nil {
			return s, fmt.Errorf("read a value of %s: %w", key, err)
		}
		text = canonical(key, text)
		switch key {
		case "keywords":
			s.words = append(s.words, text)
		// The name of a repository or branch cannot contain pattern characters.
		case "paths", "repos", "branches", "base_branches":
			if err := s.addPattern(text); err != nil {
				return s, fmt.Errorf("read a pattern of %s: %w", key, err)
			}
		default:
			s.texts[text] = true
		}
	}
	return s, nil
}

func (s *set) empty() bool { return len(s.texts) == 0 && len(s.patterns) == 0 && len(s.words) == 0 }

// has reports whether a value is in the set.
func (s *set) has(value string) bool {
	if s.texts[value] {
		return true
	}
	for _, p := range s.patterns {
		if p.MatchString(value) {
			return true
		}
	}
	for _, words := range s.words {
		if hasWords(value, words) {
			return true
		}
	}
	return false
}

// addPattern adds a path pattern from the root of a repository.
func (s *set) addPattern(pattern string) error {
	plain, expression, err := penstock.ParsePaths(pattern)
	if expression != nil {
		s.patterns = append(s.patterns, expression)
	} else {
		s.texts[plain] = true
	}
	return err
}
