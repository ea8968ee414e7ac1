package announce

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// SigningSecret returns the secret with which Slack signs the clicks of an endpoint. CodeNotFound: the endpoint takes
// none, because it does not exist, is disabled or has no such secret.
func (s *Endpoints) SigningSecret(ctx context.Context, uid string) (string, error) {
	_, v, err := s.door(ctx, uid)
	return v.SigningSecret, err
}

func (s *Endpoints) door(ctx context.Context, uid string) (row store.EndpointRow, v sealed, err error) {
	if row, err = s.store.Endpoints.Enabled(ctx, uid); err != nil {
		return row, v, err
	}
	if row.Format != FormatSlackApp {
		return row, v, penstock.NotFound("event endpoint", uid)
	}
	if v, err = s.open(row); err == nil && v.SigningSecret == "" {
		err = penstock.NotFound("event endpoint", uid)
	}
	return row, v, err
}

// interaction is the payload of a click in Slack, as far as it counts.
type interaction struct {
	Type string `json:"type"`
	User struct {
		ID string `json:"id"`
	} `json:"user"`
	Container struct {
		ThreadTS string `json:"thread_ts"`
	} `json:"container"`
	State struct {
		Values map[string]map[string]struct {
			Value *string `json:"value"` // nil: nobody has typed anything
		} `json:"values"`
	} `json:"state"`
	ResponseURL string `json:"response_url"`
	Actions     []struct {
		ID    string `json:"action_id"`
		Value string `json:"value"`
	} `json:"actions"`
}

// typed returns the answer in the input of a message.
func (in interaction) typed() string {
	if value := in.State.Values[inputBlock][inputText].Value; value != nil {
		return strings.TrimSpace(*value)
	}
	return ""
}

// What a person who has clicked gets to read.
const (
	replyNotAllowed = "You may not answer here. A person who manages the event endpoint can add your Slack user id."
	replyEmpty      = "Write an answer first."
	replyOver       = "the question is over"
	replyAnswered   = "The run continues with your answer."
	replyCancelled  = "The run is cancelled."
)

// Click does what a person has clicked in Slack. The caller has checked the signature over the payload. When Click
// returns nil, all of it is stored. A click that does not count is no error: the person who clicked gets a reply.
// CodeInvalidRequest: the payload cannot be read.
func (s *Endpoints) Click(ctx context.Context, uid string, payload []byte) error {
	row, v, err := s.door(ctx, uid)
	if err != nil {
		return err
	}
	var in interaction
	if err := json.Unmarshal(payload, &in); err != nil {
		return penstock.Errorf(penstock.CodeInvalidRequest, "the payload is not one of Slack")
	}
	if in.Type != "block_actions" || len(in.Actions) != 1 {
		return nil
	}
	action := in.Actions[0]
	q, named := readQuestion(action.Value)
	if !named || action.ID != actionAnswer && action.ID != actionCancel {
		return nil
	}
	reply, err := s.clicked(ctx, row, in, q)
	if err != nil {
		return err
	}
	s.reply(ctx, row, v, in, reply)
	return nil
}

// readQuestion reads the value of a button.
func readQuestion(value string) (Question, bool) {
	id, number, _ := strings.Cut(value, " ")
	execution, err := strconv.Atoi(number)
	return Question{id, execution}, err == nil && penstock.ValidID(id)
}

