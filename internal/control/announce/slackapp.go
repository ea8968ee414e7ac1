package announce

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// slackAPI is the base of Slack's web API.
const slackAPI = "https://slack.com/api"

// Limits of the settings of a Slack app.
const (
	maxChannel   = 100
	maxSlackKey  = 512
	maxMayAnswer = 100
)

var (
	slackUser  = penstock.LazyRegexp(`^[UW][A-Z0-9]{1,30}$`) // matches the id of a Slack user
	slackError = penstock.LazyRegexp(`^[a-z_]{1,64}$`)       // matches the name of an error
)

// withDoor adds the URL to which Slack sends clicks.
func (s *Endpoints) withDoor(e penstock.EventEndpoint) penstock.EventEndpoint {
	if e.Format == FormatSlackApp {
		e.InteractivityURL = s.publicURL + "/webhooks/e/" + e.UID
	}
	return e
}

// changeSlackApp applies the fields of a Slack app, and checks all of them. Its errors repeat no secret.
func changeSlackApp(
	bad func(pointer, format string, args ...any), row *store.EndpointRow, v *sealed, req EndpointRequest,
) {
	if row.Format != FormatSlackApp {
		for name, given := range map[string]bool{
			"channel": req.Channel != nil, "bot_token": req.BotToken != nil, "signing_secret": req.SigningSecret != nil,
			"may_answer": req.MayAnswer != nil,
		} {
			if given {
				bad("/"+name, "is only for the format slack_app")
			}
		}
		return
	}
	if u, err := url.Parse(v.URL); err == nil && (u.User != nil || u.RawQuery != "" || u.ForceQuery) {
		bad("/url", "must be the base of Slack's web API, without a query or a password, such as %s", slackAPI)
	}
	if req.Channel != nil {
		row.Channel = *req.Channel
	}
	if row.Channel == "" || len(row.Channel) > maxChannel || strings.ContainsFunc(row.Channel, notGraphic) {
		bad("/channel", "must be the id of a channel, such as C024BE91L, with at most %d characters", maxChannel)
	}
	for _, key := range []struct {
		name   string
		value  *string
		stored *string
		needed bool
	}{
		{"bot_token", req.BotToken, &v.BotToken, true},
		{"signing_secret", req.SigningSecret, &v.SigningSecret, false},
	} {
		if key.value == nil {
			if key.needed && *key.stored == "" {
				bad("/"+key.name, "is required")
			}
			continue
		}
		*key.stored = *key.value
		if *key.value == "" || len(*key.value) > maxSlackKey || strings.ContainsFunc(*key.value, notVisible) {
			bad("/"+key.name, "must have 1 to %d visible characters of ASCII", maxSlackKey)
		}
	}
	if slices.Contains(req.Cleared, "may_answer") {
		row.MayAnswer = nil
	}
	if req.MayAnswer != nil {
		row.MayAnswer = *req.MayAnswer
	}
	checkMayAnswer(bad, row.MayAnswer, v.SigningSecret != "")
}

func checkMayAnswer(bad func(pointer, format string, args ...any), list []string, signed bool) {
	if len(list) > maxMayAnswer {
		bad("/may_answer", "has %d users; at most %d are allowed", len(list), maxMayAnswer)
		return
	}
	for i, user := range list {
		if !slackUser().MatchString(user) {
			bad(fmt.Sprintf("/may_answer/%d", i), "must be the id of a Slack user, such as U024BE7LH")
		}
	}
	if len(list) > 0 && !signed {
		bad("/signing_secret", "is required with may_answer: it proves that a click comes from Slack")
	}
}

func notGraphic(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }

func notVisible(r rune) bool { return r <= ' ' || r > '~' }

// grantAnswers returns an error unless p may let people steer runs with the endpoint as it is now. Each change needs
// the right: another signing secret forges clicks, and other factories give the same people more runs.
func grantAnswers(p penstock.Principal, row *store.EndpointRow, v sealed, req EndpointRequest) error {
	if len(row.MayAnswer) == 0 {
		row.PaidBy = nil
		return nil
	}
	if req.onlyDisables() {
		return nil
	}
	if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
		return err
	}
	if !v.Vouched {
		return penstock.Invalid("/signing_secret", "is required again: it was set with a key that may not steer runs, and "+
			"its owner could forge clicks")
	}
	if req.MayAnswer != nil || req.SigningSecret != nil {
		row.PaidBy = p.PaidBy()
	}
	return nil
}

// onlyDisables reports whether a request disables an endpoint and changes nothing else.
func (r EndpointRequest) onlyDisables() bool {
	if r.Enabled == nil || *r.Enabled || len(r.Cleared) > 0 {
		return false
	}
	r.Enabled, r.Cleared = nil, nil
	return reflect.ValueOf(r).IsZero()
}

// Question identifies the question of a BLOCKED run: in an execution, there is at most one.
type Question struct {
	RunID     string
	Execution int
}

// appMessage is a message for chat.postMessage.
type appMessage struct {
	channel string
	line    string
	run     string       // in whose thread it belongs; "": in none
	thread  store.Thread // as it is stored; zero: the message begins it
	ask     *ask
}

