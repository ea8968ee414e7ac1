package announce

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

const (
	attemptLimit = 15 * time.Second
	// leaseMillis bounds how long the messages of a server that ends wait for another one. It is renewed
	// while a batch is sent.
	leaseMillis = 10_000
	renewEvery  = 3 * time.Second
	batchSize   = 10
	maxAnswer   = 1 << 10        // bytes of an answer that are logged
	readAnswer  = 16 << 10       // bytes that are read, so that a secret across the cut is masked, too
	maxHeaders  = 32 << 10       // bytes of an answer's header
	maxWait     = 10 * time.Hour // by Retry-After
)

// Send sends what is due to each endpoint that no server sends to. It returns at once: each endpoint has a goroutine
// of its own, so that a slow one delays no other. [Endpoints.Wait] waits for them.
func (s *Endpoints) Send(ctx context.Context) error {
	due, err := s.store.Endpoints.DueEndpoints(ctx, s.now())
	if err != nil {
		return err
	}
	for _, uid := range due {
		s.endpoints.Do(uid, func() error {
			err := s.sendTo(ctx, uid)
			if err != nil && ctx.Err() == nil {
				s.log.Error("cannot send messages to an event endpoint", "endpoint_uid", uid, "error", err)
			}
			return err
		})
	}
	return nil
}

// now is the time that the sender's clock shows.
func (s *Endpoints) now() penstock.Time { return penstock.TimeOf(s.sender.now()) }

// Wait returns when nothing is being sent any more.
func (s *Endpoints) Wait() {
	s.endpoints.Wait()
	s.sending.Wait()
}

// sendTo sends what is due to one endpoint, until nothing is.
func (s *Endpoints) sendTo(ctx context.Context, uid string) (err error) {
	token := penstock.NewID()
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if released := s.store.Endpoints.Release(last, uid, token, err != nil); released != nil {
			s.log.Warn("cannot end the lease of an event endpoint", "endpoint_uid", uid, "error", released)
		}
	}()
	for ctx.Err() == nil {
		e, due, ok, err := s.store.Endpoints.Take(ctx, uid, token, s.now(), leaseMillis, batchSize)
		if err != nil || !ok || len(due) == 0 {
			return err
		}
		if kept, err := s.sendBatch(ctx, e, due); err != nil || !kept {
			return err
		}
	}
	return ctx.Err()
}

// sendBatch attempts messages side by side, in Slack one after the other. It records the results as they come: all
// that come together at once.
func (s *Endpoints) sendBatch(ctx context.Context, e store.EndpointRow, due []store.MessageRow) (kept bool, err error) {
	v, err := s.open(e)
	if err != nil {
		return false, err
	}
	list := make([]outgoing, len(due))
	for i, m := range due {
		if list[i], err = s.write(ctx, e, m); err != nil {
			return false, err
		}
	}
	renewing, end := context.WithCancel(ctx)
	defer end()
	s.sending.Go(func() { s.renew(renewing, e) })
	results := make(chan *store.Attempted, len(due)) // nil: the server stops, or the message has to wait
	if e.Format == FormatSlackApp {
		s.sending.Go(func() { s.postInOrder(ctx, v, list, results) })
	} else {
		for _, m := range list {
			s.sending.Go(func() { results <- s.attemptSigned(ctx, v, m, e.Format) })
		}
	}
	kept = true
	for left := len(due); left > 0; {
		batch := []store.Attempted{}
		for got := <-results; ; {
			left--
			if got != nil {
				batch = append(batch, *got)
			}
			if len(results) == 0 {
				break
			}
			got = <-results
		}
		if len(batch) == 0 || !kept || err != nil {
			continue
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		kept, err = s.store.Endpoints.Record(last, e, batch)
		cancel()
	}
	return kept, err
}

// renew keeps the lease of an endpoint until ctx ends. If it fails, another server repeats the attempts.
func (s *Endpoints) renew(ctx context.Context, e store.EndpointRow) {
	for share.Pause(ctx, renewEvery) == nil {
		if err := s.store.Endpoints.Renew(ctx, e.UID, e.Lease, leaseMillis); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot renew the lease of an event endpoint", "endpoint_uid", e.UID, "error", err)
		}
	}
}

// outgoing is a message in the format of its endpoint.
type outgoing struct {
	message store.MessageRow
	body    []byte
	app     appMessage // instead of the body, for a Slack app
}

// write writes a message in the format of an endpoint.
func (s *Endpoints) write(ctx context.Context, e store.EndpointRow, m store.MessageRow) (o outgoing, err error) {
	o.message = m
	if e.Format == FormatStandard {
		data := m.Data
		data.URL = s.publicURL + m.Path
		o.body, err = json.Marshal(penstock.EndpointMessage{Type: m.Type, Timestamp: m.HappenedAt, Data: data})
		return o, err
	}
	names, err := s.store.Endpoints.Names(ctx, e.Team, m)
	if err != nil {
		return o, err
	}
	line := slackLine(s.publicURL, m, names, s.now())
	if e.Format == FormatSlackApp {
		o.app, err = s.appMessage(ctx, e, m, line)
		return o, err
	}
	o.body, err = slackBody(line)
	return o, err
}

