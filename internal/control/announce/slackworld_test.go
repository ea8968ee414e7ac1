package announce_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

const (
	botToken      = "xoxb-t0ken-of-the-bot"
	signingSecret = "8f742231b10e8888abcd99yyyzzz85a5"
	realChannel   = "C0REAL"
)

// slackMessage is the request of chat.postMessage.
type slackMessage struct {
	Channel  string `json:"channel"`
	Text     string `json:"text"`
	ThreadTS string `json:"thread_ts"`
	Blocks   []struct {
		Type    string `json:"type"`
		BlockID string `json:"block_id"`
		Text    struct {
			Text string `json:"text"`
		} `json:"text"`
		Elements []struct {
			ActionID string `json:"action_id"`
			Value    string `json:"value"`
		} `json:"elements"`
	} `json:"blocks"`

	ts string // that Slack gave it
}

// value returns the value of a button of a message.
func (m slackMessage) value(action string) string {
	for _, block := range m.Blocks {
		for _, e := range block.Elements {
			if e.ActionID == action {
				return e.Value
			}
		}
	}
	return ""
}

// slack is Slack's web API, as far as messages need it, and follows a script before it does what it should.
type slack struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	got     []slackMessage
	replies []string
	script  []http.HandlerFunc // one for each of the next requests, which is not noted
}

func newSlack(t *testing.T) *slack {
	t.Helper()
	s := &slack{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/chat.postMessage", s.post)
	mux.HandleFunc("POST /reply", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.replies = append(s.replies, string(body))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	s.url = server.URL
	return s
}

func (s *slack) next() http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.script) == 0 {
		return nil
	}
	first := s.script[0]
	s.script = s.script[1:]
	return first
}

