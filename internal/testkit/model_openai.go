package testkit

import "fmt"

// object is a JSON object.
type object = map[string]any

// openAI responds in the format of POST /v1/chat/completions.
func (a *modelResponse) openAI() {
	usage := object{
		"prompt_tokens":     a.turn.InputTokens,
		"completion_tokens": a.turn.OutputTokens,
		"total_tokens":      a.turn.InputTokens + a.turn.OutputTokens,
	}
	if !a.stream {
		message := object{"role": "assistant", "content": a.turn.Text}
		if calls := a.openAICalls(); len(calls) > 0 {
			message["tool_calls"] = calls
		}
		a.whole(a.openAIObject("chat.completion", object{"message": message, "finish_reason": a.openAIFinish()}, usage))
		return
	}
	delta := func(d object) {
		a.event("", a.openAIObject("chat.completion.chunk", object{"delta": d, "finish_reason": nil}, nil))
	}
	delta(object{"role": "assistant", "content": ""})
	for _, word := range words(a.turn.Text) {
		delta(object{"content": word})
	}
	for i, call := range a.openAICalls() {
		function, _ := call["function"].(object)
		arguments, _ := function["arguments"].(string)
		head := object{
			"index": i, "id": call["id"], "type": "function", "function": object{"name": function["name"], "arguments": ""},
		}
		delta(object{"tool_calls": []object{head}})
		for _, piece := range []string{arguments[:len(arguments)/2], arguments[len(arguments)/2:]} {
			delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}})
		}
	}
	a.event("", a.openAIObject("chat.completion.chunk", object{"delta": object{}, "finish_reason": a.openAIFinish()}, nil))
	last := a.openAIObject("chat.completion.chunk", nil, usage)
	a.event("", last)
	_, _ = fmt.Fprint(a.w, "data: [DONE]\n\n")
}

func (a *modelResponse) openAIObject(kind string, choice, usage object) object {
	o := object{
		"id": fmt.Sprintf("chatcmpl-%d", a.n), "object": kind, "created": 1, "model": a.model, "choices": []object{},
	}
	if choice != nil {
		choice["index"] = 0
		o["choices"] = []object{choice}
	}
	if usage != nil {
		o["usage"] = usage
	}
	return o
}

func (a *modelResponse) openAICalls() []object {
	var calls []object
	for i, call := range a.turn.Calls {
		calls = append(calls, object{
			"id":       fmt.Sprintf("call_%d_%d", a.n, i),
			"type":     "function",
			"function": object{"name": call.Name, "arguments": string(mustJSON(call.Input))},
		})
	}
	return calls
}

func (a *modelResponse) openAIFinish() string {
	switch {
	case a.turn.Refuse:
		return "content_filter"
	case a.turn.MaxTokens:
		return "length"
	case len(a.turn.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}
