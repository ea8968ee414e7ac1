package webhook_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func TestTheStrongestIdentityCounts(t *testing.T) {
	sites(t, func(s *site) {
		own := s.signed(
			"github", "s3cret-of-sixteen", func(r *factory.WebhookRequest) { r.DeliveryIDHeader = new("X-Build-Id") },
		)
		git := s.signed("github", "s3cret-of-sixteen", nil)
		stripe := s.signed("mux", "s3cret-of-sixteen", nil)
		tok := s.hook(penstock.AuthToken, func(r *factory.WebhookRequest) { r.DeliveryIDHeader = new("x-build-id") })
		n := 0
		body := func() []byte { n++; return fmt.Appendf(nil, `{"id": "evt_1", "n": %d}`, n) }
		all := func(h map[string]string) map[string]string {
			for name, value := range map[string]string{
				"X-Build-Id": "b1", "X-GitHub-Delivery": "g1", "X-Penstock-Delivery-Id": "p1",
			} {
				if _, given := h[name]; !given {
					h[name] = value
				}
			}
			return h
		}
		mux := func(b []byte) map[string]string {
			at := strconv.FormatInt(time.Now().Unix(), 10)
			return map[string]string{
				"Mux-Signature": "t=" + at + ",v1=" + strings.TrimPrefix(
					github("s3cret-of-sixteen", []byte(at+"."+string(b)))["X-Hub-Signature-256"], "sha256=",
				),
			}
		}
		for _, test := range []struct {
			name   string
			w      penstock.Webhook
			change map[string]string
			want   penstock.IdentitySource
		}{
			{"the header of the webhook", own, nil, penstock.IdentityHeader},
			{"it is empty", own, map[string]string{"X-Build-Id": ""}, penstock.IdentityProvider},
			{"it is too long", own, map[string]string{"X-Build-Id": strings.Repeat("x", 257)}, penstock.IdentityProvider},
			{"it has a space", own, map[string]string{"X-Build-Id": "a b"}, penstock.IdentityProvider},
			{"it is not ASCII", own, map[string]string{"X-Build-Id": "é"}, penstock.IdentityProvider},
			{"the sender's own header", git, nil, penstock.IdentityProvider},
			{"the sender has none", git, map[string]string{"X-GitHub-Delivery": ""}, penstock.IdentityPenstock},
			{"a field of the body", stripe, nil, penstock.IdentityProvider},
			{"token: the header of the webhook", tok, nil, penstock.IdentityHeader},
			{"token: ours", tok, map[string]string{"X-Build-Id": ""}, penstock.IdentityPenstock},
			{"nothing", tok, map[string]string{"X-Build-Id": "", "X-Penstock-Delivery-Id": ""}, penstock.IdentityBody},
		} {
			send := func(b []byte) store.Delivery {
				var h map[string]string
				switch test.w.UID {
				case tok.UID:
					h = bearer(tok)
				case stripe.UID:
					h = mux(b)
				default:
					h = github("s3cret-of-sixteen", b)
				}
				maps.Copy(h, test.change)
				got := s.post(path(test.w), all(h), b)
				got.want(t, test.name, http.StatusAccepted)
				return s.logged(test.w, got.id())
			}
			b := body()
			if d := send(b); d.IdentitySource != test.want {
				t.Errorf("%s: got %s, want %s", test.name, d.IdentitySource, test.want)
			}
			if d := send(b); d.Outcome != penstock.OutcomeDuplicate {
				t.Errorf("%s: the same again is %s", test.name, d.Outcome)
			}
			// The same id with another body is a duplicate. If the body is the identity, it is not.
			want := penstock.OutcomeDuplicate
			if test.want == penstock.IdentityBody {
				want = penstock.OutcomeAccepted
			}
			if d := send(body()); d.Outcome != want {
				t.Errorf("%s: another body is %s, want %s", test.name, d.Outcome, want)
			}
		}
	}, noRate)
}

