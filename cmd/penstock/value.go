package main

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// longValue limits the bytes of a value that shares a line with others.
const longValue = 200

// values formats any JSON for a person. Short values are in one line, as key=value if there are
// several. Texts with several lines follow below. It omits only empty values.
func values(raw jsontext.Value) (line, text string) {
	var short, long []string
	add := func(key, line, text string) {
		if line != "" && key != "" {
			line = key + "=" + line
		}
		if line != "" {
			short = append(short, line)
		}
		if text != "" {
			long = append(long, text)
		}
	}
	switch raw = bytes.TrimSpace(raw); raw.Kind() {
	case '{':
		object, ok := decoded[map[string]jsontext.Value](raw)
		if !ok {
			return string(raw), ""
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			line, text := values(object[key])
			if len(object) == 1 {
				key = ""
			}
			add(key, line, text)
		}
	case '[':
		list, ok := decoded[[]jsontext.Value](raw)
		if !ok {
			return string(raw), ""
		}
		for _, item := range list {
			line, text := values(item)
			if item.Kind() == '{' { // one line for each
				line, text = "", strings.TrimSpace(line+"\n"+text)
			}
			add("", line, text)
		}
	case '"':
		return textValue(raw)
	case 'n', 0:
		return "", ""
	default:
		return string(raw), ""
	}
	return strings.Join(short, " "), strings.Join(long, "\n")
}

// textValue is values for a text.
func textValue(raw jsontext.Value) (line, text string) {
	s, ok := decoded[string](raw)
	if !ok {
		return string(raw), ""
	}
	if s = strings.TrimRight(s, "\n"); strings.Contains(s, "\n") || len(s) > longValue {
		return "", s
	}
	return s, ""
}

func decoded[T any](raw jsontext.Value) (v T, ok bool) {
	ok = json.Unmarshal(raw, &v) == nil
	return v, ok
}
