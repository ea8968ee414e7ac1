package announce

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/penstock-dev/penstock/internal/control/store"
)

// postTo posts messages with a server that always answers the same, and returns the attempts.
func postTo(t *testing.T, to http.RoundTripper, messages ...appMessage) []*store.Attempted {
	t.Helper()
	client := &http.Client{Transport: to}
	s := &Endpoints{log: slog.New(slog.DiscardHandler), sender: &sender{now: time.Now, client: client}}
	var due []outgoing
	for _, m := range messages {
		due = append(due, outgoing{message: store.MessageRow{ID: "msg_1", Type: store.EventRunFailed}, app: m})
	}
	results := make(chan *store.Attempted, len(due))
	s.postInOrder(
		t.Context(), sealed{URL: slackAPI, BotToken: "xoxb-t0ken-of-the-bot", SigningSecret: "s1gning-s3cret"}, due, results,
	)
	var got []*store.Attempted
	for range due {
		got = append(got, <-results)
	}
	return got
}

// Slack answers 200 also when it refuses a message. See great-expectations/great_expectations#5818 and
// NangoHQ/nango#4706, where such messages were lost as delivered.
func TestARefusalOfSlacksAPIIsAFailure(t *testing.T) {
	t.Parallel()
	for answer, want := range map[answering]string{
		{200, `{"ok":false,"error":"invalid_auth","warning":"missing_charset"}`}: "bot token",
		{200, `{"ok":false,"error":"account_inactive"}`}:                         "deleted",
		{200, `{"ok":false,"error":"token_revoked"}`}:                            "revoked",
		{200, `{"ok":false,"error":"missing_scope","needed":"chat:write"}`}:      "chat:write",
		{200, `{"ok":false,"error":"channel_not_found"}`}:                        "channel_not_found: ",
		{200, `{"ok":false,"error":"not_in_channel"}`}:                           "Invite",
		{200, `{"ok":false,"error":"is_archived"}`}:                              "archived",
		{200, `{"ok":false,"error":"never_heard_of"}`}:                           "never_heard_of: Slack refused",
		{200, `{"ok":false}`}:                                                    "not one of Slack",
		{200, `{"error":"invalid_auth"}`}:                                        "bot token",
		{200, `<html>Sign in to the wi-fi</html>`}:                               "not one of Slack",
		{200, `ok`}:                  "not one of Slack",
		{200, ``}:                    "not one of Slack",
		{200, `{"ok":true,"ts":"17`}: "not one of Slack",
		{204, ``}:                    "not one of Slack",
		{429, `{"ok":false,"error":"ratelimited"}`}:      "too many",
		{500, `{"ok":false,"error":"internal_error"}`}:   "refused",
		{503, `<html>later</html>`}:                      "",
		{200, `{"ok":true,"ts":"1.1","channel":"C1"}`}:   "",
		{200, `{"ok":false,"error":"thread_not_found"}`}: "begins another",
	} {
		old := store.Thread{RunID: "r", TS: "1.0"}
		got := postTo(t, answer, appMessage{channel: "C1", line: "l", run: "r", thread: old})[0]
		succeeds := strings.HasPrefix(answer.body, `{"ok":true,"ts":"1.1"`)
		if got.Succeeded != succeeds || got.Succeeded == (got.NextAt != 0) || got.Gone {
			t.Errorf("after %d %s, the attempt is %+v", answer.status, answer.body, got)
		}
		if (got.Error == "") != (want == "") || !strings.Contains(got.Error, want) {
			t.Errorf("%d %s is explained with %q, want %q", answer.status, answer.body, got.Error, want)
		}
		if forgotten := got.Thread.RunID == "r" && got.Thread.TS == ""; forgotten != strings.Contains(answer.body, "thread") {
			t.Errorf("after %s, the thread is %+v", answer.body, got.Thread)
		}
	}
}

// hasty answers that Slack gets too many messages, without saying for how long to wait.
type hasty struct{}

func (hasty) RoundTrip(r *http.Request) (*http.Response, error) {
	got, err := answering{429, `{"ok":false,"error":"ratelimited"}`}.RoundTrip(r)
	got.Header = http.Header{}
	return got, err
}

// Without a valid Retry-After, as in slackapi/node-slack-sdk#1421, the others wait all the same.
func TestSlackIsNotPressed(t *testing.T) {
	t.Parallel()
	got := postTo(t, hasty{}, appMessage{channel: "C1", line: "1"}, appMessage{channel: "C1", line: "2"})
	if got[0] == nil || got[0].WaitUntil.Sub(got[0].At) < waitLimited-time.Second || got[1] != nil {
		t.Errorf("the attempts are %+v and %+v", got[0], got[1])
	}
}

