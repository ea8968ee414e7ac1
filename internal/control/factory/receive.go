package factory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// Deliver records a delivery and starts its runs in one transaction, which is durable when it
// returns. ErrStale means that the plan is outdated and nothing was stored. The call
// continues after the caller's context ends, so that a disconnected sender does not abort it.
func (s *Receiver) Deliver(ctx context.Context, p *Plan, a *InboundDelivery) (DeliveryResult, error) {
	if result, known, err := s.rejectEarly(ctx, p, a); known || err != nil {
		return result, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deliverWithin)
	defer cancel()
	d, err := s.evaluate(ctx, p, a)
	if err != nil {
		return DeliveryResult{}, asUnavailable(err)
	}
	if d.Outcome == penstock.OutcomeAccepted {
		s.identify(p, a, d)
	}
	got, err := s.store.Deliveries.Deliver(ctx, d)
	if errors.Is(err, store.ErrStale) {
		return DeliveryResult{}, ErrStale
	}
	if err != nil {
		return DeliveryResult{}, asUnavailable(err)
	}
	if got.Outcome == penstock.OutcomeAccepted && !got.Limited && !a.Handshake && p.reportsPush(a) {
		s.repositories.NoticePush(ctx, p.row.Team, a.Body)
	}
	return s.result(p, a, d, got), nil
}

// asUnavailable turns a timeout of the database into an error that asks the sender to retry.
func asUnavailable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &penstock.Error{
			Code: penstock.CodeUnavailable, Detail: "the database does not respond", RetryAfter: 5 * time.Second, Cause: err,
		}
	}
	return err
}

// deliverWithin is how long recording a delivery may take. A commit after that may still
// succeed: the sender got 503, and its retry is a duplicate.
const deliverWithin = 20 * time.Second

// result turns the store's result into the ingress's, and remembers the limits in the plan.
func (s *Receiver) result(
	p *Plan, a *InboundDelivery, d *store.NewDelivery, got store.Delivered,
) DeliveryResult {
	r := DeliveryResult{
		DeliveryID: d.ID, Outcome: got.Outcome, DuplicateOf: got.DuplicateOf, Detail: d.Detail, Limited: got.Limited,
		Answered: got.Outcome == penstock.OutcomeRejectedAuth && d.HTTPStatus == http.StatusOK, Wait: got.Wait,
	}
	switch {
	case got.Limited:
		p.fullUntil.Store(time.Now().Add(got.Wait).UnixNano())
		s.rejections.add(p.row.UID, store.CountRateLimited)
		r.DeliveryID = ""
	case got.Unlogged:
		if a.Outcome == penstock.OutcomeRejectedAuth {
			p.silentUntil.Store(time.Now().Add(got.Wait).UnixNano())
		}
		r.DeliveryID = ""
	}
	if a.Secret >= 0 && a.Secret < len(p.row.Sealed) {
		s.webhooks.MarkSigned(store.WebhookSecretKey{WebhookUID: p.row.UID, N: p.row.Sealed[a.Secret].N})
	}
	return r
}

// rejectEarly rejects a delivery without a transaction if an earlier transaction has shown that
// the rate limit rejects it, or that its failure is not logged, until a known time. It first
// checks that the webhook has not changed.
func (s *Receiver) rejectEarly(
	ctx context.Context, p *Plan, a *InboundDelivery,
) (DeliveryResult, bool, error) {
	until, kind := p.fullUntil.Load(), store.CountRateLimited
	if a.Unverified {
		if until, kind = 0, store.CountRejected; a.Outcome == penstock.OutcomeRejectedAuth {
			until = p.silentUntil.Load()
		}
	}
	wait := time.Duration(until - time.Now().UnixNano())
	if wait <= 0 {
		return DeliveryResult{}, false, nil
	}
	version, err := s.versions.Ask(
		ctx, p.row.Team, func(ctx context.Context) (int64, error) { return s.store.TeamVersion(ctx, p.row.Team) },
	)
	if err == nil && version != p.row.TeamVersion {
		err = ErrStale
	}
	if err != nil {
		return DeliveryResult{}, false, err
	}
	s.rejections.add(p.row.UID, kind)
	return DeliveryResult{Outcome: a.Outcome, Limited: kind == store.CountRateLimited, Wait: wait}, true, nil
}

