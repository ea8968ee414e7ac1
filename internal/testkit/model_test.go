package testkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// said is one turn as a provider's client understood it.
type said struct {
	Text   string
	Tool   string
	Input  string
	Stop   string
	Tokens [2]int64 // input, output
}

// dialects are the providers' own clients, with and without streaming.
func dialects() map[string]func(*testing.T, *testkit.Model, ...string) (said, error) {
	return map[string]func(*testing.T, *testkit.Model, ...string) (said, error){
		"openai, whole": func(
			t *testing.T, m *testkit.Model, c ...string,
		) (said, error) {
			return askOpenAI(t, m, false, c)
		},
		"openai, streaming": func(
			t *testing.T, m *testkit.Model, c ...string,
		) (said, error) {
			return askOpenAI(t, m, true, c)
		},
		"anthropic, whole": func(
			t *testing.T, m *testkit.Model, c ...string,
		) (said, error) {
			return askAnthropic(t, m, false, c)
		},
		"anthropic, streaming": func(
			t *testing.T, m *testkit.Model, c ...string,
		) (said, error) {
			return askAnthropic(t, m, true, c)
		},
	}
}

func TestProvidersClientsUnderstandTheModel(t *testing.T) {
	t.Parallel()
	stops := map[string][3]string{
		"openai":    {"tool_calls", "stop", "length"},
		"anthropic": {"tool_use", "end_turn", "max_tokens"},
	}
	for name, ask := range dialects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := testkit.NewModel(t,
				testkit.Turn{
					Text:  "Let me look.",
					Calls: []testkit.Call{{Name: "read_files", Input: map[string]any{"paths": []string{"a b.txt"}}}},
				},
				testkit.Turn{Text: "Done, it works.", InputTokens: 7, OutputTokens: 3},
				testkit.Turn{Text: "Too lo", MaxTokens: true},
			)
			stop := stops["openai"]
			if name[0] == 'a' {
				stop = stops["anthropic"]
			}
			want := []said{
				{
					Text: "Let me look.", Tool: "read_files", Input: `{"paths":["a b.txt"]}`, Stop: stop[0], Tokens: [2]int64{100, 20},
				},
				{Text: "Done, it works.", Stop: stop[1], Tokens: [2]int64{7, 3}},
				{Text: "Too lo", Stop: stop[2], Tokens: [2]int64{100, 20}},
			}
			conversation := []string{"look at a b.txt"}
			for turn, want := range want {
				for range 2 { // asked again, it says the same again
					got, err := ask(t, model, conversation...)
					if err != nil {
						t.Fatalf("turn %d: %v", turn, err)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("turn %d (-want +got):\n%s", turn, diff)
					}
				}
				conversation = append(conversation, want.Text, "go on")
			}
			requests := model.Requests()
			if len(requests) != 6 || requests[5].Turn != 2 || requests[5].Prompt != "look at a b.txt" ||
				requests[5].Model != "some-model" {
				t.Errorf("got %d requests, the last one %+v", len(requests), requests[len(requests)-1])
			}
		})
	}
}

func TestModelAnswersScriptedErrorsFirst(t *testing.T) {
	t.Parallel()
	for name, ask := range dialects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := testkit.NewModel(t, testkit.Turn{Text: "at last", Errors: []int{500, 429}})
			for _, want := range []int{500, 429} {
				_, err := ask(t, model, "hello")
				if got := statusOf(err); got != want {
					t.Errorf("got status %d (%v), want %d", got, err, want)
				}
			}
			got, err := ask(t, model, "hello")
			if err != nil || got.Text != "at last" {
				t.Errorf("got %+v, %v; want the turn itself", got, err)
			}
		})
	}
}

func TestModelFollowsTheScriptOfThePrompt(t *testing.T) {
	t.Parallel()
	model := testkit.NewModel(t, testkit.Turn{Text: "anything"})
	model.When("rare words", testkit.Turn{Text: "something else"})
	for prompt, want := range map[string]string{"hello": "anything", "some rare words here": "something else"} {
		got, err := askOpenAI(t, model, true, []string{prompt})
		if err != nil || got.Text != want {
			t.Errorf("to %q got %q, %v; want %q", prompt, got.Text, err, want)
		}
	}
}