// Senders that are configured for other servers of this API name a delivery in other headers. These
// headers count like ours: one retry, one run.
func TestDeliveryIDsUnderOtherNames(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		n := 0
		send := func(ids ...string) store.Delivery {
			n++
			headers := "Authorization: Bearer " + w.Secret + "\r\n" + strings.Join(ids, "\r\n") + "\r\n"
			body := fmt.Sprintf(`{"n": %d}`, n)
			got := s.raw(
				fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", path(w), headers, len(body), body),
			)
			got.want(t, strings.Join(ids, ", "), http.StatusAccepted)
			return s.logged(w, got.id())
		}
		const ours, service, warp = "X-Penstock-Delivery-Id: ", "X-Service-Delivery-Id: ", "X-Warp-Delivery-Id: "
		tests := []struct {
			first, again []string
			want         penstock.Outcome // of the second one, whose body is different
		}{
			{[]string{service + "a1"}, []string{service + "a1"}, penstock.OutcomeDuplicate},
			{[]string{warp + "a2"}, []string{warp + "a2"}, penstock.OutcomeDuplicate},
			{[]string{warp + "a3"}, []string{service + "a3"}, penstock.OutcomeDuplicate},
			{[]string{service + "a4"}, []string{ours + "a4"}, penstock.OutcomeDuplicate},
			{[]string{service + "a5"}, []string{service + "b5"}, penstock.OutcomeAccepted},
			// Of several headers, ours counts first, then Service, then Warp.
			{[]string{warp + "c6", service + "b6", ours + "a6"}, []string{ours + "a6"}, penstock.OutcomeDuplicate},
			{[]string{warp + "c7", service + "b7", ours + "a7"}, []string{service + "b7"}, penstock.OutcomeAccepted},
			{[]string{warp + "c8", service + "b8"}, []string{service + "b8"}, penstock.OutcomeDuplicate},
			{[]string{warp + "c9", service + "b9"}, []string{warp + "c9"}, penstock.OutcomeAccepted},
			// A header that is invalid or repeated is skipped in favor of the next.
			{
				[]string{ours + "a b", service + strings.Repeat("x", 257), warp + "c10"},
				[]string{warp + "c10"},
				penstock.OutcomeDuplicate,
			},
			{[]string{ours + "a11", ours + "a11", service + "b11"}, []string{service + "b11"}, penstock.OutcomeDuplicate},
		}
		for _, test := range tests {
			first := send(test.first...)
			if first.Outcome != penstock.OutcomeAccepted || first.IdentitySource != penstock.IdentityPenstock {
				t.Errorf("%q: got %s by %s", test.first, first.Label, first.IdentitySource)
			}
			again := send(test.again...)
			if again.Outcome != test.want || again.DuplicateOf != "" && again.DuplicateOf != first.ID {
				t.Errorf("%q after %q: got %s of %q", test.again, test.first, again.Label, again.DuplicateOf)
			}
		}
		d := send(service+"shown", warp+"too")
		if d.Headers["x-service-delivery-id"] != "shown" || d.Headers["x-warp-delivery-id"] != "too" {
			t.Errorf("the log has the headers %v", d.Headers)
		}
	}, noRate)
}

func TestTheReplayGuard(t *testing.T) {
	sites(t, func(s *site) {
		guarded := s.signed("github", "s3cret-of-sixteen", func(r *factory.WebhookRequest) { r.ReplayGuard = new(true) })
		open := s.signed("github", "s3cret-of-sixteen", nil)
		body := []byte(`{"a": 1}`)
		send := func(w penstock.Webhook, id string) store.Delivery {
			h := github("s3cret-of-sixteen", body)
			h["X-GitHub-Delivery"] = id
			return s.logged(w, s.post(path(w), h, body).id())
		}
		first := send(guarded, "1")
		if d := send(
			guarded, "2",
		); d.Outcome != penstock.OutcomeDuplicate || d.Reason != "replayed_signature" || d.DuplicateOf != first.ID {
			t.Errorf("guarded: %+v", d)
		}
		if d := send(guarded, "1"); d.Outcome != penstock.OutcomeDuplicate || d.Reason != "" {
			t.Errorf("the same id: %+v", d)
		}
		send(open, "1")
		if d := send(open, "2"); d.Outcome != penstock.OutcomeAccepted {
			t.Errorf("unguarded: %+v", d)
		}
	})
}

func TestTheLogKeepsOnlyHeadersOfTheAllowList(t *testing.T) {
	sites(t, func(s *site) {
		w := s.signed(
			"github", "s3cret-of-sixteen", func(r *factory.WebhookRequest) { r.DeliveryIDHeader = new("X-Build-Id") },
		)
		body := []byte("{}")
		h := github("s3cret-of-sixteen", body)
		maps.Copy(h, map[string]string{
			"Content-Type": "application/json", "User-Agent": strings.Repeat("u", 5000), "X-GitHub-Event": "push\xff\"<",
			"X-GitHub-Delivery": "d", "X-Build-Id": "b", "X-Request-Id": "r",
			"Authorization": "Bearer topsecret", "Cookie": "session=topsecret", "X-Api-Key": "topsecret",
			"Proxy-Authorization": "Basic topsecret", "X-Hub-Signature": "sha1=topsecret",
			"X-Gitlab-Token": "topsecret", "Referer": "https://example.com/?topsecret",
		})
		d := s.logged(w, s.post(path(w), h, body).id())
		want := map[string]string{
			"content-type": "application/json", "user-agent": strings.Repeat("u", 256) + "…", "x-github-event": "push\uFFFD\"<",
			"x-github-delivery": "d", "x-build-id": "b", "x-request-id": "r",
		}
		if diff := cmp.Diff(want, d.Headers); diff != "" {
			t.Error(diff)
		}
	})
}

