package testkit

import "fmt"

// anthropic responds in the format of POST /v1/messages.
func (a *modelResponse) anthropic() {
	var blocks []object
	if a.turn.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": a.turn.Text})
	}
	for i, call := range a.turn.Calls {
		blocks = append(blocks, object{
			"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", a.n, i), "name": call.Name, "input": call.Input,
		})
	}
	message := object{
		"id": fmt.Sprintf("msg_%d", a.n), "type": "message", "role": "assistant", "model": a.model,
		"content": blocks, "stop_reason": a.anthropicStop(), "stop_sequence": nil,
		"usage": object{"input_tokens": a.turn.InputTokens, "output_tokens": a.turn.OutputTokens},
	}
	if !a.stream {
		a.whole(message)
		return
	}
	stop := message["stop_reason"]
	message["content"], message["stop_reason"] = []object{}, nil
	message["usage"] = object{"input_tokens": a.turn.InputTokens, "output_tokens": 1}
	a.event("message_start", object{"type": "message_start", "message": message})
	for i, block := range blocks {
		a.anthropicBlock(i, block)
	}
	a.event("message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": object{"output_tokens": a.turn.OutputTokens},
	})
	a.event("message_stop", object{"type": "message_stop"})
}

// anthropicBlock streams one block: empty first, then piece by piece.
func (a *modelResponse) anthropicBlock(index int, block object) {
	var deltas []object
	if text, ok := block["text"].(string); ok {
		for _, word := range words(text) {
			deltas = append(deltas, object{"type": "text_delta", "text": word})
		}
		block["text"] = ""
	} else {
		input := string(mustJSON(block["input"]))
		for _, piece := range []string{input[:len(input)/2], input[len(input)/2:]} {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": piece})
		}
		block["input"] = object{}
	}
	a.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": block})
	for _, delta := range deltas {
		a.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": delta})
	}
	a.event("content_block_stop", object{"type": "content_block_stop", "index": index})
}

func (a *modelResponse) anthropicStop() string {
	switch {
	case a.turn.Refuse:
		return "refusal"
	case a.turn.MaxTokens:
		return "max_tokens"
	case len(a.turn.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}
