package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// The streams of the SDKs' tests.
var (
	anthropicEvents = stream("sdk-anthropic.sse")
	chatEvents      = stream("sdk-chat.sse")
)

func stream(name string) string {
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// vendor responds to calls of all APIs, and streams if the request asks for it.
func vendor(w http.ResponseWriter, r *http.Request) {
	responses := map[string][2]string{
		"/v1/messages":         {anthropicWhole, anthropicEvents},
		"/v1/chat/completions": {chatWhole, chatEvents},
		"/v1/responses":        {responseWhole, responseEvents},

		"/v1beta/models/gemini-x:generateContent":       {geminiWhole, ""},
		"/v1beta/models/gemini-x:streamGenerateContent": {"", geminiEvents},
	}
	response, ok := responses[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	body, contentType := response[0], "application/json"
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if body == "" || strings.Contains(string(sent), `"stream":true`) {
		body, contentType = response[1], "text/event-stream"
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = io.WriteString(w, body)
}

const (
	anthropicWhole = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x-2026",` +
		`"content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2}}`
	chatWhole = `{"id":"c","object":"chat.completion","model":"gpt-x-2026","choices":[{"index":0,"message":` +
		`{"role":"assistant","content":"hello"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":13,"completion_tokens":5,"total_tokens":18,"prompt_tokens_details":{"cached_tokens":3}}}`
	responseWhole = `{"id":"resp_1","object":"response","status":"completed","model":"gpt-x-2026",` +
		`"output":[{"type":"message",` +
		`"id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hello","annotations":[]}]}],` +
		`"usage":{"input_tokens":13,"input_tokens_details":{"cached_tokens":3},"output_tokens":5}}`
	responseEvents = `event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"hello"}

event: response.completed
data: {"type":"response.completed","response":` + responseWhole + `}

`
	geminiWhole = `{"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]},"finishReason":"STOP"}],` +
		`"modelVersion":"gemini-x-2026","usageMetadata":{"promptTokenCount":13,"cachedContentTokenCount":3,` +
		`"candidatesTokenCount":4,"thoughtsTokenCount":1}}`
	geminiEvents = "data: " + geminiWhole + "\n\n"
)

// written is the usage of all responses without cache writes.
func written(n int64) penstock.TokenUsage {
	return penstock.TokenUsage{Input: 10, Output: 5, CacheRead: 3, CacheWrite: n}
}

// The vendors' own SDKs work unmodified, and each call settles with its usage.
func TestTheVendorsSDKsWorkThroughTheGateway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask   func(*testing.T, *rig) (string, error)
		model string
		want  penstock.TokenUsage
	}{
		"anthropic, whole":  {askAnthropic, "claude-x", written(2)},
		"anthropic, stream": {streamAnthropic, "claude-x", written(2)},
		"chat, whole":       {askChat, "gpt-x", written(0)},
		"chat, stream":      {streamChat, "gpt-x", written(0)},
		"responses, whole":  {askResponses, "gpt-x", written(0)},
		"responses, stream": {streamResponses, "gpt-x", written(0)},
		"gemini, whole":     {askGemini, "gemini-x", written(0)},
		"gemini, stream":    {streamGemini, "gemini-x", written(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, vendor, gateway.SessionOptions{})
			got, err := c.ask(t, r)
			if err != nil || got != "hello" {
				t.Fatalf("the SDK got %q, %v", got, err)
			}
			calls := r.settled()
			if len(calls) != 1 {
				t.Fatalf("%d calls are settled", len(calls))
			}
			call := calls[0]
			if !call.Complete || !call.Sent || call.Status != http.StatusOK || call.Model != c.model ||
				call.ResponseModel != c.model+"-2026" || call.ResponseBytes == 0 || call.RequestBytes == 0 ||
				call.Stream != strings.HasSuffix(name, "stream") {
				t.Errorf("settled as %+v", call)
			}
			if call.Usage == nil {
				t.Fatal("the usage is unknown")
			}
			if diff := cmp.Diff(c.want, call.Usage.TokenUsage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// The SDKs show the gateway's message, and do not repeat a refused request.
func TestTheVendorsSDKsShowRefusals(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*testing.T, *rig) (string, error){
		"anthropic": askAnthropic, "chat": askChat, "responses": askResponses, "gemini": askGemini,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, vendor, gateway.SessionOptions{Models: []penstock.ModelPolicy{{Allow: []string{"none/*"}}}})
			_, err := ask(t, r)
			if err == nil {
				t.Fatal("the request got a response")
			}
			shown := err.Error()
			if e, ok := errors.AsType[*openai.Error](err); ok { // its Error has no text of the provider
				shown = e.Message
			}
			if !strings.Contains(shown, "This run may not use the model") {
				t.Errorf("the SDK's error is %q", shown)
			}
			r.session.Close()
			if len(r.got()) != 0 || len(r.refused) != 1 || r.refused[0].Model == "" || r.refused[0].Field != "/model" {
				t.Errorf("the provider got %d requests; refused: %+v", len(r.got()), r.refused)
			}
		})
	}
}

func anthropicSDK(t *testing.T, r *rig) (anthropic.Client, anthropic.MessageNewParams) {
	t.Helper()
	client := anthropic.NewClient(anthropicoption.WithoutEnvironmentDefaults(),
		anthropicoption.WithBaseURL(r.address(t, "anthropic")), anthropicoption.WithAPIKey("placeholder"))
	return client, anthropic.MessageNewParams{
		Model: "claude-x", MaxTokens: 10, Messages: []anthropic.MessageParam{
			anthropic.NewUserMessage(anthropic.NewTextBlock("look at https://example.com")),
		},
	}
}

func askAnthropic(t *testing.T, r *rig) (string, error) {
	t.Helper()
	client, params := anthropicSDK(t, r)
	message, err := client.Messages.New(t.Context(), params)
	if err != nil {
		return "", err
	}
	return message.Content[0].Text, nil
}

func streamAnthropic(t *testing.T, r *rig) (string, error) {
	t.Helper()
	client, params := anthropicSDK(t, r)
	stream := client.Messages.NewStreaming(t.Context(), params)
	defer stream.Close()
	var message anthropic.Message
	for stream.Next() {
		if err := message.Accumulate(stream.Current()); err != nil {
			return "", err
		}
	}
	if len(message.Content) == 0 {
		return "", errors.Join(errors.New("nothing came"), stream.Err())
	}
	return message.Content[0].Text, stream.Err()
}

func openaiSDK(t *testing.T, r *rig) openai.Client {
	t.Helper()
	return openai.NewClient(option.WithBaseURL(r.address(t, "openai")), option.WithAPIKey("placeholder"))
}

func chatParams() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "gpt-x", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")},
	}
}