func TestHandshakesStartNothing(t *testing.T) {
	sites(t, func(s *site) {
		slack := s.signed("slack", "s3cret-of-sixteen", nil)
		s.automation(slack, "", nil)
		body := []byte(`{"type": "url_verification", "token": "t", "challenge": "3eZbrw<script>"}`)
		send := func() response {
			at := strconv.FormatInt(time.Now().Unix(), 10)
			sum := strings.TrimPrefix(
				github("s3cret-of-sixteen", []byte("v0:"+at+":"+string(body)))["X-Hub-Signature-256"], "sha256=",
			)
			return s.post(
				path(slack), map[string]string{"X-Slack-Request-Timestamp": at, "X-Slack-Signature": "v0=" + sum}, body,
			)
		}
		for range 2 { // each gets a response
			got := send()
			got.want(t, "challenge", http.StatusOK)
			if !strings.Contains(
				got.body, "challenge",
			) || got.header.Get("Content-Type") != "application/json" || strings.Contains(got.body, "token") {
				t.Errorf("got %s %s", got.header.Get("Content-Type"), got.body)
			}
		}
		entries := s.entries(slack)
		if len(entries) != 2 || len(s.runs()) != 0 {
			t.Fatalf("%d entries, %d runs", len(entries), len(s.runs()))
		}
		for _, d := range entries {
			if d.Outcome != penstock.OutcomeAccepted || d.Reason != store.ReasonHandshake || d.HTTPStatus != http.StatusOK {
				t.Errorf("logged %+v", d)
			}
		}
		if _, err := s.Deliveries.Replay(
			t.Context(), s.admin, s.factory, slack.UID, entries[0].ID,
		); penstock.CodeOf(err) != penstock.CodeConflict {
			t.Errorf("replay of a handshake: %v", err)
		}
		if got := s.post(path(slack), nil, body); got.status != http.StatusUnauthorized {
			t.Errorf("unsigned: %d %s", got.status, got.body)
		}
	})
}

func TestAPendingWebhookUsesTheSecretFromNotion(t *testing.T) {
	sites(t, func(s *site) {
		w, stripe := s.signed("notion", "", nil), s.signed("stripe", "", nil)
		offer := []byte(`{"verification_token": "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl"}`)
		s.post(path(stripe), nil, offer).want(t, "another scheme", http.StatusNotFound)
		s.post(path(w), nil, []byte(`{"type": "page.created"}`)).want(t, "no offer", http.StatusNotFound)
		s.post(path(w), nil, offer).want(t, "the offer", http.StatusAccepted)
		now, err := s.Webhooks.Read(t.Context(), s.admin, s.factory, w.UID)
		if err != nil || now.PendingSecret || !now.Enabled {
			t.Errorf("the webhook is %+v (%v)", now, err)
		}
		entries := s.entries(w)
		if len(entries) != 1 || entries[0].Reason != store.ReasonHandshake {
			t.Fatalf("logged %+v", entries)
		}
		if body, err := s.Deliveries.Payload(
			t.Context(), s.admin, s.factory, w.UID, entries[0].ID,
		); err != nil || strings.Contains(string(body), "tMrlL") {
			t.Errorf("the log shows the secret: %s (%v)", body, err)
		}
		// Nobody offers another one now.
		s.post(
			path(w), nil, []byte(`{"verification_token": "secret_other"}`),
		).want(t, "a second offer", http.StatusUnauthorized)
		event := []byte(`{"id": "1", "type": "page.created"}`)
		h := map[string]string{
			"X-Notion-Signature": github("secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl", event)["X-Hub-Signature-256"],
		}
		s.post(path(w), h, event).want(t, "an event", http.StatusAccepted)
	})
}

// An unverified sender never replaces a value that was set for the managed secret of the webhook.
func TestASecretWithAValueIgnoresAnOfferedSecret(t *testing.T) {
	sites(t, func(s *site) {
		ctx := t.Context()
		if _, err := s.Secrets.Create(ctx, s.admin, access.SecretRequest{Name: "NOTION"}); err != nil {
			t.Fatal(err)
		}
		w := s.signed("notion", "", func(r *factory.WebhookRequest) { r.SecretName = new("NOTION") })
		change := access.SecretChange{Value: new("given-by-a-manager")}
		if _, err := s.Secrets.Set(ctx, s.admin, "NOTION", change); err != nil {
			t.Fatal(err)
		}
		offer := []byte(`{"verification_token": "secret_of_a_stranger_1234"}`)
		s.post(path(w), nil, offer).want(t, "the offer", http.StatusNotFound)
		secret, err := s.Secrets.Read(ctx, s.admin, "NOTION")
		if err != nil || secret.Version != 1 {
			t.Errorf("the managed secret is %+v (%v), want its first value", secret, err)
		}
		if now, err := s.Webhooks.Read(ctx, s.admin, s.factory, w.UID); err != nil || !now.PendingSecret {
			t.Errorf("the webhook is %+v (%v), want it to wait still", now, err)
		}
	})
}