// Slack's answer repeats the message, and a debugging proxy repeats the headers.
func TestTheLogOfASlackAppHasNoSecretAndNoMessage(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"ok":true,"ts":"1.1","message":{"text":"xoxb-t0ken-of-the-bot the question"}}`,
		`{"ok":false,"error":"xoxb-t0ken-of-the-bot","message":"the question"}`,
		`<pre>Authorization: Bearer xoxb-t0ken-of-the-bot s1gning-s3cret</pre>`,
	} {
		got := postTo(t, answering{200, body}, appMessage{channel: "C1", line: "l"})[0]
		for _, text := range []string{"t0ken", "s3cret", "question"} {
			if strings.Contains(got.Answer+got.Error, text) {
				t.Errorf("the log of %s has %q and %q", body, got.Answer, got.Error)
			}
		}
	}
}

// A longer text made Slack refuse the whole message in elastic/kibana#73061 and huggingface/peft#1251.
func TestAQuestionFitsIntoAMessageOfSlack(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"letters":      strings.Repeat("x", 100_000),
		"escaped ones": strings.Repeat("<&>", 50_000),
		"emoji":        strings.Repeat("🦀", 50_000),
		"dots":         strings.Repeat(".", 50_000),
	} {
		got := paragraphs(text)
		if n := len(utf16.Encode([]rune(got))); n > maxSection || n < maxSection-10 {
			t.Errorf("%s: the text has %d characters", name, n)
		}
		if !strings.HasSuffix(got, "…") {
			t.Errorf("%s: the end of %q does not say that it is cut", name, got[len(got)-20:])
		}
	}
	if got := paragraphs("one\r\ntwo\x00\u202e\n"); got != "one\ntwo" {
		t.Errorf("got %q", got)
	}
}

// Texts of agents in mrkdwn became links and mentions in Smana/runlore#196 and JSONbored/loopover#1538, and in the text
// beside the blocks in langfuse/langfuse#13874.
func TestAQuestionIsNotMarkup(t *testing.T) {
	t.Parallel()
	a := appMessage{channel: "C1", line: "<https://p.test/runs/r|Run is BLOCKED>", run: "r", ask: &ask{
		text: "Look <!channel> <@U1> @here https://evil.example|x `code` :fire: &lt;!here&gt;", answers: true, mayClick: true,
	}}
	body, err := a.body(store.Thread{})
	if err != nil {
		t.Fatal(err)
	}
	var message struct {
		Text   string `json:"text"`
		Blocks []struct {
			Text struct {
				Text string `json:"text"`
			} `json:"text"`
		} `json:"blocks"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		t.Fatal(err)
	}
	const want = "Look &lt;!channel&gt; &lt;@\u200bU1&gt; @\u200bhere https:\u200b//evil.\u200bexample|x 'code' " +
		":\u200bfire:\u200b &amp;lt;!here&amp;gt;"
	if got := message.Blocks[1].Text.Text; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if message.Text != a.line || message.Blocks[0].Text.Text != a.line {
		t.Errorf("the lines are %q and %q", message.Text, message.Blocks[0].Text.Text)
	}
}

// A URL in a payload is checked by its host, not by its beginning: see kubestellar/console#6416 and
// Tracer-Cloud/opensre#1988.
func TestARepliesURLIsSlacksOrTheEndpoints(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]bool{
		"https://hooks.slack.com/actions/T1/2/x":  true,
		"https://slack.example.com:8443/reply":    true,
		"http://hooks.slack.com/actions/T1/2/x":   false,
		"https://hooks.slack.com.evil.example/x":  false,
		"https://hooks.slack.com@evil.example/x":  false,
		"https://evil.example/hooks.slack.com":    false,
		"https://user@hooks.slack.com/x":          false,
		"https://hooks.slack.com:444/x":           false,
		"https://slack.example.com/reply":         false,
		"http://slack.example.com:8443/reply":     false,
		"http://169.254.169.254/latest/meta-data": false,
		"https:hooks.slack.com/x":                 false,
		"":                                        false,
		"https://hooks.slack.com\\@evil.example/": false,
		"https://hooks.slack.com%2f@evil.example": false,
	} {
		if got := mayReply("https://slack.example.com:8443", to); got != want {
			t.Errorf("%q: got %t, want %t", to, got, want)
		}
	}
}
