package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/price"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// biller is a provider that bills each call for as much as its API allows.
type biller struct {
	table *price.Table

	mu   sync.Mutex
	dice *rand.Rand
	bill int64
}

type object = map[string]any

// sub returns the object in a field, empty if absent.
func sub(o object, name string) object {
	inner, _ := o[name].(object)
	return inner
}

func number(o object, name string, otherwise int64) int64 {
	if n, ok := o[name].(float64); ok && n > 0 {
		return int64(n)
	}
	return otherwise
}

// upTo is mostly near n.
func (b *biller) upTo(n int64) int64 {
	if n <= 0 || b.dice.IntN(3) > 0 {
		return max(0, n)
	}
	return b.dice.Int64N(n + 1)
}

// split divides n into three.
func (b *biller) split(n int64) (x, y, z int64) {
	switch b.dice.IntN(4) {
	case 0:
		return 0, n, 0
	case 1:
		return 0, 0, n
	case 2:
		return n, 0, 0
	}
	x = b.upTo(n)
	y = b.upTo(n - x)
	return x, y, n - x - y
}

func (b *biller) serve(w http.ResponseWriter, r *http.Request) {
	var body object
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &body)
	b.mu.Lock()
	defer b.mu.Unlock()
	response := map[string]func(object, int64) object{
		"/v1/messages": b.anthropic, "/v1/chat/completions": b.chat, "/v1/responses": b.responses,
		"/v1beta/models/gemini-x:generateContent": b.gemini,
	}[r.URL.Path](body, int64(len(raw)))
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(response)
}

// prompt returns a number of tokens that the provider may count.
func (b *biller) prompt(raw []byte, window, size int64) int64 {
	if strings.Contains(string(raw), "MEDIA") {
		return b.upTo(window)
	}
	return min(window, b.upTo(size+900)) // does not count the limit of the output, which the gateway adds
}

func (b *biller) charge(c price.Call) {
	c.At = time.Now()
	nano, ok := b.table.Cost(c)
	if !ok {
		panic(fmt.Sprintf("no price for %+v", c))
	}
	b.bill = nano
}

func (b *biller) anthropic(body object, size int64) object {
	raw, _ := json.Marshal(body)
	uses := int64(0)
	tools, _ := body["tools"].([]any)
	for _, tool := range tools {
		definition, _ := tool.(object)
		uses += number(definition, "max_uses", 0)
	}
	uses = b.upTo(uses)
	prompt := b.prompt(raw, 200_000, size) + b.upTo(uses*200_000)
	input, read, write := b.split(prompt)
	if !strings.Contains(string(raw), "cache_control") && b.dice.IntN(2) == 0 {
		input, write = input+write, 0
	}
	long := int64(0)
	if strings.Contains(string(raw), `"1h"`) {
		long = b.upTo(write)
	}
	usage := price.Usage{
		Input: input, CacheRead: read, CacheWrite: write - long, CacheWriteLong: long,
		Output: b.upTo(number(body, "max_tokens", 0) * (1 + uses)), Tools: map[string]int64{"web_search": uses},
	}
	speed := "standard"
	if body["speed"] == "fast" {
		speed = "fast"
	}
	region := []string{"us", "global"}[b.dice.IntN(2)]
	if speed == "fast" {
		region = "global"
	}
	b.charge(price.Call{Provider: "anthropic", Model: "claude-x", Speed: speed, Region: region, Usage: usage})
	return object{"type": "message", "id": "m", "model": "claude-x", "content": []any{}, "usage": object{
		"input_tokens": input, "output_tokens": usage.Output, "cache_read_input_tokens": read,
		"cache_creation_input_tokens": write,
		"cache_creation": object{
			"ephemeral_5m_input_tokens": write - long, "ephemeral_1h_input_tokens": long,
		},
		"server_tool_use": object{"web_search_requests": uses}, "speed": speed, "inference_geo": region,
		"service_tier": "standard",
	}}
}

// tier is one that OpenAI may use.
func (b *biller) tier(body object) string {
	switch asked, _ := body["service_tier"].(string); asked {
	case "", "auto":
		return []string{"default", "priority", "flex"}[b.dice.IntN(3)]
	default:
		return []string{"default", asked}[b.dice.IntN(2)]
	}
}

func (b *biller) openai(body object, output, uses, size int64) (usage price.Usage, tier string) {
	raw, _ := json.Marshal(body)
	prompt := b.prompt(raw, 400_000, size) + b.upTo(uses*400_000)
	usage.Input, usage.CacheRead, usage.CacheWrite = b.split(prompt)
	if sub(body, "prompt_cache_options")["ttl"] == "12h" {
		usage.CacheWriteLong, usage.CacheWrite = usage.CacheWrite, 0
	}
	usage.Output = b.upTo(output)
	usage.Tools = map[string]int64{"web_search": b.upTo(uses)}
	tier = b.tier(body)
	b.charge(price.Call{Provider: "openai", Model: "gpt-x", Tier: tier, Usage: usage})
	return usage, tier
}

