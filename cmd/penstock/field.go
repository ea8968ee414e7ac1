package main

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/penstock-dev/penstock"
)

// The tag field of a flag or an argument names what it sets in the request: the JSON pointer of a
// field of the body, or ?name for a query parameter. The server's errors use these names, people use
// the names of the command line. The tag about has the same form, for an input that the command itself
// converts, and may have several names, separated by spaces.

// nameInputs replaces field names in the server's error by names of flags and arguments. Other
// fields, such as a file's, keep their names.
func nameInputs(err error, parsed *kong.Context) {
	refused, ok := errors.AsType[*apiError](err)
	if !ok || parsed.Selected() == nil {
		return
	}
	in := inputs(parsed.Selected())
	if said := (&penstock.Error{Fields: refused.fields}).Explain(); refused.detail == said {
		refused.detail = "" // the detail only repeats the fields
	}
	for i, f := range refused.fields {
		named := penstock.FieldError{Pointer: in.name(f.Pointer), Detail: in.rename(f.Detail)}
		if named.Pointer != f.Pointer {
			named.Detail = asDurations(named.Detail, unitOf(f.Pointer))
		}
		refused.fields[i] = named
	}
	refused.detail = in.rename(refused.detail)
	refused.detail = queryParameter().ReplaceAllStringFunc(refused.detail, func(said string) string {
		if in := in.of("?" + strings.TrimPrefix(said, "query parameter ")); in != nil {
			return inputName(in)
		}
		return said
	})
}

// queryParameter matches a query parameter in a sentence of the server.
var queryParameter = penstock.LazyRegexp(`query parameter [a-z_]+`)

// unitOf returns the unit in the name of a field, or 0. The flag of such a field is a duration.
func unitOf(pointer string) time.Duration {
	switch {
	case strings.HasSuffix(pointer, "_seconds"):
		return time.Second
	case strings.HasSuffix(pointer, "_minutes"):
		return time.Minute
	}
	return 0
}

// wholeNumber matches a number of a sentence.
var wholeNumber = penstock.LazyRegexp(`\b[1-9][0-9]*\b`)

// asDurations writes the numbers of a sentence as a flag takes them, such as 1h30m. A unit of 0
// changes nothing.
func asDurations(sentence string, unit time.Duration) string {
	if unit == 0 {
		return sentence
	}
	return wholeNumber().ReplaceAllStringFunc(sentence, func(text string) string {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n > int64(math.MaxInt64/unit) {
			return text
		}
		// Duration writes zero minutes and seconds, as in 168h0m0s.
		text = (time.Duration(n) * unit).String()
		if short, ok := strings.CutSuffix(text, "m0s"); ok {
			text = short + "m"
		}
		if short, ok := strings.CutSuffix(text, "h0m"); ok {
			text = short + "h"
		}
		return text
	})
}

// inputList lists the flags and arguments of a command.
type inputList []*kong.Value

func inputs(node *kong.Node) inputList {
	var list inputList
	for _, flag := range node.Flags {
		list = append(list, flag.Value)
	}
	return append(list, node.Positional...)
}

// of returns the input that sets a field. Of several, it prefers one that was given, and then an
// argument.
func (l inputList) of(field string) *kong.Value {
	var found *kong.Value
	for _, in := range l {
		if slices.Contains(fieldNames(in), field) && (found == nil || !wasGiven(found)) {
			found = in
		}
	}
	return found
}

func fieldNames(in *kong.Value) []string {
	return strings.Fields(in.Tag.Get("field") + " " + in.Tag.Get("about"))
}

// name returns the name on the command line for a pointer into the request.
func (l inputList) name(pointer string) string {
	for at := len(pointer); at > 0; at = strings.LastIndexByte(pointer[:at], '/') {
		in := l.of(pointer[:at])
		if in == nil {
			continue
		}
		name := inputName(in)
		if !wasGiven(in) && l.file() {
			return pointer + " (" + name + ")" // it may be missing in the file
		}
		return name + belowInput(in, pointer[at:])
	}
	return pointer
}

// belowInput names a part of an input's value: the key of a map, the number of an item in a list,
// or the pointer in a JSON value.
func belowInput(in *kong.Value, pointer string) string {
	if pointer == "" {
		return ""
	}
	if !in.IsCumulative() {
		return " " + pointer
	}
	item, _, _ := strings.Cut(pointer[1:], "/")
	number, err := strconv.Atoi(item)
	switch {
	case err != nil || in.IsMap():
		return " " + unescapePointer(item)
	case in.Target.Len() > 1 && len(fieldNames(in)) == 1: // only for a single list
		return " (number " + strconv.Itoa(number+1) + ")"
	}
	return ""
}

// otherField matches a field of the contract in a sentence: a word with underscores or dots.
var otherField = penstock.LazyRegexp(`\b[a-z]+(?:[._][a-z]+)+\b`)

// rename replaces the fields in a sentence of the server.
func (l inputList) rename(sentence string) string {
	if l.file() {
		return sentence
	}
	return otherField().ReplaceAllStringFunc(sentence, func(field string) string {
		if in := l.of("/" + strings.ReplaceAll(field, ".", "/")); in != nil {
			return inputName(in)
		}
		return field
	})
}

// file reports whether a part of the request comes from --file.
func (l inputList) file() bool {
	return slices.ContainsFunc(l, func(in *kong.Value) bool { return in.Name == "file" && wasGiven(in) })
}

// wasGiven reports whether an input has a value. An empty value counts if the command distinguishes
// it from an absent one.
func wasGiven(in *kong.Value) bool { return !in.Target.IsZero() }

func inputName(in *kong.Value) string {
	if in.Flag != nil {
		return "--" + in.Name
	}
	return "<" + in.Name + ">"
}

// unescapePointer decodes a token of a JSON pointer (RFC 6901 §3).
func unescapePointer(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}
