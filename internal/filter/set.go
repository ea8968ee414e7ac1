package filter

// Set is filters that are tried on the same documents. What several of them ask
// of one key at the payload's root is found out once for a document. It does not
// change and may be used by several goroutines at once.
type Set struct {
	filters    []*Filter
	conditions []*field // of the roots of all filters, each once
	of         [][]int  // which of the conditions each filter has, in its order
}

// NewSet makes a set of filters, each of which may be nil.
func NewSet(filters []*Filter) *Set {
	s := &Set{filters: filters, of: make([][]int, len(filters))}
	known := map[string]int{}
	for n, f := range filters {
		if f == nil {
			continue
		}
		for i := range f.fields {
			text := string(f.fields[i].appendText(nil))
			at, shared := known[text]
			if !shared {
				at = len(s.conditions)
				known[text] = at
				s.conditions = append(s.conditions, &f.fields[i])
			}
			s.of[n] = append(s.of[n], at)
		}
	}
	return s
}

// Try begins to try the filters on the document, or on nil where there is none.
// The trial is for one goroutine.
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
	for _, at := range t.set.of[i] {
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