// CountRejected counts a delivery that was rejected because of its sender's failures.
func (s *Receiver) CountRejected(uid string) { s.rejections.add(uid, store.CountRateLimited) }

// CountTurnedAway counts a request to a webhook that accepts no deliveries.
func (s *Receiver) CountTurnedAway(uid string) { s.rejections.add(uid, store.CountTurnedAway) }

// KnownSender reports whether deliveries of the webhook were accepted from the
// address in the last 24 hours.
func (s *Receiver) KnownSender(ctx context.Context, uid, clientIP string) (bool, error) {
	return s.recognized.Ask(
		ctx, uid+" "+clientIP,
		func(ctx context.Context) (bool, error) { return s.store.Deliveries.KnownSender(ctx, uid, clientIP) },
	)
}

// evaluate builds the log entry.
func (s *Receiver) evaluate(
	ctx context.Context, p *Plan, a *InboundDelivery,
) (d *store.NewDelivery, err error) {
	limits := s.limits
	d = &store.NewDelivery{
		Delivery: store.Delivery{
			ID: penstock.NewID(), WebhookUID: p.row.UID, Outcome: a.Outcome, Reason: a.Reason, Detail: a.Detail,
			HTTPStatus: a.Status,
			Size:       a.Size, ReceivedAt: a.ReceivedAt, ClientIP: a.ClientIP, Headers: a.Headers,
		},
		PaidBy:        a.PaidBy,
		WebhookNumber: p.row.Number, Team: p.row.Team, Version: p.row.TeamVersion, Logged: limits.LoggedRejections,
	}
	if !a.Unverified {
		if d.Rate = limits.DeliveriesPerMinute; p.OfConnection() {
			d.Rate = connectionRate
		}
		d.Last = true
	}
	switch {
	case a.Outcome == penstock.OutcomeAccepted:
		err = s.match(ctx, p, a, d)
	case a.Reason == ReasonSetupPing && p.row.SetupPings:
		var verified bool
		if verified, err = s.store.Deliveries.Verified(ctx, p.row.UID); !verified {
			d.HTTPStatus = http.StatusOK
		}
	}
	if d.HTTPStatus == 0 {
		d.HTTPStatus = d.Outcome.Status()
	}
	return d, err
}

// match validates the body and finds out which automations it starts.
func (s *Receiver) match(ctx context.Context, p *Plan, a *InboundDelivery, d *store.NewDelivery) error {
	if a.Handshake {
		d.Reason, d.Body = store.ReasonHandshake, a.Body
		return nil
	}
	document, err := s.parse(p, a.Body)
	if err != nil {
		if reported, ok := errors.AsType[*penstock.Error](err); ok {
			d.Detail = reported.Explain()
		}
		d.Outcome, d.Reason, d.HTTPStatus = penstock.OutcomeRejectedJSON, "invalid_json", http.StatusBadRequest
		return nil
	}
	d.Body, d.Raw = a.Body, a.Raw
	return s.start(ctx, p, document, a.Headers, d)
}

// start adds the match of each automation, and the runs of those that the delivery starts.
func (s *Receiver) start(
	ctx context.Context, p *Plan, document *trigger.Document, headers map[string]string, d *store.NewDelivery,
) error {
	command, refused, err := s.command(ctx, p, document, d)
	if err != nil {
		return err
	}
	if command != nil && command.Command != "" {
		d.Command, d.Detail = command, "It is a command to the run: "+command.Command+"."
		return nil
	}
	if err := s.startRuns(ctx, p, document, headers, d); err != nil {
		return err
	}
	if command != nil {
		hear(d, command)
	} else if refused != "" && len(d.Starts) == 0 {
		d.Detail = refused
	}
	return nil
}

