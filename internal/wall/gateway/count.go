package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// The margin that is added to what a provider counts, in tokens: its documentation calls the
// number an estimate.
const (
	countMargin = 500
	countShare  = 20 // one in 20
)

// countTime bounds a request to a counting endpoint.
const countTime = 20 * time.Second

// countedFields are the fields that the counting endpoints take.
var countedFields = map[Operation][]string{
	Messages: {
		"model", "messages", "system", "tools", "tool_choice", "thinking", "cache_control", "context_management",
		"output_config", "output_format", "speed",
	},
	Responses: {
		"model", "input", "instructions", "tools", "tool_choice", "text", "reasoning", "truncation", "parallel_tool_calls",
		"previous_response_id", "conversation",
	},
}

// countPrompt asks the provider how many tokens the prompt has, and reports whether that made
// the bound smaller. A prompt of which the request does not hold every part is never counted.
func (a *asking) countPrompt(ctx context.Context) bool {
	b := a.c.checked.bound
	path, body := a.c.countRequest()
	if path == "" || b.unbounded != "" || b.remote {
		return false
	}
	n, err := a.askForCount(ctx, path, body)
	if err != nil {
		a.s.g.log.InfoContext(ctx, "the provider did not count a prompt", "provider", a.c.u.Name, "error", err)
		return false
	}
	n = min(n, maxCount)
	counted := n + n/countShare + countMargin
	if counted >= b.prompt {
		return false
	}
	b.prompt = counted
	return true
}

// countRequest is the path and body of the counting endpoint; the path is "" if the API has none.
func (c *activeCall) countRequest() (path string, body []byte) {
	root := c.checked.root
	switch c.Operation {
	case Messages, Responses:
		path = map[Operation]string{Messages: "v1/messages/count_tokens", Responses: "v1/responses/input_tokens"}[c.Operation]
		return path, c.only(root, countedFields[c.Operation])
	case GenerateContent, StreamGenerate:
		request := slices.Concat([]byte(`{"model":"models/`+c.Model+`"`), c.rest(root), []byte("}"))
		body = slices.Concat([]byte(`{"generateContentRequest":`), request, []byte("}"))
		return "v1beta/models/" + c.Model + ":countTokens", body
	}
	return "", nil
}

// only is the body with some of the fields at its top.
func (c *activeCall) only(root *node, fields []string) []byte {
	out := []byte("{")
	for i := range root.members {
		m := &root.members[i]
		if !slices.Contains(fields, m.name) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, `"`+m.name+`":`...)
		out = append(out, c.body[m.value.start:m.value.end]...)
	}
	return append(out, '}')
}

// rest is the fields at the top of the body but for the model, each with a comma before it.
func (c *activeCall) rest(root *node) []byte {
	var out []byte
	for i := range root.members {
		m := &root.members[i]
		if m.name == "model" {
			continue
		}
		name, _ := json.Marshal(m.name)
		out = append(append(append(out, ','), name...), ':')
		out = append(out, c.body[m.value.start:m.value.end]...)
	}
	return out
}

func (a *asking) askForCount(ctx context.Context, path string, body []byte) (int64, error) {
	c := a.c
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	target := c.u.address(path, "", c.runKey()).String()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("count a prompt: %w", err)
	}
	r.Header = a.header.Clone()
	c.cleanHeader(r.Header)
	for _, name := range []string{"Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Accept"} {
		r.Header.Del(name)
	}
	res, err := a.s.g.transport.RoundTrip(r)
	if err != nil {
		return 0, fmt.Errorf("count a prompt: %s", withoutURL(err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("count a prompt: the provider returned status %d", res.StatusCode)
	}
	const most = 1 << 20
	var response struct {
		Input  *int64 `json:"input_tokens"`
		Total  *int64 `json:"totalTokens"`
		Edited struct {
			Original int64 `json:"original_input_tokens"`
		} `json:"context_management"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, most)).Decode(&response); err != nil {
		return 0, fmt.Errorf("count a prompt: read the response: %w", err)
	}
	count := response.Input
	if c.u.API == Gemini {
		count = response.Total
	}
	if count == nil || *count < 1 {
		return 0, fmt.Errorf("count a prompt: the response has no count")
	}
	return max(*count, response.Edited.Original), nil
}
