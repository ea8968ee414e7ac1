package filter

import "strconv"

// Set is filters that are tried on the same documents. What several of them ask
// of one key at the payload's root is found out once for a document. It does not
// change and may be used by several goroutines at once.
type Set struct {
	filters    []*Filter
	conditions []*field // of the roots of all filters, each once
	steps      []uint32 // the conditions of one filter after those of the other
	ends       []uint32 // where in steps those of a filter end
}

// NewSet makes a set of filters, each of which may be nil.
func NewSet(filters []*Filter) *Set {
	s := &Set{filters: filters}
	known := map[string]uint32{}
	for _, f := range filters {
		if !f.MatchesAll() {
			for i := range f.fields {
				text := string(f.fields[i].appendText(nil))
				at, shared := known[text]
				if !shared {
					at = uint32(len(s.conditions)) //nolint:gosec // of filters in memory
					known[text] = at
					s.conditions = append(s.conditions, &f.fields[i])
				}
				s.steps = append(s.steps, at)
			}
		}
		s.ends = append(s.ends, uint32(len(s.steps))) //nolint:gosec // as above
	}
	return s
}

// appendText writes what the field asks for, which tells it from any other one
// of its object.
func (f *field) appendText(b []byte) []byte {
	b = append(strconv.AppendQuote(b, f.key), '{')
	for i := range f.below {
		b = f.below[i].appendText(b)
	}
	b = append(b, '0'+byte(f.leaf.exists))
	for _, set := range [][]scalar{f.leaf.in, f.leaf.notIn} {
		b = append(b, '[')
		for _, one := range set {
			b = strconv.AppendQuote(append(b, one.kind), one.text)
		}
	}
	return append(b, '}')
}

// Try begins to try the filters on the document, or on nil where there is none.
// The trial is for one goroutine, until the document is released.
func (s *Set) Try(d *Document) *Trial {
	t := &Trial{set: s, evaluator: evaluator{Document: d}}
	if d != nil && d.unevaluable == "" && d.kind(0) == '{' && !d.duplicates(0) {
		t.tried = make([]outcome, len(s.conditions))
	}
	return t
}

// Trial says which filters of a set one document satisfies.
type Trial struct {
	evaluator

	set   *Set
	tried []outcome // of each condition; nil: none can be tried by itself
}

type outcome struct {
	known, ok bool
	why       Failure
}

// Match answers as [Filter.Match] of the set's i-th filter does.
func (t *Trial) Match(i int) (matched bool, why Failure) {
	if t.tried == nil {
		return t.set.filters[i].Match(t.Document)
	}
	begin := uint32(0)
	if i > 0 {
		begin = t.set.ends[i-1]
	}
	for _, at := range t.set.steps[begin:t.set.ends[i]] {
		one := &t.tried[at]
		if !one.known {
			one.known = true
			one.ok, one.why = t.field(t.set.conditions[at], 0)
		}
		if !one.ok {
			return false, one.why
		}
	}
	return true, Failure{}
}
