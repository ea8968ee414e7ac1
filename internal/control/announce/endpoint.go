// Package announce owns event endpoints: the receivers of messages about events, and the sender of these messages.
//
// A message is written in the transaction of what it is about (internal/control/store/message.go), so none is lost
// or invented. Every server sends, but only the one with the lease of an endpoint. A server that ends between an
// answer and its record leaves the attempt to another one, so a receiver may get a message twice, with the same id.
package announce

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// Options are the dependencies and settings of the rules.
type Options struct {
	Store     *store.Store
	Keyset    *secret.Keyset
	Responses *access.Responses
	Log       *slog.Logger
	PublicURL string // origin of the links in messages
	// Networks are private networks with receivers, which the operator opens.
	Networks []netip.Prefix
	// Resolve looks up a name; nil: the resolver of the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to receivers without checking their addresses; nil: the network, with checks.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Now is the clock of the sender; nil: the clock of the system.
	Now func() time.Time
	// Answer and Cancel do what somebody has clicked in Slack, if the run still waits for the answer to its question.
	Answer func(ctx context.Context, p penstock.Principal, q Question, message string) error
	Cancel func(ctx context.Context, p penstock.Principal, q Question) error
}

// Endpoints manages event endpoints, and sends their messages.
type Endpoints struct {
	store     *store.Store
	keyset    *secret.Keyset
	responses *access.Responses
	log       *slog.Logger
	publicURL string
	sender    *sender
	answer    func(context.Context, penstock.Principal, Question, string) error
	cancel    func(context.Context, penstock.Principal, Question) error
	replies   chan struct{} // has an element for each reply to a click that is being sent

	mu        sync.Mutex
	replying  map[string]int // the replies by endpoint
	endpoints share.Singly   // to which this server sends
	sending   sync.WaitGroup
}

// Rules are the rules of this package.
type Rules struct{ Endpoints *Endpoints }

// New makes the rules of event endpoints.
func New(o Options) Rules {
	return Rules{&Endpoints{
		store: o.Store, keyset: o.Keyset, responses: o.Responses, log: o.Log, publicURL: o.PublicURL,
		sender: newSender(o), answer: o.Answer, cancel: o.Cancel, replies: make(chan struct{}, maxReplies),
		replying: map[string]int{},
	}}
}

// EndpointRequest creates or changes an endpoint. In a change, an absent field stays unchanged, and null sets its
// default.
type EndpointRequest struct {
	URL         *string                   `json:"url,omitempty"`
	Events      *[]penstock.EndpointEvent `json:"events,omitempty"`
	FactoryUIDs *[]string                 `json:"factory_uids,omitempty"`
	Description *string                   `json:"description,omitempty"`
	Enabled     *bool                     `json:"enabled,omitempty"`
	Format      *penstock.EndpointFormat  `json:"format,omitempty"`

	// The others are only for penstock.FormatSlackApp.
	Channel       *string   `json:"channel,omitempty"`
	BotToken      *string   `json:"bot_token,omitempty"`
	SigningSecret *string   `json:"signing_secret,omitempty"`
	MayAnswer     *[]string `json:"may_answer,omitempty"`

	Cleared []string `json:"-"` // the fields that were given as null
}

// Limits of endpoints.
const (
	maxEndpoints   = 100 // of a team; their list has no pages
	maxURL         = 2048
	maxDescription = 500
	maxFactories   = 100
)

// sealed is what is stored encrypted.
type sealed struct {
	URL     string                    `json:"url"`
	Secrets []penstock.EndpointSecret `json:"secrets"` // the newest first

	BotToken      string `json:"bot_token,omitempty"`      // of a Slack app
	SigningSecret string `json:"signing_secret,omitempty"` // with which Slack signs clicks
	Vouched       bool   `json:"vouched,omitempty"`        // SigningSecret was set with a key that may steer runs
}

