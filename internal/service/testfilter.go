package service

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/filter"
	"github.com/penstock-dev/penstock/internal/store"
)

// filterSample is how many of a webhook's last accepted deliveries a filter is
// tried on.
const filterSample = 50

// TestFilter tells what a payload filter makes of a payload, of a stored
// delivery, or of a webhook's last deliveries. It changes nothing.
func (s *Service) TestFilter(ctx context.Context, p penstock.Principal, factoryUID string, req penstock.FilterTest) (penstock.FilterVerdict, error) {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.FilterVerdict{}, err
	}
	if _, err := s.store.Factory(ctx, p.Team, factoryUID); err != nil {
		return penstock.FilterVerdict{}, err
	}
	f, err := checkFilterTest(req)
	if err != nil {
		return penstock.FilterVerdict{}, err
	}
	webhook, body, err := s.filterSubject(ctx, p, factoryUID, req)
	if err != nil {
		return penstock.FilterVerdict{}, err
	}
	verdict := penstock.FilterVerdict{WouldTrigger: true}
	if webhook != nil {
		verdict.Checks = append(verdict.Checks, checkWebhook(*webhook))
	}
	check := penstock.FilterCheck{Check: "payload"}
	if body != nil {
		if check, err = tryPayload(f, body); err != nil {
			return penstock.FilterVerdict{}, err
		}
	} else {
		if verdict.Sample, err = s.sample(ctx, f, webhook.UID); err != nil {
			return penstock.FilterVerdict{}, err
		}
		check.Passed = verdict.Sample.Matched > 0
		if !check.Passed {
			check.Reason = fmt.Sprintf("none of the last %d deliveries matches", verdict.Sample.Of)
		}
	}
	verdict.Checks = append(verdict.Checks, check)
	for _, c := range verdict.Checks {
		verdict.WouldTrigger = verdict.WouldTrigger && c.Passed
	}
	return act(ctx, s, p, func(*store.Tx) (penstock.FilterVerdict, error) { return verdict, nil })
}

// checkFilterTest reads the filter, and reports all that is wrong with the
// request by itself.
func checkFilterTest(req penstock.FilterTest) (*filter.Filter, error) {
	var errs []penstock.FieldError
	bad := func(pointer, detail string) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: detail})
	}
	if len(req.Payload) > 0 && req.DeliveryID != "" {
		bad("/payload", "cannot be given together with delivery_id")
	}
	if len(req.Payload) == 0 && req.DeliveryID == "" && req.WebhookUID == "" {
		bad("/payload", "is required unless delivery_id or webhook_uid is given")
	}
	if len(req.Filter) == 0 {
		bad("/filter", "is required; {} matches every payload")
		return nil, penstock.InvalidFields(errs...)
	}
	f, err := filter.Parse(req.Filter)
	found, ok := errorFields(err)
	if err != nil && !ok {
		return nil, err
	}
	for _, e := range found {
		bad("/filter"+e.Pointer, e.Detail)
	}
	if errs != nil {
		return nil, penstock.InvalidFields(errs...)
	}
	return f, nil
}

// filterSubject is what a filter is tried on: the webhook, where one is named,
// and the body, nil for the webhook's last deliveries. What belongs to another
// factory is CodeNotFound.
func (s *Service) filterSubject(ctx context.Context, p penstock.Principal, factoryUID string, req penstock.FilterTest) (*store.WebhookRow, json.RawMessage, error) {
	var webhooks []store.WebhookRow
	var err error
	if req.WebhookUID != "" {
		var w store.WebhookRow
		w, err = s.store.Webhook(ctx, p.Team, factoryUID, req.WebhookUID)
		webhooks = append(webhooks, w)
	} else if req.DeliveryID != "" {
		webhooks, err = s.store.Webhooks(ctx, p.Team, factoryUID)
	}
	if err != nil {
		return nil, nil, err
	}
	if req.DeliveryID == "" {
		if len(webhooks) == 0 {
			return nil, req.Payload, nil
		}
		return &webhooks[0], req.Payload, nil
	}
	for i := range webhooks {
		_, err := s.store.Delivery(ctx, webhooks[i].UID, req.DeliveryID)
		if penstock.CodeOf(err) == penstock.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		body, err := s.store.Payload(ctx, req.DeliveryID)
		if penstock.CodeOf(err) == penstock.CodeNotFound {
			err = penstock.Invalid("/delivery_id", "the delivery has no payload: only those of accepted deliveries are kept")
		}
		return &webhooks[i], body, err
	}
	return nil, nil, penstock.NotFound("delivery", req.DeliveryID)
}

// checkWebhook tells whether deliveries to the webhook start anything.
func checkWebhook(w store.WebhookRow) penstock.FilterCheck {
	check := penstock.FilterCheck{Check: "webhook", Passed: w.Enabled && !w.Suspended && !w.PendingSecret}
	switch {
	case w.PendingSecret:
		check.Reason = "the webhook waits for its secret"
	case !w.Enabled:
		check.Reason = "the webhook is switched off"
	case w.Suspended:
		check.Reason = "the webhook is suspended"
	}
	return check
}

func tryPayload(f *filter.Filter, body []byte) (penstock.FilterCheck, error) {
	check := penstock.FilterCheck{Check: "payload"}
	document, err := filter.ParseDocument(body)
	if err != nil {
		if told, ok := errorFields(err); ok {
			err = penstock.Invalid("/payload", "%s", strings.TrimSpace(told[0].Detail))
		}
		return check, err
	}
	defer document.Release()
	matched, why := f.Match(document)
	check.Passed, check.Path, check.Reason = matched, why.Path, why.Reason
	return check, nil
}

// sample counts which of a webhook's last accepted deliveries a filter matches.
func (s *Service) sample(ctx context.Context, f *filter.Filter, webhookUID string) (*penstock.FilterSample, error) {
	sample := &penstock.FilterSample{}
	var failed error
	err := s.store.LastPayloads(ctx, webhookUID, filterSample, func(body []byte) bool {
		var check penstock.FilterCheck
		if check, failed = tryPayload(f, body); failed != nil {
			return false
		}
		sample.Of++
		if check.Passed {
			sample.Matched++
		}
		return true
	})
	if err == nil {
		err = failed
	}
	return sample, err
}
