package webhook

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/request"
)

// Prefix is the start of the path of all webhook URLs. The deliveries of connections to forges come below
// [forge.IngressPath].
const Prefix = "/webhooks/w/"

// connectionBytes is the most bytes of a body that a connection takes.
const connectionBytes = 2 << 20

// Receiver is the part of the rules that the ingress needs.
type Receiver interface {
	// Plan returns the plan of the enabled webhook uid; token means that the path has a token.
	// If no webhook accepts the path, it returns CodeNotFound, and never from memory. Unless
	// fresh is set, an existing plan may come from memory.
	Plan(ctx context.Context, uid string, token, fresh bool) (*factory.Plan, error)
	// Deliver records a delivery and its runs durably. ErrStale means that the webhook has
	// changed.
	Deliver(ctx context.Context, p *factory.Plan, a *factory.InboundDelivery) (factory.DeliveryResult, error)
	// Offer sets the secret of a pending webhook to the value that its sender posted. ErrStale
	// means that it is no longer pending.
	Offer(ctx context.Context, p *factory.Plan, secret string) error
	// KnownSender reports whether recent deliveries from the address were accepted.
	KnownSender(ctx context.Context, uid, clientIP string) (bool, error)
	// CountRejected counts a delivery that was rejected because of its sender's failures.
	CountRejected(uid string)
	// CountTurnedAway counts a request to a webhook that accepts no deliveries.
	CountTurnedAway(uid string)
}

// IngressOptions configures an Ingress. Receiver, PublicURL and Client are required.
type IngressOptions struct {
	Receiver  Receiver
	Clicks    Clicks                         // nil: none are taken
	Log       *slog.Logger                   // nil: no log
	PublicURL string                         // where senders reach the server, without a trailing slash
	Client    func(*http.Request) netip.Addr // the sender's address
	Limits    penstock.WebhookLimits

	BodyTime   time.Duration         // time for a body to arrive; default 10 s
	HeldBytes  int64                 // total size of large bodies in memory; default 32 MB
	Registerer prometheus.Registerer // nil: nothing is counted
	Tracer     trace.TracerProvider  // nil: nothing is traced
}

// Ingress receives deliveries. It is an http.Handler in front of every router, and uses the
// path exactly as it was sent: a cleaned or redirected path would repeat the token. No log
// line, metric, trace or response contains that token.
type Ingress struct {
	IngressOptions

	prefix      string   // of the paths
	connections *Ingress // for deliveries of connections; nil: it is this one

	problems *problems
	bodies   *bodies
	failures *failures
	metrics  *ingressMetrics
	tracer   trace.Tracer // nil: nothing is traced
	clicks   *clicking
}

// NewIngress creates an ingress. It starts nothing.
func NewIngress(o IngressOptions) *Ingress {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.PublicURL = strings.TrimSuffix(o.PublicURL, "/")
	o.BodyTime = cmp.Or(o.BodyTime, 10*time.Second)
	in := &Ingress{
		IngressOptions: o, prefix: Prefix,
		problems: newProblems(o.PublicURL), bodies: newBodies(o.Limits.DeliveryBytes, o.HeldBytes),
		failures: newFailures(o.Limits), metrics: newIngressMetrics(o.Registerer),
	}
	if o.Tracer != nil {
		in.tracer = o.Tracer.Tracer("github.com/penstock-dev/penstock/internal/webhook")
	}
	in.clicks = newClicking(in)
	own := *in
	own.prefix, own.bodies = forge.IngressPath, newBodies(connectionBytes, o.HeldBytes)
	in.connections = &own
	return in
}

// IsWebhookPath reports whether the ingress must handle a request. This includes every spelling
// of a path to webhooks, so that no other handler sees a token. It excludes the API's own paths
// below the webhooks of a factory, if they are written plainly: their {wuid} may be "w".
func IsWebhookPath(r *http.Request) bool {
	p := r.URL.Path
	for _, prefix := range []string{Prefix, ClickPrefix, forge.IngressPath} {
		if strings.HasPrefix(p, prefix) {
			return true
		}
	}
	return leadsToWebhooks(p) && !isAPIPath(r.URL)
}

