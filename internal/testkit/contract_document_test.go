package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func TestTheModulesExamplesHaveNoUndeclaredFields(t *testing.T) {
	t.Parallel()
	if err := NewContract(t).responses.Validate(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server that responds with the document's examples follows the contract, and the test can
// provoke every declared response.
func TestTheModulesExamplesKeepTheContract(t *testing.T) {
	t.Parallel()
	c := NewContract(t)
	for _, route := range c.Routes() {
		item := c.responses.Paths.Value(strings.TrimPrefix(route.Path, c.base))
		op := item.GetOperation(route.Method)
		for _, body := range exampleBodies(t, op) {
			for _, status := range route.Statuses {
				server := roundTripper(func(*http.Request) (*http.Response, error) {
					w := httptest.NewRecorder()
					writeExample(t, w, status, op.Responses.Status(status).Value)
					return w.Result(), nil
				})
				req := httptest.NewRequestWithContext(
					t.Context(), route.Method, exampleURL(route.Path, item, op), bytes.NewReader(body.content),
				)
				req.Header.Set("Authorization", "Bearer psk_test")
				req.Header.Set("Content-Type", body.kind)
				resp, err := c.Transport(t, server).RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if _, err = io.Copy(io.Discard, resp.Body); err != nil { // a stream is checked as it is read
					t.Fatal(err)
				}
				_ = resp.Body.Close()
			}
		}
	}
	c.RequireAll(t)
}

type exampleBody struct {
	kind    string
	content []byte
}

func exampleBodies(t *testing.T, op *openapi3.Operation) []exampleBody {
	t.Helper()
	if op.RequestBody == nil {
		return []exampleBody{{}}
	}
	var bodies []exampleBody
	if !op.RequestBody.Value.Required {
		bodies = append(bodies, exampleBody{})
	}
	for kind, media := range op.RequestBody.Value.Content {
		for _, value := range examplesOf(media) {
			bodies = append(bodies, exampleBody{kind, toJSON(t, value)})
		}
		if kind == "multipart/form-data" {
			bodies = append(bodies, exampleForm(t))
		}
	}
	return bodies
}

func exampleForm(t *testing.T) exampleBody {
	t.Helper()
	var buf bytes.Buffer
	form := multipart.NewWriter(&buf)
	part, err := form.CreateFormFile("file", "summary.md")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte("# Done"))
	_ = form.WriteField("artifact_type", "FILE")
	_ = form.Close()
	return exampleBody{form.FormDataContentType(), buf.Bytes()}
}

func examplesOf(media *openapi3.MediaType) []any {
	if media.Example != nil {
		return []any{media.Example}
	}
	var values []any
	for _, name := range slices.Sorted(maps.Keys(media.Examples)) {
		values = append(values, media.Examples[name].Value.Value)
	}
	return values
}

func exampleURL(path string, item *openapi3.PathItem, op *openapi3.Operation) string {
	query := url.Values{}
	for _, ref := range slices.Concat(item.Parameters, op.Parameters) {
		switch p := ref.Value; {
		case p.In == openapi3.ParameterInPath:
			value := fmt.Sprint(p.Example)
			if p.Example == nil {
				value = "x"
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
		case p.In != openapi3.ParameterInQuery || p.Example == nil:
		case p.Style == openapi3.SerializationDeepObject:
			members, _ := p.Example.(map[string]any)
			for k, v := range members {
				query.Set(p.Name+"["+k+"]", fmt.Sprint(v))
			}
		default:
			values, many := p.Example.([]any)
			if !many {
				values = []any{p.Example}
			}
			for _, v := range values {
				query.Add(p.Name, fmt.Sprint(v))
			}
		}
	}
	return path + "?" + query.Encode()
}

var exampleHeaders = map[string]string{
	"X-Request-Id": "019c1f7e", "X-Should-Retry": "false", "WWW-Authenticate": "Bearer", "Retry-After": "3",
	"RateLimit": `"default";r=598;t=42`, "RateLimit-Policy": `"default";q=600;w=60`, "Idempotent-Replayed": "true",
	"X-Penstock-Ignored-Fields": "/x", "X-Penstock-Warnings": "careful", "Location": "https://example.com/",
	"Cache-Control":       "no-store",
	"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff",
}

func writeExample(t *testing.T, w http.ResponseWriter, status int, response *openapi3.Response) {
	t.Helper()
	for name := range response.Headers {
		w.Header().Set(name, exampleHeaders[name])
	}
	for kind, media := range response.Content {
		values := examplesOf(media)
		w.Header().Set("Content-Type", strings.ReplaceAll(kind, "*/*", "text/markdown"))
		w.WriteHeader(status)
		switch {
		case kind == "text/event-stream":
			events, _ := values[0].([]any)
			for _, event := range events {
				members, _ := event.(map[string]any)
				writeEvent(t, w, members)
			}
		case len(values) > 0:
			_, _ = w.Write(toJSON(t, values[0]))
		}
		return
	}
	w.WriteHeader(status)
}

func writeEvent(t *testing.T, w io.Writer, event map[string]any) {
	t.Helper()
	if id, ok := event["id"]; ok {
		_, _ = fmt.Fprintf(w, "id: %v\n", id)
	}
	_, _ = fmt.Fprintf(w, "event: %v\ndata: %s\n\n", event["event"], toJSON(t, event["data"]))
}

func toJSON(t *testing.T, value any) []byte {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