// valid lists the secrets that sign now.
func (s sealed) valid(now penstock.Time) []penstock.EndpointSecret {
	return slices.DeleteFunc(slices.Clone(s.Secrets), func(v penstock.EndpointSecret) bool {
		return v.ExpiresAt != 0 && v.ExpiresAt <= now
	})
}

func (s *Endpoints) seal(uid string, v sealed) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return s.keyset.Seal(text, access.EndpointContext(uid))
}

func (s *Endpoints) open(row store.EndpointRow) (v sealed, err error) {
	text, err := s.keyset.Open(row.Sealed, access.EndpointContext(row.UID))
	if err != nil {
		return v, fmt.Errorf("decrypt event endpoint %s: %w", row.UID, err)
	}
	return v, json.Unmarshal(text, &v)
}

// present adds the valid secrets to an endpoint, without their values.
func (s *Endpoints) present(row store.EndpointRow, now penstock.Time) penstock.EventEndpoint {
	e := s.withDoor(row.EventEndpoint)
	e.Secrets = []penstock.EndpointSecret{}
	if v, err := s.open(row); err == nil { // otherwise it has no secret that signs
		for _, one := range v.valid(now) {
			one.Secret = ""
			e.Secrets = append(e.Secrets, one)
		}
	}
	return e
}

// mayManage returns an error unless p may manage endpoints. An agent may not: its run could send messages, and its
// own content with the description, to where it likes.
func mayManage(p penstock.Principal) error {
	if err := access.Require(p, penstock.ScopeEventsManage); err != nil {
		return err
	}
	return access.RefuseAgent(p, "manage event endpoints")
}

// List lists the endpoints of the team, the oldest first.
func (s *Endpoints) List(ctx context.Context, p penstock.Principal) ([]penstock.EventEndpoint, error) {
	if err := mayManage(p); err != nil {
		return nil, err
	}
	rows, err := s.store.Endpoints.List(ctx, p.Team)
	if err != nil {
		return nil, err
	}
	list, now := make([]penstock.EventEndpoint, len(rows)), penstock.Now()
	for i, row := range rows {
		list[i] = s.present(row, now)
	}
	return list, nil
}

// Read returns one endpoint.
func (s *Endpoints) Read(ctx context.Context, p penstock.Principal, uid string) (penstock.EventEndpoint, error) {
	if err := mayManage(p); err != nil {
		return penstock.EventEndpoint{}, err
	}
	row, err := s.store.Endpoints.Find(ctx, p.Team, uid)
	if err != nil {
		return penstock.EventEndpoint{}, err
	}
	return s.present(row, penstock.Now()), nil
}

// mayName returns an error unless p may read what the messages of an endpoint name: in Slack, they have titles of
// runs, and questions.
func mayName(p penstock.Principal, row store.EndpointRow) error {
	if row.Format == FormatSlack || row.Format == FormatSlackApp {
		return access.Require(p, penstock.ScopeRunsRead)
	}
	return nil
}

// Create creates an endpoint with a secret, which only this response shows. Those for Slack have none.
func (s *Endpoints) Create(
	ctx context.Context, p penstock.Principal, req EndpointRequest,
) (out penstock.EventEndpoint, err error) {
	if err := mayManage(p); err != nil {
		return out, err
	}
	now := penstock.Now()
	row := store.EndpointRow{Team: p.Team, EventEndpoint: penstock.EventEndpoint{
		UID: penstock.NewUID(), Enabled: true, Format: FormatStandard, CreatedAt: now,
	}}
	request.Set(&row.Format, req.Format)
	if !slices.Contains(formats(), row.Format) {
		return out, unsupportedFormat("must be one of %s", request.Enumerated(formats()))
	}
	v := sealed{Secrets: []penstock.EndpointSecret{}}
	if row.Format == FormatStandard {
		v.Secrets = append(v.Secrets, penstock.EndpointSecret{Secret: signature.NewSecret(), CreatedAt: now})
	}
	if row.Format == FormatSlackApp && req.URL == nil {
		req.URL = new(slackAPI)
	}
	if req.URL == nil {
		return out, penstock.Invalid("/url", "is required")
	}
	if err := mayName(p, row); err != nil {
		return out, err
	}
	if err := s.change(p, &row, &v, req, now); err != nil {
		return out, err
	}
	if row.Sealed, err = s.seal(row.UID, v); err != nil {
		return out, err
	}
	return access.Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.EventEndpoint, error) {
		n, err := tx.Endpoints().Count(ctx, p.Team)
		if err != nil {
			return out, err
		}
		if n >= maxEndpoints {
			return out, penstock.Errorf(penstock.CodeConflict, "the team has %d event endpoints, the maximum", n)
		}
		if err := access.UseFactories(ctx, tx, row.Team, "/factory_uids", row.FactoryUIDs); err != nil {
			return out, err
		}
		shown := s.withDoor(row.EventEndpoint)
		shown.URL, shown.Secrets = v.URL, v.Secrets
		return shown, tx.Endpoints().Add(ctx, row)
	})
}