func (s *slack) post(w http.ResponseWriter, r *http.Request) {
	if scripted := s.next(); scripted != nil {
		scripted(w, r)
		return
	}
	refuse := func(why string) { fmt.Fprintf(w, `{"ok":false,"error":%q}`, why) }
	var m slackMessage
	switch err := json.NewDecoder(r.Body).Decode(&m); {
	case r.Header.Get("Authorization") != "Bearer "+botToken:
		refuse("invalid_auth")
		return
	case err != nil || r.Header.Get("Content-Type") != "application/json; charset=utf-8":
		refuse("invalid_json")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	isOf := func(ts string) func(slackMessage) bool { return func(m slackMessage) bool { return m.ts == ts } }
	switch {
	case m.ThreadTS == "" && m.Channel != "agents", m.ThreadTS != "" && m.Channel != realChannel:
		refuse("channel_not_found")
		return
	case m.ThreadTS != "" && !slices.ContainsFunc(s.got, isOf(m.ThreadTS)):
		refuse("thread_not_found")
		return
	}
	for _, block := range m.Blocks {
		if len(utf16.Encode([]rune(block.Text.Text))) > 3000 {
			refuse("invalid_blocks")
			return
		}
	}
	m.ts = fmt.Sprintf("1700000000.%06d", len(s.got)+1)
	s.got = append(s.got, m)
	fmt.Fprintf(w, `{"ok":true,"channel":%q,"ts":%q,"message":{"text":%q}}`, realChannel, m.ts, m.Text)
}

// waitFor waits until the channel has so many messages.
func (s *slack) waitFor(n int) []slackMessage {
	s.t.Helper()
	testkit.Eventually(s.t, 30*time.Second, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if got := len(s.got); got < n {
			return fmt.Errorf("the channel has %d messages, want %d", got, n)
		}
		return nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// waitForReply waits for so many replies to clicks, and returns the text of the last one.
func (s *slack) waitForReply(n int) string {
	s.t.Helper()
	var last string
	testkit.Eventually(s.t, 30*time.Second, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if got := len(s.replies); got != n {
			return fmt.Errorf("got %d replies, want %d: %q", got, n, s.replies)
		}
		last = s.replies[n-1]
		return nil
	})
	var reply struct {
		Type     string `json:"response_type"`
		Replaces *bool  `json:"replace_original"`
		Text     string `json:"text"`
	}
	if err := json.Unmarshal([]byte(last), &reply); err != nil || reply.Type != "ephemeral" || reply.Replaces == nil ||
		*reply.Replaces {
		s.t.Errorf("the reply is %s: %v", last, err)
	}
	return reply.Text
}

// slackWorld is a world with a channel of Slack, and the ingress that takes the clicks there.
type slackWorld struct {
	*world

	slack   *slack
	ingress *webhook.Ingress
}

func slackWorlds(t *testing.T, test func(*slackWorld)) {
	t.Helper()
	worlds(t, nil, func(w *world) {
		test(&slackWorld{w, newSlack(w.T), webhook.NewIngress(webhook.IngressOptions{
			Receiver: w.Receiver, Clicks: w.Endpoints, PublicURL: "https://penstock.test",
			Limits: testworld.DefaultWebhookLimits(),
			Client: func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.7") },
		})})
	})
}

// app creates an endpoint for the channel, where U1 and U2 may answer.
func (w *slackWorld) app(change func(*announce.EndpointRequest)) penstock.EventEndpoint {
	w.T.Helper()
	req := announce.EndpointRequest{
		URL: new(w.slack.url + "/api"), Format: new(announce.FormatSlackApp), Channel: new("agents"),
		BotToken: new(botToken), SigningSecret: new(signingSecret), MayAnswer: &[]string{"U1", "U2"},
		Events: &[]penstock.EndpointEvent{store.EventRunBlocked},
	}
	if change != nil {
		change(&req)
	}
	e, err := w.Endpoints.Create(w.T.Context(), w.Admin, req)
	if err != nil {
		w.T.Fatal(err)
	}
	return e
}

// ask lets the next run ask a question, which ends its turn.
func (w *slackWorld) ask(question string) {
	w.T.Helper()
	w.Finish(w.Work().Lease, penstock.Result{
		State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: question},
	})
}

// click is a click on a button of a message.
type click struct {
	user, action, value string
	typed               any // the content of the input: a text or nil
	actionTS            string
	change              func(payload map[string]any)
}

func (w *slackWorld) payload(c click) string {
	w.T.Helper()
	if c.actionTS == "" {
		c.actionTS = strconv.FormatInt(time.Now().UnixNano(), 10)
	}
	payload := map[string]any{
		"type": "block_actions", "user": map[string]any{"id": c.user, "team_id": "T1"}, "api_app_id": "A1",
		"container":    map[string]any{"message_ts": "1700000000.000002", "thread_ts": "1700000000.000001"},
		"response_url": w.slack.url + "/reply",
		"actions": []any{map[string]any{
			"type": "button", "action_id": c.action, "block_id": "b", "value": c.value, "action_ts": c.actionTS,
		}},
		"state": map[string]any{"values": map[string]any{
			"penstock_input": map[string]any{
				"penstock_text": map[string]any{"type": "plain_text_input", "value": c.typed},
			},
		}},
	}
	if c.change != nil {
		c.change(payload)
	}
	text, err := json.Marshal(payload)
	if err != nil {
		w.T.Fatal(err)
	}
	return url.Values{"payload": {string(text)}}.Encode()
}

// signed returns a request as Slack signs it.
func signed(uid, body string, at time.Time) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/webhooks/e/"+uid, strings.NewReader(body))
	timestamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(signingSecret))
	mac.Write([]byte("v0:" + timestamp + ":" + body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Slack-Request-Timestamp", timestamp)
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return r
}

func (w *slackWorld) send(r *http.Request) *httptest.ResponseRecorder {
	to := httptest.NewRecorder()
	w.ingress.ServeHTTP(to, r.WithContext(w.T.Context()))
	return to
}

// clicks sends a click, which Slack always gets a 200 for.
func (w *slackWorld) clicks(e penstock.EventEndpoint, c click) {
	w.T.Helper()
	got := w.send(signed(e.UID, w.payload(c), time.Now()))
	if got.Code != http.StatusOK || got.Body.Len() > 0 {
		w.T.Fatalf("the click of %s gets %d %s", c.user, got.Code, got.Body)
	}
}

// answers lists the follow-ups of a run with their senders.
func (w *slackWorld) answers(id string) []string {
	w.T.Helper()
	var list []string
	const query = "SELECT creator, message FROM followups WHERE run_id = $1 ORDER BY id"
	for _, row := range testkit.Rows(w.T, w.URL, query, id) {
		list = append(list, strings.Join(row, ": "))
	}
	return list
}

func (w *slackWorld) mustBe(id string, want penstock.State, answers ...string) {
	w.T.Helper()
	w.MustBe(id, want)
	if got := w.answers(id); !slices.Equal(got, answers) {
		w.T.Fatalf("the answers are %q, want %q", got, answers)
	}
}

func TestAQuestionIsAnsweredInSlack(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(func(req *announce.EndpointRequest) { req.Events = nil })
		id := w.Create(penstock.RunRequest{Prompt: "Deploy <!channel>"}).ID
		w.ask("Which one, *a* or <b>?\nSay so.")
		got := w.slack.waitFor(3)
		line := "<https://penstock.test/runs/" + id + "|Run is BLOCKED>: Deploy &lt;!channel&gt;"
		asked := got[2]
		if asked.Text != line || asked.Blocks[0].Text.Text != line ||
			asked.Blocks[1].Text.Text != "Which one, *a* or &lt;b&gt;?\nSay so.\u200b" {
			w.T.Errorf("the question is %+v", asked)
		}
		for i, m := range got {
			if root := i == 0; (m.ThreadTS == "") != root || !root && m.ThreadTS != got[0].ts {
				w.T.Errorf("message %d is in the thread %q, and the first has %q", i, m.ThreadTS, got[0].ts)
			}
		}
		w.clicks(e, click{user: "U1", action: "penstock_answer", value: asked.value("penstock_answer"), typed: " a \n"})
		w.mustBe(id, penstock.StateQueued, "slack:U1: a")
		if text := w.slack.waitForReply(1); !strings.Contains(text, "continues") {
			w.T.Errorf("the reply is %q", text)
		}
		a := w.Work()
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		if all := w.slack.waitFor(5); all[4].ThreadTS != got[0].ts || all[4].Channel != realChannel {
			w.T.Errorf("the last message is %+v", all[4])
		}
		for i, a := range w.waitForAttempts(e.UID, 5) {
			if !a.Succeeded || a.Error != "" || a.Status != http.StatusOK {
				w.T.Errorf("attempt %d is %+v", i, a)
			}
		}
	})
}

func TestARunIsCancelledInSlack(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.ask("Shall I?")
		asked := w.slack.waitFor(1)[0]
		w.clicks(e, click{user: "U2", action: "penstock_cancel", value: asked.value("penstock_cancel")})
		w.mustBe(id, penstock.StateCancelled)
		if got := w.Get(id).StatusMessage.Message; got != "Cancelled by slack:U2." {
			w.T.Errorf("the message is %q", got)
		}
		w.slack.waitForReply(1)
		w.clicks(e, click{user: "U2", action: "penstock_cancel", value: asked.value("penstock_cancel")})
		w.clicks(e, click{user: "U1", action: "penstock_answer", value: asked.value("penstock_answer"), typed: "a"})
		if text := w.slack.waitForReply(2); !strings.Contains(text, "over") {
			w.T.Errorf("the reply is %q", text)
		}
		w.mustBe(id, penstock.StateCancelled)
	})
}

