package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/supply/price"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// A conversation of 150,000 tokens that the provider has cached uses most of a budget of five
// dollars before it pauses. docs/budgets.md has the shares.
func TestACachedConversationUsesMostOfItsBudget(t *testing.T) {
	t.Parallel()
	for model, percent := range map[string]int64{"claude-haiku-4-5": 95, "claude-sonnet-5-5": 90, "claude-opus-5-5": 82} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			useUpBudget(t, model, percent)
		})
	}
}

func useUpBudget(t *testing.T, model string, percent int64) {
	t.Helper()
	body := `{"model":"` + model + `","max_tokens":8000,"messages":[{"role":"user","content":[{"type":"text","text":"` +
		strings.Repeat("word", 150_000) + `","cache_control":{"type":"ephemeral"}}]}]}`
	p := newPurse(5_000_000_000)
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "count_tokens") {
			_, _ = io.WriteString(w, `{"input_tokens":150000}`)
			return
		}
		var asked struct {
			MaxTokens int64 `json:"max_tokens"`
		}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		fmt.Fprintf(w, `{"usage":{"input_tokens":100,"cache_read_input_tokens":149000,"cache_creation_input_tokens":900,`+
			`"output_tokens":%d}}`, min(7000, asked.MaxTokens))
	}, gateway.SessionOptions{Spend: p, Prices: price.Default()})
	for range 200 {
		if res, _ := r.send(t, http.MethodPost, messages, body); res.StatusCode != http.StatusOK {
			break
		}
	}
	r.settled()
	if p.spent < p.cap*percent/100 || p.spent > p.cap {
		t.Errorf("paused after %d of %d", p.spent, p.cap)
	}
}