func openaiDetails(u price.Usage) object {
	return object{
		"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite + u.CacheWriteLong,
		"cache_write_tokens_details": object{"ttl_30m_tokens": u.CacheWrite, "ttl_12h_tokens": u.CacheWriteLong},
	}
}

func (b *biller) chat(body object, size int64) object {
	limit := number(body, "max_tokens", number(body, "max_completion_tokens", 128_000))
	u, tier := b.openai(body, limit*number(body, "n", 1), 0, size)
	return object{"id": "c", "model": "gpt-x", "service_tier": tier, "choices": []any{}, "usage": object{
		"prompt_tokens":     u.Input + u.CacheRead + u.CacheWrite + u.CacheWriteLong,
		"completion_tokens": u.Output, "prompt_tokens_details": openaiDetails(u),
	}}
}

func (b *biller) responses(body object, size int64) object {
	uses := int64(0)
	if tools, _ := body["tools"].([]any); strings.Contains(fmt.Sprint(tools), "web_search") {
		uses = number(body, "max_tool_calls", 0)
	}
	u, tier := b.openai(body, number(body, "max_output_tokens", 128_000), uses, size)
	return object{
		"id": "r", "object": "response", "status": "completed", "model": "gpt-x", "service_tier": tier,
		"tool_usage": object{"web_search": object{"num_requests": u.Tools["web_search"]}},
		"usage": object{
			"input_tokens": u.Input + u.CacheRead + u.CacheWrite + u.CacheWriteLong, "output_tokens": u.Output,
			"input_tokens_details": openaiDetails(u),
		},
	}
}

func (b *biller) gemini(body object, size int64) object {
	raw, _ := json.Marshal(body)
	config := sub(body, "generationConfig")
	input, read, more := b.split(b.prompt(raw, 1_000_000, size))
	input += more
	output := b.upTo(number(config, "maxOutputTokens", 65_536) * number(config, "candidateCount", 1))
	u := price.Usage{Input: input, CacheRead: read, Output: output}
	if strings.Contains(string(raw), "audio/wav") {
		u.Audio = b.upTo(input)
	}
	tier := ""
	if body["serviceTier"] == "priority" {
		tier = "priority"
	}
	b.charge(price.Call{Provider: "google", Model: "gemini-x", Tier: tier, Usage: u})
	thoughts := b.upTo(output)
	return object{"modelVersion": "gemini-x", "candidates": []any{}, "usageMetadata": object{
		"promptTokenCount": input + read, "cachedContentTokenCount": read, "candidatesTokenCount": output - thoughts,
		"thoughtsTokenCount":  thoughts,
		"promptTokensDetails": []any{object{"modality": "AUDIO", "tokenCount": u.Audio}},
		"serviceTier":         tier,
	}}
}

// maybe puts one of the values into an object, or none.
func maybe(t *rapid.T, o object, name string, values ...any) {
	if i := rapid.IntRange(-1, len(values)-1).Draw(t, name); i >= 0 {
		o[name] = values[i]
	}
}

