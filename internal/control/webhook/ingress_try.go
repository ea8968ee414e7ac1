package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/signature"
)

// SendTest sends a delivery to a webhook through all checks, with the webhook's own credential, and
// returns its id in the log. id identifies the delivery: the same one again is a duplicate. A webhook
// that accepts no delivery, or to which only the sender can sign, is a conflict.
func (in *Ingress) SendTest(
	ctx context.Context, hook penstock.Webhook, req factory.TestDelivery, id string, client netip.Addr,
) (deliveryID string, err error) {
	path := Prefix + hook.UID
	plan, secrets, err := in.acceptingPlan(ctx, hook)
	if err != nil {
		return "", err
	}
	now := time.Now()
	if len(secrets) == 0 {
		return "", penstock.Errorf(penstock.CodeConflict, "the webhook has no valid secret")
	}
	request := Request{
		Method: http.MethodPost, URL: in.PublicURL + path, Header: http.Header{"Content-Type": {"application/json"}},
		Body: req.Payload, Now: now,
	}
	if name := plan.Snapshot.DeliveryIDHeader; name != "" {
		request.Header.Set(name, id)
	}
	request.Header.Set(identityHeaders[0], id)
	if plan.Snapshot.SignatureScheme == signature.GitHub {
		request.Header.Set("X-Github-Event", "ping")
	}
	for name, value := range req.Headers {
		request.Header.Set(name, value)
	}
	switch plan.Snapshot.AuthMode {
	case penstock.AuthToken:
		request.Header.Set("Authorization", "Bearer "+secrets[0])
		request.fill(map[string]any{"type": "test", "test": id})
	case penstock.AuthURLToken:
		path += "/" + secrets[0]
		request.fill(map[string]any{"type": "test", "test": id})
	case penstock.AuthSignature:
		verifier, err := NewVerifier(plan.Snapshot.SignatureScheme, plan.Snapshot.Signature)
		if err != nil {
			return "", err
		}
		request.fill(verifier.example(now, id))
		request.Body = verifier.renewed(request.Body, now)
		if err := verifier.Sign(&request, secrets[0], id); err != nil {
			return "", penstock.Errorf(penstock.CodeConflict, "%s", err)
		}
	}
	return in.post(ctx, path, request, &intake{test: id, paidBy: req.PaidBy}, client)
}

// acceptingPlan returns the current plan of a webhook and its valid secrets. A webhook that accepts
// no deliveries is a conflict.
func (in *Ingress) acceptingPlan(ctx context.Context, hook penstock.Webhook) (*factory.Plan, []string, error) {
	plan, err := in.Receiver.Plan(ctx, hook.UID, hook.AuthMode == penstock.AuthURLToken, true)
	if penstock.CodeOf(err) == penstock.CodeNotFound || err == nil && plan.Snapshot.Pending {
		err = penstock.Errorf(
			penstock.CodeConflict, "the webhook accepts no deliveries: it is disabled, suspended, or has no secret yet",
		)
	}
	if err != nil {
		return nil, nil, err
	}
	secrets, _ := plan.Snapshot.Valid(penstock.Now())
	return plan, secrets, nil
}

// fill gives a request without a body this one.
func (r *Request) fill(body map[string]any) {
	if len(r.Body) == 0 {
		r.Body, _ = json.Marshal(body) // texts and numbers never fail
	}
}

// post handles a request that nobody has sent over the network. d has what is special about it.
func (in *Ingress) post(
	ctx context.Context, path string, request Request, d *intake, client netip.Addr,
) (string, error) {
	r, err := http.NewRequestWithContext(ctx, request.Method, path, bytes.NewReader(request.Body))
	if err != nil {
		return "", err
	}
	r.Header, r.RemoteAddr = request.Header, netip.AddrPortFrom(client, 0).String()
	w := &recorder{header: http.Header{}}
	d.in, d.w, d.r, d.received = in, w, r, request.Now
	end := in.span(d)
	defer func() {
		d.body.free()
		in.observe(d)
		end()
	}()
	d.serve()
	if d.deliveryID == "" || d.status >= http.StatusBadRequest {
		return "", penstock.Errorf(
			penstock.CodeConflict, "the webhook rejected the test with %d %s", d.status, http.StatusText(d.status),
		)
	}
	return d.deliveryID, nil
}

// recorder is a response that nobody reads. The intake keeps what is needed of it.
type recorder struct{ header http.Header }

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) Write(b []byte) (int, error) { return len(b), nil }
func (w *recorder) WriteHeader(int)             {}

// Explain says whether a webhook accepts the credential of a request, and why not, without a
// delivery.
func (in *Ingress) Explain(
	ctx context.Context, hook penstock.Webhook, req factory.WebhookVerification,
) (factory.WebhookVerified, error) {
	plan, secrets, err := in.acceptingPlan(ctx, hook)
	if err != nil {
		return factory.WebhookVerified{}, err
	}
	now := time.Now()
	if req.At != nil {
		now = req.At.Std()
	}
	header := headersOf(req.Headers)
	switch plan.Snapshot.AuthMode {
	case penstock.AuthURLToken:
		return factory.WebhookVerified{}, penstock.Errorf(
			penstock.CodeConflict, "the credential is in the URL of the webhook, so there is no signature to verify",
		)
	case penstock.AuthToken:
		given, failure := bearer(header)
		if failure == nil && TokenMatches(given, secrets) < 0 {
			failure = &Failure{Mismatch, "Authorization", "is not the secret"}
		}
		return explained(failure, ""), nil
	case penstock.AuthSignature:
	}
	verifier, err := NewVerifier(plan.Snapshot.SignatureScheme, plan.Snapshot.Signature)
	if err != nil {
		return factory.WebhookVerified{}, err
	}
	request := Request{
		Method: http.MethodPost, URL: in.PublicURL + Prefix + hook.UID, Header: header, Body: []byte(req.Body), Now: now,
	}
	_, failure := verifier.Verify(request, secrets)
	hint := ""
	if failure != nil && failure.Reason == Mismatch {
		hint = verifier.NearMiss(request, secrets)
	}
	return explained(failure, hint), nil
}

func explained(failure *Failure, hint string) factory.WebhookVerified {
	if failure == nil {
		return factory.WebhookVerified{Valid: true}
	}
	return factory.WebhookVerified{Reason: string(failure.Reason), Detail: failure.String(), Hint: hint}
}