// Update changes an endpoint.
func (s *Endpoints) Update(
	ctx context.Context, p penstock.Principal, uid string, req EndpointRequest,
) (penstock.EventEndpoint, error) {
	if err := mayManage(p); err != nil {
		return penstock.EventEndpoint{}, err
	}
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		before, err := tx.Endpoints().Lock(ctx, p.Team, uid)
		if err != nil {
			return err
		}
		if err := mayName(p, before); err != nil {
			return err
		}
		after := before
		v, err := s.open(before)
		if err != nil {
			return err
		}
		if err := s.change(p, &after, &v, req, penstock.Now()); err != nil {
			return err
		}
		if after.Sealed, err = s.seal(uid, v); err != nil {
			return err
		}
		if err := access.UseFactories(ctx, tx, after.Team, "/factory_uids", after.FactoryUIDs); err != nil {
			return err
		}
		return tx.Endpoints().Set(ctx, before, after)
	})
	if err != nil {
		return penstock.EventEndpoint{}, err
	}
	return s.Read(ctx, p, uid)
}

// Delete removes an endpoint. Nothing more is sent to it.
func (s *Endpoints) Delete(ctx context.Context, p penstock.Principal, uid string) error {
	if err := mayManage(p); err != nil {
		return err
	}
	return s.store.Write(ctx, func(tx *store.Tx) error { return tx.Endpoints().Delete(ctx, p.Team, uid) })
}

// change applies a request to an endpoint.
func (s *Endpoints) change(
	p penstock.Principal, row *store.EndpointRow, v *sealed, req EndpointRequest, now penstock.Time,
) error {
	var errs []penstock.FieldError
	before := *row
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	for _, name := range []string{"url", "enabled", "channel", "bot_token", "signing_secret"} {
		if slices.Contains(req.Cleared, name) {
			bad("/"+name, "must not be null")
		}
	}
	request.Clear(req.Cleared, map[string]func(){
		"events":       func() { row.Events = nil },
		"factory_uids": func() { row.FactoryUIDs = nil },
		"description":  func() { row.Description = "" },
	})
	request.Set(&row.Events, req.Events)
	request.Set(&row.FactoryUIDs, req.FactoryUIDs)
	request.Set(&row.Description, req.Description)
	request.Set(&row.Enabled, req.Enabled)
	if req.Format != nil && *req.Format != row.Format {
		return unsupportedFormat("cannot change; create another event endpoint")
	}
	if req.URL != nil {
		origin, wrong := s.sender.checkURL(*req.URL)
		if wrong != "" {
			bad("/url", "%s", wrong)
		}
		row.URL, v.URL = origin, *req.URL
	}
	if before.URL != "" && before.URL != row.URL && row.Format == FormatSlackApp && req.BotToken == nil {
		bad("/bot_token", "is required with a URL of another server, which gets it") // else one could read it there
	}
	changeSlackApp(bad, row, v, req)
	if req.SigningSecret != nil {
		v.Vouched = p.May(penstock.ScopeRunsWrite)
	}
	if row.Events == nil {
		row.Events = []penstock.EndpointEvent{}
	}
	for i, event := range row.Events {
		if !slices.Contains(Events(), event) {
			bad(fmt.Sprintf("/events/%d", i), "must be one of %s", request.Enumerated(Events()))
		}
	}
	if len(row.FactoryUIDs) > maxFactories {
		bad("/factory_uids", "has %d factories; at most %d are allowed", len(row.FactoryUIDs), maxFactories)
	}
	request.Text(bad, "/description", row.Description, maxDescription)
	if row.Enabled {
		row.DisabledReason = ""
	}
	row.UpdatedAt = now
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	return grantAnswers(p, row, *v, req)
}

