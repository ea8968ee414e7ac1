package trigger

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of an explanation.
const (
	mostShown  = 4   // values
	shownRunes = 60  // of a value
	allRunes   = 120 // of all values together
	nameRunes  = 80  // of the name of a key
)

// Masked is shown instead of the values of a key whose name says that it holds a secret.
const Masked = "***"

// keysOf lists the first keys of a pattern.
func keysOf(fields []field) []string {
	var keys []string
	for i := range fields {
		keys = append(keys, cut(fields[i].key, shownRunes))
	}
	return firstOf(keys)
}

// difference says where a long text begins to differ from the only one that is expected, if both look
// the same where they are cut.
func (x *explainer) difference(set []scalar, of []uint32) string {
	if len(set) != 1 || len(of) != 1 || x.kind(of[0]) != '"' || set[0].kind != '"' {
		return ""
	}
	got, want := []rune(string(x.text(of[0], &x.scratch))), []rune(set[0].text)
	n := 0
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	if n < shownRunes || n == len(got) && n == len(want) {
		return ""
	}
	return fmt.Sprintf(", which differs from character %d on", n+1)
}

// mask hides the values on both sides. Whether the key is there, and what kind of value it needs, stay.
func (x *Explanation) mask() {
	if len(x.Actual) > 0 {
		x.Actual, x.Words.Is = []string{Masked}, "has a value that is not shown"
	}
	if x.Operator == OperatorIn || x.Operator == OperatorNotIn {
		x.Expected, x.Words.Expects = []string{Masked}, "expects another value, which is not shown either"
		if len(x.Actual) == 0 {
			x.Words.Expects = "expects a value that is not shown"
		}
	}
}

// secretNames end the names of keys that hold secrets, in lower case without separators.
var secretNames = []string{
	"token", "secret", "password", "passwd", "passphrase", "apikey", "accesskey", "privatekey", "secretkey",
	"authorization", "credential", "credentials", "signature",
}

// holdsSecret reports whether the name of a key says that it, or what it is in, holds a secret.
func holdsSecret(pointer string) bool {
	return slices.ContainsFunc(strings.Split(pointer, "/"), func(key string) bool {
		name := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, key)
		return slices.ContainsFunc(secretNames, func(s string) bool { return strings.HasSuffix(name, s) })
	})
}

// plain reports whether the values can be shown without their types: all are of one kind, and each
// value is shown as it is.
func (x *explainer) plain(set []scalar, of []uint32) bool {
	if !sameKind(set) || len(set) == 0 {
		return len(set) == 0 && x.kind(of[0]) != '['
	}
	for _, i := range x.flat(of) {
		if x.kind(i) != set[0].kind || x.kind(i) == '"' && !visible(string(x.text(i, &x.scratch))) {
			return false
		}
	}
	return true
}

func sameKind(set []scalar) bool {
	return !slices.ContainsFunc(set, func(s scalar) bool {
		return s.kind != set[0].kind || s.kind == '"' && !visible(s.text)
	})
}

// visible reports whether a text is shown as it is.
func visible(text string) bool { return text != "" && cut(text, shownRunes) == text }

// flat replaces each array with its elements, and returns the first values.
func (x *explainer) flat(values []uint32) []uint32 {
	var list []uint32
	for _, value := range values {
		if x.kind(value) != '[' {
			list = append(list, value)
		}
		for i, end := value+1, x.after(value); x.kind(value) == '[' && i < end && len(list) < mostShown; i = x.after(i) {
			list = append(list, i)
		}
		if len(list) >= mostShown {
			break
		}
	}
	return list
}

// words says what values are. array means that they are the elements of the one value.
func (x *explainer) words(of []uint32, array, plain bool) string {
	n := len(of)
	if array {
		n = 0
		for i, end := of[0]+1, x.after(of[0]); i < end; i = x.after(i) {
			n++
		}
	}
	if n == 0 {
		return "an empty array"
	}
	if !array {
		n = max(n, len(x.flat(of)))
	}
	var words []string
	for _, i := range x.flat(of)[:len(x.texts(of))] {
		words = append(words, x.word(i, plain))
	}
	if array {
		return "an array of " + listed(words, n, "and")
	}
	return listed(words, n, "and")
}

