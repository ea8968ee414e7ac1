package trigger_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/control/trigger"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nobody":           {"nothing to see", nil},
		"at the beginning": {"@ada look", []string{"ada"}},
		"at the end":       {"look, @ada-b_acme", []string{"ada-b_acme"}},
		"several": {
			"@ada,@bob (@cy) **@dee** thanks.@eve's", []string{"ada", "bob", "cy", "dee", "eve"},
		},
		"a team":                            {"cc @acme/reviewers.", []string{"acme/reviewers"}},
		"in an address":                     {"mail ada@example.com or ä@b", nil},
		"of a domain":                       {"at @example.com or @a@b", nil},
		"in a path":                         {"node_modules/@octokit/webhooks", nil},
		"after a backslash":                 {`\@ada`, nil},
		"twice":                             {"@@ada", nil},
		"no name":                           {"@ @- @. @", nil},
		"at the end of a sentence":          {"ask @ada. Or @bob...", []string{"ada", "bob"}},
		"in code":                           {"`@ada` ``a ` @bob`` @cy", []string{"cy"}},
		"in code that has no end":           {"`@ada", []string{"ada"}},
		"in code of another paragraph":      {"a ` b\n\n@ada ` c", []string{"ada"}},
		"in a block":                        {"a\n```go\n@ada\n```\n@bob", []string{"bob"}},
		"in a block of tildes":              {"~~~\n@ada\n```\n@bob\n~~~~\n@cy", []string{"cy"}},
		"in a block without an end":         {"```\n@ada\n~~~\n@bob", nil},
		"in a block that is quoted":         {"> ```\n> @ada\n> ```\n> @bob", []string{"bob"}},
		"in a block of a list":              {"1. ```\n   @ada\n   ```\n2. @bob", []string{"bob"}},
		"in an indented block":              {"See:\n\n    @ada\n    @bob\n\n\t@cy\n@dee", []string{"dee"}},
		"indented, but no block":            {"See\n    @ada", []string{"ada"}},
		"indented below an item":            {"- one\n\n    @ada\n", []string{"ada"}},
		"a fence of code in a line":         {"```@ada``` @bob", []string{"bob"}},
		"in a comment":                      {"<!-- @ada\n@bob --> @cy", []string{"cy"}},
		"in a comment without an end":       {"<!-- @ada", nil},
		"after a comment in code":           {"`<!--` @ada", []string{"ada"}},
		"with Windows's ends of lines":      {"a `\r\n\r\n@ada ` \r\n```\r\n@bob\r\n```\r\n@cy", []string{"ada", "cy"}},
		"beside letters that are not ASCII": {"é@ada 部@bob — @cy", []string{"cy"}},
	} {
		if diff := cmp.Diff(test.want, trigger.Mentions(test.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	want := []string{"ada.b", "zoë"}
	if diff := cmp.Diff(want, trigger.LinearMentions("@ada.b and @zoë. not a@b.c")); diff != "" {
		t.Errorf("names of Linear (-want +got):\n%s", diff)
	}
}

func TestOnlyWholeWordsMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, words string
		want        bool
	}{
		{"please deploy it", "deploy", true},
		{"redeploy, deployment, deploy_now", "deploy", false},
		{"redeploy: deploy", "deploy", true},
		{"deploy", "deploy", true},
		{"deploys", "deploy", false},
		{"the login  button", "login button", false},
		{"the login button!", "login button", true},
		{"run /deploy now", "/deploy", true},
		{"run/deployed", "/deploy", false},
		{"use c++.", "c++", true},
		{"请部署吧", "部署", true},
		{"", "a", false},
		{"ab ab a", "a", true},
		{"äa aä", "a", false},
	} {
		if got := trigger.HasWords(test.text, test.words); got != test.want {
			t.Errorf("%q in %q: got %t", test.words, test.text, got)
		}
	}
}

// Inputs that could take quadratic time are fast.
func TestLongTextsTakeLinearTime(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	for _, unit := range map[string]string{
		"backticks": "`", "runs of backticks": "` `` ``` ", "mentions": "@a", "ats": "@", "comments": "<!-- ",
		"ends of comments": "<!-- --> ", "fences": "```\n",
		"items": "- ", "quotes": "> ", "empty lines": "\n", "slashes": "@a/", "dots": "@a.", "digits": "1",
	} {
		text := strings.Repeat(unit, size/len(unit))
		trigger.Mentions(text)
		trigger.LinearMentions(text)
		trigger.HasWords(text, strings.Repeat(unit, 256/len(unit)))
	}
	trigger.HasWords(strings.Repeat("a", size), strings.Repeat("a", 256))
	trigger.HasWords(strings.Repeat("a ", size), strings.Repeat("a ", 100)+"b")
}
