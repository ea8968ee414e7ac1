package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// The sentence about a failed call has the provider, the status and the message, and names the cause.
func TestTheSentenceAboutAFailedCall(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(3 * time.Hour)
	for name, test := range map[string]struct {
		call gateway.Call
		code penstock.Code
		want []string
	}{
		"a model that does not exist": {
			gateway.Call{Status: 404, Problem: "The model `m` does not exist."},
			penstock.CodeInvalidRequest,
			[]string{`ollama does not have the model "llama4" (status 404): The model`},
		},
		"a model without the word": {
			gateway.Call{Status: 404, Problem: "llama4 not found"},
			penstock.CodeInvalidRequest,
			[]string{`does not have the model "llama4"`},
		},
		"a wrong address": {
			gateway.Call{Status: 404, Problem: "404 page not found"},
			penstock.CodeInvalidRequest,
			[]string{"no model API at its address", "ends in /v1", "(status 404): 404 page not found."},
		},
		"a wrong address without a word": {
			gateway.Call{Status: 404}, penstock.CodeInvalidRequest, []string{"no model API at its address"},
		},
		"a long wait": {
			gateway.Call{Status: 429, Problem: "Quota used up.", RetryAfter: later},
			penstock.CodeRateLimited,
			[]string{
				"(status 429): Quota used up; it accepts requests again at " + later.UTC().Format("2006-01-02 15:04 UTC"),
			},
		},
	} {
		test.call.Provider, test.call.Model, test.call.API = "ollama", "llama4", gateway.OpenAI
		got := problemMessage(test.call)
		for _, want := range test.want {
			if got.ErrorCode != test.code || !strings.Contains(got.Message, want) {
				t.Errorf("%s: got %+v, want %q", name, got, want)
			}
		}
	}
}