// startRuns adds what [Receiver.start] does for the automations.
func (s *Receiver) startRuns(
	ctx context.Context, p *Plan, document *trigger.Document, headers map[string]string, d *store.NewDelivery,
) error {
	reported := p.reportedEvents(document, headers)
	event, err := s.forgeEvent(ctx, p, document, reported)
	if err != nil || len(p.automations) == 0 || event.unused != "" {
		d.Detail = event.unused
		return err
	}
	trial := p.filters.Try(document)
	d.Matches = make([]store.DeliveryMatch, 0, len(p.automations))
	for i := range p.automations {
		e := &p.automations[i]
		if !event.concerns(e) {
			continue
		}
		d.Matches = append(d.Matches, store.DeliveryMatch{
			Automation: e.automation.row.Name, UID: e.automation.row.UID,
		})
		match := &d.Matches[len(d.Matches)-1]
		role, why := e.match(trial, reported)
		if why != nil {
			record(match, why)
			continue
		}
		if refused, err := event.refuses(ctx, e.automation.row, role, match); err != nil || refused {
			if err != nil {
				return err
			}
			continue
		}
		on := s.cause(p, document, d)
		on.Repository, on.Place = event.repository, event.place
		on.Thread = threadOf(p.row, on.Payload)
		if on.Threads, err = event.threadsOf(ctx); err != nil {
			return err
		}
		run, err := s.begin(ctx, e.automation, role, on, match)
		if err != nil {
			return err
		}
		if run != nil {
			d.Starts = append(d.Starts, run)
			match.WouldTrigger, match.RunID = true, run.ID
		}
	}
	return nil
}

// cause describes a delivery to the automations that it fires.
func (s *Receiver) cause(p *Plan, document *trigger.Document, d *store.NewDelivery) Cause {
	payload, _ := document.Root() // without one, the title shows no values
	return Cause{
		Source: run.SourceWebhook, At: d.ReceivedAt, WebhookUID: p.row.UID, DeliveryID: d.ID,
		TriggerURL: s.deliveryURL(p.row, d.ID), Payload: payload, Envelope: envelope(p.row, d.ID),
		PaidBy: d.PaidBy, Scheme: p.row.SignatureScheme,
	}
}

// record records why the automation does not fire. The words are stored in parts, so that the log can
// show them without the payload.
func record(match *store.DeliveryMatch, why *trigger.Explanation) {
	match.FailedAt = &why.Path
	if why.Operator == "" {
		match.Reason = why.Sentence()
		return
	}
	match.Check, match.Operator, match.Words = why.Check, why.Operator, &why.Words
	match.Actual, match.Expected = why.Actual, why.Expected
}

// begin returns the run that a delivery starts, or what stands for one if the delivery only continues a run or
// closes its subject. If there is nothing to do, begin returns nil and notes why.
func (s *Receiver) begin(
	ctx context.Context, a *planned, does store.EventRole, on Cause, match *store.DeliveryMatch,
) (run *store.NewRun, err error) {
	if does == store.EventCloses {
		run = closing(a.row, on)
	} else if run, err = s.starting(ctx, a, on, match); err != nil || run == nil {
		return nil, err
	}
	if run.Claim != nil {
		run.Claim.Does, run.Claim.At = does, changedAt(on)
	} else if does != store.EventStarts {
		match.FailedAt, match.Reason = new(""), "The event has no subject, and only continues runs or closes subjects."
		return nil, nil //nolint:nilnil // it is noted
	}
	if does != store.EventStarts {
		return run, nil
	}
	why, err := s.automations.full(ctx, run, "")
	switch {
	case err != nil:
		return nil, err
	case run.Claim != nil:
		run.Claim.Full = why
	case why != "":
		match.FailedAt, match.Reason, match.Fate = new(store.FailedAtAutomation), why, store.FateSkipped
		return nil, nil //nolint:nilnil // it is noted
	}
	return run, nil
}

func (s *Receiver) starting(
	ctx context.Context, a *planned, on Cause, match *store.DeliveryMatch,
) (*store.NewRun, error) {
	if paused := a.row.Paused; paused != nil {
		match.FailedAt, match.Reason = new(store.FailedAtAutomation), paused.Skips("automation")
		match.Fate = store.FateSkipped
		return nil, nil //nolint:nilnil // it is noted
	}
	template, broken, err := a.resolved(ctx, s)
	if err != nil {
		return nil, err
	}
	if template == nil {
		match.FailedAt, match.Reason = new(store.FailedAtAutomation), broken
		return nil, nil //nolint:nilnil // it is noted
	}
	run, err := template.Stamp(ctx, on)
	if reason, ok := WhyBroken(err); ok {
		match.FailedAt, match.Reason = new(store.FailedAtAutomation), reason
		return nil, nil //nolint:nilnil // it is noted
	}
	return run, err
}