// ask is what a BLOCKED run waits for.
type ask struct {
	Question

	text     string
	answers  bool // an answer ends the wait; else room in a budget does
	mayClick bool // somebody may
}

// appMessage reads what a message of a Slack app says.
func (s *Endpoints) appMessage(
	ctx context.Context, e store.EndpointRow, m store.MessageRow, line string,
) (a appMessage, err error) {
	a = appMessage{channel: e.Channel, line: line}
	if m.Data.RunID == "" || m.Path != "/api/v1/agent/runs/"+m.Data.RunID {
		return a, nil
	}
	a.run = m.Data.RunID
	if a.thread, err = s.store.Endpoints.Thread(ctx, e, a.run); err != nil || m.Type != store.EventRunBlocked {
		return a, err
	}
	state, err := s.store.Endpoints.Question(ctx, m)
	if err != nil || state.State != penstock.StateBlocked {
		return a, err
	}
	a.ask = &ask{Question: Question{a.run, state.ExecutionID}, answers: true, mayClick: len(e.MayAnswer) > 0}
	if m := state.StatusMessage; m != nil { // else somebody has interrupted the agent
		a.ask.text, a.ask.answers = m.Message, m.Budget == nil
	}
	return a, nil
}

// The ids of what people use in a message. Slack sends them back with a click.
const (
	actionAnswer = "penstock_answer"
	actionCancel = "penstock_cancel"
	inputBlock   = "penstock_input"
	inputText    = "penstock_text"
)

// Slack refuses a message with a longer text in a section or an input.
const (
	maxSection = 3000
	maxInput   = 3000
)

// body writes the request of chat.postMessage.
func (a appMessage) body(thread store.Thread) ([]byte, error) {
	message := map[string]any{
		"channel": cmp.Or(thread.PostedTo, a.channel), "text": a.line, "unfurl_links": false, "unfurl_media": false,
	}
	if thread.TS != "" {
		message["thread_ts"] = thread.TS
	}
	if a.ask != nil {
		message["blocks"] = a.blocks()
	}
	return json.Marshal(message)
}

type object = map[string]any

func mrkdwn(text string) object { return object{"type": "mrkdwn", "text": text, "verbatim": true} }

func label(text string) object { return object{"type": "plain_text", "text": text} }

// blocks shows a question, and what people can do about it.
func (a appMessage) blocks() []object {
	list := []object{{"type": "section", "text": mrkdwn(a.line)}}
	if text := paragraphs(a.ask.text); text != "" {
		list = append(list, object{"type": "section", "text": mrkdwn(text)})
	}
	if !a.ask.mayClick {
		return list
	}
	value := fmt.Sprintf("%s %d", a.ask.RunID, a.ask.Execution)
	cancel := object{
		"type": "button", "action_id": actionCancel, "value": value, "text": label("Cancel"), "style": "danger",
		"confirm": object{
			"title": label("Cancel the run?"), "text": label("The agent does not continue."),
			"confirm": label("Cancel the run"), "deny": label("Back"),
		},
	}
	buttons := []object{cancel}
	if a.ask.answers {
		list = append(list, object{
			"type": "input", "block_id": inputBlock, "optional": true, "label": label("Answer"),
			"element": object{
				"type": "plain_text_input", "action_id": inputText, "multiline": true, "max_length": maxInput,
			},
		})
		buttons = []object{{
			"type": "button", "action_id": actionAnswer, "value": value, "text": label("Answer"), "style": "primary",
		}, cancel}
	}
	return append(list, object{"type": "actions", "elements": buttons})
}

// paragraphs returns the beginning of a text with its lines, without markup: see plainText. Slack counts characters
// after they are escaped.
func paragraphs(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) {
		written, escaped := escapes[r]
		switch {
		case r == '\n', r == '\t', unicode.IsPrint(r) && !escaped:
			written = string(r)
		case !escaped:
			continue
		}
		size := 0
		for _, w := range written {
			size += utf16.RuneLen(w)
		}
		if n += size; n >= maxSection { // leaves room for the sign that something is missing
			return b.String() + "…"
		}
		b.WriteString(written)
	}
	return b.String()
}

// slackErrors explain what chat.postMessage answers. Most last until a person changes something in Slack or in the
// endpoint, but they are tried again, like every failure.
var slackErrors = map[string]string{
	"invalid_auth":            "Slack does not accept the bot token. Set another one.",
	"not_authed":              "Slack did not get the bot token. Check the URL, and set the token again.",
	"account_inactive":        "The Slack app or its workspace was deleted, so its bot token does not work any more.",
	"token_revoked":           "The bot token was revoked. Install the Slack app again, and set the new token.",
	"token_expired":           "The bot token has expired. Set a token that does not expire: turn token rotation off.",
	"missing_scope":           "The bot token lacks the scope chat:write. Add it, and install the Slack app again.",
	"channel_not_found":       "Slack knows no such channel, or it is private and the app is not in it. Invite the app.",
	"not_in_channel":          "The Slack app is not in the channel. Invite it there.",
	"is_archived":             "The channel is archived. Set another one.",
	"restricted_action":       "An admin of the Slack workspace does not let the app post to the channel.",
	"ratelimited":             "Slack gets too many messages of the app.",
	"rate_limited":            "Slack gets too many messages of the app.",
	"invalid_blocks":          "Slack does not accept the form of the message.",
	"msg_too_long":            "Slack does not accept a message of this length.",
	"thread_not_found":        threadGone,
	"message_not_found":       threadGone,
	"invalid_thread_ts":       threadGone,
	"cannot_reply_to_message": threadGone,
}

