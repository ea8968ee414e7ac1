package factory

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// FilterTest tests a filter with a stored delivery or with the given payload. If only a webhook
// is given, the test counts how many of its last deliveries match.
type FilterTest struct {
	// Provider and Event name the GitHub or Linear trigger of Filter. If they are absent,
	// Filter is a payload filter.
	Provider    string          `json:"provider,omitempty"`
	Event       string          `json:"event,omitempty"`
	Filter      json.RawMessage `json:"filter"`
	WebhookUID  string          `json:"webhook_uid,omitempty"`
	DeliveryID  string          `json:"delivery_id,omitempty"`
	Payload     json.RawMessage `json:"payload,omitempty"`
	GitHubEvent string          `json:"github_event,omitempty"` // the X-GitHub-Event of Payload
}

// FilterTestResult is the result of a FilterTest.
type FilterTestResult struct {
	WouldTrigger bool          `json:"would_trigger"`
	Checks       []FilterCheck `json:"checks"`
	Sample       *FilterSample `json:"sample,omitempty"`
}

// FilterCheck is one condition of a trigger.
type FilterCheck struct {
	Check  string `json:"check"` // webhook, payload or event
	Passed bool   `json:"passed"`
	Path   string `json:"path,omitempty"` // JSON pointer of the first failing key
	Reason string `json:"reason,omitempty"`
	// Operator, Actual and Expected are the data of Reason: see trigger.Explanation.
	Operator string   `json:"operator,omitempty"`
	Actual   []string `json:"actual,omitempty"`
	Expected []string `json:"expected,omitempty"`
}

// FilterSample says how many of a webhook's last stored deliveries match.
type FilterSample struct {
	Matched    int              `json:"matched"`
	Of         int              `json:"of"`
	Deliveries []FilterDelivery `json:"deliveries"` // newest first
}

// FilterDelivery says whether a stored delivery matches, and why not.
type FilterDelivery struct {
	ID           string        `json:"delivery_id"`
	ReceivedAt   penstock.Time `json:"received_at"`
	EventType    string        `json:"event_type,omitempty"`
	Summary      string        `json:"summary,omitempty"`
	WouldTrigger bool          `json:"would_trigger"`
	Path         string        `json:"path,omitempty"` // JSON pointer of the first failing key
	Reason       string        `json:"reason,omitempty"`
	Operator     string        `json:"operator,omitempty"` // as in FilterCheck
	Actual       []string      `json:"actual,omitempty"`
	Expected     []string      `json:"expected,omitempty"`
}

// filterSample is how many of a webhook's last accepted deliveries a filter test reads.
const filterSample = 50

// TestFilter tests a payload filter, or a GitHub or Linear trigger, with a payload, a stored
// delivery, or the last deliveries of a webhook. It changes nothing.
func (s *Deliveries) TestFilter(
	ctx context.Context, p penstock.Principal, factoryUID string, req FilterTest,
) (FilterTestResult, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return FilterTestResult{}, err
	}
	if _, err := s.store.Factories.Find(ctx, p.Team, factoryUID); err != nil {
		return FilterTestResult{}, err
	}
	f, err := newTrial(req)
	if err != nil {
		return FilterTestResult{}, err
	}
	webhook, name, body, err := s.filterSubject(ctx, p, factoryUID, req)
	if err != nil {
		return FilterTestResult{}, err
	}
	result := FilterTestResult{WouldTrigger: true}
	if webhook != nil {
		result.Checks = append(result.Checks, f.checkWebhook(*webhook))
	}
	var check FilterCheck
	if body != nil {
		if check, err = f.try(name, body); err != nil {
			return FilterTestResult{}, err
		}
	} else {
		if result.Sample, err = s.sample(ctx, f, webhook.UID); err != nil {
			return FilterTestResult{}, err
		}
		check = FilterCheck{Check: f.check, Passed: result.Sample.Matched > 0}
		if !check.Passed {
			check.Reason = fmt.Sprintf("none of the last %d deliveries matches", result.Sample.Of)
		}
	}
	result.Checks = append(result.Checks, check)
	for _, c := range result.Checks {
		result.WouldTrigger = result.WouldTrigger && c.Passed
	}
	return access.Act(ctx, s.responses, p, func(*store.Tx) (FilterTestResult, error) { return result, nil })
}

// trial is the tested filter: a payload filter, or a trigger on events of a signature scheme.
type trial struct {
	check  string // the name of its check
	filter *trigger.Filter
	event  *trigger.Condition
	scheme penstock.SignatureScheme
}

// newTrial reads the tested filter, and returns all errors of the request.
func newTrial(req FilterTest) (trial, error) {
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
	named := req.Provider == penstock.ProviderGitHub && len(req.Payload) > 0
	switch {
	case named && req.GitHubEvent == "":
		bad("/github_event", "is required with a github payload: the value of the header X-GitHub-Event")
	case !named && req.GitHubEvent != "":
		bad("/github_event", "is allowed only with a github payload")
	}
	if len(req.Filter) == 0 {
		bad("/filter", "is required; {} matches everything")
	}
	var f trial
	var err error
	if req.Provider == "" || req.Provider == penstock.ProviderWebhook {
		f, err = payloadTrial(req)
	} else {
		f, err = eventTrial(req)
	}
	found, ok := request.FieldErrors(err)
	if err != nil && !ok {
		return f, err
	}
	if errs = append(errs, found...); errs != nil {
		return f, penstock.InvalidFields(errs...)
	}
	return f, nil
}