func askChat(t *testing.T, r *rig) (string, error) {
	t.Helper()
	client := openaiSDK(t, r)
	response, err := client.Chat.Completions.New(t.Context(), chatParams())
	if err != nil {
		return "", err
	}
	return response.Choices[0].Message.Content, nil
}

// streamChat does not request the usage chunk, and fails if it arrives.
func streamChat(t *testing.T, r *rig) (string, error) {
	t.Helper()
	client := openaiSDK(t, r)
	stream := client.Chat.Completions.NewStreaming(t.Context(), chatParams())
	defer stream.Close()
	text := ""
	for stream.Next() {
		chunk := stream.Current()
		if len(chunk.Choices) == 0 {
			return "", errors.New("a chunk without a choice came")
		}
		text += chunk.Choices[0].Delta.Content
	}
	return text, stream.Err()
}

func responsesParams() responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "gpt-x", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hi")},
	}
}

func askResponses(t *testing.T, r *rig) (string, error) {
	t.Helper()
	client := openaiSDK(t, r)
	response, err := client.Responses.New(t.Context(), responsesParams())
	if err != nil {
		return "", err
	}
	return response.OutputText(), nil
}

func streamResponses(t *testing.T, r *rig) (string, error) {
	t.Helper()
	client := openaiSDK(t, r)
	stream := client.Responses.NewStreaming(t.Context(), responsesParams())
	defer stream.Close()
	text := ""
	for stream.Next() {
		if event := stream.Current(); event.Type == "response.output_text.delta" {
			text += event.Delta
		}
	}
	return text, stream.Err()
}

func geminiSDK(t *testing.T, r *rig) *genai.Client {
	t.Helper()
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "placeholder", Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: r.address(t, "gemini")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func askGemini(t *testing.T, r *rig) (string, error) {
	t.Helper()
	response, err := geminiSDK(t, r).Models.GenerateContent(t.Context(), "gemini-x", genai.Text("hi"), nil)
	if err != nil {
		return "", err
	}
	return response.Text(), nil
}

func streamGemini(t *testing.T, r *rig) (string, error) {
	t.Helper()
	text := ""
	stream := geminiSDK(t, r).Models.GenerateContentStream(t.Context(), "gemini-x", genai.Text("hi"), nil)
	for response, err := range stream {
		if err != nil {
			return "", err
		}
		text += response.Text()
	}
	return text, nil
}