func (x *explainer) word(value uint32, plain bool) string {
	if kind := x.kind(value); plain && (kind == '"' || kind == '0') {
		return quote(x.shown(value))
	}
	return x.typed(value)
}

// typed says the type and the value.
func (x *explainer) typed(value uint32) string {
	switch x.kind(value) {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return typedText(string(x.text(value, &x.scratch)))
	case '0':
		return "the number " + x.shown(value)
	}
	return x.shown(value)
}

// shown returns a value as text, cut.
func (x *explainer) shown(value uint32) string {
	switch x.kind(value) {
	case '{':
		return "{…}"
	case '[':
		return "[…]"
	case '"':
		return cut(string(x.text(value, &x.scratch)), shownRunes)
	case 'n':
		return "null"
	}
	return cut(string(x.raw(value)), shownRunes)
}

// texts returns the first values, as in [Explanation.Actual].
func (x *explainer) texts(of []uint32) []string {
	var texts []string
	for _, i := range x.flat(of) {
		text := cmp.Or(x.shown(i), `""`)
		texts = append(texts, text)
	}
	return firstOf(texts)
}

// firstOf returns the first values, of which all but the first together have a bounded length.
func firstOf(values []string) []string {
	runes := 0
	for i, v := range values {
		if runes += utf8.RuneCountInString(v); i == mostShown || i > 0 && runes > allRunes {
			return values[:i]
		}
	}
	return values
}

// shown returns the value as text, cut.
func (s scalar) shown() string {
	switch s.kind {
	case 'n':
		return "null"
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	if s.text == "" {
		return `""`
	}
	if s.kind == '0' {
		return cut(decimal(s.text), shownRunes)
	}
	return cut(s.text, shownRunes)
}

// decimal returns a canonical number as people write it, unless it is very large or small.
func decimal(number string) string {
	digits, exponent, _ := strings.Cut(number, "e")
	n, err := strconv.Atoi(exponent)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	switch {
	case err != nil || n > 20 || n < -20:
		return number
	case n >= 0:
		return sign + digits + strings.Repeat("0", n)
	}
	if len(digits) <= -n {
		digits = strings.Repeat("0", 1-n-len(digits)) + digits
	}
	return sign + digits[:len(digits)+n] + "." + digits[len(digits)+n:]
}

func (s scalar) words(plain bool) string {
	switch {
	case s.kind != '"' && s.kind != '0':
		return s.shown()
	case plain:
		return quote(s.shown())
	case s.kind == '0':
		return "the number " + s.shown()
	}
	return typedText(s.text)
}

// typedText says that a value is a text, with escapes for what nobody sees.
func typedText(text string) string {
	if text == "" {
		return "the empty text"
	}
	length := utf8.RuneCountInString(text)
	runes := []rune(text[:min(len(text), shownRunes*utf8.UTFMax)])
	shown := ""
	for i, r := range runes {
		one := strconv.QuoteRune(r)
		if one = strings.ReplaceAll(one[1:len(one)-1], "`", "'"); r == '"' {
			one = `\"`
		} else if r == '\'' {
			one = "'"
		}
		if i == shownRunes || utf8.RuneCountInString(shown)+len(one) > 2*shownRunes {
			return fmt.Sprintf(`the text "%s"… (%d characters)`, shown, length)
		}
		shown += one
	}
	return `the text "` + shown + `"`
}

// nameOf returns the name of the key at a pointer, with those above it.
func nameOf(pointer string) string {
	if pointer == "" {
		return "the payload"
	}
	keys := strings.Split(pointer[1:], "/")
	for i, key := range keys {
		keys[i] = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
	}
	return quote(cut(strings.Join(keys, "."), nameRunes))
}

func quote(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

func quoteAll(texts []string) []string {
	var quoted []string
	for _, text := range texts {
		quoted = append(quoted, quote(text))
	}
	return quoted
}

// listed joins the words of the first of n values. word is "and" or "or".
func listed(words []string, n int, word string) string {
	words = slices.Clone(words)
	if more := n - len(words); more > 0 {
		words = append(words, strconv.Itoa(more)+" more")
	}
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + word + " " + words[last]
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// cut makes a text fit into one line, without characters that nobody sees.
func cut(text string, most int) string {
	text = text[:min(len(text), 4*most*utf8.UTFMax)]
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError
	}), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}
