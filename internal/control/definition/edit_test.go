package definition_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/control/definition"
)

type object = map[string]any

func TestSetKeys(t *testing.T) {
	t.Parallel()
	set := func(key string, value any) definition.KeyChange { return definition.KeyChange{Key: key, Value: value} }
	remove := func(key string) definition.KeyChange { return definition.KeyChange{Key: key, Remove: true} }
	for _, test := range []struct {
		name, before, after string
		changes             []definition.KeyChange
	}{
		{"an empty document gets keys", "", "a: 1\nb: x\n", []definition.KeyChange{set("a", 1), set("b", "x")}},
		{"comments alone stay", "# head\n", "# head\na: 1\n", []definition.KeyChange{set("a", 1)}},
		{"a comment without a line end", "# head", "# head\na: 1\n", []definition.KeyChange{set("a", 1)}},
		{"a text changes in its place", "a: x # why\nb: y\n", "a: z # why\nb: y\n", []definition.KeyChange{set("a", "z")}},
		{"quotes go with the text that needed them", "a: \"1\"\n", "a: x\n", []definition.KeyChange{set("a", "x")}},
		{"quotes come with a text that needs them", "a: x\n", "a: \"1\"\n", []definition.KeyChange{set("a", "1")}},
		{
			"what is equal is not touched", "a: 'x'   # odd\nb: [1,2]\n", "a: 'x'   # odd\nb: [1,2]\n",
			[]definition.KeyChange{set("a", "x"), set("b", []int{1, 2})},
		},
		{
			"a key is added below the last", "a: x\n\n# the end\n", "a: x\nb: true\n\n# the end\n",
			[]definition.KeyChange{set("b", true)},
		},
		{"a last line without an end", "a: x", "a: x\nb: w", []definition.KeyChange{set("b", "w")}},
		{
			"a key is removed, the comment above stays", "a: x\n# about b\nb: y # gone\nc: z\n", "a: x\n# about b\nc: z\n",
			[]definition.KeyChange{remove("b")},
		},
		{
			"a block is removed as a whole", "a:\n  - x\n\n  # why\n  - y\nb: z\n", "b: z\n",
			[]definition.KeyChange{remove("a")},
		},
		{"a key that is not there is not removed", "a: x\n", "a: x\n", []definition.KeyChange{remove("b")}},
		{
			"inside of a mapping only what differs changes", "m:\n  # one\n  a: 1\n  b: 2 # two\nz: 1\n",
			"m:\n  # one\n  a: 1\n  b: 3 # two\n  c: 4\nz: 1\n",
			[]definition.KeyChange{set("m", object{"a": 1, "b": 3, "c": 4})},
		},
		{
			"inside of a list only what differs changes", "l:\n  - x # one\n  - y # two\n  # three\n  - z\n",
			"l:\n  - x # one\n  - w # two\n  # three\n  - z\n",
			[]definition.KeyChange{set("l", []string{"x", "w", "z"})},
		},
		{
			"an item is put before the last", "l:\n- x\n- z\nm: 1\n", "l:\n- x\n- w\n- z\nm: 1\n",
			[]definition.KeyChange{set("l", []string{"x", "w", "z"})},
		},
		{"an item is put first", "l:\n  - y\n", "l:\n  - x\n  - y\n", []definition.KeyChange{set("l", []string{"x", "y"})}},
		{
			"an item is removed", "l:\n  - x\n  - y # gone\n  - z\n", "l:\n  - x\n  - z\n",
			[]definition.KeyChange{set("l", []string{"x", "z"})},
		},
		{
			"a key of an item of a list changes", "l:\n  - a: 1 # one\n    b: 2\n  - a: 3\n",
			"l:\n  - a: 1 # one\n    b: 4\n  - a: 3\n",
			[]definition.KeyChange{set("l", []object{{"a": 1, "b": 4}, {"a": 3}})},
		},
		{
			"the first key of an item goes", "l:\n  - a: 1\n    b: 2\n", "l:\n  - b: 2\n",
			[]definition.KeyChange{set("l", []object{{"b": 2}})},
		},
		{
			"a list in one line stays in one line", "l: [x, y] # why\n", "l: [x, z, \"1\"] # why\n",
			[]definition.KeyChange{set("l", []string{"x", "z", "1"})},
		},
		{"an empty list gets items", "l: []\nm: 1\n", "l: [x]\nm: 1\n", []definition.KeyChange{set("l", []string{"x"})}},
		{"a list loses all items", "l:\n  - x\nm: 1\n", "l: []\nm: 1\n", []definition.KeyChange{set("l", []string{})}},
		{"a key without a value gets one", "a:\nb: 1\n", "a: x\nb: 1\n", []definition.KeyChange{set("a", "x")}},
		{
			"a text of several lines", "a: x\nb: 1\n", "a: |-\n  one\n  two\nb: 1\n",
			[]definition.KeyChange{set("a", "one\ntwo")},
		},
		{
			"a text of several lines before a comment", "a: x # why\n", "a: \"one\\ntwo\" # why\n",
			[]definition.KeyChange{set("a", "one\ntwo")},
		},
		{
			"a block of text changes", "a: |\n  one\n\n  # no comment\n# comment\nb: 1\n",
			"a: |\n  two\n  three\n# comment\nb: 1\n",
			[]definition.KeyChange{set("a", "two\nthree\n")},
		},
		{
			"a block of text becomes a line", "a: >-\n  one\n  two\n\n# b\nb: 1\n", "a: x\n\n# b\nb: 1\n",
			[]definition.KeyChange{set("a", "x")},
		},
		{
			"a mapping takes the place of a text", "a: x\nb: 1\n", "a:\n  c: 1\nb: 1\n",
			[]definition.KeyChange{set("a", object{"c": 1})},
		},
		{
			"line ends of the document", "a: x\r\nb: y\r\n", "a: x\r\nb: y\r\nc:\r\n  - z\r\n",
			[]definition.KeyChange{set("c", []string{"z"})},
		},
		{"a byte order mark stays", "\ufeffa: x\n", "\ufeffa: w\n", []definition.KeyChange{set("a", "w")}},
		{"quoted keys", "\"a b\": x\n'c': y\n", "\"a b\": z\n'c': y\n", []definition.KeyChange{set("a b", "z")}},
		{
			"everything in one line is written anew", "{a: x, b: [1]}\n", "a: w\nb:\n  - 1\n",
			[]definition.KeyChange{set("a", "w")},
		},
		{
			"characters of several bytes", "ä: ö # ü\nb: [é, x] # ß\n", "ä: ø # ü\nb: [é, å] # ß\n",
			[]definition.KeyChange{set("ä", "ø"), set("b", []string{"é", "å"})},
		},
		{
			"numbers keep their digits", "a: 1\n", "a: 9007199254740993\n",
			[]definition.KeyChange{set("a", json.RawMessage("9007199254740993"))},
		},
		{
			"quotes and brackets inside of a list in one line", "l: [\"a]\\\"\", 'b'']', c, {d: e'f}] # why\nz: 1\n",
			"l: [x] # why\nz: 1\n",
			[]definition.KeyChange{set("l", []string{"x"})},
		},
		{
			"a list in brackets over several lines", "l: [\n  a, # one ]\n  b,\n]\nz: 1\n", "l: [a]\nz: 1\n",
			[]definition.KeyChange{set("l", []string{"a"})},
		},
		{
			"a text in quotes over several lines", "a: \"one # no comment\n  \\\" two\" # why\nb: 'it''s'\n",
			"a: x # why\nb: w\n",
			[]definition.KeyChange{set("a", "x"), set("b", "w")},
		},
		{
			"an item that is a block of text goes", "l:\n  - |\n    one\n\n  - two\nz: 1\n", "l:\n\n  - two\nz: 1\n",
			[]definition.KeyChange{set("l", []string{"two"})},
		},
		{
			"an item that is a block of text changes", "l:\n  - |\n    one\n  - two\n", "l:\n  - three\n  - two\n",
			[]definition.KeyChange{set("l", []string{"three", "two"})},
		},
		{
			"a list in a list", "l:\n  - - a\n    - b\n  - - c\n", "l:\n  - - a\n    - d\n  - - c\n",
			[]definition.KeyChange{set("l", [][]string{{"a", "d"}, {"c"}})},
		},
		{
			"an item without a value", "l:\n  -\n  - b\n", "l:\n  - a\n  - b\n",
			[]definition.KeyChange{set("l", []string{"a", "b"})},
		},
		{
			"an item without a value goes", "l:\n  - a\n  -\n  - b\n", "l:\n  - a\n  - b\n",
			[]definition.KeyChange{set("l", []string{"a", "b"})},
		},
		{
			"an item beside a comment becomes a block", "l:\n  - a # why\n", "l:\n  - b: 1 # why\n",
			[]definition.KeyChange{set("l", []object{{"b": 1}})},
		},
		{
			"a mapping becomes a list", "m:\n  a: 1\nz: 1\n", "m:\n  - a\nz: 1\n",
			[]definition.KeyChange{set("m", []string{"a"})},
		},
		{"all keys of a mapping go", "m:\n  a: 1\nz: 1\n", "m: {}\nz: 1\n", []definition.KeyChange{set("m", object{})}},
		{
			"other keys in a mapping", "m:\n  a: 1\nz: 1\n", "m:\n  b: 1\nz: 1\n",
			[]definition.KeyChange{set("m", object{"b": 1})},
		},
		{
			"a mapping in one line stays in one line", "m: {a: 1, b: [x]} # why\n", "m: {a: 1, b: [w, {c: \"d, e\"}]} # why\n",
			[]definition.KeyChange{set("m", json.RawMessage(`{"a": 1, "b": ["w", {"c": "d, e"}]}`))},
		},
		{
			"a block that keeps its blank lines", "a: |+\n  one\n\nb: 1\n", "a: x\nb: 1\n",
			[]definition.KeyChange{set("a", "x")},
		},
		{
			"a key with a question mark is written anew", "? a\n: x\nb: 1\n", "a: z\nb: 1\n",
			[]definition.KeyChange{set("a", "z")},
		},
		{
			"a long text", "a: x\n", "a: \"" + strings.Repeat("x", 300) + "\"\n",
			[]definition.KeyChange{set("a", strings.Repeat("x", 300))},
		},
		{
			"a text that ends with lines", "a: x\nb: 1\n", "a: \"one\\ntwo\\n\\n\"\nb: 1\n",
			[]definition.KeyChange{set("a", "one\ntwo\n\n")},
		},
		{
			"plain text over several lines", "a: one\n  two # c\nb: 1\n", "a: x # c\nb: 1\n",
			[]definition.KeyChange{set("a", "x")},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := definition.SetKeys([]byte(test.before), false, test.changes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(got)); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetKeysRefuses(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]string{
		"an alias": "a: &x 1\nb: *x\n", "two equal keys": "a: 1\na: 2\n", "a list": "- a\n", "no YAML": "a: [\n",
		"no text": "a: \xff\n",
	} {
		if got, err := definition.SetKeys([]byte(document), false, []definition.KeyChange{{Key: "a", Value: 1}}); err == nil {
			t.Errorf("%s: got %q, want an error", name, got)
		}
	}
	if _, err := definition.SetKeys([]byte("---\na: 1\n"), true, nil); err == nil {
		t.Error("front matter without an end: want an error")
	}
	for _, document := range []string{"", "b: 1\n"} {
		if got, err := definition.SetKeys(
			[]byte(document), false, []definition.KeyChange{{Key: "a", Value: "x\x00y"}},
		); err == nil {
			t.Errorf("a text with NUL: got %q, want an error", got)
		}
	}
	if _, err := definition.SetKeys(nil, false, []definition.KeyChange{{Key: "a", Value: func() {}}}); err == nil {
		t.Error("a value that JSON cannot write: want an error")
	}
}

func TestSetKeysOfFrontmatter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, before, after string }{
		{
			"the body stays", "---\n# why\na: x\n---\n\n# Title\n\na: x\n---\n",
			"---\n# why\na: w\n---\n\n# Title\n\na: x\n---\n",
		},
		{"empty front matter", "---\n---\nText.\n", "---\na: w\n---\nText.\n"},
		{"no front matter", "Text.\n", "---\na: w\n---\n\nText.\n"},
		{"nothing at all", "", "---\na: w\n---\n\n"},
	} {
		got, err := definition.SetKeys([]byte(test.before), true, []definition.KeyChange{{Key: "a", Value: "w"}})
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.after, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestSetBody(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, before, body, after string }{
		{"it is replaced", "---\na: x # why\n---\n\nOld.\n", "New.\n\nMore.", "---\na: x # why\n---\n\nNew.\n\nMore.\n"},
		{"the same is not touched", "---\na: x\n---\nText.\n\n\n", "Text.", "---\na: x\n---\nText.\n\n\n"},
		{"nothing is left", "---\na: x\n---\nText.\n", "", "---\na: x\n---\n"},
		{"front matter is put before it", "Old.\n", "---\nNew.", "---\n---\n\n---\nNew.\n"},
		{
			"line ends of the document", "---\r\na: x\r\n---\r\nOld.\r\n", "New.\nMore.",
			"---\r\na: x\r\n---\r\n\r\nNew.\r\nMore.\r\n",
		},
		{"front matter without an end in its line", "---\na: x\n---", "New.", "---\na: x\n---\n\nNew.\n"},
	} {
		if diff := cmp.Diff(test.after, string(definition.SetBody([]byte(test.before), test.body))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// plainOf reads a document as JSON values, with the YAML library alone.
func plainOf(t rapid.TB, text string) object {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(n.Content) == 0 {
		return object{}
	}
	value, _ := plainNode(n.Content[0]).(object)
	return value
}

func plainNode(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		value := object{}
		for i := 0; i < len(n.Content); i += 2 {
			value[n.Content[i].Value] = plainNode(n.Content[i+1])
		}
		return value
	case yaml.SequenceNode:
		value := []any{}
		for _, item := range n.Content {
			value = append(value, plainNode(item))
		}
		return value
	}
	if n.ShortTag() == "!!str" {
		return "text " + n.Value
	}
	if n.ShortTag() == "!!null" {
		return nil
	}
	return n.Value
}

// texts are strings that are difficult to write in YAML.
var texts = rapid.OneOf(
	rapid.SampledFrom([]string{
		"", " ", "x", "yes", "no", "on", "null", "~", "true", "1", "017", "1.0", "1_000", "0x1F", ".5", "1:30", "2026-01-01",
		"- a", "a: b", "a #b", "#a", "'", `"`,
		`a"b'c\`, "é ü", "a\nb", "a\nb\n", "a\n\n\nb", "\na", " a\nb", "a\tb", "\ta\nb", "a \nb", "a\n", "@x", "`x`", "%x",
		"!x", "&x", "*x", "? x", "|", ">", "[a]", "{a}", "a,b", "---", "...",
		"a\n---\nb", "a\r\nb", "\u0085", "\u2028", "\ufeffx", "\U0001f600", "\x7f", "\x01", "=", "<<", "a:", ":a",
		"${{ secrets.X }}", "Y", "1e3", "+1", "12e03", "0o7", "0b1", ".inf", ".NaN", "a\n  b\n c", "a\n \nb",
	}),
	rapid.String(),
)

func values(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Map(texts, func(s string) any { return strings.ReplaceAll(s, "\x00", "") }),
		rapid.Map(rapid.IntRange(-9, 99), func(n int) any { return n }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Just[any](nil),
	}
	if depth > 0 {
		kinds = append(kinds,
			rapid.Map(rapid.SliceOfN(values(depth-1), 0, 4), func(v []any) any { return v }),
			rapid.Map(rapid.MapOfN(keys, values(depth-1), 0, 4), func(v map[string]any) any { return v }))
	}
	return rapid.OneOf(kinds...)
}

var keys = rapid.OneOf(
	rapid.SampledFrom([]string{"a", "b", "c", "name", "on", "1", "x y", "é", "<<", "a:b", "-"}),
	rapid.StringMatching(`[a-z]{1,3}`),
)

// layout writes a mapping like a person: with comments and blank lines, and with some collections
// in one line.
func layout(t *rapid.T, value object, indent string) string {
	var b strings.Builder
	names := make([]string, 0, len(value))
	for name := range value {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range rapid.Permutation(names).Draw(t, "order") {
		b.WriteString(rapid.SampledFrom([]string{"", "", indent + "# above\n", "\n", "# far left\n\n"}).Draw(t, "above"))
		b.WriteString(indent + quoted(name) + ":" + layoutValue(t, value[name], indent))
	}
	return b.String()
}

func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

func layoutValue(t *rapid.T, value any, indent string) string {
	comment := rapid.SampledFrom([]string{"\n", "\n", " # beside\n"}).Draw(t, "comment")
	block := rapid.Bool().Draw(t, "block")
	switch value := value.(type) {
	case object:
		if block && len(value) > 0 {
			return comment + layout(t, value, indent+"  ")
		}
	case []any:
		if block && len(value) > 0 {
			var b strings.Builder
			b.WriteString(comment)
			deeper := indent + rapid.SampledFrom([]string{"", "  "}).Draw(t, "deeper")
			for _, item := range value {
				if m, ok := item.(object); ok && len(m) > 0 && rapid.Bool().Draw(t, "item") {
					text := layout(t, m, deeper+"  ")
					if strings.HasPrefix(text, deeper+"  \"") {
						b.WriteString(deeper + "- " + strings.TrimPrefix(text, deeper+"  "))
						continue
					}
				}
				out, _ := json.Marshal(item)
				b.WriteString(deeper + "- " + string(out) + "\n")
			}
			return b.String()
		}
	case string:
		if block && len(value) > 1 && !strings.ContainsFunc(value, func(r rune) bool { return r < 'a' || r > 'z' }) {
			return rapid.SampledFrom(
				[]string{
					" " + value + comment, " '" + value + "'" + comment,
					" |" + comment + indent + "  " + value + "\n" + indent + "  # no comment\n",
					" >-\n" + indent + "  " + value + "\n\n",
				},
			).Draw(t, "text")
		}
	}
	out, _ := json.Marshal(value)
	return " " + string(out) + comment
}

// TestSetKeysChangesOnlyTheGivenKeys: for any layout, the result has the old content with the changes, and
// keeps the comments above keys that stay.
func TestSetKeysChangesOnlyTheGivenKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		start, _ := rapid.Map(
			rapid.MapOfN(keys, values(3), 0, 6), func(v map[string]any) any { return v },
		).Draw(t, "start").(object)
		text := layout(t, start, "")
		if strings.Contains(text, `"<<":`) || !clean(text) {
			t.Skip("not a document that Parse reads")
		}
		want := plainOf(t, text)
		var changes []definition.KeyChange
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			key := keys.Filter(func(k string) bool { return k != "<<" }).Draw(t, "key")
			if rapid.Bool().Draw(t, "remove") {
				changes = append(changes, definition.KeyChange{Key: key, Remove: true})
				delete(want, key)
				continue
			}
			value := mutate(t, start[key])
			changes = append(changes, definition.KeyChange{Key: key, Value: value})
			want[key] = plainJSON(value)
		}
		got, err := definition.SetKeys([]byte(text), false, changes)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(want, plainOf(t, string(got))); diff != "" {
			t.Fatalf("values (-want +got):\n%s\nbefore:\n%s\nafter:\n%s", diff, text, got)
		}
		again, err := definition.SetKeys(got, false, changes)
		if err != nil || string(again) != string(got) {
			t.Fatalf("a second time (%v):\n%s\nbefore:\n%s", err, again, got)
		}
	})
}

// clean reports whether the document has nothing that is refused.
func clean(text string) bool {
	_, err := definition.SetKeys([]byte(text), false, nil)
	return err == nil
}

// mutate returns a value that is often similar to the old one.
func mutate(t *rapid.T, old any) any {
	if rapid.IntRange(0, 3).Draw(t, "fresh") == 0 {
		return values(2).Draw(t, "value")
	}
	switch old := old.(type) {
	case object:
		value := object{}
		for name, item := range old {
			if rapid.IntRange(0, 3).Draw(t, "keep") > 0 {
				value[name] = item
			}
			if rapid.IntRange(0, 2).Draw(t, "deep") == 0 {
				value[name] = mutate(t, item)
			}
		}
		if rapid.Bool().Draw(t, "add") {
			value["fresh"] = values(1).Draw(t, "value")
		}
		return value
	case []any:
		value := []any{}
		for _, item := range old {
			if rapid.IntRange(0, 3).Draw(t, "keep") > 0 {
				value = append(value, item)
			}
			if rapid.IntRange(0, 3).Draw(t, "deep") == 0 {
				value = append(value, mutate(t, item))
			}
		}
		return value
	}
	return values(2).Draw(t, "value")
}

func plainJSON(value any) any {
	switch value := value.(type) {
	case object:
		plain := object{}
		for name, item := range value {
			plain[name] = plainJSON(item)
		}
		return plain
	case []any:
		plain := []any{}
		for _, item := range value {
			plain = append(plain, plainJSON(item))
		}
		return plain
	case string:
		return "text " + strings.ToValidUTF8(value, "\ufffd")
	case nil:
		return nil
	}
	return fmt.Sprint(value)
}

// TestSetKeysDoesNotTouchOtherLines: lines of unchanged keys stay byte for byte.
func TestSetKeysDoesNotTouchOtherLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.MapOfN(rapid.StringMatching(`[a-c]`), values(2), 1, 3).Draw(t, "start")
		first, last := layout(t, start, ""), layout(t, object{"z": values(2).Draw(t, "z")}, "")
		old := values(2).Draw(t, "old")
		text := first + strings.TrimLeft(layout(t, object{"changed": old}, ""), "\n# abovefrlt") + last
		if !clean(text) {
			t.Skip("not a document that Parse reads")
		}
		got, err := definition.SetKeys([]byte(text), false, []definition.KeyChange{{Key: "changed", Value: mutate(t, old)}})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(got), first+`"changed":`) || !strings.HasSuffix(string(got), last) {
			t.Fatalf("before:\n%s\nafter:\n%s", text, got)
		}
	})
}
