package trigger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// The limits of an explanation.
const (
	mostShown  = 4   // values
	shownRunes = 60  // of a value
	nameRunes  = 100 // of the name of a key
)

// The operators of a failed condition.
const (
	OperatorIn     = "in"
	OperatorNotIn  = "not_in"
	OperatorExists = "exists" // Expected is "true" or "false"
	OperatorObject = "object" // the filter names keys below the value
	OperatorEvent  = "event"  // the automation waits for other events
)

// Explanation says why a delivery does not fire an automation, as data and as one sentence. The
// values of the payload in it are short, in one line, and have no invisible characters.
type Explanation struct {
	// Path is the JSON pointer of the first condition that failed, as in [FilterFailure].
	Path string
	// Operator is the kind of this condition; "" if the delivery cannot be evaluated.
	Operator string
	// Actual has the first values of the delivery: strings as they are, an object as {…}. It is empty
	// if the value is absent.
	Actual []string
	// Expected has the first values of the condition.
	Expected []string
	// Others is how many more conditions failed.
	Others int
	// Sentence is the explanation for people. Names and values are between backticks.
	Sentence string
}

// Explain returns why the payload does not match f, or nil if it matches.
func (f *Filter) Explain(d *Document) *Explanation {
	matched, why := f.Match(d)
	switch {
	case matched:
		return nil
	case d == nil || d.unevaluable != "":
		return &Explanation{Sentence: why.Reason}
	}
	x := explainer{evaluator: evaluator{Document: d}}
	x.pattern(f.fields, 0, "", nil)
	x.first.Path, x.first.Others = why.Path, x.failed-1
	if x.first.Others > 0 {
		x.first.Sentence += fmt.Sprintf(" (%s failed, too)", counted(x.first.Others, "other condition"))
	}
	return &x.first
}

// explainer finds each condition that fails, and explains the first. An array that a nested pattern
// does not match is one condition.
type explainer struct {
	evaluator

	failed int
	first  Explanation
}

func (x *explainer) fail(explain func() Explanation) {
	if x.failed++; x.failed == 1 {
		x.first = explain()
	}
}

func (x *explainer) pattern(fields []field, value uint32, path string, keys []string) {
	if x.kind(value) == '{' && !x.duplicates(value) {
		for i := range fields {
			x.field(&fields[i], value, append(slices.Clip(keys), fields[i].key))
		}
		return
	}
	if ok, why := x.evaluator.pattern(fields, value, path); !ok {
		x.fail(func() Explanation { return x.noObject(fields, value, keys, why.Reason) })
	}
}

func (x *explainer) field(f *field, object uint32, keys []string) {
	value, found := x.find(object, f.key)
	switch {
	case len(f.below) > 0 && found:
		x.pattern(f.below, value, f.pointer, keys)
	case len(f.below) > 0:
		x.fail(func() Explanation {
			return Explanation{
				Operator: OperatorObject, Sentence: nameOf(keys) + " is absent; expects an object",
			}
		})
	case x.leaf(&f.leaf, value, found) != "":
		x.fail(func() Explanation { return x.explainLeaf(&f.leaf, value, found, keys) })
	}
}

// noObject explains a value that does not meet a nested pattern.
func (x *explainer) noObject(fields []field, value uint32, keys []string, reason string) Explanation {
	e := Explanation{Operator: OperatorObject, Actual: x.texts(value)}
	is := nameOf(keys) + " is " + x.typed(value)
	switch x.kind(value) {
	case '{':
		e.Sentence = nameOf(keys) + " has duplicate keys; expects each key once"
	case '[':
		var names []string
		for i := range fields {
			names = append(names, quote(cut(fields[i].key, nameRunes)))
		}
		e.Sentence = is + "; expects an object in it that meets the conditions on " + listed(names, len(names), "and")
		if reason == noneOfOthers {
			e.Sentence += "; objects with duplicate keys were skipped"
		}
	default:
		e.Sentence = is + "; expects an object"
	}
	return e
}

