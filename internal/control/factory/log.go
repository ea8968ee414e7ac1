package factory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// DeliveryPage is a page of a webhook's log, newest first.
type DeliveryPage struct {
	Deliveries []store.Delivery `json:"deliveries"`
	PageInfo   store.PageInfo   `json:"page_info"`
}

// List returns one page of a webhook's log, newest first.
func (s *Deliveries) List(
	ctx context.Context, p penstock.Principal, factoryUID, webhookUID string, q penstock.DeliveryQuery,
) (DeliveryPage, error) {
	if _, err := s.webhookOf(ctx, p, factoryUID, webhookUID); err != nil {
		return DeliveryPage{}, err
	}
	list, next, err := s.store.Deliveries.List(ctx, webhookUID, q)
	if err == nil {
		err = s.withFates(ctx, list)
	}
	for i := range list {
		describe(&list[i])
	}
	return DeliveryPage{Deliveries: list, PageInfo: store.PageInfo{HasNext: next != "", NextCursor: next}}, err
}

// webhookOf returns a webhook if the caller may see its log.
func (s *Deliveries) webhookOf(
	ctx context.Context, p penstock.Principal, factoryUID, webhookUID string,
) (store.WebhookRow, error) {
	scope := penstock.ScopeFactoriesManage
	if factoryUID == "" { // of a connection
		if scope = penstock.ScopeForgesManage; p.IsAgent() {
			return store.WebhookRow{}, access.RefuseAgent(p, "read deliveries of connections")
		}
	}
	if err := access.Require(p, scope); err != nil {
		return store.WebhookRow{}, err
	}
	return s.store.Webhooks.Find(ctx, p.Team, factoryUID, webhookUID)
}

// Read returns one entry of a webhook's log.
func (s *Deliveries) Read(
	ctx context.Context, p penstock.Principal, factoryUID, webhookUID, id string,
) (store.Delivery, error) {
	if _, err := s.webhookOf(ctx, p, factoryUID, webhookUID); err != nil {
		return store.Delivery{}, err
	}
	d, err := s.store.Deliveries.Find(ctx, webhookUID, id)
	if err != nil {
		return d, err
	}
	one := []store.Delivery{d}
	err = s.withFates(ctx, one)
	describe(&one[0])
	return one[0], err
}

// withFates adds what became of deliveries that are about a subject, and the runs that have them by now.
func (s *Deliveries) withFates(ctx context.Context, list []store.Delivery) error {
	var about []string
	for _, d := range list {
		if slices.ContainsFunc(d.Matches, func(m store.DeliveryMatch) bool { return m.SubjectUID != "" }) {
			about = append(about, d.ID)
		}
	}
	if len(about) == 0 {
		return nil
	}
	events, err := s.store.Subjects.OfDeliveries(ctx, about)
	if err != nil {
		return err
	}
	for i := range list {
		d := &list[i]
		for _, e := range events[d.ID] {
			m := slices.IndexFunc(d.Matches, e.Decides)
			if m < 0 {
				continue
			}
			match := &d.Matches[m]
			match.Subject, match.Fate, match.FateReason, match.RunID = e.Subject, e.Fate, e.Reason, e.RunID
			if e.RunID != "" && !slices.Contains(d.Runs, e.RunID) {
				d.Runs = append(d.Runs, e.RunID)
			}
		}
	}
	return nil
}

// Tested returns the log entry of a test that was sent, as the response of the request.
func (s *Deliveries) Tested(
	ctx context.Context, p penstock.Principal, factoryUID, webhookUID, id string,
) (store.Delivery, error) {
	d, err := s.Read(ctx, p, factoryUID, webhookUID, id)
	if err != nil {
		return d, err
	}
	return access.Act(ctx, s.responses, p, func(*store.Tx) (store.Delivery, error) { return d, nil })
}

// Explained returns whether a request is authentic, as the response of the request.
func (s *Deliveries) Explained(
	ctx context.Context, p penstock.Principal, verified WebhookVerified,
) (WebhookVerified, error) {
	return access.Act(ctx, s.responses, p, func(*store.Tx) (WebhookVerified, error) { return verified, nil })
}