// attemptSigned sends a message once, as Standard Webhooks say. Without a secret, it is not signed.
func (s *Endpoints) attemptSigned(
	ctx context.Context, v sealed, o outgoing, format penstock.EndpointFormat,
) *store.Attempted {
	a := s.attempt(ctx, o.message, func(now time.Time) answer {
		id, timestamp := o.message.ID, strconv.FormatInt(now.Unix(), 10)
		header := http.Header{"Content-Type": {"application/json"}, "Webhook-Id": {id}}
		signatures := sign(v.valid(penstock.TimeOf(now)), id, timestamp, o.body)
		if signatures != "" {
			header["Webhook-Timestamp"], header["Webhook-Signature"] = []string{timestamp}, []string{signatures}
		}
		return s.sender.post(ctx, outbound{
			url: v.URL, header: header, body: o.body, most: readAnswer,
			mask: func() *secret.Masker { return masker(v, signatures) },
		})
	})
	if a != nil && !a.Succeeded && format == FormatSlack {
		a.Error = cmp.Or(a.Error, refusals[strings.TrimSpace(a.Answer)])
	}
	return a
}

// attempt sends a message once. It returns nil if ctx ended first.
func (s *Endpoints) attempt(
	ctx context.Context, m store.MessageRow, post func(now time.Time) answer,
) *store.Attempted {
	start := s.sender.now()
	got := post(start)
	if ctx.Err() != nil && got.status == 0 {
		return nil
	}
	now := s.now()
	a := &store.Attempted{Message: m, EndpointAttempt: store.EndpointAttempt{
		UID: penstock.NewID(), MessageID: m.ID, Type: m.Type, At: now, Attempt: m.Attempts + 1, Status: got.status,
		Succeeded: got.status/100 == 2 && got.problem == "", Error: got.problem, Answer: got.answer,
	}}
	if !got.private {
		a.TookMs = max(1, s.sender.now().Sub(start).Milliseconds())
	}
	if a.Succeeded {
		return a
	}
	a.Gone = got.status == http.StatusGone
	if got.wait > 0 {
		a.WaitUntil = now.Add(min(got.wait, maxWait))
	}
	if wait, more := retryAfter(a.Attempt); more {
		a.NextAt = max(now.Add(wait+rand.N(wait/5)), a.WaitUntil)
	}
	return a
}

// answer is what came back.
type answer struct {
	status  int    // 0: no answer
	problem string // why
	answer  string // the beginning of its body, masked; "" from a private address
	body    []byte // as much of it as was read
	private bool
	wait    time.Duration // that Retry-After asks for
}

// sender makes the requests.
type sender struct {
	out     *egress.Outbound
	connect func(ctx context.Context, network, address string) (net.Conn, error)
	client  *http.Client
	now     func() time.Time
}

func newSender(o Options) *sender {
	out, err := egress.NewOutbound(egress.OutboundOptions{Networks: o.Networks, Resolve: o.Resolve})
	if err != nil {
		panic("announce: " + err.Error()) // only an upstream proxy can be wrong
	}
	s := &sender{out: out, connect: out.Direct, now: time.Now}
	if o.Dial != nil {
		s.connect = o.Dial
	}
	if o.Now != nil {
		s.now = o.Now
	}
	s.client = &http.Client{
		Transport: &http.Transport{
			DialContext:     s.dial,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			MaxIdleConns:    100, MaxIdleConnsPerHost: batchSize, IdleConnTimeout: 30 * time.Second,
			MaxResponseHeaderBytes: maxHeaders, DisableCompression: true,
		},
		// A redirect would take the message to where nobody has checked.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

// exchange is one request, as the dialer sees it.
type exchange struct {
	plain   bool        // HTTP without TLS
	private atomic.Bool // the address is
}

type exchangeKey struct{}

var errPlain = errors.New("plain HTTP is sent only to the networks of --event-private-network")

// dial connects to an address that it has checked.
func (s *sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	conn, err := s.connect(ctx, network, address)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Addr != nil && x != nil {
			x.private.Store(s.isPrivate(op.Addr))
		}
		return nil, err
	}
	if x != nil && x.plain && !s.isPrivate(conn.RemoteAddr()) {
		return nil, errors.Join(errPlain, conn.Close())
	}
	return conn, nil
}

func (s *sender) isPrivate(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return true
	}
	ip, ok := netip.AddrFromSlice(tcp.IP)
	return !ok || !s.out.IsPublic(ip)
}

