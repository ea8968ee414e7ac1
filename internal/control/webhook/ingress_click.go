package webhook

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/signature"
)

// ClickPrefix is the start of the path to which Slack sends the clicks on messages of event endpoints. A click is
// never a delivery.
const ClickPrefix = "/webhooks/e/"

// Clicks is the part of the rules that takes clicks.
type Clicks interface {
	// SigningSecret returns the secret with which Slack signs the clicks of an endpoint. CodeNotFound: it takes none.
	SigningSecret(ctx context.Context, uid string) (string, error)
	// Click does what a person has clicked, and stores it. CodeInvalidRequest: the payload cannot be read.
	Click(ctx context.Context, uid string, payload []byte) error
}

// maxClick bounds the body of a click. It has the message on which somebody has clicked.
const maxClick = 256 << 10

// clicking is the state of the ingress for clicks.
type clicking struct {
	*Ingress // with memory of its own for bodies

	verifier *Verifier
	known    knownSenders
}

// knownSenders are the networks from which valid clicks came in the last day.
type knownSenders struct {
	mu sync.Mutex
	at map[sender]time.Time
}

const knownFor = 24 * time.Hour

func (k *knownSenders) has(s sender, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.at[s]
	return ok && now.Sub(at) < knownFor
}

func (k *knownSenders) add(s sender, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.at) >= maxSenders {
		maps.DeleteFunc(k.at, func(_ sender, at time.Time) bool { return now.Sub(at) >= knownFor })
	}
	if len(k.at) < maxSenders {
		k.at[s] = now
	}
}

func newClicking(in *Ingress) *clicking {
	own := *in
	own.bodies = newBodies(maxClick, 0)
	verifier, err := NewVerifier(signature.Slack, nil)
	if err != nil {
		panic("webhook: " + err.Error()) // the scheme is ours
	}
	return &clicking{Ingress: &own, verifier: verifier, known: knownSenders{at: map[sender]time.Time{}}}
}

// ServeHTTP takes one click.
func (c *clicking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := &intake{in: c.Ingress, w: w, r: r, received: time.Now()}
	defer func() {
		d.body.free()
		c.Log.LogAttrs(
			r.Context(), slog.LevelDebug, "click", slog.String("endpoint_uid", d.uid), slog.Int("status", d.status),
			slog.String("outcome", d.label), slog.String("client", d.clientIP),
		)
	}()
	defer d.recover()
	if err := c.take(d); err != nil {
		c.refuse(d, err)
		return
	}
	d.label = "taken"
	d.write(http.StatusOK, nil, nil)
}

// refuse writes the response of the webhooks' ingress for the same cause.
func (c *clicking) refuse(d *intake, err error) {
	if penstock.CodeOf(err) == penstock.CodeInvalidRequest {
		err = &rejectedError{status: http.StatusBadRequest, label: "payload"}
	}
	d.respondError(err)
	if d.tooLarge {
		d.readOn()
	}
}

// take checks a click in the order of a delivery, and acts on it.
func (c *clicking) take(d *intake) error {
	if d.r.Method != http.MethodPost {
		d.w.Header().Set("Allow", http.MethodPost)
		return &rejectedError{status: http.StatusMethodNotAllowed, label: "method"}
	}
	uid := strings.TrimPrefix(d.r.URL.EscapedPath(), ClickPrefix)
	strange := func(r rune) bool { return !alphanumeric(r) }
	if c.Clicks == nil || len(uid) != uidLength || strings.ContainsFunc(uid, strange) {
		return errNoWebhook
	}
	d.uid, d.client = uid, c.Client(d.r)
	d.clientIP = d.client.String()
	secret, err := c.Clicks.SigningSecret(d.r.Context(), uid)
	if err != nil {
		return err
	}
	// The senders of Slack are the same for all its apps. So where valid clicks come from is never blocked.
	from := sender{uid, share.Network(d.client)}
	if wait := c.failures.address(uid, d.client, d.received); wait > 0 && !c.known.has(from, d.received) {
		return &rejectedError{http.StatusTooManyRequests, "auth_limited", wait}
	}
	if c.verifier.Missing(d.r.Header) != nil {
		return c.unsigned(d)
	}
	if err := readClick(d); err != nil {
		return err
	}
	if _, failure := c.verifier.Verify(
		Request{Method: d.r.Method, Header: d.r.Header, Body: d.body.bytes, Now: d.received}, []string{secret},
	); failure != nil {
		return c.unsigned(d)
	}
	c.known.add(from, d.received)
	payload, err := readPayload(d.body.bytes)
	if err != nil || payload == nil {
		return err
	}
	return c.Clicks.Click(d.r.Context(), uid, payload)
}

// unsigned counts a request without a valid signature, and rejects it.
func (c *clicking) unsigned(d *intake) error {
	if wait := c.failures.count(d.uid, d.client, d.received); wait > 0 {
		return &rejectedError{http.StatusTooManyRequests, "auth_limited", wait}
	}
	return &rejectedError{status: http.StatusUnauthorized, label: string(penstock.OutcomeRejectedAuth)}
}

// readClick reads the body of a click, which is bounded before it is read.
func readClick(d *intake) error {
	if d.r.ContentLength > maxClick {
		d.tooLarge, d.read = true, true
	} else if err := d.readBody(); err != nil {
		return err
	}
	if d.tooLarge {
		return &rejectedError{status: http.StatusRequestEntityTooLarge, label: string(penstock.OutcomeRejectedSize)}
	}
	return nil
}

// errPayload rejects a form without one payload.
var errPayload error = &rejectedError{status: http.StatusBadRequest, label: "payload"}

// readPayload returns the JSON in the form of a click. It is nil for a form with which Slack checks the certificate.
func readPayload(body []byte) ([]byte, error) {
	fields, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, errPayload
	}
	list := fields[payloadField]
	if len(list) == 0 && fields.Get("ssl_check") == "1" {
		return nil, nil
	}
	if len(list) != 1 || !utf8.ValidString(list[0]) {
		return nil, errPayload
	}
	return []byte(list[0]), nil
}