// explainLeaf explains a value that does not meet the condition of a leaf.
func (x *explainer) explainLeaf(l *leaf, value uint32, found bool, keys []string) Explanation {
	e := Explanation{Operator: OperatorIn}
	set, expects := l.in, "one of "
	switch {
	case found && l.exists == absent:
		e.Operator, e.Expected, set = OperatorExists, []string{"false"}, nil
	case !found && len(l.in) == 0:
		e.Operator, e.Expected, set = OperatorExists, []string{"true"}, nil
	case found && (len(l.in) == 0 || x.anyIn(l.in, value)):
		e.Operator, set, expects = OperatorNotIn, l.notIn, "none of "
	}
	if len(set) == 1 {
		expects = map[string]string{OperatorIn: "", OperatorNotIn: "not "}[e.Operator]
	}
	for _, s := range set[:min(len(set), mostShown)] {
		e.Expected = append(e.Expected, s.shown())
	}
	is, plain := "absent", sameKind(set)
	if found {
		e.Actual = x.texts(value)
		plain = x.plain(set, value)
		is = x.words(value, plain)
	}
	switch {
	case e.Operator == OperatorExists && found:
		expects = "it to be absent"
	case e.Operator == OperatorExists:
		expects = "a value"
	default:
		var words []string
		for _, s := range set[:min(len(set), mostShown)] {
			words = append(words, s.words(plain))
		}
		expects += listed(words, len(set), "or")
	}
	e.Sentence = nameOf(keys) + " is " + is + "; expects " + expects
	return e
}