// People click twice, and Slack repeats what it takes for lost: mozilla/bugbug#6732, slackapi/bolt-js#822 and #1104.
func TestADoubleClickAnswersOnce(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.ask("Which one?")
		value := w.slack.waitFor(1)[0].value("penstock_answer")
		var sending sync.WaitGroup
		codes := make([]int, 4)
		for i := range codes {
			c := click{user: "U1", action: "penstock_answer", value: value, typed: "a", actionTS: strconv.Itoa(i / 2)}
			r := signed(e.UID, w.payload(c), time.Now())
			sending.Go(func() { codes[i] = w.send(r).Code })
		}
		sending.Wait()
		if slices.ContainsFunc(codes, func(code int) bool { return code != http.StatusOK }) {
			w.T.Errorf("the clicks get %d", codes)
		}
		w.mustBe(id, penstock.StateQueued, "slack:U1: a")
		w.slack.waitForReply(1) // the others are the same answer
		w.clicks(e, click{user: "U2", action: "penstock_answer", value: value, typed: "b"})
		if text := w.slack.waitForReply(2); !strings.Contains(text, "over") {
			w.T.Errorf("the reply is %q", text)
		}
		w.mustBe(id, penstock.StateQueued, "slack:U1: a")
	})
}

func TestAnAnswerIsOnlyForItsQuestion(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.ask("Delete the copy?")
		first := w.slack.waitFor(1)[0].value("penstock_answer")
		w.FollowUp(id, "yes") // over the API
		w.ask("Delete the original?")
		asked := w.slack.waitFor(2)[1]
		for n, action := range []string{"penstock_answer", "penstock_cancel"} {
			w.clicks(e, click{user: "U1", action: action, value: first, typed: "yes"})
			if text := w.slack.waitForReply(n + 1); !strings.Contains(text, "over") {
				w.T.Errorf("the reply is %q", text)
			}
		}
		w.mustBe(id, penstock.StateBlocked, w.Admin.Actor.UID+": yes")
		w.clicks(e, click{user: "U1", action: "penstock_answer", value: asked.value("penstock_answer"), typed: "no"})
		w.mustBe(id, penstock.StateQueued, w.Admin.Actor.UID+": yes", "slack:U1: no")
	})
}

// Buttons that anybody in the channel could use: NousResearch/hermes-agent#36848 and #6735. Nobody is in an empty list.
func TestOnlyTheNamedUsersMayAnswer(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.ask("Which one?")
		value := w.slack.waitFor(1)[0].value("penstock_answer")
		replies := 0
		for _, user := range []string{"U3", "u1", "", "U1 "} {
			for _, action := range []string{"penstock_answer", "penstock_cancel"} {
				w.clicks(e, click{user: user, action: action, value: value, typed: "a"})
				replies++
				if text := w.slack.waitForReply(replies); !strings.Contains(text, "may not answer") {
					w.T.Errorf("%q: the reply is %q", user, text)
				}
			}
		}
		if _, err := w.Endpoints.Update(
			w.T.Context(), w.Admin, e.UID, announce.EndpointRequest{MayAnswer: &[]string{}},
		); err != nil {
			w.T.Fatal(err)
		}
		for _, user := range []string{"U1", ""} {
			w.clicks(e, click{user: user, action: "penstock_answer", value: value, typed: "a"})
			replies++
			w.slack.waitForReply(replies)
		}
		w.mustBe(id, penstock.StateBlocked)
		w.FollowUp(id, "b")
		w.ask("And now?")
		if asked := w.slack.waitFor(2)[1]; len(asked.Blocks) != 2 || asked.Blocks[1].Text.Text != "And now?" {
			w.T.Errorf("without anybody who may answer, the message has %+v", asked.Blocks)
		}
	})
}

func TestAClickReachesOnlyRunsThatTheEndpointHearsOf(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		made, err := w.Factories.Create(w.T.Context(), w.Admin, factory.FactoryRequest{Name: new("shop")})
		if err != nil {
			w.T.Fatal(err)
		}
		shop := w.app(func(req *announce.EndpointRequest) { req.FactoryUIDs = &[]string{made.UID} })
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.ask("Which one?")
		value := w.slack.waitFor(1)[0].value("penstock_answer")
		replies := 0
		refused := func(why string, e penstock.EventEndpoint, value string) {
			w.T.Helper()
			for _, action := range []string{"penstock_answer", "penstock_cancel"} {
				w.clicks(e, click{user: "U1", action: action, value: value, typed: "a"})
				replies++
				if text := w.slack.waitForReply(replies); !strings.Contains(text, "over") {
					w.T.Errorf("%s: the reply is %q", why, text)
				}
			}
			if got := w.answers(id); len(got) > 0 {
				w.T.Errorf("%s: the run got %q", why, got)
			}
		}
		refused("an endpoint of another factory", shop, value)
		refused("a run that does not exist", e, penstock.NewID()+" 1")
		testkit.Exec(w.T, w.URL, "UPDATE runs SET personal = 1 WHERE id = '"+id+"'")
		refused("a personal run", e, value)
		testkit.Exec(w.T, w.URL, "UPDATE runs SET personal = 0, team = 'another' WHERE id = '"+id+"'")
		refused("a run of another team", e, value)
		testkit.Exec(w.T, w.URL, "UPDATE runs SET team = '"+store.DefaultTeam+"' WHERE id = '"+id+"'")
		w.clicks(e, click{user: "U1", action: "penstock_answer", value: value, typed: "a"})
		w.mustBe(id, penstock.StateQueued, "slack:U1: a")
	})
}

