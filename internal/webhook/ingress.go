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
	"github.com/penstock-dev/penstock/internal/delivery"
	"github.com/penstock-dev/penstock/internal/problem"
)

// Prefix is where the URLs of all webhooks begin.
const Prefix = "/webhooks/w/"

// Service is what the ingress needs of the rules.
type Service interface {
	// Plan finds the enabled webhook that deliveries to uid are for; token says
	// that the path goes on with one. What there is not is CodeNotFound, and never
	// answered from memory; what there is may be, unless fresh is set.
	Plan(ctx context.Context, uid string, token, fresh bool) (*delivery.Plan, error)
	// Deliver records what arrived, durably, with all that it starts; ErrStale: the
	// webhook has changed.
	Deliver(ctx context.Context, p *delivery.Plan, a *penstock.InboundDelivery) (penstock.DeliveryResult, error)
	// Offer makes what a sender has posted the secret of a webhook that waits for
	// one; ErrStale: it waits no more.
	Offer(ctx context.Context, p *delivery.Plan, secret string) error
	// KnownSender reports whether deliveries from the address were accepted lately.
	KnownSender(ctx context.Context, uid, clientIP string) (bool, error)
	// CountRejected counts a delivery that was refused for its sender's failures.
	CountRejected(uid string)
}

// IngressOptions is what an Ingress is made of. Service, PublicURL and Client
// are required.
type IngressOptions struct {
	Service   Service
	Log       *slog.Logger                   // nil: nothing is logged
	PublicURL string                         // by which senders reach the server, without a slash at its end
	Client    func(*http.Request) netip.Addr // the sender's address
	Limits    penstock.WebhookLimits

	BodyTime   time.Duration         // for a body to arrive; default 10 s
	HeldBytes  int64                 // of large bodies that are held at once; default 32 MB
	Registerer prometheus.Registerer // nil: nothing is counted
	Tracer     trace.TracerProvider  // nil: nothing is traced
}

// Ingress receives deliveries. It is an http.Handler that stands before every
// router: a path is taken as it was sent, since whatever cleans or redirects
// one would repeat the token in it. No log line, metric, trace or answer holds
// that token.
type Ingress struct {
	IngressOptions

	answers  *answers
	bodies   *bodies
	failures *failures
	metrics  *ingressMetrics
	tracer   trace.Tracer // nil: nothing is traced
}

// NewIngress makes an ingress; it starts nothing.
func NewIngress(o IngressOptions) *Ingress {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.PublicURL = strings.TrimSuffix(o.PublicURL, "/")
	o.BodyTime = cmp.Or(o.BodyTime, 10*time.Second)
	in := &Ingress{
		IngressOptions: o, answers: newAnswers(o.PublicURL), bodies: newBodies(o.Limits.DeliveryBytes, o.HeldBytes),
		failures: newFailures(o.Limits), metrics: newIngressMetrics(o.Registerer),
	}
	if o.Tracer != nil {
		in.tracer = o.Tracer.Tracer("github.com/penstock-dev/penstock/internal/webhook")
	}
	return in
}

// IsWebhookPath reports whether a request is the ingress's to answer: every one whose
// path leads to webhooks in any way of writing it, so that no other handler gets
// to see a token. The exception are the API's own paths below the webhooks of a
// factory, where they are written plainly: its routes have a {wuid} at that place,
// and it may be "w".
func IsWebhookPath(r *http.Request) bool {
	p := r.URL.Path
	return strings.HasPrefix(p, Prefix) || leadsToWebhooks(p) && !isAPIPath(r.URL)
}

