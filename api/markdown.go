package api

import (
	"html"
	"html/template"
	"regexp"
	"strings"
	"sync"
)

var inlineMarkdown = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("`([^`]+)`|\\*\\*([^*]+)\\*\\*|\\[([^\\]]+)\\]\\(([^)\\s]+)\\)")
})

// markdown renders the part of Markdown that the document's descriptions use: paragraphs, `code`,
// **strong** and [links](#to). Everything is escaped.
func markdown(text string) template.HTML {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.TrimSpace(paragraph) == "" {
			continue
		}
		out.WriteString("<p>")
		out.WriteString(string(inline(strings.Join(strings.Fields(paragraph), " "))))
		out.WriteString("</p>\n")
	}
	return template.HTML(out.String()) //nolint:gosec // escaped piece by piece
}

// inline renders Markdown without paragraphs.
func inline(text string) template.HTML {
	var out strings.Builder
	end := 0
	for _, m := range inlineMarkdown().FindAllStringSubmatchIndex(text, -1) {
		group := func(i int) string { return html.EscapeString(text[m[2*i]:m[2*i+1]]) }
		out.WriteString(html.EscapeString(text[end:m[0]]))
		switch end = m[1]; {
		case m[2] >= 0:
			out.WriteString("<code>" + group(1) + "</code>")
		case m[4] >= 0:
			out.WriteString("<strong>" + group(2) + "</strong>")
		case localLink(text[m[8]:m[9]]):
			out.WriteString(`<a href="` + group(4) + `">` + group(3) + "</a>")
		default:
			out.WriteString(group(3))
		}
	}
	out.WriteString(html.EscapeString(text[end:]))
	return template.HTML(out.String()) //nolint:gosec // escaped piece by piece
}

// localLink keeps links within this server, so that the pages work offline.
func localLink(to string) bool {
	return strings.HasPrefix(to, "#") || strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//")
}
