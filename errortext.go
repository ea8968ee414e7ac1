package penstock

import (
	"encoding/json"
	"html"
	"mime"
	"strings"
)

// maxErrorText limits the text of an error of another server, in bytes.
const maxErrorText = 500

var (
	htmlHidden = LazyRegexp(`(?is)<(script|style|head)\b.*?</(script|style|head)>`)
	htmlTitle  = LazyRegexp(`(?is)<title[^>]*>(.*?)</title>`)
	htmlTag    = LazyRegexp(`(?s)<[^>]*>`)
)

// ErrorText returns what the body of another server's error says, in one line of up to 500 bytes: the
// message in its JSON, the title of a page, or a plain text. It is "" if the body says nothing.
func ErrorText(contentType string, body []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD"))
	kind, _, _ := mime.ParseMediaType(contentType)
	var document any
	switch {
	case json.Unmarshal(body, &document) == nil:
		text = messageIn(document, 0)
	case kind == "text/html" || strings.HasPrefix(text, "<"):
		title := htmlTitle().FindStringSubmatch(text)
		text = htmlTag().ReplaceAllString(htmlHidden().ReplaceAllString(text, " "), " ")
		if title != nil {
			text = title[1]
		}
		text = html.UnescapeString(text)
	}
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\x00", "\uFFFD")), " ")
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return text
}

// errorFields may have the message of an error, or an object or list with it, the best one first.
// FastAPI's detail is a list of objects with msg.
var errorFields = []string{
	"error", "message", "detail", "details", "msg", "error_description", "errors", "title", "reason", "code", "type",
}

// messageIn finds the message in a document. depth ends a hostile one.
func messageIn(document any, depth int) string {
	const deepest = 8
	if depth > deepest {
		return ""
	}
	switch v := document.(type) {
	case string:
		return strings.TrimSpace(v)
	case []any:
		var texts []string
		for _, one := range v {
			if text := messageIn(one, depth+1); text != "" && len(texts) < deepest {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "; ")
	case map[string]any:
		for _, name := range errorFields {
			if text := messageIn(v[name], depth+1); text != "" {
				return withPlace(v, text)
			}
		}
	}
	return ""
}

// withPlace adds the field that an error of FastAPI's validation is about.
func withPlace(object map[string]any, text string) string {
	place, _ := object["loc"].([]any)
	if len(place) == 0 {
		return text
	}
	if field, ok := place[len(place)-1].(string); ok {
		return field + ": " + text
	}
	return text
}