// The value of an input is null until somebody types: slackapi/bolt-js#1914. The state may be absent:
// HubSpot/slack-client#281.
func TestWhatIsNotAnAnswerDoesNothing(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.ask("Which one?")
		value := w.slack.waitFor(1)[0].value("penstock_answer")
		good := click{user: "U1", action: "penstock_answer", value: value, typed: "a"}
		for n, change := range []func(map[string]any){
			func(p map[string]any) { delete(p, "state") },
			func(p map[string]any) { p["state"] = map[string]any{"values": map[string]any{}} },
			func(p map[string]any) {
				p["state"] = map[string]any{"values": map[string]any{
					"penstock_input": map[string]any{"penstock_text": map[string]any{"value": nil}},
				}}
			},
			func(p map[string]any) {
				p["state"] = map[string]any{"values": map[string]any{
					"another": map[string]any{"penstock_text": map[string]any{"value": "a"}},
				}}
			},
			func(p map[string]any) {
				p["state"] = map[string]any{"values": map[string]any{
					"penstock_input": map[string]any{"penstock_text": map[string]any{"value": " \n\t"}},
				}}
			},
		} {
			c := good
			c.change = change
			w.clicks(e, c)
			if text := w.slack.waitForReply(n + 1); !strings.Contains(text, "Write an answer") {
				w.T.Errorf("the reply is %q", text)
			}
		}
		for _, change := range []func(map[string]any){
			func(p map[string]any) { p["type"] = "view_submission" },
			func(p map[string]any) { p["type"] = "message_action" },
			func(p map[string]any) { p["actions"] = []any{} },
			func(p map[string]any) { delete(p, "actions") },
			func(p map[string]any) {
				p["actions"] = []any{map[string]any{"action_id": "approve", "value": value}}
			},
			func(p map[string]any) {
				p["actions"] = []any{map[string]any{"action_id": "penstock_text", "value": value}}
			},
			func(p map[string]any) {
				p["actions"] = []any{map[string]any{"action_id": "penstock_answer", "value": "' OR 1=1 --"}}
			},
			func(p map[string]any) {
				p["actions"] = []any{map[string]any{"action_id": "penstock_answer", "value": id}}
			},
		} {
			c := good
			c.change = change
			w.clicks(e, c)
		}
		w.mustBe(id, penstock.StateBlocked)
		w.slack.waitForReply(5)
	})
}

// A reply goes nowhere else: BaseIntelligence/bounty-challenge#7013.
func TestAReplyGoesToSlackOnly(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		other := newReceiver(w.T, nil)
		w.clicks(e, click{
			user: "U3", action: "penstock_answer", value: penstock.NewID() + " 1",
			change: func(p map[string]any) { p["response_url"] = other.url + "/reply" },
		})
		w.clicks(e, click{user: "U3", action: "penstock_answer", value: penstock.NewID() + " 1"})
		w.slack.waitForReply(1)
		if n := len(other.all()); n > 0 {
			w.T.Errorf("another host got %d replies", n)
		}
	})
}

// A server that hangs at the replies to its own clicks takes no reply from others.
func TestHangingRepliesDelayNoOther(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		began := make(chan struct{}, 100)
		hanging := newReceiver(w.T, func(_ http.ResponseWriter, r *http.Request) {
			began <- struct{}{}
			<-r.Context().Done()
		})
		e := w.app(func(req *announce.EndpointRequest) { req.URL = new(hanging.url + "/api") })
		for range 200 {
			w.clicks(e, click{
				user: "U3", action: "penstock_answer", value: penstock.NewID() + " 1",
				change: func(p map[string]any) { p["response_url"] = hanging.url + "/reply" },
			})
		}
		<-began
		w.clicks(w.app(nil), click{user: "U3", action: "penstock_answer", value: penstock.NewID() + " 1"})
		w.slack.waitForReply(1)
	})
}

// A body that was parsed and written again has another signature: slackapi/node-slack-events-api#92 and
// langchain-ai/open-swe#2319.
func TestAClickNeedsASignatureOfTheRawBody(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.ask("Which one?")
		value := w.slack.waitFor(1)[0].value("penstock_answer")
		body := w.payload(click{user: "U1", action: "penstock_answer", value: value, typed: "a*b c~d"})
		now := time.Now()
		unescaped := strings.ReplaceAll(strings.ReplaceAll(body, "%2A", "*"), "+", "%20")
		const header = "X-Slack-Signature"
		with := func(change func(*http.Request)) *http.Request {
			r := signed(e.UID, body, now)
			change(r)
			return r
		}
		for why, r := range map[string]*http.Request{
			"an old timestamp":    signed(e.UID, body, now.Add(-6*time.Minute)),
			"a future timestamp":  signed(e.UID, body, now.Add(6*time.Minute)),
			"no signature":        with(func(r *http.Request) { r.Header.Del(header) }),
			"no timestamp":        with(func(r *http.Request) { r.Header.Del("X-Slack-Request-Timestamp") }),
			"another signature":   with(func(r *http.Request) { r.Header.Set(header, "v0="+strings.Repeat("0", 64)) }),
			"another version":     with(func(r *http.Request) { r.Header.Set(header, "v1"+r.Header.Get(header)[2:]) }),
			"two signatures":      with(func(r *http.Request) { r.Header.Add(header, r.Header.Get(header)) }),
			"a changed body":      with(func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(body + "&x=1")) }),
			"a body written anew": with(func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(unescaped)) }),
			"another timestamp": with(func(r *http.Request) {
				r.Header.Set("X-Slack-Request-Timestamp", strconv.FormatInt(now.Unix()-1, 10))
			}),
		} {
			if got := w.send(r); got.Code != http.StatusUnauthorized {
				w.T.Errorf("%s: got %d %s", why, got.Code, got.Body)
			}
		}
		w.mustBe(id, penstock.StateBlocked)
		if got := w.send(signed(e.UID, body, now)); got.Code != http.StatusOK {
			w.T.Errorf("the signed body gets %d %s", got.Code, got.Body)
		}
		// Slack may write the same form in another way, also with a payload that is not UTF-8 elsewhere.
		w.mustBe(id, penstock.StateQueued, "slack:U1: a*b c~d")
		if got := w.send(signed(e.UID, unescaped+"&x=%ff", now)); got.Code != http.StatusOK {
			w.T.Errorf("another form of the same payload gets %d %s", got.Code, got.Body)
		}
	})
}