func unsupportedFormat(format string, args ...any) error {
	return &penstock.Error{Code: penstock.CodeNotSupported, Fields: []penstock.FieldError{{
		Pointer: "/format", Detail: fmt.Sprintf(format, args...),
	}}}
}

// Sent names a message that waits to be sent.
type Sent struct {
	MessageID string `json:"message_id"`
}

// Ping sends a message of the type endpoint.ping. Its attempts are logged like all others.
func (s *Endpoints) Ping(ctx context.Context, p penstock.Principal, uid string) (Sent, error) {
	if err := mayManage(p); err != nil {
		return Sent{}, err
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (Sent, error) {
		row, err := lockEnabled(ctx, tx, p, uid)
		if err != nil {
			return Sent{}, err
		}
		id, err := tx.Endpoints().Send(ctx, row, store.Announcement{
			Type: EventEndpointPing, At: penstock.Now(), Path: "/api/v1/event-endpoints/" + uid,
			Data: penstock.EndpointData{EndpointUID: uid},
		})
		return Sent{id}, err
	})
}

func lockEnabled(ctx context.Context, tx *store.Tx, p penstock.Principal, uid string) (store.EndpointRow, error) {
	row, err := tx.Endpoints().Lock(ctx, p.Team, uid)
	if err == nil && !row.Enabled {
		err = penstock.Errorf(penstock.CodeConflict, "the event endpoint is disabled; enable it first")
	}
	return row, err
}

// RotateRequest replaces the secret of an endpoint.
type RotateRequest struct {
	// OverlapSeconds is how long the old secret signs as well; absent: a day, 0: not at all.
	OverlapSeconds *int64 `json:"overlap_seconds,omitempty"`
}

const (
	defaultOverlap = 24 * 3600
	maxOverlap     = 7 * 24 * 3600
)

// RotateSecret gives an endpoint a new secret, which only this response shows. During the overlap, each request has
// a signature of both.
func (s *Endpoints) RotateSecret(
	ctx context.Context, p penstock.Principal, uid string, req RotateRequest,
) (out penstock.EventEndpoint, err error) {
	if err := mayManage(p); err != nil {
		return out, err
	}
	overlap := int64(defaultOverlap)
	request.Set(&overlap, req.OverlapSeconds)
	if overlap < 0 || overlap > maxOverlap {
		return out, penstock.Invalid("/overlap_seconds", "must be from 0 to %d", maxOverlap)
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (penstock.EventEndpoint, error) {
		row, err := tx.Endpoints().Lock(ctx, p.Team, uid)
		if err != nil {
			return out, err
		}
		if row.Format != FormatStandard {
			return out, penstock.Errorf(
				penstock.CodeConflict, "an event endpoint of the format %s has no secret: its messages are not signed", row.Format,
			)
		}
		v, err := s.open(row)
		if err != nil {
			return out, err
		}
		before, now := row, penstock.Now()
		fresh := penstock.EndpointSecret{Secret: signature.NewSecret(), CreatedAt: now}
		valid := v.valid(now)
		v.Secrets = []penstock.EndpointSecret{fresh}
		if overlap > 0 && len(valid) > 0 { // the one before that ends now: at most two are valid
			old := valid[0]
			old.ExpiresAt = now.Add(time.Duration(overlap) * time.Second)
			v.Secrets = append(v.Secrets, old)
		}
		row.UpdatedAt = now
		if row.Sealed, err = s.seal(uid, v); err != nil {
			return out, err
		}
		if err := tx.Endpoints().Set(ctx, before, row); err != nil {
			return out, err
		}
		shown := s.present(row, now)
		shown.Secrets[0].Secret = fresh.Secret
		return shown, nil
	})
}