// clicked does what a button says, and returns what to say about it. "" says nothing.
func (s *Endpoints) clicked(
	ctx context.Context, row store.EndpointRow, in interaction, q Question,
) (reply string, err error) {
	if !slices.Contains(row.MayAnswer, in.User.ID) {
		return replyNotAllowed, nil
	}
	if hears, err := s.store.Endpoints.Hears(ctx, row, q.RunID); err != nil || !hears {
		return replyOver, err
	}
	p := penstock.Principal{
		Team: row.Team, Makers: row.PaidBy, Actor: penstock.Actor{Type: "user", UID: "slack:" + in.User.ID},
		Scopes: []penstock.Scope{penstock.ScopeRunsWrite},
	}
	text, act := "", s.cancel
	reply = replyCancelled
	answer := func(ctx context.Context, p penstock.Principal, q Question) error { return s.answer(ctx, p, q, text) }
	if in.Actions[0].ID == actionAnswer {
		if text = in.typed(); text == "" {
			return replyEmpty, nil
		}
		act, reply = answer, replyAnswered
	}
	err = s.once(ctx, p, row, in.Actions[0].ID, text, q, act)
	var refused *penstock.Error
	switch {
	case errors.Is(err, access.ErrReplay):
		return "", nil
	case penstock.CodeOf(err) == penstock.CodeNotFound:
		return replyOver, nil
	case errors.As(err, &refused) && !refused.Code.OurFault() && !refused.Code.Retryable():
		return refused.Explain(), nil
	}
	return reply, err
}

// once acts on a question, at most once for each user: Slack repeats requests, and people click twice. A repeated
// click gets access.ErrReplay.
func (s *Endpoints) once(
	ctx context.Context, p penstock.Principal, row store.EndpointRow, action, text string, q Question,
	act func(context.Context, penstock.Principal, Question) error,
) error {
	request := access.Idempotency{
		Key: fmt.Sprintf("%s %s %d", action, q.RunID, q.Execution), Method: http.MethodPost,
		Path: "/webhooks/e/" + row.UID, BodyHash: sha256.Sum256([]byte(text)), Status: http.StatusOK,
	}
	_, _, found, err := s.responses.Replay(ctx, p, request)
	switch {
	case found:
		return access.ErrReplay
	case penstock.CodeOf(err) == penstock.CodeConflict: // the same user has given another answer
		return penstock.Errorf(penstock.CodeConflict, "%s", replyOver)
	case err != nil:
		return err
	}
	return act(access.WithIdempotency(ctx, request), p, q)
}

const (
	maxReplies     = 128 // that are being sent; others are dropped
	maxRepliesEach = 8   // for one endpoint, whose server may hang
	replyLimit     = 5 * time.Second
)

// beginReply reports whether a reply may be sent for an endpoint now. If so, endReply has to follow.
func (s *Endpoints) beginReply(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replying[uid] >= maxRepliesEach {
		return false
	}
	select {
	case s.replies <- struct{}{}:
		s.replying[uid]++
		return true
	default:
		return false
	}
}

func (s *Endpoints) endReply(uid string) {
	<-s.replies
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replying[uid]--; s.replying[uid] == 0 {
		delete(s.replying, uid)
	}
}

// reply sends a text that only the person who clicked sees. It returns at once, and nothing waits for the reply.
func (s *Endpoints) reply(ctx context.Context, row store.EndpointRow, v sealed, in interaction, text string) {
	if text == "" || !mayReply(row.URL, in.ResponseURL) {
		return
	}
	message := map[string]any{
		"response_type": "ephemeral", "replace_original": false, "text": paragraphs(text),
	}
	if in.Container.ThreadTS != "" {
		message["thread_ts"] = in.Container.ThreadTS
	}
	body, err := json.Marshal(message)
	if err != nil || !s.beginReply(row.UID) {
		return
	}
	s.sending.Go(func() {
		defer s.endReply(row.UID)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replyLimit)
		defer cancel()
		got := s.sender.post(ctx, outbound{
			url: in.ResponseURL, body: body, most: 0,
			mask:   func() *secret.Masker { return secret.NewMasker(v.BotToken, v.SigningSecret) },
			header: http.Header{"Content-Type": {"application/json; charset=utf-8"}},
		})
		if got.status/100 != 2 {
			s.log.Debug("cannot reply to a click", "endpoint_uid", row.UID, "status", got.status, "error", got.problem)
		}
	})
}

// mayReply reports whether a reply may be sent to a URL: to Slack, or to the origin of the endpoint. The URL comes
// from a payload, so it could name any host.
func mayReply(origin, to string) bool {
	u, err := url.Parse(to)
	if err != nil || u.User != nil || u.Opaque != "" {
		return false
	}
	return u.Scheme == "https" && u.Host == "hooks.slack.com" || u.Scheme+"://"+u.Host == origin
}
