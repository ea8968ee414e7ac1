package skills_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/skills"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file string
		want skills.File
	}{
		"plain text": {
			"---\nname: triage\ndescription: Sorts new issues.\n---\n\n# Triage\n\nLook at each.\n",
			skills.File{Name: "triage", Description: "Sorts new issues.", Body: "# Triage\n\nLook at each."},
		},
		"Windows line ends, a byte order mark and spaces behind the fences": {
			"\ufeff--- \r\nname: triage\r\ndescription: Sorts.\r\n---\t\r\nLook.\r\nAgain.",
			skills.File{Name: "triage", Description: "Sorts.", Body: "Look.\nAgain."},
		},
		"double quotes with escapes": {
			"---\nname: \"a\"\ndescription: \"Says \\\"go\\\": \\u00e9 \\\\ \\x41\\tb # no comment\" # a comment\n---\nx",
			skills.File{Name: "a", Description: "Says \"go\": é \\ A\tb # no comment", Body: "x"},
		},
		"single quotes over several lines": {
			"---\nname: 'a'\ndescription: 'It''s one:\n  and two'\n---\nx",
			skills.File{Name: "a", Description: "It's one: and two", Body: "x"},
		},
		"plain text over several lines, with a comment": {
			"---\ndescription: Use when\n  the build fails # or not\n\n  or hangs\nname: a\n---\nx",
			skills.File{Name: "a", Description: "Use when the build fails\nor hangs", Body: "x"},
		},
		"plain text that begins in the next line": {
			"---\nname: a\ndescription:\n  Sorts new\n  issues.\n---\nx",
			skills.File{Name: "a", Description: "Sorts new issues.", Body: "x"},
		},
		"a colon in plain text, which many write": {
			"---\nname: a\ndescription: Use when: the build fails\n---\nx",
			skills.File{Name: "a", Description: "Use when: the build fails", Body: "x"},
		},
		"folded text": {
			"---\nname: a\ndescription: >-\n  Sorts new\n  issues.\n\n  # 2nd\n    - kept\n  end\n---\nx",
			skills.File{Name: "a", Description: "Sorts new issues.\n# 2nd\n  - kept\nend", Body: "x"},
		},
		"literal text": {
			"---\nname: a\ndescription: | # as it is\n  One.\n    Two.\n\n  Three.\n---\nx",
			skills.File{Name: "a", Description: "One.\n  Two.\n\nThree.", Body: "x"},
		},
		"other keys, whatever they hold": {
			"---\n# a comment\nname: a\nlicense: MIT\nmetadata:\n  name: other\n  list:\n    - x: [1, {\nallowed-tools:\n- " +
				"Bash\n- Read\ndescription: D\n---\nx",
			skills.File{Name: "a", Description: "D", Body: "x"},
		},
		"a rule in the text": {
			"---\nname: a\ndescription: D\n---\none\n---\ntwo",
			skills.File{Name: "a", Description: "D", Body: "one\n---\ntwo"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := skills.Parse([]byte(test.file))
			if err != nil {
				t.Fatal(err)
			}
			got.Notes = nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, want string }{
		"an empty file":                 {"", "neither a description nor a text"},
		"nothing but front matter":      {"---\nname: a\n---\n \n", "neither a description nor a text"},
		"front matter without end":      {"---\nname: a\n", "does not end"},
		"a key twice":                   {"---\nname: a\ndescription: D\nname: b\n---\nx", "key name twice"},
		"a key twice, in other letters": {"---\nname: a\n\"Name\": b\n---\nx", "key name twice"},
		"bytes that are no text":        {"---\nname: \xff\n---\nx", "UTF-8"},
		"a NUL":                         {"---\nname: a\n---\nD\x00", "UTF-8"},
		"a huge file": {
			"---\nname: a\n---\n" + strings.Repeat("x",
				skills.MaxFileBytes), "at most",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := skills.Parse([]byte(test.file))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// What people write is read, and a note says what is odd about it.
func TestParseTakesWhatIsClear(t *testing.T) {
	t.Parallel()
	const head = "---\nname: a\ndescription: "
	long := strings.Repeat("é", 1024)
	for name, test := range map[string]struct{ file, name, description, body, note string }{
		"a long description": {
			head + long + "é\n---\nx",
			"a", strings.TrimSuffix(long, "é") + "…", "x", "1025 characters",
		},
		"a title as the name": {
			"---\nname: Active Directory Attacks\ndescription: D\n---\nx",
			"active-directory-attacks", "D", "x", "cannot be a reference",
		},
		"a path as the name": {
			"---\nname: ../../etc\ndescription: D\n---\nx",
			"etc", "D", "x", "cannot be a reference",
		},
		"a long name": {
			"---\nname: " + strings.Repeat("a",
				65) + "\ndescription: D\n---\nx", strings.Repeat("a", 64), "D", "x", "cannot be a reference",
		},
		"a name of other letters": {"---\nname: 数据分析\ndescription: D\n---\nx", "", "D", "x", "no letters"},
		"a comment before it": {
			"<!-- Copyright\n  us -->\n\n# generated\n---\nname: a\ndescription: D\n---\nx",
			"a", "D", "x", "begins in line 5",
		},
		"a fence around it": {
			"```markdown\n---\nname: a\ndescription: D\n---\nx",
			"a", "D", "x", "begins in line 2",
		},
		"a block of code around the file": {
			"<!-- generated -->\n\n````skill\n---\nname: a\ndescription: D\n---\n# Run\n\n```sh\nmake\n```\n````\n",
			"a", "D", "# Run\n\n```sh\nmake\n```", "begins in line 4",
		},
		"a block of code around the front matter": {
			"```yaml\n---\nname: a\ndescription: D\n---\n```\n\n# Run\n\n```sh\nmake\n```\n",
			"a", "D", "# Run\n\n```sh\nmake\n```", "begins in line 2",
		},
		"a heading before it": {
			"# SKILL.md\n\n---\nname: a\ndescription: D\ntools:\n  - name: find\n    description: E\n---\nx",
			"a", "D", "x", "begins in line 3",
		},
		"the end of a document of YAML": {"---\nname: a\ndescription: D\n...\n\nx", "a", "D", "x", ""},
		"an empty value": {
			"---\nname: ~\ndescription: null\n---\n# Title\n\nSorts.",
			"", "Sorts.", "# Title\n\nSorts.", "no description",
		},
		"a name with a colon": {
			"---\nname: docs:plan\ndescription: D\nallowed-tools:\n  - Read\n  - \"Fetch(domain:*.test)\"\n---\nx",
			"docs-plan", "D", "x", "cannot be a reference",
		},
		"no front matter": {
			"# Triage\n\nLook at each\nissue.\n\nThen sort.",
			"", "Look at each issue.", "# Triage\n\nLook at each\nissue.\n\nThen sort.", "no front matter",
		},
		"a rule is no front matter": {
			"# Triage\n\n---\n\nSort.\n\n---\nEnd.",
			"", "Sort.", "# Triage\n\n---\n\nSort.\n\n---\nEnd.", "no front matter",
		},
		"no description": {
			"---\nname: a\n---\n# Title\n\nSorts.",
			"a", "Sorts.", "# Title\n\nSorts.", "no description",
		},
		"no text":       {head + "D\n---\n", "a", "D", "D", "no text"},
		"quoted keys":   {"---\n\"name\": \"a\"\n'description': 'D'\n---\nx", "a", "D", "x", ""},
		"old line ends": {"---\rname: a\rdescription: D\r---\rx\ry", "a", "D", "x\ny", ""},
		"keys in capitals": {
			"---\nName: a\nDescription: D\n---\nx",
			"a", "D", "x", "line 2 should begin with name:",
		},
		"no space behind a key": {
			"---\nname:a\ndescription:D\n---\nx",
			"a", "D", "x", "line 3 should begin",
		},
		"an indented block": {"---\n  name: a\n  description: D\n---\nx", "a", "D", "x", "is indented"},
		"a line that is no key": {
			"---\nname: a\nwords\ndescription: D\n---\nx",
			"a", "D", "x", "line 3 is not key: value",
		},
		"a colon": {
			head + "Use when: it fails\n---\nx",
			"a", "Use when: it fails", "x", "needs quotes",
		},
		"a list": {
			head + "\n  - one\n  - two\n---\nx",
			"a", "- one - two", "x", "a list or map",
		},
		"brackets": {head + "[WIP] Sorts\n---\nx", "a", "[WIP] Sorts", "x", "begins with ["},
		"a star": {
			head + "*Sorts* issues\n---\nx",
			"a", "*Sorts* issues", "x", "begins with *",
		},
		"a quote that stays open": {head + "\"Sorts\n---\nx", "a", "Sorts", "x", "closing quote"},
		"words behind a quote": {
			head + "\"Sort\" is what it does\n---\nx",
			"a", "Sort\" is what it does", "x", "follows the closing quote",
		},
		"an unknown escape": {head + "\"C:\\dir\"\n---\nx", "a", "C:\\dir", "x", "escape sequence"},
		"an uneven block": {
			head + "|\n    one\n  two\n---\nx",
			"a", "one\ntwo", "x", "same indentation",
		},
		"a block with a number": {head + "|2-\n  one\n---\nx", "a", "one", "x", ""},
		"text behind a block": {
			head + "> Sorts\n  issues\n---\nx",
			"a", "Sorts issues", "x", "text follows >",
		},
		"a tab before a text":   {head + "Sorts\n\tissues\n---\nx", "a", "Sorts issues", "x", ""},
		"a key twice, the same": {head + "D\nname: a\n---\nx", "a", "D", "x", ""},
		"terminal codes":        {head + "\"a\\x1b[2Jb\"\n---\nx", "a", "a[2Jb", "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := skills.Parse([]byte(test.file))
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(got.Notes, "\n")
			if test.note == "" && notes != "" || !strings.Contains(notes, test.note) {
				t.Errorf("notes %q, want %q", notes, test.note)
			}
			got.Notes = nil
			want := skills.File{Name: test.name, Description: test.description, Body: test.body}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			again, err := skills.Parse([]byte(skills.Document("a", got.Description, got.Body)))
			want.Name = "a"
			if diff := cmp.Diff(want, again); diff != "" || err != nil {
				t.Errorf("as a document, %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\nname: a\ndescription: >-\n  D\n---\nx")
	f.Add("---\nname: \"a\"\ndescription: 'D\n  E'\nmetadata:\n  x: y\n---\nx\n---\n")
	f.Add("---\r\nname: a\r\ndescription: |\r\n  D\r\n\r\n   E\r\n---\r\nx")
	f.Fuzz(func(t *testing.T, file string) {
		got, err := skills.Parse([]byte(file))
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
		unix := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(file)
		if again, err := skills.Parse([]byte(unix)); err != nil || !cmp.Equal(again, got) {
			t.Errorf("line ends matter: %+v, then %+v, %v", got, again, err)
		}
	})
}