func TestADoorThatTakesNoClicksDoesNotExist(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		disabled := w.app(nil)
		if _, err := w.Endpoints.Update(
			w.T.Context(), w.Admin, disabled.UID, announce.EndpointRequest{Enabled: new(false)},
		); err != nil {
			w.T.Fatal(err)
		}
		unsigned := w.app(func(req *announce.EndpointRequest) { req.SigningSecret, req.MayAnswer = nil, nil })
		r := newReceiver(w.T, nil)
		body := w.payload(click{user: "U1", action: "penstock_answer", value: penstock.NewID() + " 1", typed: "a"})
		want := w.send(signed(penstock.NewUID(), body, time.Now()))
		if want.Code != http.StatusNotFound {
			w.T.Fatalf("an unknown one gets %d", want.Code)
		}
		for why, uid := range map[string]string{
			"disabled": disabled.UID, "without a secret": unsigned.UID, "of the format standard": w.endpoint(r.url).UID,
			"of the format slack": w.world.slack(r).UID, "malformed": "x", "with a token": disabled.UID + "/x",
		} {
			got := w.send(signed(uid, body, time.Now()))
			if got.Code != want.Code || got.Body.String() != want.Body.String() {
				w.T.Errorf("%s: got %d %s", why, got.Code, got.Body)
			}
		}
		get := signed(disabled.UID, "", time.Now())
		get.Method = http.MethodGet
		if got := w.send(get); got.Code != http.StatusMethodNotAllowed {
			w.T.Errorf("GET gets %d", got.Code)
		}
	})
}

// Slack checks the certificate with a form that has no payload: slackapi/bolt-js#102.
func TestAFormWithoutOnePayload(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		for body, want := range map[string]int{
			"":                         http.StatusBadRequest,
			"payload":                  http.StatusBadRequest,
			"payload=%7B":              http.StatusBadRequest,
			"payload=%ff":              http.StatusBadRequest,
			"payload=%zz":              http.StatusBadRequest,
			"payload=[]":               http.StatusBadRequest,
			"payload={}&payload={}":    http.StatusBadRequest,
			`{"type":"block_actions"}`: http.StatusBadRequest,
			"payload={}":               http.StatusOK,
			"ssl_check=1&token=x":      http.StatusOK,
			"payload=" + strings.Repeat("[", 200_000): http.StatusBadRequest,
			"payload=" + strings.Repeat("x", 300<<10): http.StatusRequestEntityTooLarge,
		} {
			if got := w.send(signed(e.UID, body, time.Now())); got.Code != want {
				w.T.Errorf("%.30q: got %d %s, want %d", body, got.Code, got.Body, want)
			}
		}
		huge := signed(e.UID, "payload={}", time.Now())
		huge.Body, huge.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20))), -1
		if got := w.send(huge); got.Code != http.StatusRequestEntityTooLarge {
			w.T.Errorf("a huge body without a length gets %d", got.Code)
		}
	})
}

func TestFailedClicksAreLimited(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		guess := func() int {
			r := signed(e.UID, "payload={}", time.Now())
			r.Header.Set("X-Slack-Signature", "v0="+strings.Repeat("0", 64))
			return w.send(r).Code
		}
		for range 30 {
			if got := guess(); got != http.StatusUnauthorized {
				w.T.Fatalf("got %d", got)
			}
		}
		if got := w.send(signed(e.UID, "payload={}", time.Now())).Code; got != http.StatusTooManyRequests {
			w.T.Errorf("after 30 failures, got %d", got)
		}
		// All apps of Slack send from the same addresses, so strangers could block them.
		other := w.app(nil)
		if got := w.send(signed(other.UID, "payload={}", time.Now())).Code; got != http.StatusOK {
			w.T.Fatalf("got %d", got)
		}
		e = other
		for range 31 {
			guess()
		}
		if got := w.send(signed(other.UID, "payload={}", time.Now())).Code; got != http.StatusOK {
			w.T.Errorf("where a valid click came from is blocked: %d", got)
		}
	})
}

func TestAMessageThatSlackDoesNotTakeIsTriedAgain(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		w.slack.script = []http.HandlerFunc{
			func(rw http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(rw, `{"ok":false,"error":"not_in_channel"}`)
			},
			func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `<html>hello</html>`) },
			func(_ http.ResponseWriter, r *http.Request) { // it takes the message, and its answer is lost
				w.slack.post(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			},
		}
		e := w.app(func(req *announce.EndpointRequest) { req.Events = &[]penstock.EndpointEvent{store.EventRunCreated} })
		w.Create(penstock.RunRequest{Prompt: "p"})
		for n := 1; n <= 3; n++ {
			last := w.waitForAttempts(e.UID, n)[n-1]
			if last.Succeeded || last.NextAt == 0 || last.Error == "" || last.Attempt != n {
				w.T.Errorf("attempt %d is %+v", n, last)
			}
			if read := w.read(e.UID); read.Stats.FailingSince == 0 || !read.Enabled {
				w.T.Errorf("after attempt %d, the endpoint is %+v", n, read)
			}
			w.hurry()
		}
		if last := w.waitForAttempts(e.UID, 4)[3]; !last.Succeeded {
			w.T.Errorf("the last attempt is %+v", last)
		}
		if got := w.slack.waitFor(2); len(got) != 2 || got[0].Text != got[1].Text {
			w.T.Errorf("the channel has %+v", got)
		}
		limited := func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "40")
			rw.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(rw, `{"ok":false,"error":"ratelimited"}`)
		}
		w.slack.mu.Lock()
		w.slack.script = []http.HandlerFunc{limited}
		w.slack.mu.Unlock()
		w.Create(penstock.RunRequest{Prompt: "q"})
		wait := w.waitForAttempts(e.UID, 5)[4]
		if d := wait.NextAt.Sub(wait.At); wait.Status != 429 || d < 39*time.Second || d > 41*time.Second {
			w.T.Errorf("the attempt is %+v", wait)
		}
		if until := w.read(e.UID).Stats.WaitsUntil; until.Sub(wait.At) < 39*time.Second {
			w.T.Errorf("the endpoint waits until %s", until)
		}
	})
}

