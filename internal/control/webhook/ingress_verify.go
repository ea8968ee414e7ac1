package webhook

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/signature"
)

// identityHeaders identify a delivery of any sender: ours first, then the headers of other servers
// of this API, which senders may still use. The first header with a valid value counts. The same
// value in another header is the same identity.
var identityHeaders = []string{"X-Penstock-Delivery-Id", "X-Service-Delivery-Id", "X-Warp-Delivery-Id"}

// verify authenticates the delivery and reads its body. It compares tokens before it reads the
// body. A failed authentication returns an unverified rejection.
func (d *intake) verify() (*factory.InboundDelivery, error) {
	secrets, at := d.plan.Snapshot.Valid(penstock.TimeOf(d.received))
	if d.plan.Snapshot.AuthMode == penstock.AuthSignature {
		return d.verifySignature(secrets, at)
	}
	match, failure := d.matchToken(secrets)
	if failure != nil {
		return d.unauthenticated(failure), nil
	}
	if err := d.readBody(); err != nil {
		return nil, err
	}
	a := d.admissible()
	if a.Outcome == penstock.OutcomeAccepted {
		d.identify(a, "")
		if d.plan.Snapshot.AuthMode == penstock.AuthURLToken {
			d.validate(a)
		}
	}
	a.Secret = at[match]
	return a, nil
}

// matchToken returns which secret equals the delivery's token.
func (d *intake) matchToken(secrets []string) (int, *Failure) {
	given, failure := d.token, (*Failure)(nil)
	if d.plan.Snapshot.AuthMode != penstock.AuthURLToken {
		given, failure = bearer(d.r.Header)
	}
	if failure != nil {
		return -1, failure
	}
	match := TokenMatches(given, secrets)
	switch {
	case len(secrets) == 0:
		failure = &Failure{Reason: NoSecret}
	case given == "":
		failure = &Failure{Reason: MissingHeader}
	case match < 0:
		failure = &Failure{Reason: Mismatch}
	}
	return match, failure
}

// unauthenticated returns the rejection of a delivery that failed authentication.
func (d *intake) unauthenticated(failure *Failure) *factory.InboundDelivery {
	a := d.rejection(penstock.OutcomeRejectedAuth, string(failure.Reason))
	a.Detail = failure.words()
	return a
}