func TestAReplayIsEvaluatedAnew(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		got := s.post(path(w), bearer(w), []byte(`{"a": 1}`))
		duplicate := s.post(path(w), bearer(w), []byte(`{"a": 1}`))
		a := s.automation(w, `{"a": [1]}`, nil)
		if _, err := s.Resources.UpdateWebhook(
			t.Context(), s.admin, s.factory, w.UID, factory.WebhookRequest{Enabled: new(false)},
		); err != nil {
			t.Fatal(err)
		}
		for range 3 { // more than the rate allows
			d, err := s.Deliveries.Replay(t.Context(), s.admin, s.factory, w.UID, got.id())
			if err != nil {
				t.Fatal(err)
			}
			if d.Outcome != penstock.OutcomeAccepted || d.ReplayOf != got.id() ||
				d.IdentitySource != penstock.IdentityReplay || len(d.Runs) != 1 || d.Matches[0].UID != a.UID {
				t.Errorf("replayed: %+v", d)
			}
			body, err := s.Deliveries.Payload(t.Context(), s.admin, s.factory, w.UID, d.ID)
			if err != nil || string(body) != `{"a": 1}` {
				t.Errorf("payload %s (%v)", body, err)
			}
		}
		if n := len(s.runs()); n != 3 {
			t.Errorf("%d runs, want 3", n)
		}
		s.post(path(w), bearer(w), []byte(`{"a": 2}`)).want(
			t, "a delivery after the replay of a disabled webhook", http.StatusNotFound,
		)
		if _, err := s.Deliveries.Replay(
			t.Context(), s.admin, s.factory, w.UID, duplicate.id(),
		); penstock.CodeOf(err) != penstock.CodeConflict {
			t.Errorf("replay of a duplicate: %v", err)
		}
		now, err := s.Webhooks.Read(t.Context(), s.admin, s.factory, w.UID)
		if err != nil || now.Counts.Accepted != 1 {
			t.Errorf("counts %+v (%v): replays are no deliveries", now.Counts, err)
		}
	}, func(o *webhook.IngressOptions) { o.Limits.DeliveriesPerMinute = 2 })
}

// away is a receiver whose database cannot be reached.
type away struct {
	webhook.Receiver

	plan, deliver bool
	stored        bool // the delivery is stored, and the response is lost
}

var errAway = &penstock.Error{Code: penstock.CodeUnavailable, Detail: "secret detail", RetryAfter: 5 * time.Second}

func (a *away) Plan(ctx context.Context, uid string, token, fresh bool) (*factory.Plan, error) {
	if a.plan && fresh {
		return nil, errAway
	}
	return a.Receiver.Plan(ctx, uid, token, fresh)
}

func (a *away) Deliver(
	ctx context.Context, p *factory.Plan, inbound *factory.InboundDelivery,
) (factory.DeliveryResult, error) {
	if a.deliver {
		return factory.DeliveryResult{}, errAway
	}
	result, err := a.Receiver.Deliver(ctx, p, inbound)
	if a.stored {
		return factory.DeliveryResult{}, errAway
	}
	return result, err
}

// losing makes the site receive through a server of its own, whose database can be lost.
func (s *site) losing() *away {
	service := &away{Receiver: s.Receiver}
	server := httptest.NewServer(webhook.NewIngress(webhook.IngressOptions{
		Receiver: service, PublicURL: s.public, Limits: testworld.DefaultWebhookLimits(),
		Client: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") },
	}))
	s.t.Cleanup(server.Close)
	s.addr = strings.TrimPrefix(server.URL, "http://")
	return service
}

func TestWithoutTheDatabaseNothingIsAccepted(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		service := s.losing()
		s.post(path(w), bearer(w), []byte("1")).want(t, "before", http.StatusAccepted)
		service.deliver, service.plan = true, true
		for name, h := range map[string]map[string]string{"valid": bearer(w), "forged": {"Authorization": "Bearer x"}} {
			got := s.post(path(w), h, []byte("2"))
			got.want(t, name, http.StatusServiceUnavailable)
			if got.header.Get("Retry-After") != "5" || strings.Contains(got.body, "secret detail") {
				t.Errorf("%s: Retry-After %q, %s", name, got.header.Get("Retry-After"), got.body)
			}
		}
		service.deliver, service.plan = false, false
		if got := s.entries(w); len(got) != 1 {
			t.Errorf("%d entries, want 1", len(got))
		}
		s.post(path(w), bearer(w), []byte("2")).want(t, "the same again", http.StatusAccepted)
	})
}