func TestAHangingSlackDelaysOnlyItsChannel(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		hangs, release := make(chan struct{}), make(chan struct{})
		w.slack.script = []http.HandlerFunc{func(http.ResponseWriter, *http.Request) {
			close(hangs)
			<-release
			panic(http.ErrAbortHandler)
		}}
		created := func(req *announce.EndpointRequest) { req.Events = &[]penstock.EndpointEvent{store.EventRunCreated} }
		hanging := w.app(created)
		w.Create(penstock.RunRequest{Prompt: "first"})
		<-hangs
		w.app(created)
		w.Create(penstock.RunRequest{Prompt: "second"})
		if got := w.slack.waitFor(1); !strings.Contains(got[0].Text, "second") {
			w.T.Errorf("the other endpoint got %+v", got)
		}
		close(release)
		if first := w.waitForAttempts(hanging.UID, 1)[0]; first.Succeeded || first.NextAt == 0 {
			w.T.Errorf("the attempt is %+v", first)
		}
		w.hurry()
		w.slack.waitFor(3)
	})
}

func TestAnInterruptedRunAndOneWithoutABudgetSayWhatTheyWaitFor(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		id := w.Create(penstock.RunRequest{Prompt: "interrupted"}).ID
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateBlocked})
		asked := w.slack.waitFor(1)[0]
		w.clicks(e, click{user: "U1", action: "penstock_answer", value: asked.value("penstock_answer"), typed: "go on"})
		w.mustBe(id, penstock.StateQueued, "slack:U1: go on")
		testkit.Exec(w.T, w.URL, "DELETE FROM queue")
		id = w.Create(penstock.RunRequest{
			Prompt: "poor", Config: &penstock.Config{Budget: &penstock.Budget{MaxCostUSD: 1}},
		}).ID
		a := w.Work()
		w.Spend(a.Lease, 0.75)
		refused := w.Spend(a.Lease, 0.5).Refusal
		w.Finish(a.Lease, penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{
			Message: "No room.", ErrorCode: refused.Code, Budget: refused.Budget,
		}})
		poor := w.slack.waitFor(2)[1]
		value := poor.value("penstock_cancel")
		if poor.value("penstock_answer") != "" || value == "" || poor.Blocks[1].Text.Text != "No room.\u200b" {
			w.T.Errorf("the message of a run without room is %+v", poor)
		}
		w.clicks(e, click{user: "U1", action: "penstock_answer", value: value, typed: "go on"})
		w.mustBe(id, penstock.StateBlocked)
		w.clicks(e, click{user: "U1", action: "penstock_cancel", value: value})
		w.mustBe(id, penstock.StateCancelled)
	})
}

// A message whose thread was deleted begins another one.
func TestAThreadThatIsGoneBeginsAgain(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(func(req *announce.EndpointRequest) { req.Events = nil })
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.slack.waitFor(1)
		w.waitForAttempts(e.UID, 1)
		w.slack.mu.Lock()
		w.slack.got[0].ts = "deleted"
		w.slack.mu.Unlock()
		if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, id, false); err != nil {
			w.T.Fatal(err)
		}
		if gone := w.waitForAttempts(e.UID, 2)[1]; gone.Succeeded || gone.NextAt == 0 {
			w.T.Errorf("the attempt is %+v", gone)
		}
		w.hurry()
		if got := w.slack.waitFor(2)[1]; got.ThreadTS != "" || got.Channel != "agents" {
			w.T.Errorf("the message is %+v", got)
		}
	})
}

func TestANewChannelHasThreadsOfItsOwn(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(func(req *announce.EndpointRequest) { req.Events, req.Channel = nil, new("agents") })
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.waitForAttempts(e.UID, 1)
		if _, err := w.Endpoints.Update(
			w.T.Context(), w.Admin, e.UID, announce.EndpointRequest{Channel: new("elsewhere")},
		); err != nil {
			w.T.Fatal(err)
		}
		if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, id, false); err != nil {
			w.T.Fatal(err)
		}
		// This Slack knows only the first channel.
		if a := w.waitForAttempts(e.UID, 2)[1]; a.Succeeded {
			w.T.Errorf("the attempt is %+v", a)
		}
	})
}