// bearer reads the token of an Authorization header (RFC 6750 §2.1).
func bearer(h http.Header) (string, *Failure) {
	values := h["Authorization"]
	if len(values) == 0 {
		return "", &Failure{Reason: MissingHeader}
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if token = strings.TrimLeft(token, " "); len(values) > 1 || token == "" || !strings.EqualFold(scheme, "Bearer") {
		return "", &Failure{Reason: BadFormat}
	}
	return token, nil
}

func (d *intake) verifySignature(secrets []string, at []int) (*factory.InboundDelivery, error) {
	verifier, err := NewVerifier(d.plan.Snapshot.SignatureScheme, d.plan.Snapshot.Signature)
	if err != nil {
		return nil, err
	}
	if failure := verifier.Missing(d.r.Header); failure != nil {
		return d.unsigned(failure)
	}
	if err := d.readBody(); err != nil {
		return nil, err
	}
	if d.tooLarge {
		a := d.rejection(penstock.OutcomeRejectedSize, "")
		a.Unverified = true
		return a, nil
	}
	proof, failure := verifier.Verify(Request{
		Method: d.r.Method, URL: d.publicURL(), Header: d.r.Header, Body: d.body.bytes, Now: d.received,
	}, secrets)
	if failure != nil {
		return d.unauthenticated(failure), nil
	}
	a := d.admissible()
	a.Secret = at[proof.Secret]
	if a.Outcome != penstock.OutcomeAccepted {
		return a, nil
	}
	d.identify(a, proof.ID)
	signed := a.IdentitySource == penstock.IdentityProvider && proof.IDSigned
	if (d.plan.Snapshot.ReplayGuard || proof.Once) && !signed && d.test == "" {
		a.Guard, a.SignedSum = true, proof.SignedSum
	}
	if proof.Handshake != nil {
		d.reply, a.Handshake, a.Status = proof.Handshake, true, proof.Handshake.Status
	}
	return a, nil
}

// publicURL returns the URL that the sender uses, which some senders sign.
func (d *intake) publicURL() string {
	url := d.in.PublicURL + d.r.URL.EscapedPath()
	if d.r.URL.RawQuery != "" {
		url += "?" + d.r.URL.RawQuery
	}
	return url
}

// identify sets the identity of the delivery from the strongest source that it has.
func (d *intake) identify(a *factory.InboundDelivery, provider string) {
	if d.test != "" { // of one webhook and request, so that a test can repeat the bytes of a delivery
		a.Identity, a.IdentitySource = d.test, penstock.IdentityPenstock
		return
	}
	if name := d.plan.Snapshot.DeliveryIDHeader; name != "" {
		a.Identity, a.IdentitySource = ownID(d.r.Header, http.CanonicalHeaderKey(name)), penstock.IdentityHeader
	}
	if a.Identity == "" {
		a.Identity, a.IdentitySource = provider, penstock.IdentityProvider
	}
	for _, name := range identityHeaders {
		if a.Identity == "" {
			a.Identity, a.IdentitySource = headerID(d.r.Header, name), penstock.IdentityPenstock
		}
	}
	if a.Identity == "" {
		a.IdentitySource = penstock.IdentityBody
	}
}

// ownID returns the id in the header that the webhook names, or "". The id of a CloudEvent is unique
// only together with its source (CloudEvents 1.0, id).
func ownID(header http.Header, canonical string) string {
	id := headerID(header, canonical)
	if canonical != "Ce-Id" || id == "" || len(header["Ce-Source"]) == 0 {
		return id
	}
	source := headerID(header, "Ce-Source")
	if source == "" {
		return ""
	}
	return source + "\n" + id
}

// The limits for logged headers.
const (
	maxLoggedValue  = 256 // bytes
	maxLoggedHeader = 24
)

// logged lists the headers that the log keeps, by canonical name: facts about deliveries, and
// nothing that could be a secret.
var logged = loggedHeaders()

func loggedHeaders() map[string]string {
	names := []string{
		"Content-Type", "Content-Encoding", "User-Agent", "X-Request-Id", "X-Correlation-Id",
		"Webhook-Timestamp", "Svix-Timestamp", "X-GitHub-Event", "X-GitHub-Hook-ID", "X-GitHub-Hook-Installation-Target-Type",
		"X-GitHub-Hook-Installation-Target-ID",
		"X-GitHub-Event-Type", "X-Gitea-Event", "X-Gitea-Event-Type", "X-Gitea-Delivery", "X-Forgejo-Event",
		"X-Forgejo-Event-Type", "X-Forgejo-Delivery",
		"X-Gitlab-Event", "X-Gitlab-Instance", "X-Gitlab-Webhook-UUID", "X-Gitlab-Event-UUID", "Sentry-Hook-Resource",
		"Sentry-Hook-Timestamp",
		"X-Slack-Request-Timestamp", "X-Slack-Retry-Num", "X-Slack-Retry-Reason", "Linear-Event", "X-Shopify-Topic",
		"X-Shopify-Shop-Domain", "X-Shopify-Event-Id",
		"X-Shopify-Triggered-At", "X-Event-Key", "X-Hook-UUID", "X-Attempt-Number", "X-Atlassian-Webhook-Retry",
		"X-Zendesk-Webhook-Id", "X-Zendesk-Account-Id",
		"Circleci-Event-Type", "X-WC-Webhook-Topic", "X-WC-Webhook-Resource", "X-WC-Webhook-Event", "X-WC-Webhook-ID",
		"X-Buildkite-Event",
		"X-Contentful-Topic", "X-Contentful-Webhook-Name", "X-Grafana-Alerting-Timestamp", "Ce-Id", "Ce-Type", "Ce-Source",
		"Ce-Specversion", "Traceparent",
	}
	names = append(names, identityHeaders...)
	for _, preset := range signature.Presets() {
		for _, form := range preset.Forms {
			names = append(names, form.IDHeader)
		}
	}
	out := map[string]string{}
	for _, name := range names {
		out[http.CanonicalHeaderKey(name)] = strings.ToLower(name)
	}
	delete(out, "")
	return out
}

// headers returns the logged headers, by lower-case name.
func (d *intake) headers() map[string]string {
	own := http.CanonicalHeaderKey(d.plan.Snapshot.DeliveryIDHeader)
	kept := map[string]string{}
	for name, values := range d.r.Header {
		shown := logged[name]
		if shown == "" && name == own {
			shown = strings.ToLower(name)
		}
		if shown == "" || len(values) == 0 || len(kept) >= maxLoggedHeader {
			continue
		}
		kept[shown] = clip(values[0])
	}
	return kept
}

// clip shortens a header's value and makes it valid for any database.
func clip(value string) string {
	if len(value) > maxLoggedValue {
		value = value[:maxLoggedValue]
		for len(value) > 0 && !utf8.RuneStart(value[len(value)-1]) {
			value = value[:len(value)-1]
		}
		value += "…"
	}
	return strings.ToValidUTF8(value, "\uFFFD")
}

// failures counts the unauthenticated deliveries of the last minute, by webhook and by client
// address. Each replica counts for itself.
type failures struct {
	perAddress, perWebhook int // 0: no limit

	mu    sync.Mutex
	names map[sender]*share.Window
}

// sender identifies a count: one network of a webhook or, without a network, all of them.
type sender struct {
	uid     string
	network netip.Prefix
}

const maxSenders = 50_000 // that are remembered at once

func newFailures(limits penstock.WebhookLimits) *failures {
	return &failures{
		perAddress: limits.AuthFailuresPerAddress, perWebhook: limits.AuthFailuresPerWebhook,
		names: map[sender]*share.Window{},
	}
}

// address returns how long the address is blocked because of its failures, or 0.
func (f *failures) address(uid string, addr netip.Addr, now time.Time) time.Duration {
	if f.perAddress == 0 {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.names[sender{uid, share.Network(addr)}]; known != nil {
		return known.Until(f.perAddress, now)
	}
	return 0
}

// count counts a failure. wait is not 0 if the webhook had so many that further ones are
// rejected without a log entry.
func (f *failures) count(uid string, addr netip.Addr, now time.Time) (wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.perAddress > 0 {
		f.add(sender{uid, share.Network(addr)}, now)
	}
	if f.perWebhook == 0 {
		return 0
	}
	if all := f.add(sender{uid: uid}, now); all.Total(now) > f.perWebhook {
		return all.Until(f.perWebhook, now)
	}
	return 0
}

func (f *failures) add(name sender, now time.Time) *share.Window {
	known := f.names[name]
	if known == nil {
		f.makeRoom(now)
		known = new(share.Window)
		f.names[name] = known
	}
	known.Add(now, time.Second) // there may be any number
	return known
}

// makeRoom removes senders without recent failures, or any sender if there are none.
func (f *failures) makeRoom(now time.Time) {
	if len(f.names) < maxSenders {
		return
	}
	for name, known := range f.names {
		if known.Quiet(now) {
			delete(f.names, name)
		}
	}
	for name := range f.names {
		if len(f.names) < maxSenders {
			return
		}
		delete(f.names, name)
	}
}