var operations = map[string]func(*rapid.T) (path string, body object){
	"messages": func(t *rapid.T) (string, object) {
		first := object{"type": "text", "text": text(t)}
		content := []any{first}
		if rapid.Bool().Draw(t, "image") {
			content = append(content, object{"type": "image", "source": object{"type": "base64", "data": "MEDIA"}})
		}
		mark := object{"type": "ephemeral"}
		maybe(t, mark, "ttl", "5m", "1h")
		if rapid.Bool().Draw(t, "cached") {
			first["cache_control"] = mark
		}
		body := object{
			"model": "claude-x", "max_tokens": rapid.IntRange(1, 64_000).Draw(t, "max_tokens"),
			"messages": []any{object{"role": "user", "content": content}},
		}
		maybe(t, body, "speed", "fast", "standard")
		if body["speed"] == "fast" {
			body["inference_geo"] = "global"
		}
		maybe(t, body, "thinking", object{"type": "enabled", "budget_tokens": 1024}, object{"type": "adaptive"})
		maybe(t, body, "tools", []any{object{"type": "bash_20250124", "name": "bash"}}, []any{object{
			"type": "web_search_20250305", "name": "web_search", "max_uses": rapid.IntRange(0, 5).Draw(t, "uses"),
		}})
		return "/model/anthropic/v1/messages", body
	},
	"chat": func(t *rapid.T) (string, object) {
		content := []any{object{"type": "text", "text": text(t)}}
		if rapid.Bool().Draw(t, "image") {
			content = append(content, object{"type": "image_url", "image_url": object{"url": "data:image/png;base64,MEDIA"}})
		}
		body := object{"model": "gpt-x", "messages": []any{object{"role": "user", "content": content}}}
		maybe(t, body, "max_tokens", 1, 5000)
		maybe(t, body, "max_completion_tokens", 2, 7000)
		maybe(t, body, "n", 1, 3)
		maybe(t, body, "service_tier", "auto", "default", "priority", "flex")
		maybe(t, body, "prompt_cache_options", object{"ttl": "12h"})
		return "/model/openai/v1/chat/completions", body
	},
	"responses": func(t *rapid.T) (string, object) {
		body := object{"model": "gpt-x", "input": text(t)}
		maybe(t, body, "input", []any{object{"role": "user", "content": []any{object{
			"type": "input_image", "image_url": "data:image/png;base64,MEDIA",
		}}}})
		maybe(t, body, "max_output_tokens", 16, 9000)
		maybe(t, body, "service_tier", "auto", "priority")
		maybe(t, body, "tools", []any{object{"type": "web_search"}}, []any{object{"type": "local_shell"}})
		body["max_tool_calls"] = rapid.IntRange(0, 4).Draw(t, "calls")
		return "/model/openai/v1/responses", body
	},
	"gemini": func(t *rapid.T) (string, object) {
		parts := []any{object{"text": text(t)}}
		if rapid.Bool().Draw(t, "audio") {
			parts = append(parts, object{"inline_data": object{"mime_type": "audio/wav", "data": "MEDIA"}})
		}
		body := object{"contents": []any{object{"role": "user", "parts": parts}}}
		config := object{}
		maybe(t, config, "maxOutputTokens", 1, 3000)
		maybe(t, config, "candidateCount", 1, 4)
		if len(config) > 0 {
			body["generationConfig"] = config
		}
		maybe(t, body, "serviceTier", "priority", "standard")
		return "/model/gemini/v1beta/models/gemini-x:generateContent", body
	},
}

func text(t *rapid.T) string {
	return strings.Repeat("word ", rapid.OneOf(rapid.IntRange(0, 50), rapid.IntRange(0, 60_000)).Draw(t, "words"))
}

// If the provider bills within the limits of a request, the reservation covers the bill, and the
// settlement equals the bill.
func TestNoCallCostsMoreThanItsReservation(t *testing.T) {
	t.Parallel()
	for name, draw := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := table(t)
			b := &biller{table: list}
			p := newPurse(1 << 60)
			r := newRig(t, b.serve, gateway.SessionOptions{Spend: p, Prices: list, ProviderTools: []string{"web_search"}})
			rapid.Check(t, func(rt *rapid.T) {
				path, body := draw(rt)
				b.mu.Lock()
				b.dice = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "dice"), 0))
				b.mu.Unlock()
				raw, _ := json.Marshal(body)
				res, response := r.send(t, http.MethodPost, path, string(raw))
				if res.StatusCode != http.StatusOK {
					rt.Fatalf("got %d %s for %.300s", res.StatusCode, response, raw)
				}
				reservation, settlement := p.take(rt)
				b.mu.Lock()
				bill := b.bill
				b.mu.Unlock()
				if most := cost(reservation, reservation.Output); bill > most {
					rt.Fatalf("the bill is %d; reserved were %d:\n%.300s\n%+v", bill, most, raw, reservation)
				}
				if settlement.Cost == nil || settlement.Cost.Total() != bill || settlement.Estimated {
					rt.Fatalf("the bill is %d; settled as %+v, %+v", bill, settlement, settlement.Cost)
				}
			})
		})
	}
}

// take returns the only counted call, once it is settled, and removes it.
func (p *purse) take(t interface{ Fatalf(string, ...any) }) (penstock.Reservation, penstock.Settlement) {
	deadline := time.After(time.Minute)
	for {
		p.mu.Lock()
		if len(p.settled) == 1 {
			defer p.mu.Unlock()
			var r penstock.Reservation
			var s penstock.Settlement
			for id := range maps.Keys(p.settled) {
				r, s = p.granted[id], p.settled[id]
			}
			clear(p.settled)
			clear(p.granted)
			return r, s
		}
		wake := p.wake
		p.mu.Unlock()
		select {
		case <-wake:
		case <-deadline:
			t.Fatalf("the call was not settled")
		}
	}
}