func TestSettingsOfASlackApp(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		if e.Channel != "agents" || !slices.Equal(e.MayAnswer, []string{"U1", "U2"}) || len(e.Secrets) != 0 ||
			e.InteractivityURL != "https://penstock.test/webhooks/e/"+e.UID {
			w.T.Errorf("got %+v", e)
		}
		shown, err := json.Marshal([]penstock.EventEndpoint{e, w.read(e.UID)})
		if err != nil || strings.Contains(string(shown), botToken) || strings.Contains(string(shown), signingSecret) {
			w.T.Errorf("got %s: %v", shown, err)
		}
		for _, row := range testkit.Rows(w.T, w.URL, "SELECT * FROM event_endpoints") {
			if text := strings.Join(row, " "); strings.Contains(text, botToken) || strings.Contains(text, signingSecret) {
				w.T.Errorf("the row is %s", text)
			}
		}
		update := func(p penstock.Principal, req announce.EndpointRequest) error {
			_, err := w.Endpoints.Update(w.T.Context(), p, e.UID, req)
			return err
		}
		if err := update(w.Admin, announce.EndpointRequest{Description: new("d")}); err != nil {
			w.T.Fatal(err)
		}
		w.Create(penstock.RunRequest{Prompt: "p"})
		w.ask("Is the token still there?")
		w.slack.waitFor(1)
		for pointer, req := range map[string]announce.EndpointRequest{
			"/channel":        {Channel: new("")},
			"/bot_token":      {BotToken: new("xoxb t0ken")},
			"/signing_secret": {SigningSecret: new("s3cret\n")},
			"/may_answer/1":   {MayAnswer: &[]string{"U1", "@bob"}},
			"/may_answer":     {MayAnswer: new(slices.Repeat([]string{"U1"}, 101))},
			"/url":            {URL: new(w.slack.url + "/api?token=s3cret")},
		} {
			err := update(w.Admin, req)
			if penstock.CodeOf(err) != penstock.CodeInvalidRequest || !strings.Contains(err.Error(), pointer+":") ||
				strings.Contains(err.Error(), "t0ken") || strings.Contains(err.Error(), "s3cret") {
				w.T.Errorf("%s: %v", pointer, err)
			}
		}
		if err := update(w.Admin, announce.EndpointRequest{Cleared: []string{"bot_token"}}); err == nil {
			w.T.Error("the token can be null")
		}
		for pointer, change := range map[string]func(*announce.EndpointRequest){
			"/channel":        func(req *announce.EndpointRequest) { req.Channel = nil },
			"/bot_token":      func(req *announce.EndpointRequest) { req.BotToken = nil },
			"/signing_secret": func(req *announce.EndpointRequest) { req.SigningSecret = nil },
			"/may_answer":     func(req *announce.EndpointRequest) { req.Format = new(announce.FormatSlack) },
		} {
			req := announce.EndpointRequest{
				URL: &w.slack.url, Format: new(announce.FormatSlackApp), Channel: new("agents"), BotToken: new(botToken),
				SigningSecret: new(signingSecret), MayAnswer: &[]string{"U1"},
			}
			change(&req)
			_, err := w.Endpoints.Create(w.T.Context(), w.Admin, req)
			if penstock.CodeOf(err) != penstock.CodeInvalidRequest || !strings.Contains(err.Error(), pointer+":") {
				w.T.Errorf("without %s: %v", pointer, err)
			}
		}
		public, err := w.Endpoints.Create(w.T.Context(), w.Admin, announce.EndpointRequest{
			Format: new(announce.FormatSlackApp), Channel: new("agents"), BotToken: new(botToken),
		})
		if err != nil || public.URL != "https://slack.com/api" {
			w.T.Errorf("without a URL: %+v %v", public, err)
		}
	})
}

// A token that nobody can read cannot be sent to a server of one's own either.
func TestTheBotTokenDoesNotMoveToAnotherServer(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e, other := w.app(nil), newReceiver(w.T, nil)
		req := announce.EndpointRequest{URL: new(other.url + "/api")}
		_, err := w.Endpoints.Update(w.T.Context(), w.Admin, e.UID, req)
		if penstock.CodeOf(err) != penstock.CodeInvalidRequest || !strings.Contains(err.Error(), "/bot_token: is required") {
			w.T.Errorf("another server: %v", err)
		}
		if _, err := w.Endpoints.Update(
			w.T.Context(), w.Admin, e.UID, announce.EndpointRequest{URL: new(w.slack.url + "/api/")},
		); err != nil {
			w.T.Errorf("another path: %v", err)
		}
		if _, err := w.Endpoints.Ping(w.T.Context(), w.Admin, e.UID); err != nil {
			w.T.Fatal(err)
		}
		w.slack.waitFor(1)
		req.BotToken = new("xoxb-another")
		if _, err := w.Endpoints.Update(w.T.Context(), w.Admin, e.UID, req); err != nil {
			w.T.Fatal(err)
		}
		if _, err := w.Endpoints.Ping(w.T.Context(), w.Admin, e.UID); err != nil {
			w.T.Fatal(err)
		}
		if got := other.waitFor(1)[0].header.Get("Authorization"); got != "Bearer xoxb-another" {
			w.T.Errorf("the other server got %q", got)
		}
	})
}

