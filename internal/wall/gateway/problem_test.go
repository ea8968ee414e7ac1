package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// The gateway reports the error of a provider, without the key, before the agent gets the response.
func TestFailuresOfProviders(t *testing.T) {
	t.Parallel()
	const begun = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n"
	for name, test := range map[string]struct {
		status    int
		body      string
		problem   string
		responses []bool // Call.Failed of each
	}{
		"an error": {
			401, `{"error":{"message":"Bad key ` + realKey + `.\nSorry"}}`, "Bad key ***. Sorry", []bool{true},
		},
		"a list with an error":  {503, `[{"error":{"code":503,"message":"Down"}}]`, "Down", []bool{true}},
		"an error that is text": {500, `{"error":"Out of memory"}`, "Out of memory", []bool{true}},
		"a message":             {429, `{"object":"error","message":"Slow down"}`, "Slow down", []bool{true}},
		"a page":                {502, `<html><title>Bad gateway</title></html>`, "Bad gateway", []bool{true}},
		"FastAPI's detail":      {400, `{"detail":"max_tokens too big"}`, "max_tokens too big", []bool{true}},
		"a plain text":          {404, "404 page not found\n", "404 page not found", []bool{true}},
		"a long message": {
			400, `{"error":{"message":"` + strings.Repeat("x", 5000) + `"}}`, strings.Repeat("x", 500) + "…", []bool{true},
		},
		"a response":              {200, begun + "data: [DONE]\n\n", "", []bool{false}},
		"a response that was cut": {200, begun, "", []bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var calls []gateway.Call
			r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.status == http.StatusOK {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}, gateway.SessionOptions{Responded: func(c gateway.Call) {
				mu.Lock()
				defer mu.Unlock()
				calls = append(calls, c)
			}})
			r.send(t, http.MethodPost, "/model/openai/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
			mu.Lock()
			defer mu.Unlock()
			var failed []bool
			for _, c := range calls {
				failed = append(failed, c.Failed)
			}
			if diff := cmp.Diff(test.responses, failed); diff != "" {
				t.Fatalf("the responses that failed (-want +got):\n%s", diff)
			}
			if got := calls[0].Problem; got != test.problem {
				t.Errorf("the problem is %q, want %q", got, test.problem)
			}
		})
	}
}
