package trigger

import "github.com/go-json-experiment/json/jsontext"

// appendFields writes fields as the JSON of a filter. Only equal conditions have equal texts.
func appendFields(b []byte, fields []field) []byte {
	b = append(b, '{')
	for i := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = fields[i].appendText(b)
	}
	return append(b, '}')
}

// appendText writes the field as a member of an object.
func (f *field) appendText(b []byte) []byte {
	b = append(appendString(b, f.key), ':')
	if len(f.below) > 0 {
		return appendFields(b, f.below)
	}
	b = append(b, '{')
	begin := len(b)
	for _, one := range []struct {
		operator string
		set      []scalar
	}{{"in", f.leaf.in}, {"not_in", f.leaf.notIn}} {
		if len(one.set) > 0 {
			b = appendSet(appendOperator(b, begin, one.operator), one.set)
		}
	}
	switch f.leaf.exists {
	case present:
		b = append(appendOperator(b, begin, "exists"), "true"...)
	case absent:
		b = append(appendOperator(b, begin, "exists"), "false"...)
	}
	return append(b, '}')
}

// appendOperator writes the name of an operator in an object that begins at begin.
func appendOperator(b []byte, begin int, name string) []byte {
	if len(b) > begin {
		b = append(b, ',')
	}
	return append(appendString(b, name), ':')
}

func appendSet(b []byte, set []scalar) []byte {
	b = append(b, '[')
	for i, s := range set {
		if i > 0 {
			b = append(b, ',')
		}
		switch s.kind {
		case '"':
			b = appendString(b, s.text)
		case '0':
			b = append(b, s.text...)
		case 'n':
			b = append(b, "null"...)
		case 't':
			b = append(b, "true"...)
		case 'f':
			b = append(b, "false"...)
		}
	}
	return append(b, ']')
}

func appendString(b []byte, text string) []byte {
	b, _ = jsontext.AppendQuote(b, text) // a filter was checked to be UTF-8
	return b
}