// Clicks act with the rights of the endpoint, so a key that may not steer runs can let nobody do so.
func TestToLetPeopleAnswerNeedsTheRightToSteerRuns(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(nil)
		p := w.As("u", penstock.ScopeEventsManage, penstock.ScopeRunsRead)
		update := func(p penstock.Principal, req announce.EndpointRequest) error {
			_, err := w.Endpoints.Update(w.T.Context(), p, e.UID, req)
			return err
		}
		for what, req := range map[string]announce.EndpointRequest{
			"other people":             {MayAnswer: &[]string{"U9"}},
			"another signing secret":   {SigningSecret: new("f0rged")},
			"other factories":          {Cleared: []string{"factory_uids"}},
			"people, while disabled":   {MayAnswer: &[]string{"U9"}, Enabled: new(false)},
			"a secret, while disabled": {SigningSecret: new("f0rged"), Enabled: new(false)},
			"all factories, disabled":  {Cleared: []string{"factory_uids"}, Enabled: new(false)},
			"an endpoint with them on": {Enabled: new(true)},
		} {
			if err := update(p, req); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
				w.T.Errorf("%s: %v", what, err)
			}
		}
		if _, err := w.Endpoints.Create(w.T.Context(), p, announce.EndpointRequest{
			Format: new(announce.FormatSlackApp), Channel: new("c"), BotToken: new(botToken),
			SigningSecret: new(signingSecret), MayAnswer: &[]string{"U9"},
		}); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			w.T.Errorf("a new endpoint: %v", err)
		}
		if _, err := w.Endpoints.Attempts(
			w.T.Context(), w.As("u", penstock.ScopeEventsManage), e.UID, announce.AttemptQuery{},
		); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			w.T.Errorf("the attempts without runs:read: %v", err)
		}
		if err := update(p, announce.EndpointRequest{Enabled: new(false)}); err != nil {
			w.T.Errorf("to disable it: %v", err)
		}
		if err := update(p, announce.EndpointRequest{SigningSecret: new("f0rged")}); penstock.CodeOf(err) !=
			penstock.CodeNotAuthorized {
			w.T.Errorf("another signing secret of a disabled endpoint: %v", err)
		}
		if err := update(p, announce.EndpointRequest{Enabled: new(true), MayAnswer: &[]string{}}); err != nil {
			w.T.Errorf("to let nobody answer: %v", err)
		}
		if err := update(
			w.As("u", penstock.ScopeEventsManage, penstock.ScopeRunsRead, penstock.ScopeRunsWrite),
			announce.EndpointRequest{MayAnswer: &[]string{"U9"}},
		); err != nil {
			w.T.Errorf("with runs:write: %v", err)
		}
	})
}

// Somebody else lets people answer later, and would not see that the key of before knows the signing secret.
func TestTheSigningSecretOfAKeyThatMayNotSteerRunsLetsNobodyAnswer(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		p := w.As("u", penstock.ScopeEventsManage, penstock.ScopeRunsRead)
		lets := func(p penstock.Principal, uid string, req announce.EndpointRequest) error {
			_, err := w.Endpoints.Update(w.T.Context(), p, uid, req)
			return err
		}
		people := announce.EndpointRequest{MayAnswer: &[]string{"U1"}}
		made, err := w.Endpoints.Create(w.T.Context(), p, announce.EndpointRequest{
			Format: new(announce.FormatSlackApp), Channel: new("c"), BotToken: new(botToken), SigningSecret: new("kn0wn"),
		})
		if err != nil {
			w.T.Fatal(err)
		}
		changed := w.app(nil)
		if err := lets(p, changed.UID, announce.EndpointRequest{
			MayAnswer: &[]string{}, SigningSecret: new("kn0wn"),
		}); err != nil {
			w.T.Fatal(err)
		}
		for _, uid := range []string{made.UID, changed.UID} {
			err := lets(w.Admin, uid, people)
			if penstock.CodeOf(err) != penstock.CodeInvalidRequest || !strings.Contains(err.Error(), "/signing_secret:") {
				w.T.Errorf("with the secret of the other key: %v", err)
			}
			again := people
			again.SigningSecret = new(signingSecret)
			if err := lets(w.Admin, uid, again); err != nil {
				w.T.Errorf("with a secret of one's own: %v", err)
			}
			if err := lets(w.Admin, uid, people); err != nil {
				w.T.Errorf("later: %v", err)
			}
		}
	})
}

// What a server answers is not always what PostgreSQL stores, and a message whose attempt is not stored comes again.
func TestAnOddThreadIsNotStored(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		for _, answer := range []string{
			`{"ok":true,"channel":"C1","ts":"1\u0000"}`, `{"ok":true,"channel":"C\u0000","ts":"1.1"}`,
			fmt.Sprintf(`{"ok":true,"channel":"C1","ts":%q}`, strings.Repeat("1", 100_000)),
		} {
			w.slack.script = append(w.slack.script, func(rw http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(rw, answer)
			})
		}
		e := w.app(func(req *announce.EndpointRequest) { req.Events = &[]penstock.EndpointEvent{store.EventRunCreated} })
		for n := range 3 {
			w.Create(penstock.RunRequest{Prompt: "p"})
			if last := w.waitForAttempts(e.UID, n+1)[n]; !last.Succeeded {
				w.T.Errorf("the attempt is %+v", last)
			}
		}
		if got := testkit.Rows(w.T, w.URL, "SELECT ts FROM endpoint_threads"); len(got) > 0 {
			w.T.Errorf("%d threads are stored", len(got))
		}
	})
}

func TestThreadsAreForgottenLongAfterTheirLastMessage(t *testing.T) {
	slackWorlds(t, func(w *slackWorld) {
		e := w.app(func(req *announce.EndpointRequest) { req.Events = nil })
		w.Create(penstock.RunRequest{Prompt: "p"})
		w.waitForAttempts(e.UID, 1)
		count := func() int {
			return len(testkit.Rows(w.T, w.URL, "SELECT run_id FROM endpoint_threads"))
		}
		for _, days := range []int64{89, 91} {
			if err := w.Endpoints.ClearOld(w.T.Context()); err != nil || count() != 1 {
				w.T.Errorf("%d threads are left: %v", count(), err)
			}
			testkit.Exec(w.T, w.URL, fmt.Sprintf(
				"UPDATE endpoint_threads SET used_at = %d", penstock.Now().Add(-time.Duration(days)*24*time.Hour),
			))
		}
		if err := w.Endpoints.ClearOld(w.T.Context()); err != nil || count() != 0 {
			w.T.Errorf("%d threads are left: %v", count(), errors.Join(err))
		}
	})
}
