package forge

import (
	"regexp"
	"strings"
	"testing"
)

// marked writes a divider as ¦.
func marked(text string) string { return strings.ReplaceAll(text, divider, "¦") }

// The names of the cases begin with the report that they come from, if there is one.
func TestTextsOfAgentsHaveNoEffect(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"a mention":               {"Thanks @alice, and @org/team.", "Thanks @¦alice, and @¦org/team."},
		"an address":              {"alice@example.com", "alice@example.com"},
		"versions":                {"actions/checkout@v4 go@1.26", "actions/checkout@v4 go@1.26"},
		"behind an address":       {"a@b.io@alice www.b.io@alice", "a@b.io@¦alice www.b.io@¦alice"},
		"behind a reference":      {"#1@alice o/r!2@alice GH-1@alice", "#1@¦alice o/r!2@¦alice GH-1@¦alice"},
		"behind a commit":         {"deadbeef@alice", "deadbeef@¦alice"},
		"behind a host":           {"https://b.io@alice", "https://b.io%40alice"},
		"at the start":            {"@alice", "@¦alice"},
		"in emphasis":             {"**@alice** _@bob_", "**@¦alice** _@¦bob_"},
		"after another letter":    {"é@alice", "é@¦alice"},
		"with a space":            {"meet @ noon @", "meet @ noon @"},
		"kept":                    {"@keep-me and @keep-me.too", "@keep-me and @¦keep-me.too"},
		"in code":                 {"Use `@Override` and ``a ` @b``.", "Use `@Override` and ``a ` @b``."},
		"an annotation":           {"`@org.junit.Test` @a", "`@org.junit.Test` @¦a"},
		"in a block":              {"```java\n@Override // fixes #1\n```\n@a", "```java\n@Override // fixes #1\n```\n@¦a"},
		"in a block of a list":    {"1. x\n\n   ```\n   @a\n   ```\n", "1. x\n\n   ```\n   @a\n   ```\n"},
		"an open block":           {"```\n@a", "```\n@a\n```"},
		"zwave-js-ui#4743: &#64;": {"&#64;a &#x40;b &commat;c &#0064d", "@¦a @¦b @¦c @¦d"},
		"a letter as an entity":   {"@&#97;lice fix&#101;s #1", "@¦alice fixes¦ #1"},
		"entities of entities":    {"&#6&#52;;alice &amp;#64;bob", "@¦alice &amp;#64;bob"},
		"other entities stay":     {"a &lt; b &amp;&nbsp;c &#8230;", "a &lt; b &amp;&nbsp;c &#8230;"},
		"a backslash":             {`\@alice`, "\\@¦alice"},
		"renovate#8823: in a URL": {
			"https://npmjs.com/package/@scope/x [x](../@types/y)", "https://npmjs.com/package/%40scope/x [x](../%40types/y)",
		},
		"a user of a URL":              {"https://me@example.com/x", "https://me@example.com/x"},
		"dependabot-core#1421: behind": {"```x```\\nThanks to @alice", "```x```\\nThanks to @¦alice"},
		"dependabot-core#1427: longer": {"````\n```\n@a\n````\n@b", "````\n```\n@a\n````\n@¦b"},
		"dependabot-core#1474: lines":  {"`a\n\n@alice `b", "`a\n\n@¦alice `b"},
		"agentic-dev-team#980: not":    {"This does not close #967", "This does not close¦ #967"},
		"a part of a word":             {"auto-close #7, prefixes #7", "auto-close¦ #7, prefixes #7"},
		"keywords": {
			"Fixes #1, CLOSED: o/r#2; resolve https://x.io/o/r/issues/3 fix GH-4\nReopens !5",
			"Fixes¦ #1, CLOSED¦: o/r#2; resolve¦ https://x.io/o/r/issues/3 fix¦ GH-4\nReopens¦ !5",
		},
		"keywords in markup": {
			"**Fixes:** [#1](/x), closes <b>#2</b> fixes&nbsp;#3",
			"**Fixes¦:** [#1](/x), closes¦ <b>#2</b> fixes¦&nbsp;#3",
		},
		"references stay":       {"See #12, o/r#3, GH-4. It fixes x (#5).", "See #12, o/r#3, GH-4. It fixes x (#5)."},
		"gh-aw#36700: in code":  {"`Closes #123`", "`Closes #123`"},
		"a comment":             {"a<!-- @b -->c <!-->d<!--->e", "ac de"},
		"a comment in code":     {"`<!-- x -->` <!-- y -->z", "`<!-- x -->` z"},
		"a comment of lines":    {"a\n<!--\n```\n-->\n@b", "a\n\n@¦b"},
		"a comment that joins":  {"<!<!-- -->-- x -->y", "&lt;!-- x -->y"},
		"a comment without end": {"a <!-- b", "a &lt;!-- b"},
		"invisible":             {"a\u202eb\u200bc\ufeffd\U000e0041e\u00adf\x1b[0m&#x202e;&shy;", "abcdef[0m"},
		"invisible in code":     {"`a\u202eb`", "`ab`"},
		"pictures and scripts":  {"👩‍💻 ❤️ می\u200cخواهم 1️⃣", "👩‍💻 ❤️ می\u200cخواهم 1️⃣"},
		"hidden in a selector":  {"😀\ufe0f\ufe0f\U000e0101x", "😀\ufe0fx"},
		"lines":                 {"a\r\nb\rc\u2028d", "a\nb\nc\nd"},
		"not a text":            {"a\xffb", "a\ufffdb"},
		"a command": {
			"/merge\n  /approve now\n> /lgtm\n/usr/bin/x a/b", "/¦merge\n  /¦approve now\n> /¦lgtm\n/usr/bin/x a/b",
		},
		"a tab that Gitea panics with": {"> \t`x` a\tb\n-\n  \t~\n1. > \t`", ">   `x` a\tb\n-\n    ~\n1. >    `"},
		"a command of a bot":           {"@dependabot merge", "@¦dependabot merge"},
		"trailers": {
			"Change-Id: I0123\nCo-authored-by: A <a@example.com>\nSigned-off-by: B <1+b@users.noreply.github.com>",
			"Change-Id: I0123\nCo-authored-by: A <a@example.com>\nSigned-off-by: B <1+b@users.noreply.github.com>",
		},
	} {
		keep := func(login string) bool { return login == "keep-me" }
		got := neutral(tt.text, keep)
		if marked(got) != tt.want {
			t.Errorf("%s: got %q, want %q", name, marked(got), tt.want)
		}
		if again := neutral(got, keep); again != got {
			t.Errorf("%s: the second time, it is %q", name, again)
		}
	}
}

