package penstock_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

func TestErrorText(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ kind, body, want string }{
		"OpenAI":          {"application/json", `{"error":{"message":"no such\nmodel","code":"x"}}`, "no such model"},
		"a text as error": {"application/json", `{"error":"model not loaded"}`, "model not loaded"},
		"only a message":  {"application/json", `{"object":"error","message":"too long","code":400}`, "too long"},
		"an empty error":  {"application/json", `{"error":{},"message":"rest"}`, "rest"},
		"Gemini's list":   {"application/json", `[{"error":{"code":400,"message":"bad","status":"INVALID"}}]`, "bad"},
		"FastAPI's text":  {"application/json", `{"detail":"max_tokens too big"}`, "max_tokens too big"},
		"FastAPI's validation": {
			"application/json", `{"detail":[{"loc":["body","max_tokens"],"msg":"too big"},{"loc":[],"msg":"no"}]}`,
			"max_tokens: too big; no",
		},
		"an object in detail": {"application/json", `{"detail":{"error":{"message":"deep"}}}`, "deep"},
		"OAuth":               {"application/json", `{"error_description":"expired"}`, "expired"},
		"problem details":     {"application/problem+json", `{"title":"Too long","status":400}`, "Too long"},
		"a list of errors":    {"application/json", `{"errors":[{"message":"a"},{"message":"b"}]}`, "a; b"},
		"a JSON string":       {"application/json", `"nothing here"`, "nothing here"},
		"JSON as text":        {"text/plain", `{"error":{"message":"typed wrongly"}}`, "typed wrongly"},
		"only a code":         {"application/json", `{"error":{"code":"insufficient_quota"}}`, "insufficient_quota"},
		"plain text":          {"text/plain", "404 page\n not found\n", "404 page not found"},
		"a page": {
			"text/html; charset=utf-8",
			"<html><head><title>502 Bad &amp; Gateway</title><style>x{}</style></head><body>nginx</body>", "502 Bad & Gateway",
		},
		"a page without title": {"text/html", "<!DOCTYPE html><style>p{}</style><p>Sorry, <b>busy</b></p>", "Sorry, busy"},
		"a page as JSON":       {"application/json", "<html><title>Error</title></html>", "Error"},
		"broken JSON":          {"application/json", `{"error": {"mess`, `{"error": {"mess`},
		"not UTF-8":            {"text/plain", "caf\xe9 \x00closed", "caf\uFFFD \uFFFDclosed"},
		"nothing":              {"", "", ""},
		"an object of nothing": {"application/json", `{"a":1,"error":null}`, ""},
		"too deep":             {"application/json", strings.Repeat(`{"error":`, 50) + `"x"` + strings.Repeat("}", 50), ""},
	} {
		if got := penstock.ErrorText(test.kind, []byte(test.body)); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	long := penstock.ErrorText("text/plain", []byte(strings.Repeat("ü", 1000)))
	if len(long) > 510 || !utf8.ValidString(long) || !strings.HasSuffix(long, "ü…") {
		t.Errorf("a long text became %d bytes: %q", len(long), long)
	}
}
