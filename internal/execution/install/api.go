package install

import (
	"fmt"
	"slices"
)

// chat is OpenAI's Chat Completions.
func (a *reply) chat(t ScriptedTurn) {
	usage := object{
		"prompt_tokens": InputTokens, "completion_tokens": OutputTokens, "total_tokens": InputTokens + OutputTokens,
	}
	message, finish := object{"role": "assistant", "content": t.Text}, "stop"
	if t.Tool != "" {
		finish = "tool_calls"
		message["tool_calls"] = []object{{
			"index": 0, "id": a.id("call"), "type": "function",
			"function": object{"name": t.Tool, "arguments": string(text(t.Input))},
		}}
	}
	body := func(kind string, choices []object, usage any) object {
		return object{
			"id": a.id("chatcmpl"), "object": kind, "created": 1, "model": a.model, "choices": choices, "usage": usage,
		}
	}
	if !a.stream {
		choice := object{"index": 0, "message": message, "finish_reason": finish}
		a.whole(body("chat.completion", []object{choice}, usage))
		return
	}
	const chunk = "chat.completion.chunk"
	a.event("", body(chunk, []object{{"index": 0, "delta": message, "finish_reason": nil}}, nil))
	a.event("", body(chunk, []object{{"index": 0, "delta": object{}, "finish_reason": finish}}, nil))
	a.event("", body(chunk, []object{}, usage))
	_, _ = fmt.Fprint(a.w, "data: [DONE]\n\n")
}

// codeTool is Codex's tool that takes JavaScript, which calls the other tools.
const codeTool = "exec"

// responses is OpenAI's Responses.
func (a *reply) responses(t ScriptedTurn) {
	item := object{
		"type": "message", "id": a.id("msg"), "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": t.Text, "annotations": []object{}}},
	}
	switch {
	case t.Tool != "" && !slices.Contains(a.tools, t.Tool) && slices.Contains(a.tools, codeTool):
		item = object{
			"type": "custom_tool_call", "id": a.id("ctc"), "call_id": a.id("call"), "name": codeTool, "status": "completed",
			"input": fmt.Sprintf("const done = await tools.%s(%s);\ntext(done.output ?? done);", t.Tool, text(t.Input)),
		}
	case t.Tool != "":
		item = object{
			"type": "function_call", "id": a.id("fc"), "call_id": a.id("call"), "name": t.Tool, "status": "completed",
			"arguments": string(text(t.Input)),
		}
		if t.Namespace != "" {
			item["namespace"] = t.Namespace
		}
	}
	response := func(status string, output []object) object {
		return object{
			"id": a.id("resp"), "object": "response", "created_at": 1, "model": a.model, "status": status, "output": output,
			"usage": object{
				"input_tokens": InputTokens, "output_tokens": OutputTokens, "total_tokens": InputTokens + OutputTokens,
				"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
			},
		}
	}
	if !a.stream {
		a.whole(response("completed", []object{item}))
		return
	}
	n := 0
	send := func(kind string, data object) {
		data["type"], data["sequence_number"] = kind, n
		n++
		a.event(kind, data)
	}
	begun := response("in_progress", []object{})
	delete(begun, "usage")
	send("response.created", object{"response": begun})
	send("response.output_item.added", object{"output_index": 0, "item": item})
	if t.Tool == "" {
		send("response.output_text.delta", object{
			"output_index": 0, "content_index": 0, "item_id": a.id("msg"), "delta": t.Text,
		})
	}
	send("response.output_item.done", object{"output_index": 0, "item": item})
	send("response.completed", object{"response": response("completed", []object{item})})
}

// messages is Anthropic's Messages.
func (a *reply) messages(t ScriptedTurn) {
	block, delta, stop := object{"type": "text", "text": t.Text}, object{"type": "text_delta", "text": t.Text}, "end_turn"
	begun := object{"type": "text", "text": ""}
	if t.Tool != "" {
		stop = "tool_use"
		block = object{"type": "tool_use", "id": a.id("toolu"), "name": t.Tool, "input": t.Input}
		delta = object{"type": "input_json_delta", "partial_json": string(text(t.Input))}
		begun = object{"type": "tool_use", "id": a.id("toolu"), "name": t.Tool, "input": object{}}
	}
	message := object{
		"id": a.id("msg"), "type": "message", "role": "assistant", "model": a.model, "stop_sequence": nil,
	}
	if !a.stream {
		message["content"], message["stop_reason"] = []object{block}, stop
		message["usage"] = object{"input_tokens": InputTokens, "output_tokens": OutputTokens}
		a.whole(message)
		return
	}
	message["content"], message["stop_reason"] = []object{}, nil
	message["usage"] = object{"input_tokens": InputTokens, "output_tokens": 1}
	send := func(kind string, data object) {
		data["type"] = kind
		a.event(kind, data)
	}
	send("message_start", object{"message": message})
	send("content_block_start", object{"index": 0, "content_block": begun})
	send("content_block_delta", object{"index": 0, "delta": delta})
	send("content_block_stop", object{"index": 0})
	send("message_delta", object{
		"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": OutputTokens},
	})
	send("message_stop", object{})
}

// gemini is Google's generateContent.
func (a *reply) gemini(t ScriptedTurn) {
	part := object{"text": t.Text}
	if t.Tool != "" {
		part = object{"functionCall": object{"id": a.id("call"), "name": t.Tool, "args": t.Input}}
	}
	body := object{
		"candidates": []object{{
			"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": []object{part}},
		}},
		"usageMetadata": object{
			"promptTokenCount": InputTokens, "candidatesTokenCount": OutputTokens,
			"totalTokenCount": InputTokens + OutputTokens,
		},
		"modelVersion": a.model, "responseId": a.id("response"),
	}
	if a.stream {
		a.event("", body)
		return
	}
	a.whole(body)
}
