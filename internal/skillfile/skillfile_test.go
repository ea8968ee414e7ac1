package skillfile_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/skillfile"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file string
		want skillfile.File
	}{
		"plain text": {
			"---\nname: triage\ndescription: Sorts new issues.\n---\n\n# Triage\n\nLook at each.\n",
			skillfile.File{Name: "triage", Description: "Sorts new issues.", Body: "# Triage\n\nLook at each."},
		},
		"Windows line ends, a byte order mark and spaces behind the fences": {
			"\ufeff--- \r\nname: triage\r\ndescription: Sorts.\r\n---\t\r\nLook.\r\nAgain.",
			skillfile.File{Name: "triage", Description: "Sorts.", Body: "Look.\nAgain."},
		},
		"double quotes with escapes": {
			"---\nname: \"a\"\ndescription: \"Says \\\"go\\\": \\u00e9 \\\\ \\x41\\tb # no comment\" # a comment\n---\nx",
			skillfile.File{Name: "a", Description: "Says \"go\": é \\ A\tb # no comment", Body: "x"},
		},
		"single quotes over several lines": {
			"---\nname: 'a'\ndescription: 'It''s one:\n  and two'\n---\nx",
			skillfile.File{Name: "a", Description: "It's one: and two", Body: "x"},
		},
		"plain text over several lines, with a comment": {
			"---\ndescription: Use when\n  the build fails # or not\n\n  or hangs\nname: a\n---\nx",
			skillfile.File{Name: "a", Description: "Use when the build fails\nor hangs", Body: "x"},
		},
		"plain text that begins in the next line": {
			"---\nname: a\ndescription:\n  Sorts new\n  issues.\n---\nx",
			skillfile.File{Name: "a", Description: "Sorts new issues.", Body: "x"},
		},
		"a colon in plain text, which many write": {
			"---\nname: a\ndescription: Use when: the build fails\n---\nx",
			skillfile.File{Name: "a", Description: "Use when: the build fails", Body: "x"},
		},
		"folded text": {
			"---\nname: a\ndescription: >-\n  Sorts new\n  issues.\n\n  # 2nd\n    - kept\n  end\n---\nx",
			skillfile.File{Name: "a", Description: "Sorts new issues.\n# 2nd\n  - kept\nend", Body: "x"},
		},
		"literal text": {
			"---\nname: a\ndescription: | # as it is\n  One.\n    Two.\n\n  Three.\n---\nx",
			skillfile.File{Name: "a", Description: "One.\n  Two.\n\nThree.", Body: "x"},
		},
		"other keys, whatever they hold": {
			"---\n# a comment\nname: a\nlicense: MIT\nmetadata:\n  name: other\n  list:\n    - x: [1, {\nallowed-tools:\n- " +
				"Bash\n- Read\ndescription: D\n---\nx",
			skillfile.File{Name: "a", Description: "D", Body: "x"},
		},
		"a rule in the text": {
			"---\nname: a\ndescription: D\n---\none\n---\ntwo",
			skillfile.File{Name: "a", Description: "D", Body: "one\n---\ntwo"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := skillfile.Parse([]byte(test.file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const head = "---\nname: a\ndescription: "
	for name, test := range map[string]struct{ file, want string }{
		"an empty file":               {"", "does not begin with front matter"},
		"a file without front matter": {"# Triage", "does not begin with front matter"},
		"front matter without end":    {"---\nname: a\n", "does not end"},
		"a name with a space":         {"---\nname: a b\ndescription: D\n---\nx", `"a b"`},
		"a name that is a path":       {"---\nname: ../a\ndescription: D\n---\nx", `"../a"`},
		"a long name": {
			"---\nname: " + strings.Repeat("a", 65) + "\ndescription: D\n---\nx", "at most 64",
		},
		"no description":                         {"---\nname: a\n---\nx", "no description"},
		"a long description":                     {head + strings.Repeat("é", 1025) + "\n---\nx", "longer than 1024"},
		"no text":                                {head + "D\n---\n \n", "text after the front matter is missing"},
		"a key twice":                            {head + "D\nname: b\n---\nx", "key name twice"},
		"a line that is no key":                  {"---\nname: a\nwords\n---\nx", "line 3"},
		"a key without a space behind it":        {"---\nname:a\n---\nx", "line 2"},
		"a line indented below nothing":          {"---\n  name: a\n---\nx", "line 2"},
		"a list":                                 {head + "\n  - one\n---\nx", "must be text"},
		"a list on the line":                     {head + "[one]\n---\nx", "must be text"},
		"a map":                                  {head + "\n  en: D\n---\nx", "must be text"},
		"an anchor":                              {head + "&a D\n---\nx", "must be text"},
		"a quote that does not close":            {head + "\"D\n---\nx", "closing quote is missing"},
		"more behind a quote":                    {head + "\"D\" or so\n---\nx", "follows the closing quote"},
		"an unknown escape":                      {head + "\"\\d\"\n---\nx", "escape sequence"},
		"an escape that breaks off":              {head + "\"D\\\n---\nx", "escape sequence"},
		"an escaped NUL":                         {head + "\"\\x00\"\n---\nx", "escape sequence"},
		"half a surrogate pair":                  {head + "\"\\ud800\"\n---\nx", "escape sequence"},
		"a block with an indentation of its own": {head + "|2\n  D\n---\nx", "not supported"},
		"a block with uneven lines":              {head + "|\n    D\n  E\n---\nx", "same indentation"},
		"bytes that are no text":                 {"---\nname: \xff\n---\nx", "UTF-8"},
		"a NUL":                                  {head + "D\x00\n---\nx", "UTF-8"},
		"a huge file":                            {head + "D\n---\n" + strings.Repeat("x", skillfile.Max), "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := skillfile.Parse([]byte(test.file))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\nname: a\ndescription: >-\n  D\n---\nx")
	f.Add("---\nname: \"a\"\ndescription: 'D\n  E'\nmetadata:\n  x: y\n---\nx\n---\n")
	f.Add("---\r\nname: a\r\ndescription: |\r\n  D\r\n\r\n   E\r\n---\r\nx")
	f.Fuzz(func(t *testing.T, file string) {
		got, err := skillfile.Parse([]byte(file))
		if err != nil {
			return
		}
		for i, text := range []string{got.Name, got.Description, got.Body} {
			if text == "" && i > 0 || !utf8.ValidString(text) || strings.ContainsRune(text, 0) ||
				strings.TrimSpace(text) != text {
				t.Errorf("%q has a field that is empty or no clean text: %+v", file, got)
			}
		}
		if spec, err := penstock.ParseSkillSpec("owner/repo:" + got.Name); got.Name != "" && (err != nil ||
			spec.Name != got.Name) {
			t.Errorf("a run cannot name the skill %q: %v", got.Name, err)
		}
		unix := strings.ReplaceAll(file, "\r\n", "\n")
		if strings.ContainsRune(unix, '\r') { // alone, it does not end a line
			return
		}
		if again, err := skillfile.Parse([]byte(unix)); err != nil || again != got {
			t.Errorf("line ends matter: %+v, then %+v, %v", got, again, err)
		}
	})
}