func TestModelDelaysATurn(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	model := testkit.NewModel(t, testkit.Turn{Text: "word by word", Hold: hold})
	client := openAI(model)
	stream := client.Chat.Completions.NewStreaming(t.Context(), openAIRequest([]string{"hello"}))
	defer stream.Close()
	if !stream.Next() {
		t.Fatalf("no first piece: %v", stream.Err())
	}
	text := ""
	close(hold)
	for stream.Next() {
		if chunk := stream.Current(); len(chunk.Choices) > 0 {
			text += chunk.Choices[0].Delta.Content
		}
	}
	if text != "word by word" || stream.Err() != nil {
		t.Errorf("got %q, %v", text, stream.Err())
	}

	// A client that disconnects ends a turn that is held forever.
	ctx, cancel := context.WithCancel(t.Context())
	model.When("wait", testkit.Turn{Hold: make(chan struct{})})
	stream = client.Chat.Completions.NewStreaming(ctx, openAIRequest([]string{"wait"}))
	defer stream.Close()
	if !stream.Next() {
		t.Fatalf("no first piece: %v", stream.Err())
	}
	cancel()
}

func openAI(model *testkit.Model) openai.Client {
	return openai.NewClient(option.WithBaseURL(model.URL+"/v1"), option.WithAPIKey("key"), option.WithMaxRetries(0))
}

// openAIRequest converts alternating texts of user and assistant to a request.
func openAIRequest(conversation []string) openai.ChatCompletionNewParams {
	params := openai.ChatCompletionNewParams{
		Model:         "some-model",
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	for i, text := range conversation {
		if i%2 == 0 {
			params.Messages = append(params.Messages, openai.UserMessage(text))
		} else {
			params.Messages = append(params.Messages, openai.AssistantMessage(text))
		}
	}
	return params
}

func askOpenAI(t *testing.T, model *testkit.Model, streaming bool, conversation []string) (said, error) {
	t.Helper()
	client, params := openAI(model), openAIRequest(conversation)
	var response openai.ChatCompletion
	if streaming {
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		var whole openai.ChatCompletionAccumulator
		for stream.Next() {
			if !whole.AddChunk(stream.Current()) {
				t.Fatalf("the client cannot make sense of %s", stream.Current().RawJSON())
			}
		}
		if stream.Err() != nil {
			return said{}, stream.Err()
		}
		response = whole.ChatCompletion
	} else {
		params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
		res, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			return said{}, err
		}
		response = *res
	}
	choice := response.Choices[0]
	got := said{
		Text: choice.Message.Content, Stop: choice.FinishReason,
		Tokens: [2]int64{response.Usage.PromptTokens, response.Usage.CompletionTokens},
	}
	for _, call := range choice.Message.ToolCalls {
		got.Tool, got.Input = call.Function.Name, call.Function.Arguments
	}
	return got, nil
}

func askAnthropic(t *testing.T, model *testkit.Model, streaming bool, conversation []string) (said, error) {
	t.Helper()
	client := anthropic.NewClient(
		anthropicoption.WithBaseURL(model.URL), anthropicoption.WithAPIKey("key"), anthropicoption.WithMaxRetries(0),
	)
	params := anthropic.MessageNewParams{Model: "some-model", MaxTokens: 100}
	for i, text := range conversation {
		if i%2 == 0 {
			params.Messages = append(params.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(text)))
		} else {
			params.Messages = append(params.Messages, anthropic.NewAssistantMessage(anthropic.NewTextBlock(text)))
		}
	}
	var response anthropic.Message
	if streaming {
		stream := client.Messages.NewStreaming(t.Context(), params)
		for stream.Next() {
			if err := response.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if stream.Err() != nil {
			return said{}, stream.Err()
		}
	} else {
		res, err := client.Messages.New(t.Context(), params)
		if err != nil {
			return said{}, err
		}
		response = *res
	}
	usage := response.Usage
	got := said{Stop: string(response.StopReason), Tokens: [2]int64{usage.InputTokens, usage.OutputTokens}}
	for _, block := range response.Content {
		switch block.Type {
		case "text":
			got.Text += block.Text
		case "tool_use":
			got.Tool, got.Input = block.Name, string(compact(t, block.Input))
		}
	}
	return got, nil
}

func compact(t *testing.T, raw json.RawMessage) []byte {
	t.Helper()
	out, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// statusOf is the HTTP status in a client's error, or 0.
func statusOf(err error) int {
	if e, ok := errors.AsType[*openai.Error](err); ok {
		return e.StatusCode
	}
	if e, ok := errors.AsType[*anthropic.Error](err); ok {
		return e.StatusCode
	}
	return http.StatusOK
}
