package definition

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// keyEnd returns the offset after the colon of a key, or -1 if no colon follows.
func (e *editor) keyEnd(key *yaml.Node) int {
	offset := e.offset(key)
	end := offset
	switch {
	case key.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		end = quotedEnd(e.text, offset)
	case strings.HasPrefix(e.text[offset:], key.Value):
		end += len(key.Value)
	default:
		return -1
	}
	rest := strings.TrimLeft(e.text[end:], " \t")
	if !strings.HasPrefix(rest, ":") {
		return -1
	}
	return len(e.text) - len(rest) + 1
}

// end returns the offset after the last character of a value that ends before limit. A block scalar
// ends with its last line, including the line break.
func (e *editor) end(at *yaml.Node, limit int) int {
	offset := e.offset(at)
	switch {
	case at.Kind != yaml.ScalarNode && at.Style&yaml.FlowStyle != 0:
		return flowEnd(e.text, offset)
	case at.Kind != yaml.ScalarNode:
		last := at.Content[len(at.Content)-1]
		return max(e.end(last, limit), e.offset(last))
	case at.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return quotedEnd(e.text, offset)
	case at.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return e.blockEnd(offset, limit)
	case at.Value == "":
		return min(offset, limit)
	}
	return e.plainEnd(offset, limit)
}

// quotedEnd returns the offset after the closing quote.
func quotedEnd(text string, offset int) int {
	quote := text[offset]
	for i := offset + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] != quote:
		case quote == '\'' && strings.HasPrefix(text[i+1:], "'"):
			i++
		default:
			return i + 1
		}
	}
	return len(text)
}

// flowEnd returns the offset after the bracket that closes the one at offset.
func flowEnd(text string, offset int) int {
	depth := 0
	for i := offset; i < len(text); i++ {
		switch c := text[i]; c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '\'':
			if strings.ContainsRune(" \t\n[{,:", rune(text[i-1])) { // in a plain scalar, it is not a quote
				i = quotedEnd(text, i) - 1
			}
		case '#':
			if text[i-1] == ' ' || text[i-1] == '\t' || text[i-1] == '\n' {
				if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
					i += end
				}
			}
		}
	}
	return len(text)
}

// plainEnd returns the offset after a plain scalar, which may continue in the lines below. Blank
// lines and comments follow up to limit.
func (e *editor) plainEnd(offset, limit int) int {
	end := offset
	for line := range strings.Lines(e.text[offset:max(limit, e.lineEnd(offset))]) {
		start := end
		end += len(line)
		content := strings.TrimSpace(line)
		if start > offset && (content == "" || content[0] == '#') {
			if content != "" { // a comment ends the scalar
				end = start
				break
			}
			continue
		}
		if i := commentStart(line); i >= 0 {
			end = start + i
			break
		}
	}
	return len(strings.TrimRight(e.text[:end], " \t\r\n"))
}

// commentStart returns where a comment begins in a line, or -1.
func commentStart(line string) int {
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && (line[i-1] == ' ' || line[i-1] == '\t') {
			return i
		}
	}
	return -1
}

// blockEnd returns the offset after the lines of a block scalar, which are indented at least as
// much as its first line. Blank lines below them are layout, unless the scalar keeps them.
func (e *editor) blockEnd(offset, limit int) int {
	start := e.lineEnd(offset)
	end, at, indent := start, start, -1
	keep := strings.Contains(strings.SplitN(e.text[offset:start], "#", 2)[0], "+")
	for line := range strings.Lines(e.text[start:max(start, limit)]) {
		content := strings.TrimLeft(strings.TrimRight(line, "\r\n"), " ")
		width := len(strings.TrimRight(line, "\r\n")) - len(content)
		at += len(line)
		switch {
		case content == "":
			if keep {
				end = at
			}
			continue
		case indent < 0:
			indent = width
		}
		if width < indent {
			break
		}
		end = at
	}
	return end
}
