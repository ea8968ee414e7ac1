package trigger

// AppendNumber exports appendNumber for the tests of numbers.
func AppendNumber(dst, text []byte) []byte { return appendNumber(dst, text) }

// Text writes a filter as JSON again.
func (f *Filter) Text() string { return string(appendFields(nil, f.fields)) }