var separators = strings.NewReplacer(`\`, "/", "%2f", "/", "%5c", "/")

// leadsToWebhooks reports whether a path that is written in another way means webhooks.
func leadsToWebhooks(p string) bool {
	p = separators.Replace(strings.ToLower(p))
	return strings.Contains(path.Clean("/"+p)+"/", Prefix)
}

// isAPIPath reports whether a path is /api/v1/factory/{uid}/webhooks/… exactly as the
// API's router takes it: in these letters, with no dot segment, empty segment,
// backslash or escaped separator that another reading could take for a way out.
func isAPIPath(u *url.URL) bool {
	rest, below := strings.CutPrefix(u.EscapedPath(), "/api/v1/factory/")
	factory, rest, more := strings.Cut(rest, "/")
	return below && more && factory != "" && strings.HasPrefix(rest, "webhooks/") &&
		path.Clean(u.Path) == u.Path && !strings.ContainsAny(u.Path, `\%`) &&
		strings.Count(u.Path, "/") == strings.Count(u.EscapedPath(), "/")
}

// intake is one request on its way through the ingress.
type intake struct {
	in       *Ingress
	w        http.ResponseWriter
	r        *http.Request
	received time.Time

	uid, token string
	hasToken   bool
	client     netip.Addr
	clientIP   string
	plan       *delivery.Plan
	body       body
	read       bool // the body was read, or found to be too large
	tooLarge   bool
	handshake  *Handshake // that the body asks for

	label      string // of the metric
	reason     string
	deliveryID string
	status     int
}

// ServeHTTP answers one request.
func (in *Ingress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	if !problem.Panicked(d.r.Context(), d.in.Log, recover(), "webhook_uid", d.uid) {
		return
	}
	d.reject(http.StatusInternalServerError, "failed", 0)
}

// serve takes the delivery and answers it.
func (d *intake) serve() {
	result, err := d.take()
	if err != nil {
		d.respondError(err)
		return
	}
	d.respond(result)
}

// take makes the checks in the order of the contract, and all of them again where the
// webhook has changed meanwhile.
func (d *intake) take() (penstock.DeliveryResult, error) {
	if d.r.Method != http.MethodPost {
		d.w.Header().Set("Allow", http.MethodPost)
		return penstock.DeliveryResult{}, &rejectedError{status: http.StatusMethodNotAllowed, label: "method"}
	}
	var ok bool
	if d.uid, d.token, d.hasToken, ok = splitPath(d.r.URL.EscapedPath()); !ok {
		return penstock.DeliveryResult{}, errNoWebhook
	}
	d.client = d.in.Client(d.r)
	d.clientIP = d.client.String()
	const attempts = 20 // each follows a change of the team
	for n := range attempts {
		plan, err := d.in.Service.Plan(d.r.Context(), d.uid, d.hasToken, n > 0)
		if err != nil {
			return penstock.DeliveryResult{}, err
		}
		d.plan = plan
		result, err := d.attempt()
		if !errors.Is(err, penstock.ErrStale) {
			return result, err
		}
	}
	return penstock.DeliveryResult{}, &rejectedError{http.StatusServiceUnavailable, "unavailable", unavailableFor}
}

// splitPath reads a path exactly as it was sent: the prefix, a UID, and at most
// one more segment of unreserved characters (RFC 3986 §2.3).
func splitPath(escaped string) (uid, token string, hasToken, ok bool) {
	rest, ok := strings.CutPrefix(escaped, Prefix)
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

// uidLength is that of penstock.NewUID.
const uidLength = 22

func alphanumeric(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// attempt judges the delivery by the plan and records it. penstock.ErrStale: the webhook
// is not what it was.
func (d *intake) attempt() (penstock.DeliveryResult, error) {
	d.handshake = nil
	a, err := d.check()
	if err != nil {
		return penstock.DeliveryResult{}, err
	}
	result, err := d.in.Service.Deliver(d.r.Context(), d.plan, a)
	if err == nil && result.Limited {
		err = &rejectedError{http.StatusTooManyRequests, "rate_limited", result.Wait}
	}
	if err == nil {
		d.reason = a.Reason
	}
	return result, err
}

// check finds out what has arrived: a delivery, a rejection that is to be logged, or the
// secret of a webhook that waits for it.
func (d *intake) check() (*penstock.InboundDelivery, error) {
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

// checkSender refuses an address that is shut out.
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

// blockedFor is how long the address is refused unread, for its failures. One from
// which deliveries were accepted lately is not.
func (d *intake) blockedFor() (time.Duration, error) {
	wait := d.in.failures.address(d.uid, d.client, d.received)
	if wait == 0 {
		return 0, nil
	}
	known, err := d.in.Service.KnownSender(d.r.Context(), d.uid, d.clientIP)
	if err != nil || known {
		return 0, err
	}
	return wait, nil
}

// confirm is penstock.ErrStale unless the plan is still what the delivery was judged
// by: no refusal comes from memory.
func (d *intake) confirm() error {
	now, err := d.in.Service.Plan(d.r.Context(), d.uid, d.hasToken, true)
	if err != nil || now != d.plan {
		return penstock.ErrStale // the next attempt finds what there is
	}
	return nil
}

// countFailure counts what its sender has not shown to be its own against the sender.
// It is an error where there were too many; else the delivery is logged before it is
// refused.
func (d *intake) countFailure() error {
	if err := d.confirm(); err != nil {
		return err
	}
	if wait := d.in.failures.count(d.uid, d.client, d.received); wait > 0 {
		return d.limited(wait)
	}
	return nil
}

// limited is the refusal of what nobody has shown to be the webhook's.
func (d *intake) limited(wait time.Duration) error {
	d.in.Service.CountRejected(d.uid)
	return &rejectedError{http.StatusTooManyRequests, "auth_limited", wait}
}

// rejection is an arrival that is refused.
func (d *intake) rejection(outcome penstock.Outcome, reason string) *penstock.InboundDelivery {
	a := d.inbound()
	a.Outcome, a.Reason, a.Unverified = outcome, reason, outcome == penstock.OutcomeRejectedAuth
	return a
}

// inbound is what any delivery has.
func (d *intake) inbound() *penstock.InboundDelivery {
	size := int64(len(d.body.bytes))
	if !d.read || d.tooLarge {
		size = max(size, d.r.ContentLength)
	}
	return &penstock.InboundDelivery{
		Outcome: penstock.OutcomeAccepted, ReceivedAt: penstock.TimeOf(d.received), Size: max(0, size), Body: d.body.bytes,
		Headers: d.headers(), ClientIP: d.clientIP, Secret: -1,
	}
}

// takeOfferedSecret takes the secret that a sender posts to a webhook which waits for it.
// For everything else such a webhook does not exist.
func (d *intake) takeOfferedSecret() (*penstock.InboundDelivery, error) {
	if err := d.readBody(); err != nil {
		return nil, err
	}
	secret, offered := OfferedSecret(d.plan.Snapshot.SignatureScheme, d.body.bytes)
	if d.tooLarge || !offered {
		if err := d.confirm(); err != nil {
			return nil, err
		}
		return nil, errNoWebhook
	}
	if err := d.in.Service.Offer(d.r.Context(), d.plan, secret); err != nil {
		return nil, err
	}
	var err error
	if d.plan, err = d.in.Service.Plan(d.r.Context(), d.uid, d.hasToken, true); err != nil {
		return nil, err
	}
	a := d.inbound() // without the secret that was in the body
	a.Handshake, a.Unverified, a.Body = true, true, []byte(`{"verification_token":"***"}`)
	return a, nil
}
