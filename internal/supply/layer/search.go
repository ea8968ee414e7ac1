package layer

import (
	"bytes"

	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// search finds values of secrets in files, in each form of [secret.Forms].
type search struct {
	patterns []pattern
	longest  int
}

type pattern struct {
	secret string
	text   []byte
}

// leastSearched is the length of the shortest text that is looked for. Shorter ones occur in every
// large folder.
const leastSearched = 6

func newSearch(secrets []Secret) *search {
	s := &search{}
	for _, of := range secrets {
		for _, form := range secret.Forms(of.Value) {
			if len(form) >= leastSearched {
				s.patterns = append(s.patterns, pattern{of.Name, []byte(form)})
				s.longest = max(s.longest, len(form))
			}
		}
	}
	return s
}

// in returns the name of a secret that the text has, or "".
func (s *search) in(text []byte) string {
	name, _ := s.find(text)
	return name
}

// find is in, and returns where the secret begins.
func (s *search) find(text []byte) (name string, at int) {
	if s == nil {
		return "", 0
	}
	for _, p := range s.patterns {
		if at := bytes.Index(text, p.text); at >= 0 {
			return p.secret, at
		}
	}
	return "", 0
}

// active reports whether there is anything to look for.
func (s *search) active() bool { return s != nil && len(s.patterns) > 0 }