func payloadTrial(req FilterTest) (trial, error) {
	f := trial{check: trigger.CheckPayload}
	if req.Event != "" && (req.Provider == "" || req.Event != penstock.EventReceived) {
		return f, penstock.Invalid("/event", "is allowed only with the provider github or linear")
	}
	if len(req.Filter) == 0 {
		return f, nil
	}
	var err error
	f.filter, err = trigger.ParseFilter(req.Filter)
	if found, ok := request.FieldErrors(err); ok {
		for i := range found {
			found[i].Pointer = "/filter" + found[i].Pointer
		}
		return f, penstock.InvalidFields(found...)
	}
	return f, err
}

func eventTrial(req FilterTest) (trial, error) {
	t := penstock.Trigger{Provider: req.Provider, Event: req.Event, Filter: req.Filter}
	f := trial{check: trigger.CheckEvent, scheme: t.Scheme()}
	if f.scheme == "" {
		return f, penstock.Invalid("/provider", "must be webhook, github or linear: deliveries report no other events")
	}
	if errs := t.Check(""); errs != nil {
		return f, penstock.InvalidFields(errs...)
	}
	var err error
	f.event, err = trigger.Compile(t)
	return f, err
}

// filterSubject returns the input of the test: the webhook, if the request names one, and the
// body with the sender's name of the event. The body is nil for the last deliveries of the
// webhook. A resource of another factory is CodeNotFound.
func (s *Deliveries) filterSubject(
	ctx context.Context, p penstock.Principal, factoryUID string, req FilterTest,
) (*store.WebhookRow, string, json.RawMessage, error) {
	var webhooks []store.WebhookRow
	var err error
	if req.WebhookUID != "" {
		var w store.WebhookRow
		w, err = s.store.Webhooks.Find(ctx, p.Team, factoryUID, req.WebhookUID)
		webhooks = append(webhooks, w)
	} else if req.DeliveryID != "" {
		webhooks, err = s.store.Webhooks.List(ctx, p.Team, factoryUID)
	}
	if err != nil {
		return nil, "", nil, err
	}
	if req.DeliveryID == "" {
		if len(webhooks) == 0 {
			return nil, req.GitHubEvent, req.Payload, nil
		}
		return &webhooks[0], req.GitHubEvent, req.Payload, nil
	}
	for i := range webhooks {
		d, err := s.store.Deliveries.Find(ctx, webhooks[i].UID, req.DeliveryID)
		if penstock.CodeOf(err) == penstock.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, "", nil, err
		}
		body, err := s.store.Deliveries.Payload(ctx, req.DeliveryID)
		if penstock.CodeOf(err) == penstock.CodeNotFound {
			err = penstock.Invalid("/delivery_id", "the delivery has no payload: only accepted deliveries keep it")
		}
		return &webhooks[i], eventName(webhooks[i].SignatureScheme, d.Headers), body, err
	}
	return nil, "", nil, penstock.NotFound("delivery", req.DeliveryID)
}

// checkWebhook checks whether deliveries to the webhook can fire such a trigger.
func (f *trial) checkWebhook(w store.WebhookRow) FilterCheck {
	check := FilterCheck{Check: "webhook", Reason: InactiveReason(w)}
	if f.scheme != "" && f.scheme != w.SignatureScheme {
		check.Reason = fmt.Sprintf("its deliveries report no events of %s, because it has another signature scheme", f.scheme)
	}
	check.Passed = check.Reason == ""
	return check
}

// try tests f with a body; name is the sender's name of the event.
func (f *trial) try(name string, body []byte) (FilterCheck, error) {
	check := FilterCheck{Check: f.check}
	document, err := trigger.ParseDocument(body)
	if err != nil {
		if fields, ok := request.FieldErrors(err); ok {
			err = penstock.Invalid("/payload", "%s", strings.TrimSpace(fields[0].Detail))
		}
		return check, err
	}
	var why *trigger.Explanation
	if f.event != nil {
		why = readEvents(f.scheme, name, document).explain([]*trigger.Condition{f.event})
	} else {
		why = f.filter.Explain(document)
	}
	if check.Passed = why == nil; !check.Passed {
		check.Path, check.Reason = why.Path, why.Sentence()
		check.Operator, check.Actual, check.Expected = why.Operator, why.Actual, why.Expected
	}
	return check, nil
}

// sample shows which of a webhook's last accepted deliveries match a filter.
func (s *Deliveries) sample(ctx context.Context, f trial, webhookUID string) (*FilterSample, error) {
	sample := &FilterSample{Deliveries: []FilterDelivery{}}
	var failed error
	err := s.store.Deliveries.LastPayloads(ctx, webhookUID, filterSample, func(d store.Delivery, body []byte) bool {
		var check FilterCheck
		if check, failed = f.try(eventName(f.scheme, d.Headers), body); failed != nil {
			return false
		}
		describe(&d)
		sample.Of++
		sample.Deliveries = append(sample.Deliveries, FilterDelivery{
			ID: d.ID, ReceivedAt: d.ReceivedAt, EventType: d.EventType, Summary: d.Summary,
			WouldTrigger: check.Passed, Path: check.Path, Reason: check.Reason,
			Operator: check.Operator, Actual: check.Actual, Expected: check.Expected,
		})
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