// AttemptPage is one page of attempts.
type AttemptPage struct {
	Attempts []store.EndpointAttempt `json:"attempts"`
	Page     store.PageInfo          `json:"page_info"`
}

// AttemptQuery chooses attempts.
type AttemptQuery = store.AttemptQuery

// Attempts lists the attempts of an endpoint, the newest first.
func (s *Endpoints) Attempts(
	ctx context.Context, p penstock.Principal, uid string, q AttemptQuery,
) (page AttemptPage, err error) {
	if err := mayManage(p); err != nil {
		return page, err
	}
	row, err := s.store.Endpoints.Find(ctx, p.Team, uid)
	if err != nil {
		return page, err
	}
	if row.Format == FormatSlackApp { // an answer may repeat the message
		if err := mayName(p, row); err != nil {
			return page, err
		}
	}
	list, next, err := s.store.Endpoints.Attempts(ctx, uid, q)
	return AttemptPage{list, store.PageInfo{HasNext: next != "", NextCursor: next}}, err
}

// ReplayRequest names what to send again: one message, or all that happened since a time.
type ReplayRequest struct {
	MessageID *string        `json:"message_id,omitempty"`
	Since     *penstock.Time `json:"since,omitempty"`
}

// Replayed is how many messages are sent again.
type Replayed struct {
	Messages int64 `json:"messages"`
}

// Replay sends messages again, with the same ids.
func (s *Endpoints) Replay(
	ctx context.Context, p penstock.Principal, uid string, req ReplayRequest,
) (out Replayed, err error) {
	if err := mayManage(p); err != nil {
		return out, err
	}
	id, since := request.Value(req.MessageID), request.Value(req.Since)
	if (id == "") == (since == 0) {
		return out, penstock.Invalid("", "needs either message_id or since")
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (Replayed, error) {
		if _, err := lockEnabled(ctx, tx, p, uid); err != nil {
			return out, err
		}
		n, err := tx.Endpoints().Replay(ctx, uid, id, since)
		if err == nil && n == 0 && id != "" {
			err = penstock.NotFound("message", id)
		}
		return Replayed{n}, err
	})
}

// How long messages and attempts are kept, and threads after their last message.
const (
	keepMessages = 7 * 24 * time.Hour
	keepThreads  = 90 * 24 * time.Hour
)

// ClearOld removes old messages and attempts, and threads that are no longer used.
func (s *Endpoints) ClearOld(ctx context.Context) error {
	now := penstock.Now()
	return share.ClearInBatches(ctx, func() (int, error) {
		return s.store.Endpoints.ClearOld(ctx, now.Add(-keepMessages), now.Add(-keepThreads), share.BatchSize)
	})
}

// checkURL returns the origin of a URL of an endpoint, or why it cannot be one. The text does not contain the URL.
func (s *sender) checkURL(text string) (origin, wrong string) {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		return "", fmt.Sprintf("is %d bytes long; at most %d are allowed", len(text), maxURL)
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return "", "must be an absolute URL, such as https://example.com/hook"
	case u.Scheme != "https" && u.Scheme != "http":
		return "", "must begin with https://, or with http:// in a network of --event-private-network"
	case u.Fragment != "":
		return "", "must not have a fragment"
	}
	address := u.Host
	if u.Port() == "" {
		address = strings.TrimSuffix(u.Host, ":") + map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
	}
	if wrong := s.refuses(u.Hostname(), address, u.Scheme == "http"); wrong != "" {
		return "", wrong
	}
	return u.Scheme + "://" + u.Host, ""
}

// formats lists the formats that an endpoint can have.
func formats() []penstock.EndpointFormat {
	return []penstock.EndpointFormat{FormatStandard, FormatSlack, FormatSlackApp}
}