// plain reports whether the values can be shown without their types: all are of one kind, and the
// value is shown as it is.
func (x *explainer) plain(set []scalar, value uint32) bool {
	if !sameKind(set) || len(set) == 0 {
		return len(set) == 0 && x.kind(value) != '['
	}
	of := []uint32{value}
	if x.kind(value) == '[' {
		of = x.elements(value)
	}
	for _, i := range of {
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

func (x *explainer) elements(array uint32) []uint32 {
	var list []uint32
	for i, end := array+1, x.after(array); i < end && len(list) < mostShown; i = x.after(i) {
		list = append(list, i)
	}
	return list
}

// words says what a value is.
func (x *explainer) words(value uint32, plain bool) string {
	if x.kind(value) != '[' {
		return x.word(value, plain)
	}
	n := 0
	for i, end := value+1, x.after(value); i < end; i = x.after(i) {
		n++
	}
	if n == 0 {
		return "an empty array"
	}
	var words []string
	for _, i := range x.elements(value) {
		words = append(words, x.word(i, plain))
	}
	return "an array of " + listed(words, n, "and")
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
func (x *explainer) texts(value uint32) []string {
	of := []uint32{value}
	if x.kind(value) == '[' {
		of = x.elements(value)
	}
	var texts []string
	for _, i := range of {
		text := x.shown(i)
		if text == "" {
			text = `""`
		}
		texts = append(texts, text)
	}
	return texts
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
	runes := []rune(text)
	shown := strconv.QuoteToGraphic(strings.ReplaceAll(string(runes[:min(len(runes), shownRunes)]), "`", "'"))
	if len(runes) > shownRunes {
		return fmt.Sprintf("the text %s… (%d characters)", shown, len(runes))
	}
	return "the text " + shown
}

// nameOf returns the name of a key with those above it.
func nameOf(keys []string) string {
	if len(keys) == 0 {
		return "the payload"
	}
	return quote(cut(strings.Join(keys, "."), nameRunes))
}

func quote(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// listed joins the words of the first of n values. word is "and" or "or".
func listed(words []string, n int, word string) string {
	more := n - min(len(words), mostShown)
	words = slices.Clone(words[:min(len(words), mostShown)])
	if more > 0 {
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

// ExplainEvents returns why none of the triggers fires for the events of a delivery, or nil if one
// does. why is the reason of [Events] if the delivery reports no event. The first trigger for an
// event that the delivery reports explains it; otherwise, all triggers do.
func ExplainEvents(triggers []*Condition, events []Event, why string, name string, d *Document) *Explanation {
	var failed *Explanation
	for _, c := range triggers {
		if matched, _ := c.Match(events); matched {
			return nil
		}
		if failed == nil {
			failed = c.explainKeys(events)
		}
	}
	if failed != nil {
		return failed
	}
	return otherEvent(triggers, why, name, d)
}

// explainKeys explains the key that fails for the last event with the trigger's name, as
// [Condition.Match] does. It returns nil if the delivery reports no such event.
func (c *Condition) explainKeys(events []Event) *Explanation {
	var failed *Explanation
	for _, e := range events {
		if e.Name != c.event {
			continue
		}
		failed = nil
		for i := range c.keys {
			k := &c.keys[i]
			values := e.values[k.name]
			if k.failure(values) == "" {
				continue
			}
			if failed != nil {
				failed.Others++
				continue
			}
			failed = k.explain(values)
		}
	}
	if failed != nil && failed.Others > 0 {
		failed.Sentence += fmt.Sprintf(" (%s failed, too)", counted(failed.Others, "other condition"))
	}
	return failed
}

func (k *key) explain(values []string) *Explanation {
	e := &Explanation{Path: "/" + penstock.EscapePointer(k.name), Operator: OperatorIn}
	expected, expects := k.allowed, "one of "
	if k.in.empty() || !k.inFile && slices.ContainsFunc(values, k.in.has) {
		e.Operator, expected, expects = OperatorNotIn, k.denied, "none of "
	}
	if len(expected) == 1 {
		expects = map[string]string{OperatorIn: "", OperatorNotIn: "not "}[e.Operator]
	}
	var is, words []string
	for _, v := range values[:min(len(values), mostShown)] {
		e.Actual = append(e.Actual, cut(v, shownRunes))
		is = append(is, quote(cut(v, shownRunes)))
	}
	for _, v := range expected[:min(len(expected), mostShown)] {
		e.Expected = append(e.Expected, cut(v, shownRunes))
		words = append(words, quote(cut(v, shownRunes)))
	}
	verb := " is "
	switch {
	case len(values) == 0:
		is = []string{"absent"}
	case len(values) > 1:
		verb = " has "
	}
	e.Sentence = quote(k.name) + verb + listed(is, max(len(values), 1), "and") + "; expects " + expects +
		listed(words, len(expected), "or")
	return e
}

// otherEvent explains a delivery of an event for which the triggers do not wait.
func otherEvent(triggers []*Condition, why, name string, d *Document) *Explanation {
	e := &Explanation{Operator: OperatorEvent}
	for _, c := range triggers {
		if !slices.Contains(e.Expected, c.event) {
			e.Expected = append(e.Expected, c.event)
		}
	}
	root, unevaluable := d.Root()
	if unevaluable != "" {
		return &Explanation{Sentence: unevaluable}
	}
	var r reader
	action := r.text(root, "action")
	kind, provider := name, penstock.ProviderGitHub
	if kind == "" {
		kind, provider = r.text(root, "type"), penstock.ProviderLinear // it names its events in the payload
	}
	words, known := slices.Clone(e.Expected), quoted(kind, action) != unknownName
	if known && kind != "" {
		e.Actual = []string{strings.TrimSuffix(kind+"."+action, ".")}
	}
	family := strings.ToLower(strings.TrimSuffix(kind, "s")) + "_"
	if why != "" && why != r.noEvent(provider, name, root) {
		return &Explanation{Sentence: why} // whatever the automation waits for
	}
	short := known && action != "" &&
		!slices.ContainsFunc(words, func(s string) bool { return !strings.HasPrefix(s, family) })
	switch {
	case short:
		for i := range words {
			words[i] = strings.TrimPrefix(words[i], family)
		}
		e.Sentence = "action " + quote(action)
	case why != "":
		e.Sentence = why
	default:
		e.Sentence = "the event " + quoted(kind, action)
	}
	if short || why == "" {
		e.Sentence += " starts nothing"
	}
	e.Sentence += "; this automation waits for "
	e.Sentence += listed(words, len(words), "or")
	if len(e.Expected) > mostShown {
		e.Expected = e.Expected[:mostShown]
	}
	return e
}
