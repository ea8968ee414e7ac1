package penstock_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
)

// TestPatternsOfPushes has the cases that other programs got wrong.
func TestPatternsOfPushes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		about, pattern string
		match, not     []string
	}{
		{
			"a path without wildcards is itself, and no folder", "src/monitors",
			[]string{"src/monitors"},
			[]string{"src/monitors/a.go", "src/monitors2", "x/src/monitors"},
		},
		{
			"no folder between is a match, too", "test/**/Streams*",
			[]string{"test/Streams.cs", "test/a/Streams.cs", "test/a/b/Streams"},
			[]string{"Streams.cs", "test/a/b"},
		},
		{
			"a leading ** matches at the root", "**/CODEOWNERS",
			[]string{"CODEOWNERS", "docs/CODEOWNERS", "a/b/CODEOWNERS"},
			[]string{"CODEOWNERS/x", "XCODEOWNERS"},
		},
		{
			"files at the top of a folder", ".gitea/**/*",
			[]string{".gitea/ci.yaml", ".gitea/workflow/ci.yaml", ".gitea/a/b/Makefile"},
			[]string{".giteax/ci.yaml"},
		},
		{"a name without a dot", ".gitea/**", []string{".gitea/x/Makefile", ".gitea"}, []string{"a/.gitea/x"}},
		{
			"a star stays in its segment", "docs/*",
			[]string{"docs/a.md", "docs/.hidden"},
			[]string{"docs/a/b.md", "docs"},
		},
		{
			"characters of regular expressions are plain", "^master$|a.b+(c)",
			[]string{"^master$|a.b+(c)"},
			[]string{"master", "^master$|aXb+(c)"},
		},
		{"one character", "v?.x", []string{"v1.x", "vä.x"}, []string{"v.x", "v10.x", "v/.x"}},
		{"everything", "**", []string{"a", "a/b"}, nil},
		{"several stars", "a*b*c", []string{"abc", "aXbXbYc", "abcbc"}, []string{"ab", "abcd", "a/b/c"}},
		{"several **", "**/a/**/b", []string{"a/b", "x/a/y/a/z/b"}, []string{"a", "b/a", "a/b/c"}},
	} {
		if wrong := penstock.CheckPattern(test.pattern); wrong != "" {
			t.Errorf("%s: %s %s", test.about, test.pattern, wrong)
		}
		for _, name := range test.match {
			if !penstock.MatchPattern(test.pattern, name, false) {
				t.Errorf("%s: %s does not match %s", test.about, test.pattern, name)
			}
		}
		for _, name := range test.not {
			if penstock.MatchPattern(test.pattern, name, false) {
				t.Errorf("%s: %s matches %s", test.about, test.pattern, name)
			}
		}
	}
}