// refuses returns why nothing can be sent to an address, as far as it shows without a look-up.
func (s *sender) refuses(host, address string, plain bool) string {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		host, port, err := net.SplitHostPort(address)
		if _, err := egress.Canonical(host); err != nil {
			return "has a host that cannot be used: " + err.Error()
		}
		if n, e := strconv.Atoi(port); err != nil || e != nil || n < 1 || n > 65535 {
			return "has a port that is not a number from 1 to 65535"
		}
		return ""
	}
	var blocked *egress.BlockedError
	if err := s.out.Check(context.Background(), address); errors.As(err, &blocked) {
		return notPublic
	} else if err != nil {
		return "has a host that cannot be used: " + err.Error()
	}
	if plain && s.out.IsPublic(addr) {
		return "must begin with https://: " + errPlain.Error()
	}
	return ""
}

const notPublic = "has an address that is not public; only the operator can open private networks " +
	"(--event-private-network)"

// outbound is one request.
type outbound struct {
	url    string
	header http.Header
	body   []byte
	mask   func() *secret.Masker // of what the answer could repeat; not called for an empty answer
	most   int64                 // bytes of the answer to read
}

// post sends one request.
func (s *sender) post(ctx context.Context, o outbound) (got answer) {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	x := &exchange{plain: strings.HasPrefix(strings.ToLower(o.url), "http:")}
	traced := httptrace.WithClientTrace(context.WithValue(ctx, exchangeKey{}, x), &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) { x.private.Store(s.isPrivate(c.Conn.RemoteAddr())) },
	})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, o.url, bytes.NewReader(o.body))
	if err != nil {
		return answer{problem: "The URL cannot be used."}
	}
	req.Header = o.header
	req.Header.Set("User-Agent", "Penstock-Events")
	resp, err := s.client.Do(req)
	if err != nil {
		if x.private.Load() {
			return answer{problem: "The endpoint did not answer.", private: true}
		}
		return answer{problem: explain(err)}
	}
	defer func() { _ = resp.Body.Close() }()
	got = answer{status: resp.StatusCode, private: x.private.Load()}
	got.wait = penstock.RetryAfter(resp.Header.Get("Retry-After"), resp.Header.Get("Date"), s.now())
	got.body, _ = io.ReadAll(io.LimitReader(resp.Body, o.most)) // the status counts, also if the body breaks off
	if !got.private && len(got.body) > 0 {
		got.answer = shown(got.body, o.mask())
	}
	return got
}

// sign returns the header webhook-signature: one signature of each secret, with a space between them.
func sign(secrets []penstock.EndpointSecret, id, timestamp string, body []byte) string {
	var list []string
	for _, v := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(v.Secret, "whsec_"))
		if err != nil {
			panic("announce: a secret of ours is not base64")
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
		list = append(list, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(list, " ")
}

// masker masks what an endpoint could repeat of the request: its URL, its secrets and its signatures.
func masker(v sealed, signatures string) *secret.Masker {
	values := []string{v.URL}
	if u, err := url.Parse(v.URL); err == nil {
		values = append(
			values, u.RequestURI(), u.RawQuery, strings.TrimPrefix(u.EscapedPath(), "/"), strings.TrimPrefix(u.Path, "/"),
		)
		for _, list := range u.Query() {
			values = append(values, list...)
		}
		if password, ok := u.User.Password(); ok {
			values = append(values, password, u.User.Username())
		}
	}
	for _, s := range v.Secrets {
		values = append(values, s.Secret, strings.TrimPrefix(s.Secret, "whsec_"))
	}
	for s := range strings.FieldsSeq(signatures) { // one that is repeated in time would be accepted again
		values = append(values, strings.TrimPrefix(s, "v1,"))
	}
	return secret.NewMasker(values...)
}

// shown returns the beginning of an answer, clean and masked.
func shown(text []byte, mask *secret.Masker) string {
	clean := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(string(text), ""))
	clean = mask.String(clean)
	if len(clean) > maxAnswer {
		clean = strings.ToValidUTF8(clean[:maxAnswer], "")
	}
	return clean
}

// explain says why there is no answer. It never repeats the URL, as the text of the error does.
func explain(err error) string {
	var blocked *egress.BlockedError
	var certificate *tls.CertificateVerificationError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &blocked):
		return "The host has no address to which this server may connect: the name does not exist, or it " + notPublic + "."
	case errors.Is(err, errPlain):
		return "The URL must begin with https://: " + errPlain.Error() + "."
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("No answer came within %s.", attemptLimit)
	case errors.As(err, &certificate):
		return "The certificate of the endpoint is not valid."
	}
	return "The connection failed, or the endpoint closed it before an answer."
}

// retries is how long after an attempt that failed the next one follows.
var retries = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
}

// retryAfter returns how long to wait after so many failed attempts, before jitter. ok is false after the last
// one.
func retryAfter(failed int) (wait time.Duration, ok bool) {
	if failed < 1 || failed > len(retries) {
		return 0, false
	}
	return retries[failed-1], true
}
