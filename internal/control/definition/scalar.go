package definition

import (
	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
)

// scalarKind is the type of a scalar. Plain scalars follow the core schema of YAML 1.2 (§10.3). A
// value that versions of YAML read differently is an oddScalar: 017 is 15 to some readers and 17 to
// others. Words such as yes, on and no are text, and so are dates and times.
type scalarKind byte

const (
	textScalar scalarKind = iota
	nullScalar
	boolScalar
	numberScalar // its text is a JSON number (RFC 8259 §6)
	oddScalar    // a number to some readers only, or one that JSON cannot write
)

var (
	jsonNumber = penstock.LazyRegexp(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	oddNumber  = penstock.LazyRegexp(
		`^[-+]?(0o[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|` +
			`\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|\.inf|\.Inf|\.INF)$|^\.(nan|NaN|NAN)$`,
	)
)

func kindOf(node *yaml.Node) scalarKind {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if node.Style&quoted != 0 {
		return textScalar
	}
	return plainKind(node.Value)
}

// plainKind returns the kind of a scalar without quotes.
func plainKind(value string) scalarKind {
	switch value {
	case "", "~", "null", "Null", "NULL":
		return nullScalar
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return boolScalar
	}
	switch {
	case len(value) > 512 || value[0] > '9':
		return textScalar
	case jsonNumber().MatchString(value):
		return numberScalar
	case oddNumber().MatchString(value):
		return oddScalar
	}
	return textScalar
}

// isTrue returns the value of a boolScalar.
func isTrue(value string) bool { return value[0] == 't' || value[0] == 'T' }

// describe names the type of a node, for a message about a wrong type.
func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch kindOf(node) {
	case nullScalar:
		return "nothing"
	case boolScalar:
		return "the truth value " + node.Value
	case numberScalar:
		return "the number " + quote(node.Value)
	case oddScalar:
		return quote(node.Value) + ", which programs read as different numbers"
	}
	return "the text " + quote(node.Value)
}