func TestPatternsOfOtherProgramsAreErrors(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"":                         "is empty",
		strings.Repeat("a", 201):   "more than 200 bytes",
		"/docs/**":                 "begins with /",
		"apps/":                    "write apps/** for everything below",
		"!README.md":               "negated",
		`docs\x`:                   "backslash",
		"a//b":                     "empty segment",
		"./a":                      "segment .",
		"a/../b":                   "segment ..",
		"**.go":                    "segment of its own",
		"src/**_test.go":           "segment of its own",
		"a/***/b":                  "segment of its own",
		"[Mm]akefile":              "only *, ? and **",
		"{a,b}/**":                 "only *, ? and **",
		".gitea/**;.github/**":     "item of the list",
		"a\nb":                     "control character",
		"a\u200bb":                 "invisible",
		"a\xff":                    "not UTF-8",
		" " + ".github/**":         "space",
		".github/workflows/\u202e": "invisible",
	} {
		if got := penstock.CheckPattern(pattern); !strings.Contains(got, want) || got == "" {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
	for _, pattern := range penstock.ProtectedPaths() {
		if wrong := penstock.CheckPattern(pattern); wrong != "" {
			t.Errorf("%s %s", pattern, wrong)
		}
	}
}

// TestPatternsAreMatchedInBoundedTime does not end within years if a matcher tries each way to share names
// between the stars.
func TestPatternsAreMatchedInBoundedTime(t *testing.T) {
	t.Parallel()
	deep, long := strings.Repeat("a/", 2000)+"a", strings.Repeat("a", 4096)
	for pattern, name := range map[string]string{
		strings.Repeat("**/", 60) + "b":       deep,
		strings.Repeat("**/a/", 39) + "b":     deep,
		strings.Repeat("**/*a*/", 28) + "b":   deep,
		strings.Repeat("*a", 99) + "b":        long,
		strings.Repeat("?*", 99) + "b":        long,
		strings.Repeat("*", 1) + "/**/" + "b": strings.Repeat("a", 200) + "/" + deep,
	} {
		if wrong := penstock.CheckPattern(pattern); wrong != "" {
			t.Errorf("%s %s", pattern, wrong)
		}
		if penstock.MatchPattern(pattern, name, true) {
			t.Errorf("%s matches", pattern)
		}
	}
}

func TestAPushPolicyDecides(t *testing.T) {
	t.Parallel()
	policy := penstock.DefaultPushPolicy()
	policy.Branches = append(policy.Branches, []string{"penstock/fix-*", "other/**"})
	policy.Protected = append(policy.Protected, "infra/**")
	policy.Except = []string{"README.md", "**/AGENTS.md", "infra/dev/**"}
	policy.Always = []string{"docs/AGENTS.md"}
	for branch, want := range map[string]bool{
		"penstock/fix-1": true, "penstock/other": false, "other/x": false, "Penstock/fix-1": false,
		"penstock/fix-1/x": false, "penstock": false, "": false, "main": false,
	} {
		if policy.AllowsBranch(branch) != want {
			t.Errorf("branch %q: want %t", branch, want)
		}
	}
	for path, want := range map[string]string{
		".github/workflows/ci.yml": ".github/workflows/**", ".GitHub/Workflows/ci.yml": ".github/workflows/**",
		".github/workflows": ".github/workflows/**", ".hu\u017fky/pre-push": ".husky/**",
		"codeowners": "**/CODEOWNERS", "web/Claude.md": "**/CLAUDE.md", "AGENTS.md": "", "docs/agents.md": "docs/AGENTS.md",
		"infra/prod/main.tf": "infra/**", "INFRA/dev/main.tf": "", "src/main.go": "", ".github/dependabot.yml": "",
	} {
		if got := policy.Protects(path); got != want {
			t.Errorf("path %q: got %q, want %q", path, got, want)
		}
	}
	everything := penstock.PushPolicy{Branches: [][]string{{"**"}}}
	if !everything.AllowsBranch("main") || !everything.AllowsBranch("a/b") {
		t.Error("** does not allow each branch")
	}
	if (penstock.PushPolicy{}).AllowsBranch("penstock/x") {
		t.Error("a policy without lists allows a branch")
	}
}

// FuzzMatchPattern compares with regular expressions.
func FuzzMatchPattern(f *testing.F) {
	f.Add("**/a?*/**", "x/ab/c")
	f.Add("a/**", "a")
	f.Add("*a*/b", "aa/b")
	f.Add("?", "\xe4\x80")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if penstock.CheckPattern(pattern) != "" || len(name) > 500 {
			return
		}
		want := regexp.MustCompile(reference(pattern)).MatchString("/" + name)
		if want != penstock.MatchPattern(pattern, name, false) {
			t.Errorf("%q matches %q: want %t", pattern, name, want)
		}
	})
}

func reference(pattern string) string {
	var out strings.Builder
	for segment := range strings.SplitSeq(pattern, "/") {
		if segment == "**" {
			out.WriteString("(/[^/]*)*")
			continue
		}
		text := regexp.QuoteMeta(segment)
		text = strings.NewReplacer(`\*`, "[^/]*", `\?`, "[^/]").Replace(text)
		fmt.Fprintf(&out, "/%s", text)
	}
	return `(?s)\A` + out.String() + `\z`
}