const threadGone = "The thread of the run is gone. The next attempt begins another one."

// posted is what chat.postMessage answers.
type posted struct {
	OK       bool   `json:"ok"`
	Error    string `json:"error,omitempty"`
	Channel  string `json:"channel,omitempty"`
	TS       string `json:"ts,omitempty"`
	Needed   string `json:"needed,omitempty"` // the scope that is missing
	Metadata struct {
		Messages []string `json:"messages,omitempty"`
	} `json:"response_metadata,omitzero"`
}

// readPosted reads an answer of Slack, which has the status 200 also if it refused the message. It sets the problem
// of a refusal. What it leaves in the answer repeats nothing of the message. limited means that Slack gets too many.
func readPosted(got *answer, mask *secret.Masker) (p posted, limited bool) {
	if got.status == 0 {
		return p, false
	}
	isJSON := json.Unmarshal(got.body, &p) == nil
	limited = got.status == http.StatusTooManyRequests || p.Error == "ratelimited" || p.Error == "rate_limited"
	success := got.status/100 == 2
	switch {
	case success && isJSON && p.OK:
	case isJSON && slackErrors[p.Error] != "":
		got.problem = p.Error + ": " + slackErrors[p.Error]
	case isJSON && slackError().MatchString(p.Error):
		got.problem = p.Error + ": Slack refused the message."
	case isJSON && p.Error != "":
		got.problem = "Slack refused the message."
	case success:
		got.problem = "The answer is not one of Slack's web API. Check the URL."
	}
	switch {
	case got.private && got.problem != "":
		got.problem = "The receiver did not accept the message."
	case isJSON && !got.private:
		text, _ := json.Marshal(p) // never fails: it has only text
		got.answer = shown(text, mask)
	}
	return p, limited
}

// storable reports whether an id of Slack's answer is one. The database would not take every text.
func storable(id string) bool {
	return id != "" && len(id) <= maxChannel && !strings.ContainsFunc(id, notVisible)
}

// threadOf returns the thread that a message has used, was refused for, or has begun.
func (a appMessage) threadOf(p posted, used store.Thread) store.Thread {
	switch {
	case a.run == "":
		return store.Thread{}
	case slackErrors[p.Error] == threadGone && used.TS != "":
		return store.Thread{RunID: a.run}
	case !p.OK || !storable(p.TS) || p.Channel != "" && !storable(p.Channel):
		return store.Thread{}
	case used.TS != "":
		return used
	}
	return store.Thread{RunID: a.run, PostedTo: cmp.Or(p.Channel, a.channel), TS: p.TS}
}

// postInOrder posts messages one after the other, so that the first one of a run begins the thread of the next ones.
// It ends early if Slack gets too many: the others wait as well.
func (s *Endpoints) postInOrder(ctx context.Context, v sealed, due []outgoing, results chan<- *store.Attempted) {
	threads := map[string]store.Thread{} // by run, as the messages so far have left them
	mask := secret.NewMasker(v.BotToken, v.SigningSecret)
	limited := false
	for _, m := range due {
		if limited || ctx.Err() != nil {
			results <- nil
			continue
		}
		thread, known := threads[m.app.run]
		if !known {
			thread = m.app.thread
		}
		body, err := m.app.body(thread)
		if err != nil {
			s.log.Error("cannot write a message for Slack", "message_id", m.message.ID, "error", err)
			results <- nil
			continue
		}
		var p posted
		a := s.attempt(ctx, m.message, func(time.Time) answer {
			got := s.sender.post(ctx, outbound{
				url: strings.TrimSuffix(v.URL, "/") + "/chat.postMessage", body: body, most: readPost,
				mask: func() *secret.Masker { return mask },
				header: http.Header{
					"Authorization": {"Bearer " + v.BotToken}, "Content-Type": {"application/json; charset=utf-8"},
				},
			})
			if p, limited = readPosted(&got, mask); limited {
				got.wait = cmp.Or(got.wait, waitLimited)
			}
			return got
		})
		if a != nil {
			a.Thread = m.app.threadOf(p, thread)
			threads[m.app.run] = a.Thread
			if a.Thread.RunID == "" {
				threads[m.app.run] = thread
			}
		}
		results <- a
	}
}

const (
	readPost    = 1 << 20         // bytes of an answer that are read: it repeats the message
	waitLimited = 5 * time.Second // if Slack does not say for how long
)