// deliveryURL returns the URL of a delivery's page.
func (s *Receiver) deliveryURL(w store.WebhookRow, id string) string {
	if ofConnection(w) {
		return s.publicURL + "/forges/" + w.UID + "/deliveries/" + id
	}
	return s.publicURL + "/factory/" + w.FactoryUID + "/webhooks/" + w.UID + "/deliveries/" + id
}

// identify sets the identity of the delivery.
func (s *Receiver) identify(p *Plan, a *InboundDelivery, d *store.NewDelivery) {
	sent := a.Body
	if a.Raw != nil {
		sent = a.Raw
	}
	sum := sha256.Sum256(sent)
	d.PayloadSHA256 = hex.EncodeToString(sum[:])
	d.Sender = p.senders.due(a.ClientIP, a.ReceivedAt)
	if a.Handshake {
		return
	}
	d.IdentitySource = a.IdentitySource
	test := strings.HasPrefix(a.Identity, penstock.TestIdentity)
	if d.Retried = p.row.RetryUnmatched && !test; d.Retried && len(d.Starts) == 0 && d.Command == nil {
		return // the sender may send it again
	}
	if a.IdentitySource != penstock.IdentityBody {
		d.Identity = store.IdentityKey(a.Identity)
	} else if window := p.row.DedupBodyWindow.Or(s.limits.DedupBodyWindow); window > 0 {
		d.Identity, d.IdentityUntil = store.IdentityOf(sum), a.ReceivedAt.Add(window)
	}
	switch {
	case a.Guard && len(a.SignedSum) == len(sum):
		d.Guard, d.GuardUntil = store.IdentityOf([sha256.Size]byte(a.SignedSum)), a.ReceivedAt.Add(store.IdentitiesFor)
	case a.Guard:
		d.Guard = store.IdentityOf(sum)
	}
}

// smallBody is the size up to which any number of bodies may be parsed at once, in bytes.
const smallBody = 16 << 10

// parse parses the body once for all filters. Without filters it only validates the body.
func (s *Receiver) parse(p *Plan, body []byte) (*trigger.Document, error) {
	if !p.filtered && !p.OfConnection() {
		return nil, trigger.ValidateBody(body)
	}
	if len(body) > smallBody {
		s.parsing <- struct{}{}
		defer func() { <-s.parsing }()
	}
	return trigger.ParseDocument(body)
}

// newParsing bounds how many large bodies are parsed at once.
func newParsing() chan struct{} { return make(chan struct{}, 2*runtime.GOMAXPROCS(0)) }

// rejectionCounts counts rejections without a transaction until they are stored. The zero value
// is ready.
type rejectionCounts struct {
	mu     sync.Mutex
	counts map[store.Count]int64
}

func (r *rejectionCounts) add(uid, kind string) {
	c := store.Count{WebhookUID: uid, Quarter: store.Quarter(penstock.Now()), Kind: kind}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[store.Count]int64{}
	}
	r.counts[c]++
}

func (r *rejectionCounts) take() map[store.Count]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts
	r.counts = nil
	return counts
}

// restore adds counts that could not be stored.
func (r *rejectionCounts) restore(counts map[store.Count]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[store.Count]int64{}
	}
	for c, n := range counts {
		r.counts[c] += n
	}
}

// FlushRejections stores the rejections since the last call.
func (s *Receiver) FlushRejections(ctx context.Context) error {
	counts := s.rejections.take()
	if len(counts) == 0 {
		return nil
	}
	err := s.store.Deliveries.AddCounts(ctx, counts)
	if err != nil {
		s.rejections.restore(counts)
	}
	return err
}

// envelope tells the agent what started its run. It contains nothing of the payload, and only
// names that the owner of the webhook chose.
func envelope(w store.WebhookRow, deliveryID string) string {
	from := "a delivery to the webhook \"" + w.Name + "\""
	if ofConnection(w) {
		from = "an event of the connection \"" + w.Label + "\""
	}
	return "This run was started by " + from + " (delivery " + deliveryID + ").\n" +
		"The body of the delivery is attached as the file " + run.PayloadPath +
		" in the workspace, byte for byte. It is the request to act on.\n" +
		run.Untrusted("that file")
}
