package harness

import (
	"fmt"
	"slices"
)

// chat is OpenAI's Chat Completions.
func (a *scriptReply) chat(t ScriptedTurn) {
	usage := jsonObject{
		"prompt_tokens": ScriptedInput, "completion_tokens": ScriptedOutput,
		"total_tokens": ScriptedInput + ScriptedOutput,
	}
	message, finish := jsonObject{"role": "assistant", "content": t.Text}, "stop"
	if t.Tool != "" {
		finish = "tool_calls"
		message["tool_calls"] = []jsonObject{{
			"index": 0, "id": a.id("call"), "type": "function",
			"function": jsonObject{"name": t.Tool, "arguments": string(jsonText(t.Input))},
		}}
	}
	body := func(kind string, choices []jsonObject, usage any) jsonObject {
		return jsonObject{
			"id": a.id("chatcmpl"), "object": kind, "created": 1, "model": a.Model, "choices": choices, "usage": usage,
		}
	}
	if !a.stream {
		choice := jsonObject{"index": 0, "message": message, "finish_reason": finish}
		a.whole(body("chat.completion", []jsonObject{choice}, usage))
		return
	}
	const chunk = "chat.completion.chunk"
	a.event("", body(chunk, []jsonObject{{"index": 0, "delta": message, "finish_reason": nil}}, nil))
	a.event("", body(chunk, []jsonObject{{"index": 0, "delta": jsonObject{}, "finish_reason": finish}}, nil))
	a.event("", body(chunk, []jsonObject{}, usage))
	_, _ = fmt.Fprint(a.w, "data: [DONE]\n\n")
}

// codeTool is Codex's tool that takes JavaScript, which calls the other tools.
const codeTool = "exec"

// responses is OpenAI's Responses.
func (a *scriptReply) responses(t ScriptedTurn) {
	item := jsonObject{
		"type": "message", "id": a.id("msg"), "role": "assistant", "status": "completed",
		"content": []jsonObject{{"type": "output_text", "text": t.Text, "annotations": []jsonObject{}}},
	}
	switch {
	case t.Tool != "" && !slices.Contains(a.Tools, t.Tool) && slices.Contains(a.Tools, codeTool):
		item = jsonObject{
			"type": "custom_tool_call", "id": a.id("ctc"), "call_id": a.id("call"), "name": codeTool, "status": "completed",
			"input": fmt.Sprintf("const done = await tools.%s(%s);\ntext(done.output ?? done);", t.Tool, jsonText(t.Input)),
		}
	case t.Tool != "":
		item = jsonObject{
			"type": "function_call", "id": a.id("fc"), "call_id": a.id("call"), "name": t.Tool, "status": "completed",
			"arguments": string(jsonText(t.Input)),
		}
		if t.Namespace != "" {
			item["namespace"] = t.Namespace
		}
	}
	response := func(status string, output []jsonObject) jsonObject {
		return jsonObject{
			"id": a.id("resp"), "object": "response", "created_at": 1, "model": a.Model, "status": status, "output": output,
			"usage": jsonObject{
				"input_tokens": ScriptedInput, "output_tokens": ScriptedOutput, "total_tokens": ScriptedInput + ScriptedOutput,
				"input_tokens_details": jsonObject{"cached_tokens": 0}, "output_tokens_details": jsonObject{"reasoning_tokens": 0},
			},
		}
	}
	if !a.stream {
		a.whole(response("completed", []jsonObject{item}))
		return
	}
	n := 0
	send := func(kind string, data jsonObject) {
		data["type"], data["sequence_number"] = kind, n
		n++
		a.event(kind, data)
	}
	begun := response("in_progress", []jsonObject{})
	delete(begun, "usage")
	send("response.created", jsonObject{"response": begun})
	send("response.output_item.added", jsonObject{"output_index": 0, "item": item})
	if t.Tool == "" {
		send("response.output_text.delta", jsonObject{
			"output_index": 0, "content_index": 0, "item_id": a.id("msg"), "delta": t.Text,
		})
	}
	send("response.output_item.done", jsonObject{"output_index": 0, "item": item})
	send("response.completed", jsonObject{"response": response("completed", []jsonObject{item})})
}

// messages is Anthropic's Messages.
func (a *scriptReply) messages(t ScriptedTurn) {
	block, stop := jsonObject{"type": "text", "text": t.Text}, "end_turn"
	delta := jsonObject{"type": "text_delta", "text": t.Text}
	begun := jsonObject{"type": "text", "text": ""}
	if t.Tool != "" {
		stop = "tool_use"
		block = jsonObject{"type": "tool_use", "id": a.id("toolu"), "name": t.Tool, "input": t.Input}
		delta = jsonObject{"type": "input_json_delta", "partial_json": string(jsonText(t.Input))}
		begun = jsonObject{"type": "tool_use", "id": a.id("toolu"), "name": t.Tool, "input": jsonObject{}}
	}
	message := jsonObject{
		"id": a.id("msg"), "type": "message", "role": "assistant", "model": a.Model, "stop_sequence": nil,
	}
	if !a.stream {
		message["content"], message["stop_reason"] = []jsonObject{block}, stop
		message["usage"] = jsonObject{"input_tokens": ScriptedInput, "output_tokens": ScriptedOutput}
		a.whole(message)
		return
	}
	message["content"], message["stop_reason"] = []jsonObject{}, nil
	message["usage"] = jsonObject{"input_tokens": ScriptedInput, "output_tokens": 1}
	send := func(kind string, data jsonObject) {
		data["type"] = kind
		a.event(kind, data)
	}
	send("message_start", jsonObject{"message": message})
	send("content_block_start", jsonObject{"index": 0, "content_block": begun})
	send("content_block_delta", jsonObject{"index": 0, "delta": delta})
	send("content_block_stop", jsonObject{"index": 0})
	send("message_delta", jsonObject{
		"delta": jsonObject{"stop_reason": stop, "stop_sequence": nil}, "usage": jsonObject{"output_tokens": ScriptedOutput},
	})
	send("message_stop", jsonObject{})
}

// gemini is Google's generateContent.
func (a *scriptReply) gemini(t ScriptedTurn) {
	part := jsonObject{"text": t.Text}
	if t.Tool != "" {
		part = jsonObject{"functionCall": jsonObject{"id": a.id("call"), "name": t.Tool, "args": t.Input}}
	}
	body := jsonObject{
		"candidates": []jsonObject{{
			"index": 0, "finishReason": "STOP", "content": jsonObject{"role": "model", "parts": []jsonObject{part}},
		}},
		"usageMetadata": jsonObject{
			"promptTokenCount": ScriptedInput, "candidatesTokenCount": ScriptedOutput,
			"totalTokenCount": ScriptedInput + ScriptedOutput,
		},
		"modelVersion": a.Model, "responseId": a.id("response"),
	}
	if a.stream {
		a.event("", body)
		return
	}
	a.whole(body)
}