var separators = strings.NewReplacer(`\`, "/", "%2f", "/", "%5c", "/")

// leadsToWebhooks reports whether another spelling of a path leads to webhooks.
func leadsToWebhooks(p string) bool {
	p = separators.Replace(strings.ToLower(p))
	return strings.Contains(path.Clean("/"+p)+"/", Prefix)
}

// isAPIPath reports whether a path is /api/v1/factory/{uid}/webhooks/… exactly as the API's
// router takes it: in this spelling, without a dot segment, empty segment, backslash or escaped
// separator that another parser could read differently.
func isAPIPath(u *url.URL) bool {
	rest, below := strings.CutPrefix(u.EscapedPath(), "/api/v1/factory/")
	factory, rest, more := strings.Cut(rest, "/")
	return below && more && factory != "" && strings.HasPrefix(rest, "webhooks/") &&
		path.Clean(u.Path) == u.Path && !strings.ContainsAny(u.Path, `\%`) &&
		strings.Count(u.Path, "/") == strings.Count(u.EscapedPath(), "/")
}

// intake is the state of one request in the ingress.
type intake struct {
	in       *Ingress
	w        http.ResponseWriter
	r        *http.Request
	received time.Time
	paidBy   []string // keys that pay for its runs: a test

	uid, token string
	hasToken   bool
	client     netip.Addr
	clientIP   string
	plan       *factory.Plan
	body       body
	read       bool // the body was read, or is too large
	tooLarge   bool
	reply      *Handshake // the response to an accepted delivery that its sender expects; nil: the usual one
	test       string     // the id of a test that the server sends itself, or ""

	label      string // of the metric
	reason     string
	deliveryID string
	status     int
}

// ServeHTTP handles one request.
func (in *Ingress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !leadsToWebhooks(r.URL.Path) {
		switch {
		case strings.HasPrefix(r.URL.Path, ClickPrefix):
			in.clicks.ServeHTTP(w, r)
			return
		case strings.HasPrefix(r.URL.Path, forge.IngressPath):
			in = in.connections
		}
	}
	d := &intake{in: in, w: w, r: r, received: time.Now()}
	end := in.span(d)
	defer func() {
		d.body.free()
		in.observe(d)
		end()
	}()
	defer d.recover()
	d.serve()
}

func (d *intake) recover() {
	if !request.LogPanic(d.r.Context(), d.in.Log, recover(), "webhook_uid", d.uid) {
		return
	}
	d.reject(http.StatusInternalServerError, "failed", 0)
}

// serve processes the delivery and responds.
func (d *intake) serve() {
	result, err := d.take()
	if err != nil {
		d.respondError(err)
		return
	}
	d.respond(result)
}

// take runs the checks in the order of the contract. If the webhook has changed in the
// meantime, it repeats all of them.
func (d *intake) take() (factory.DeliveryResult, error) {
	if d.r.Method != http.MethodPost {
		d.w.Header().Set("Allow", http.MethodPost)
		return factory.DeliveryResult{}, &rejectedError{status: http.StatusMethodNotAllowed, label: "method"}
	}
	var ok bool
	if d.uid, d.token, d.hasToken, ok = splitPath(d.in.prefix, d.r.URL.EscapedPath()); !ok {
		return factory.DeliveryResult{}, errNoWebhook
	}
	d.client = d.in.Client(d.r)
	d.clientIP = d.client.String()
	const attempts = 20 // each follows a change of the team
	for n := range attempts {
		plan, err := d.in.Receiver.Plan(d.r.Context(), d.uid, d.hasToken, n > 0)
		if errors.Is(err, factory.ErrInactive) {
			d.in.Receiver.CountTurnedAway(d.uid)
		}
		if err != nil {
			return factory.DeliveryResult{}, err
		}
		if plan.OfConnection() != (d.in.prefix == forge.IngressPath) {
			return factory.DeliveryResult{}, errNoWebhook
		}
		d.plan = plan
		result, err := d.attempt()
		if !errors.Is(err, factory.ErrStale) {
			return result, err
		}
	}
	return factory.DeliveryResult{}, &rejectedError{http.StatusServiceUnavailable, "unavailable", unavailableFor}
}

// splitPath reads a path exactly as it was sent: a prefix, a UID, and at most
// one more segment of unreserved characters (RFC 3986 §2.3).
func splitPath(prefix, escaped string) (uid, token string, hasToken, ok bool) {
	rest, ok := strings.CutPrefix(escaped, prefix)
	if !ok {
		return "", "", false, false
	}
	uid, token, hasToken = strings.Cut(rest, "/")
	if len(uid) != uidLength || strings.ContainsFunc(uid, func(c rune) bool { return !alphanumeric(c) }) {
		return "", "", false, false
	}
	if !hasToken {
		return uid, "", false, true
	}
	if token == "" || strings.Trim(token, ".") == "" ||
		strings.ContainsFunc(token, func(c rune) bool { return !alphanumeric(c) && !strings.ContainsRune("-._~", c) }) {
		return "", "", false, false
	}
	return uid, token, true, true
}

// uidLength is the length of a penstock.NewUID.
const uidLength = 22

func alphanumeric(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// attempt checks the delivery against the plan and records it. It returns factory.ErrStale if
// the webhook has changed.
func (d *intake) attempt() (factory.DeliveryResult, error) {
	d.reply = nil
	a, err := d.check()
	if err != nil {
		return factory.DeliveryResult{}, err
	}
	result, err := d.in.Receiver.Deliver(d.r.Context(), d.plan, a)
	if err == nil && result.Limited {
		err = &rejectedError{http.StatusTooManyRequests, "rate_limited", result.Wait}
	}
	if err == nil {
		d.reason = a.Reason
	}
	return result, err
}

// check classifies the request: a delivery, a rejection to log, or the secret of a pending
// webhook.
func (d *intake) check() (*factory.InboundDelivery, error) {
	if d.plan.Snapshot.Pending {
		return d.takeOfferedSecret()
	}
	if err := d.checkSender(); err != nil {
		return nil, err
	}
	a, err := d.verify()
	if err != nil || !a.Unverified {
		return a, err
	}
	return a, d.countFailure()
}

// checkSender rejects a blocked address.
func (d *intake) checkSender() error {
	wait, err := d.blockedFor()
	if err != nil || wait == 0 {
		return err
	}
	if err := d.confirm(); err != nil {
		return err
	}
	return d.limited(wait)
}

// blockedFor returns how long the address is blocked because of its failures. An address with
// recent accepted deliveries is never blocked.
func (d *intake) blockedFor() (time.Duration, error) {
	wait := d.in.failures.address(d.uid, d.client, d.received)
	if wait == 0 {
		return 0, nil
	}
	known, err := d.in.Receiver.KnownSender(d.r.Context(), d.uid, d.clientIP)
	if err != nil || known {
		return 0, err
	}
	return wait, nil
}

// confirm returns factory.ErrStale unless the plan is current, so that no rejection relies on
// memory.
func (d *intake) confirm() error {
	now, err := d.in.Receiver.Plan(d.r.Context(), d.uid, d.hasToken, true)
	if err != nil || now != d.plan {
		return factory.ErrStale // the next attempt reads the current state
	}
	return nil
}

// countFailure counts an unauthenticated delivery against its sender. It returns an error if
// there were too many. Otherwise the delivery is logged and rejected.
func (d *intake) countFailure() error {
	if err := d.confirm(); err != nil {
		return err
	}
	if wait := d.in.failures.count(d.uid, d.client, d.received); wait > 0 {
		return d.limited(wait)
	}
	return nil
}

// limited returns the error for too many unauthenticated deliveries.
func (d *intake) limited(wait time.Duration) error {
	d.in.Receiver.CountRejected(d.uid)
	return &rejectedError{http.StatusTooManyRequests, "auth_limited", wait}
}

// rejection returns a rejected delivery.
func (d *intake) rejection(outcome penstock.Outcome, reason string) *factory.InboundDelivery {
	a := d.inbound()
	a.Outcome, a.Reason, a.Unverified = outcome, reason, outcome == penstock.OutcomeRejectedAuth
	return a
}

// inbound returns a delivery with the fields that all deliveries have.
func (d *intake) inbound() *factory.InboundDelivery {
	size := int64(len(d.body.bytes))
	if !d.read || d.tooLarge {
		size = max(size, d.r.ContentLength)
	}
	return &factory.InboundDelivery{
		Outcome: penstock.OutcomeAccepted, ReceivedAt: penstock.TimeOf(d.received), Size: max(0, size), Body: d.body.bytes,
		Headers: d.headers(), ClientIP: d.clientIP, Secret: -1, PaidBy: d.paidBy,
	}
}

// takeOfferedSecret stores the secret that a sender posts to a pending webhook. Any other
// request to a pending webhook gets 404.
func (d *intake) takeOfferedSecret() (*factory.InboundDelivery, error) {
	if err := d.readBody(); err != nil {
		return nil, err
	}
	secret, offered := OfferedSecret(d.plan.Snapshot.SignatureScheme, d.body.bytes)
	if d.tooLarge || !offered {
		if err := d.confirm(); err != nil {
			return nil, err
		}
		d.in.Receiver.CountTurnedAway(d.uid)
		return nil, errNoWebhook
	}
	if err := d.in.Receiver.Offer(d.r.Context(), d.plan, secret); err != nil {
		return nil, err
	}
	var err error
	if d.plan, err = d.in.Receiver.Plan(d.r.Context(), d.uid, d.hasToken, true); err != nil {
		return nil, err
	}
	a := d.inbound() // without the secret that was in the body
	a.Handshake, a.Unverified, a.Body = true, true, []byte(`{"verification_token":"***"}`)
	return a, nil
}
