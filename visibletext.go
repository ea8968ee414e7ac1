package penstock

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// VisibleText removes characters that nobody sees and that change how others are read: controls, marks that reorder
// text, tags, selectors and other characters without a shape. Lines end with \n. Bytes that are not UTF-8 become
// U+FFFD. If keep is not nil, it can keep a hidden character, by the text before it.
func VisibleText(text string, keep func(before string, r rune) bool) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	var out strings.Builder
	var last rune // that was kept
	for i, r := range text {
		if HiddenCharacter(r) {
			next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			if !joins(r, last, next) && (keep == nil || !keep(out.String(), r)) {
				continue
			}
		}
		out.WriteRune(r)
		last = r
	}
	return out.String()
}

// HiddenCharacter reports whether a character has no shape of its own.
func HiddenCharacter(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	case r == 0x34F, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x17B4, r == 0x17B5, r == 0x2800:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector)
}

// joins reports whether a hidden character belongs to a script or to a picture: between two characters that are not
// ASCII, or a selector of a picture's form.
func joins(r, last, next rune) bool {
	switch r {
	case 0x200C, 0x200D:
		return last > unicode.MaxASCII && next > unicode.MaxASCII && !HiddenCharacter(next)
	case 0xFE0E, 0xFE0F:
		return last > unicode.MaxASCII && !HiddenCharacter(last) || next == 0x20E3
	}
	return false
}
