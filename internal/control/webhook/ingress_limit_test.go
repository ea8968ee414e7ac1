package webhook_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// from adds the address of a client behind the trusted proxy.
func from(h map[string]string, ip string) map[string]string {
	out := map[string]string{"X-Forwarded-For": ip}
	maps.Copy(out, h)
	return out
}

func retryAfter(t *testing.T, a response) int {
	t.Helper()
	n, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || n < 1 {
		t.Errorf("Retry-After %q, want whole seconds", a.header.Get("Retry-After"))
	}
	return n
}

func TestAtMostSixtyDeliveriesAMinute(t *testing.T) {
	sites(t, func(s *site) {
		other := open(t, s.url, s.dir) // another replica
		w := s.hook(penstock.AuthToken, nil)
		git := s.signed("github", "s3cret-of-sixteen", nil)
		var together sync.WaitGroup
		var mu sync.Mutex
		got := map[int]int{}
		for i := range 100 {
			together.Go(func() {
				body := fmt.Appendf(nil, `{"n": %d}`, i/2) // half of them are duplicates
				if i%10 == 0 {
					body = []byte("no JSON")
				}
				a := []*site{s, other}[i%2].post(path(w), bearer(w), body)
				mu.Lock()
				defer mu.Unlock()
				got[a.status]++
				if a.status == http.StatusTooManyRequests && (retryAfter(t, a) < 50 || retryAfter(t, a) > 60) {
					t.Errorf("Retry-After %s", a.header.Get("Retry-After"))
				}
			})
		}
		together.Wait()
		if got[http.StatusAccepted]+got[http.StatusBadRequest] != 60 || got[http.StatusTooManyRequests] != 40 {
			t.Errorf("got %v, want 60 admitted and 40 limited", got)
		}
		s.post(path(w), bearer(w), []byte("too many still, whatever it is")).want(t, "the next", http.StatusTooManyRequests)
		s.post(path(w), nil, nil).want(t, "without a token", http.StatusUnauthorized)
		s.post(
			path(git), github("s3cret-of-sixteen", []byte("{}")), []byte("{}"),
		).want(t, "another webhook", http.StatusAccepted)
		testkit.Eventually(t, time.Minute, func() error {
			now, err := s.Webhooks.Read(t.Context(), s.admin, s.factory, w.UID)
			if err != nil {
				return err
			}
			counts := now.Counts
			counts.Duplicate, counts.Accepted = counts.Duplicate+counts.Accepted, 0
			return same(
				penstock.DeliveryCounts{
					Duplicate: int64(got[http.StatusAccepted]), Rejected: int64(got[http.StatusBadRequest]) + 1, RateLimited: 41,
				},
				counts,
			)
		})
		// Time goes by.
		testkit.Exec(t, s.url, "UPDATE webhook_rates SET windows = ''")
		third := open(t, s.url, s.dir)
		third.post(path(w), bearer(w), []byte(`"later"`)).want(t, "a minute later", http.StatusAccepted)
		// A disabled webhook returns 404, even if it is also rate-limited.
		if _, err := other.Resources.UpdateWebhook(
			t.Context(), s.admin, s.factory, w.UID, factory.WebhookRequest{Enabled: new(false)},
		); err != nil {
			t.Fatal(err)
		}
		s.post(path(w), bearer(w), []byte("1")).want(t, "disabled", http.StatusNotFound)
	})
}

// What comes while a webhook accepts nothing gets the response of an unknown URL. It is the owner of
// the webhook who learns of it.
func TestAWebhookCountsWhatItTurnsAway(t *testing.T) {
	sites(t, func(s *site) {
		change := func(w penstock.Webhook, r factory.WebhookRequest) {
			t.Helper()
			if _, err := s.Resources.UpdateWebhook(t.Context(), s.admin, s.factory, w.UID, r); err != nil {
				t.Fatal(err)
			}
		}
		disabled, suspended := s.hook(penstock.AuthToken, nil), s.hook(penstock.AuthURLToken, nil)
		pending, notion := s.signed("stripe", "", nil), s.signed(signature.Notion, "", nil)
		enabled := s.hook(penstock.AuthToken, nil)
		s.post(path(disabled), bearer(disabled), []byte("1")).want(t, "while enabled", http.StatusAccepted)
		change(disabled, factory.WebhookRequest{Enabled: new(false)})
		change(suspended, factory.WebhookRequest{Suspended: new(true)})
		for _, p := range []string{
			path(disabled), path(disabled), path(suspended) + "/" + suspended.Secret, path(suspended) + "/wrong",
			path(pending), path(notion), path(enabled) + "/token", path(disabled) + "/token", path(disabled) + "x",
		} {
			s.post(p, bearer(disabled), []byte("2")).want(t, p, http.StatusNotFound)
		}
		s.post(path(enabled), bearer(enabled), []byte("3")).want(t, "another webhook", http.StatusAccepted)
		if _, err := s.ingress.SendTest(
			t.Context(), disabled, factory.TestDelivery{}, "test", netip.Addr{},
		); penstock.CodeOf(err) != penstock.CodeConflict {
			t.Errorf("a test of the disabled webhook: %v, want a conflict", err)
		}
		for _, one := range []struct {
			name string
			of   penstock.Webhook
			want penstock.DeliveryCounts
		}{
			{"disabled", disabled, penstock.DeliveryCounts{Accepted: 1, TurnedAway: 2}},
			{"suspended", suspended, penstock.DeliveryCounts{TurnedAway: 2}},
			{"without its secret", pending, penstock.DeliveryCounts{TurnedAway: 1}},
			{"without the secret that its sender posts", notion, penstock.DeliveryCounts{TurnedAway: 1}},
			{"enabled", enabled, penstock.DeliveryCounts{Accepted: 1}},
		} {
			testkit.Eventually(t, time.Minute, func() error {
				now, err := s.Webhooks.Read(t.Context(), s.admin, s.factory, one.of.UID)
				if err == nil {
					err = same(one.want, now.Counts)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", one.name, err)
				}
				return nil
			})
		}
	})
}