// Each of these looks like code at first sight, and some forge shows it as text.
func TestCodeThatIsNoneHidesNoMention(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"escaped":                "\\`@a`",
		"of other lengths":       "`` @a `",
		"a span before":          "`\nx` @a `",
		"items of a list":        "- `\n- @a `",
		"cells":                  "| ` | @a ` |\n|---|---|",
		"an attribute":           "<a title=\"`\">@a `",
		"an attribute of lines":  "<a title=\"\n`\">@a `",
		"a target":               "[x](`) @a `",
		"a label":                "[x][`] @a `\n\n[`]: /x",
		"a URL":                  "https://x.io/` @a `",
		"an address":             "x```m@x.io) @a ```",
		"an annotation":          "`@x.b` ` @a `",
		"a formula":              "$`$ @a `",
		"HTML":                   "<div>\n`@a`\n</div>",
		"HTML with a block":      "<div>\n```\n@a\n```\n</div>",
		"HTML of a quote":        "> <div>\n> `@a`",
		"an instruction":         "<?x\n\n```\n@a\n```\n?>",
		"a block of a list":      "- x\n\n  ```\n@a\n",
		"a block that has ended": "- a\n\n    ```\n    x\n\n  ```\n\n  @a\n",
		"in one of two ways":     " ```\nx\n```\n@a\n",
		"deeper":                 "- x\n\n  ```\n  y\n     ```\n  @a\n  ```",
		"a quote":                "> ```\n@a\n> ```",
		"an item":                "- ```\n\n  ```\n\n@a\n\n```\n",
		"not a block":            "```a`b\n@a\n```",
		"a comment":              "<!-- ` --> @a `",
		"a comment with a block": "<!--\n```\n-->\n@a",
		"longer than its end":    "````\n```\n````\n@a\n```",
	} {
		if got := neutral(text, nil); strings.Contains(got, "@a") {
			t.Errorf("%s: %q", name, got)
		}
		if got := neutralEverywhere("`"+text, nil); strings.Contains(got, "@a") {
			t.Errorf("%s, everywhere: %q", name, got)
		}
	}
}

func TestTitlesHaveOneLine(t *testing.T) {
	t.Parallel()
	if got, want := marked(neutralTitle(" Fix `@a`\n\tand\r\nclose #1 ", nil)), "Fix `@¦a` and close¦ #1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

var (
	// As in Gitea's modules/references, and as in GitHub's html-pipeline.
	giteaMention = regexp.MustCompile(`(?:\s|^|\(|\[)` +
		`(@[-\w][-.\w]*?|@[-\w][-.\w]*?/[-\w][-.\w]*?)(?:\s|$|[:,;.?!](\s|$)|'|\)|\])`)
	gitHubMention = regexp.MustCompile(`(?:^|[^A-Za-z0-9_])@[A-Za-z0-9][A-Za-z0-9-]*`)
	closing       = regexp.MustCompile(`(?i)(?:^|[^A-Za-z0-9_])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|reopen(?:s|ed)?)` +
		`:?\s+(?:[#!][0-9]|GH-[0-9]|[\w.-]+/[\w.-]+[#!][0-9]|https?://)`)
)

func FuzzNeutralTexts(f *testing.F) {
	for _, seed := range []string{
		"Thanks @alice `@b`", "```\n@a\n```\n@b", "<!-- x -->y", "fixes #1", "- `\n- @a `", "&#6&#52;;a", "/merge",
		"\u202e@a", "<!<!-- -->-- `x -->` @a", "[x](`) @a `", "1. a\n\n   ```\n   @a\n   ```\n", "@keep",
		"<div>\n```\n", "~~~\n<!--\n~~~\n-->",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			t.Skip()
		}
		keep := func(login string) bool { return login == "keep" }
		got := neutral(text, keep)
		if again := neutral(got, keep); again != got {
			t.Errorf("the second time, %q is %q", got, again)
		}
		if len(got) > 5*len(text)+100 {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
		rest := mask(got, codeOf(got))
		everywhere := neutralEverywhere(text, nil)
		if again := neutralEverywhere(everywhere, nil); again != everywhere {
			t.Errorf("everywhere, the second time, %q is %q", everywhere, again)
		}
		for _, text := range []string{strings.ReplaceAll(rest, "@keep", "keep"), everywhere} {
			for _, pattern := range []*regexp.Regexp{giteaMention, gitHubMention, closing} {
				if found := pattern.FindString(text); found != "" {
					t.Errorf("%q has %q", text, found)
				}
			}
			if strings.Contains(text, "<!--") || visible(got) != got || visible(everywhere) != everywhere {
				t.Errorf("%q has what nobody sees", text)
			}
		}
	})
}