// Payload returns the exact body of an accepted delivery, as it was sent. Rejected deliveries and
// duplicates have no body.
func (s *Deliveries) Payload(
	ctx context.Context, p penstock.Principal, factoryUID, webhookUID, id string,
) ([]byte, error) {
	if _, err := s.webhookOf(ctx, p, factoryUID, webhookUID); err != nil {
		return nil, err
	}
	if _, err := s.store.Deliveries.Find(ctx, webhookUID, id); err != nil {
		return nil, err
	}
	if raw, err := s.store.Deliveries.RawPayload(ctx, id); err != nil || raw != nil {
		return raw, err
	}
	return s.store.Deliveries.Payload(ctx, id)
}

// Replay records an accepted delivery again and starts the runs of the current automations. It
// claims no identity and ignores the rate limit. A delivery that was not accepted is a
// conflict.
func (s *Deliveries) Replay(
	ctx context.Context, p penstock.Principal, factoryUID, webhookUID, id string,
) (store.Delivery, error) {
	w, err := s.webhookOf(ctx, p, factoryUID, webhookUID)
	if err != nil {
		return store.Delivery{}, err
	}
	old, err := s.store.Deliveries.Find(ctx, webhookUID, id)
	if err != nil {
		return store.Delivery{}, err
	}
	if old.Outcome != penstock.OutcomeAccepted || old.Reason == store.ReasonHandshake {
		return store.Delivery{}, penstock.Errorf(
			penstock.CodeConflict, "only accepted deliveries can be replayed; this delivery is %s",
			strings.TrimSpace(old.Label+" "+old.Reason),
		)
	}
	body, err := s.store.Deliveries.Payload(ctx, id)
	if err != nil {
		return store.Delivery{}, err
	}
	raw, err := s.store.Deliveries.RawPayload(ctx, id)
	if err != nil {
		return store.Delivery{}, err
	}
	const attempts = 5
	for range attempts {
		var replayed store.Delivery
		if replayed, err = s.replayDelivery(ctx, p, w, old, body, raw); !errors.Is(err, store.ErrStale) {
			return replayed, err
		}
		if w, err = s.webhookOf(ctx, p, factoryUID, webhookUID); err != nil {
			return store.Delivery{}, err
		}
	}
	return store.Delivery{}, &penstock.Error{
		Code: penstock.CodeUnavailable, Detail: "the factory is being changed; try again", Cause: err,
	}
}

func (s *Deliveries) replayDelivery(
	ctx context.Context, p penstock.Principal, w store.WebhookRow, old store.Delivery, body, raw []byte,
) (store.Delivery, error) {
	plan, err := s.receiver.newPlan(ctx, w)
	if err != nil {
		return store.Delivery{}, err
	}
	document, err := s.receiver.parse(plan, body)
	if err != nil {
		return store.Delivery{}, fmt.Errorf("parse the payload of delivery %s again: %w", old.ID, err)
	}
	d := &store.NewDelivery{
		Delivery: store.Delivery{
			ID: penstock.NewID(), WebhookUID: w.UID, Outcome: penstock.OutcomeAccepted, HTTPStatus: http.StatusAccepted,
			Size: old.Size, ReceivedAt: penstock.Now(), IdentitySource: penstock.IdentityReplay, ReplayOf: old.ID,
			Headers: old.Headers, PayloadSHA256: old.PayloadSHA256,
		},
		WebhookNumber: w.Number, Team: w.Team, Version: w.TeamVersion, Body: body, Raw: raw,
		PaidBy: p.PaidBy(),
	}
	if err := s.receiver.start(ctx, plan, document, old.Headers, d); err != nil {
		return store.Delivery{}, err
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (store.Delivery, error) {
		if _, err := tx.Deliveries().Deliver(ctx, d); err != nil {
			return store.Delivery{}, err
		}
		replayed, err := tx.Deliveries().Find(ctx, w.UID, d.ID)
		describe(&replayed)
		return replayed, err
	})
}