func same(want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return errors.New(diff)
	}
	return nil
}

func TestFailuresAreCountedAgainstTheAddress(t *testing.T) {
	sites(t, func(s *site) {
		w := s.signed("github", "s3cret-of-sixteen", nil)
		body := []byte(`{"a": 1}`)
		bad, good := github("wrong", body), github("s3cret-of-sixteen", body)
		s.post(path(w), from(good, "198.51.100.9"), body).want(t, "a sender that is known", http.StatusAccepted)
		for i := range 30 {
			for _, ip := range []string{"203.0.113.1", "198.51.100.9"} {
				s.post(path(w), from(bad, ip), body).want(t, fmt.Sprint(ip, i), http.StatusUnauthorized)
			}
		}
		for _, h := range []map[string]string{bad, good, nil} {
			got := s.post(path(w), from(h, "203.0.113.1"), body)
			got.want(t, "the address that failed", http.StatusTooManyRequests)
			retryAfter(t, got)
		}
		s.post(path(w), from(bad, "198.51.100.9"), body).want(t, "the known one, wrong again", http.StatusUnauthorized)
		s.post(path(w), from(good, "198.51.100.9"), body).want(t, "the known one", http.StatusAccepted)
		s.post(path(w), from(good, "203.0.113.2"), body).want(t, "another address", http.StatusAccepted)
		// An IPv6 network of 64 bits counts as one address. Another webhook counts separately.
		for i := range 30 {
			s.post(path(w), from(bad, fmt.Sprintf("2001:db8::%x", i+1)), body).want(t, "IPv6", http.StatusUnauthorized)
		}
		s.post(path(w), from(good, "2001:db8::ffff"), body).want(t, "the same network", http.StatusTooManyRequests)
		s.post(path(w), from(good, "2001:db8:0:1::1"), body).want(t, "another network", http.StatusAccepted)
		v := s.hook(penstock.AuthToken, nil)
		s.post(path(v), from(bearer(v), "203.0.113.1"), body).want(t, "another webhook", http.StatusAccepted)
		// Bodies that are too large count as failures, because they are unsigned.
		for range 30 {
			s.post(
				path(w), from(bad, "203.0.113.7"), make([]byte, 262145),
			).want(t, "too large", http.StatusRequestEntityTooLarge)
		}
		s.post(path(w), from(good, "203.0.113.7"), body).want(t, "after too large ones", http.StatusTooManyRequests)
	}, func(o *webhook.IngressOptions) { o.Limits.AuthFailuresPerWebhook, o.Limits.DeliveriesPerMinute = 0, 0 })
}

func TestFloodOfBadSignaturesUsesNoSpaceAndBlocksNoOtherSender(t *testing.T) {
	sites(t, func(s *site) {
		w := s.signed("github", "s3cret-of-sixteen", nil)
		body := []byte(`{"a": 1}`)
		got := map[int]int{}
		for i := range 400 {
			a := s.post(path(w), from(github("wrong", body), fmt.Sprintf("203.0.%d.%d", i/250, i%250)), body)
			got[a.status]++
			if i%100 == 50 {
				s.post(
					path(w), from(github("s3cret-of-sixteen", body), "198.51.100.9"), body,
				).want(t, "the valid sender", http.StatusAccepted)
			}
		}
		if got[http.StatusUnauthorized] != 300 || got[http.StatusTooManyRequests] != 100 {
			t.Errorf("got %v, want 300 refused and 100 limited", got)
		}
		rejected, accepted := 0, 0
		for _, d := range s.entries(w) {
			if d.Outcome == penstock.OutcomeRejectedAuth {
				rejected++
			} else {
				accepted++
			}
		}
		if rejected != 60 || accepted != 4 {
			t.Errorf("%d rejections and %d others are logged, want 60 and 4", rejected, accepted)
		}
		testkit.Eventually(t, time.Minute, func() error {
			now, err := s.Webhooks.Read(t.Context(), s.admin, s.factory, w.UID)
			if err != nil {
				return err
			}
			return same(penstock.DeliveryCounts{Accepted: 1, Duplicate: 3, Rejected: 300, RateLimited: 100}, now.Counts)
		})
	})
}

func TestTheClientIsTheNearestUntrustedHop(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		for forwarded, want := range map[string]string{
			"203.0.113.1": "203.0.113.1", "10.0.0.1, 203.0.113.1": "203.0.113.1", "203.0.113.1, 127.0.0.1": "203.0.113.1",
			"nonsense": "127.0.0.1", "": "127.0.0.1",
			"2001:db8::1": "2001:db8::1",
		} {
			got := s.post(path(w), from(bearer(w), forwarded), []byte(strconv.Quote(forwarded)))
			if d := s.logged(w, got.id()); d.ClientIP != want {
				t.Errorf("%q: client %s, want %s", forwarded, d.ClientIP, want)
			}
		}
	})
}
