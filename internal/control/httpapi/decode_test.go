package httpapi

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

func TestBadBodiesNameTheField(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body      string
		pointer, detail string
	}{
		{"number for a string", `{"prompt": 1}`, "/prompt", "must be a string, not a number"},
		{
			"string for a boolean", `{"prompt": "x", "interactive": "yes"}`, "/interactive",
			"must be true or false, not a string",
		},
		{
			"string for an integer", `{"config": {"idle_timeout_minutes": "5"}}`, "/config/idle_timeout_minutes",
			"must be an integer, not a string",
		},
		{
			"fraction for an integer", `{"config": {"idle_timeout_minutes": 1.5}}`, "/config/idle_timeout_minutes",
			"must be an integer in range, without a fraction",
		},
		{
			"huge integer", `{"config": {"idle_timeout_minutes": 99999999999999999999}}`, "/config/idle_timeout_minutes",
			"must be an integer in range, without a fraction",
		},
		{"object for a list", `{"attachments": {}}`, "/attachments", "must be an array, not an object"},
		{"list for an object", `{"config": []}`, "/config", "must be an object, not an array"},
		{"number in metadata", `{"metadata": {"a/b": 5}}`, "/metadata/a~1b", "must be a string, not a number"},
		{
			"broken base64", `{"attachments": [{"data": "%%"}]}`, "/attachments/0/data",
			"must be base64 with the standard alphabet and padding (RFC 4648 §4)",
		},
		{
			"number for base64", `{"attachments": [{"data": 7}]}`, "/attachments/0/data",
			"must be a base64 string, not a number",
		},
		{"duplicate name", `{"prompt": "a", "prompt": "b"}`, "/prompt", "occurs more than once"},
		{
			"duplicate name in free-form JSON", `{"config": {"harness_auth_secrets": {"x": 1, "x": 2}}}`,
			"/config/harness_auth_secrets/x", "occurs more than once",
		},
		{"duplicate name in an unknown field", `{"nobody": {"x": 1, "x": 2}}`, "/nobody/x", "occurs more than once"},
		{"bad UTF-8", "{\"prompt\": \"\xff\"}", "/prompt", "must be text in UTF-8"},
		{"half a surrogate pair", `{"prompt": "\ud800"}`, "/prompt", "must be text in UTF-8"},
		{"half a surrogate pair beside a letter", `{"prompt": "a\ud800\u0041"}`, "/prompt", "must be text in UTF-8"},
		{"the second half of a pair", `{"prompt": "\"\udc00"}`, "/prompt", "must be text in UTF-8"},
		{"half a surrogate pair in a name", `{"a\ud800": 1}`, "", "must be text in UTF-8"},
		{"bad UTF-8 outside of a text", "{\"prompt\": \xff}", "/prompt", "the body is not valid JSON at byte 11"},
		{"half a surrogate pair outside of a text", `{"prompt": \ud800}`, "/prompt", "the body is not valid JSON at byte 11"},
		{"an unknown escape", `{"prompt": "\x41"}`, "/prompt", "the body is not valid JSON at byte 12"},
		{"an escape of three digits", `{"prompt": "\ud80x"}`, "/prompt", "the body is not valid JSON at byte 12"},
		{"a comma too many", `{"prompt": "a",}`, "", "the body is not valid JSON at byte 14"},
		{
			"bad UTF-8 after the body", "{\"prompt\": \"a\"}\xff", "",
			"the body must be one JSON object; unexpected text follows it at byte 15",
		},
		{"null in metadata", `{"metadata": {"a/b": null}}`, "/metadata/a~1b", "must be a string, not null"},
		{
			"null in metadata beside an unknown field", `{"metadata": {"k": null}, "z": 1}`, "/metadata/k",
			"must be a string, not null",
		},
		{"null in the environment", `{"config": {"env": {"A": null}}}`, "/config/env/A", "must be a string, not null"},
		{"an object in metadata", `{"metadata": {"k": {}}}`, "/metadata/k", "must be a string, not an object"},
		{"twice in metadata", `{"metadata": {"k": "a", "k": "b"}}`, "/metadata/k", "occurs more than once"},
		{"bad UTF-8 in metadata", "{\"metadata\": {\"k\": \"\xff\"}}", "/metadata/k", "must be text in UTF-8"},
		{"metadata cut off", `{"metadata": {"k": "a"`, "", "the body is not complete JSON: it ends after 22 bytes"},
		{"NUL", `{"metadata": {"k": "a\u0000b"}}`, "/metadata/k", `must not contain the character NUL (\u0000)`},
		{"cut off", `{"prompt": "a"`, "", "the body is not complete JSON: it ends after 14 bytes"},
		{
			"more than one value", `{"prompt": "a"} x`, "",
			"the body must be one JSON object; unexpected text follows it at byte 16",
		},
		{"broken literal", `{"prompt": tru}`, "/prompt", "the body is not valid JSON at byte 14"},
		{"list at the top", `[]`, "", "the body must be a JSON object, not an array"},
		{"null at the top", ` null`, "", "the body must be a JSON object"},
		{"unknown field before a bad one", `{"nobody": 1, "prompt": 1}`, "/prompt", "must be a string, not a number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var req penstock.RunRequest
			_, err := decodeStrict([]byte(tt.body), &req)
			e, ok := errors.AsType[*penstock.Error](err)
			if !ok || e.Code != penstock.CodeInvalidRequest {
				t.Fatalf("got error %v, want an invalid_request", err)
			}
			want := []penstock.FieldError{{Pointer: tt.pointer, Detail: tt.detail}}
			if diff := cmp.Diff(want, e.Fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGoodBodiesAreDecoded(t *testing.T) {
	t.Parallel()
	body := `{"prompt": "say \\u0000 and \"hi\"", "config": {"name": "n", "secrets": ["A", {"name": "B"}]},
		"attachments": [{"file_name": "a", "data": "` + base64.StdEncoding.EncodeToString([]byte("hello")) +
		`"}], "team": false, "title": null}`
	var got penstock.RunRequest
	ignored, err := decodeStrict([]byte(body), &got)
	if err != nil || ignored != nil {
		t.Fatalf("got %v, ignored %v", err, ignored)
	}
	no := false
	want := penstock.RunRequest{
		Prompt: `say \u0000 and "hi"`, Team: &no,
		Config:      &penstock.Config{Name: "n", Secrets: penstock.SecretNames{"A", "B"}},
		Attachments: []penstock.Attachment{{FileName: "a", Data: []byte("hello")}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnknownFieldsAreNamed(t *testing.T) {
	t.Parallel()
	body := `{"promtp": "x", "prompt": "kept", "Title": 1, "config": {"model_idd": 1,
		"harness": {"type": "builtin", "kind": 2},
		"harness_auth_secrets": {"anything": "goes"}, "mcp_servers": {"a/b": {"url": "https://x", "hdrs": {}}}},
		"attachments": [{"file_name": "a"}, {"file_name": "b", "size": 3}], "metadata": {"free": "text"},
		"ünï,\r\nX-Evil: 1": 0}`
	var req penstock.RunRequest
	ignored, err := decodeStrict([]byte(body), &req)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/promtp", "/Title", "/config/model_idd", "/config/harness/kind", "/config/mcp_servers/a~1b/hdrs",
		"/attachments/1/size", "/ünï,\r\nX-Evil: 1",
	}
	if diff := cmp.Diff(want, ignored); diff != "" {
		t.Errorf("pointers (-want +got):\n%s", diff)
	}
	if req.Prompt != "kept" || len(req.Attachments) != 2 {
		t.Errorf("got %+v, want the known fields decoded", req)
	}
	header := ignoredHeader(ignored[5:])
	if want := "/attachments/1/size, /%C3%BCn%C3%AF%2C%0D%0AX-Evil:%201"; header != want {
		t.Errorf("got header %q, want %q", header, want)
	}
}

func TestIgnoredFieldsAreBounded(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	body.WriteString(`{"prompt": "x"`)
	for i := range 1000 {
		body.WriteString(`, "` + strings.Repeat("f", 100) + string(rune('a'+i%26)) + strings.Repeat("g", i) + `": 1`)
	}
	body.WriteString("}")
	ignored, err := decodeStrict([]byte(body.String()), &penstock.RunRequest{})
	if err != nil || len(ignored) != maxIgnored {
		t.Fatalf("got %d pointers and %v, want %d", len(ignored), err, maxIgnored)
	}
	if got := len(ignoredHeader(ignored)); got > maxIgnoredBytes+2*maxIgnored {
		t.Errorf("got a header of %d bytes, want at most about %d", got, maxIgnoredBytes)
	}
}

// For any input, the decoder returns a value or an error that may be shown. It never both finds
// unknown fields and fails.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"prompt":"x","config":{"a":[{"b":1}]}}`, `{"attachments":[{"data":"aGk="}],"z":{}}`, `{"metadata":{"k":"\u0000"}}`,
		`[`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		ignored, err := decodeStrict(body, &penstock.RunRequest{})
		if err != nil {
			if _, shown := errors.AsType[*penstock.Error](err); !shown || ignored != nil {
				t.Errorf("%q: got %v (%T), ignored %v", body, err, err, ignored)
			}
		}
		if header := ignoredHeader(ignored); strings.ContainsAny(header, "\r\n\x00") {
			t.Errorf("%q: header %q", body, header)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(
		`{"prompt": "` + strings.Repeat("fix the login test ", 90) +
			`", "config": {"name": "bench", "model_id": "demo/offline"}, "metadata": {"ticket": "OPS-1"}}`,
	)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var req penstock.RunRequest
		if _, err := decodeStrict(body, &req); err != nil {
			b.Fatal(err)
		}
	}
}
