package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func noRate(o *webhook.IngressOptions) { o.Limits.DeliveriesPerMinute = 0 }

func TestOfAHundredEqualDeliveriesOneStartsRuns(t *testing.T) {
	sites(t, func(s *site) {
		replicas := []*site{s, open(t, s.url, s.dir, noRate)}
		w := s.hook(penstock.AuthToken, nil)
		s.automation(w, `{"type": ["order"]}`, nil)
		s.automation(w, "", nil)
		s.automation(w, `{"type": ["refund"]}`, nil)
		var together sync.WaitGroup
		ids := make([]string, 100)
		for i := range ids {
			together.Go(func() {
				got := replicas[i%2].post(path(w), bearer(w), []byte(`{"type": "order"}`))
				got.want(t, fmt.Sprint(i), http.StatusAccepted)
				ids[i] = got.id()
			})
		}
		together.Wait()
		byOutcome := map[penstock.Outcome][]store.Delivery{}
		for _, id := range ids {
			d := s.logged(w, id)
			byOutcome[d.Outcome] = append(byOutcome[d.Outcome], d)
		}
		if a, d := len(byOutcome[penstock.OutcomeAccepted]), len(byOutcome[penstock.OutcomeDuplicate]); a != 1 || d != 99 {
			t.Fatalf("%d accepted, %d duplicates", a, d)
		}
		accepted := byOutcome[penstock.OutcomeAccepted][0]
		for _, d := range byOutcome[penstock.OutcomeDuplicate] {
			if d.DuplicateOf != accepted.ID {
				t.Errorf("a duplicate of %s, want of %s", d.DuplicateOf, accepted.ID)
			}
		}
		if n := len(s.runs()); n != 2 || len(accepted.Runs) != 2 {
			t.Errorf("%d runs, %d of the delivery; want 2: one for each automation that matches", n, len(accepted.Runs))
		}
	}, noRate)
}

// The ingress reads an automation's configuration when a delivery first starts a run of it. If the
// database is unavailable then, the sender gets an error, and nothing is stored.
func TestDatabaseIsUnavailableForTheFirstMatch(t *testing.T) {
	t.Parallel()
	database := testkit.Postgres(t)
	s := open(t, database, t.TempDir(), noRate)
	f, err := s.Factories.Create(t.Context(), s.admin, factory.FactoryRequest{Name: new("acme")})
	if err != nil {
		t.Fatal(err)
	}
	s.factory = f.UID
	w := s.hook(penstock.AuthToken, nil)
	s.automation(w, `{"type": ["order"]}`, nil)
	through, mend := testkit.Severed(t, database, "SELECT name, alias, revision, data")
	cut := open(t, through, s.dir, noRate)
	matching := []byte(`{"type": "order"}`)

	cut.post(path(w), bearer(w), []byte(`{"type": "refund"}`)).want(t, "one that starts nothing", http.StatusAccepted)
	refused := cut.post(path(w), bearer(w), matching)
	refused.want(t, "while the database is away", http.StatusServiceUnavailable)
	if refused.header.Get("Retry-After") == "" {
		t.Error("the response has no Retry-After")
	}
	if got := s.entries(w); len(got) != 1 || len(s.runs()) != 0 {
		t.Errorf("%d entries and %d runs after the refusal, want 1 and 0", len(got), len(s.runs()))
	}
	mend()
	got := cut.post(path(w), bearer(w), matching)
	got.want(t, "when it is back", http.StatusAccepted)
	if d := s.logged(w, got.id()); d.Outcome != penstock.OutcomeAccepted || len(d.Runs) != 1 {
		t.Errorf("got %s with %d runs, want one", d.Outcome, len(d.Runs))
	}
}

// Each change takes effect with the next request, on every replica.
func TestChangesApplyImmediatelyOnAllServers(t *testing.T) {
	sites(t, func(s *site) {
		replicas := []*site{s, open(t, s.url, s.dir, noRate)}
		w, u := s.hook(penstock.AuthToken, nil), s.hook(penstock.AuthURLToken, nil)
		n := 0
		each := func(what string, status int, send func(r *site, body []byte) response) {
			t.Helper()
			for i, r := range replicas {
				n++
				send(r, fmt.Appendf(nil, `{"n": %d}`, n)).want(t, fmt.Sprintf("%s, replica %d", what, i), status)
			}
		}
		token := func(secret string) func(*site, []byte) response {
			return func(r *site, body []byte) response {
				return r.post(path(w), map[string]string{"Authorization": "Bearer " + secret}, body)
			}
		}
		inURL := func(secret string) func(*site, []byte) response {
			return func(r *site, body []byte) response { return r.post(path(u)+"/"+secret, nil, body) }
		}
		each("at first", 202, token(w.Secret))
		each("at first", 202, inURL(u.Secret))

		rotated, err := replicas[1].Resources.RotateWebhookSecret(
			t.Context(), s.admin, s.factory, w.UID, factory.RotateRequest{},
		)
		if err != nil {
			t.Fatal(err)
		}
		each("the old secret", 401, token(w.Secret))
		each("the new secret", 202, token(rotated.Secret))
		overlap, err := s.Resources.RotateWebhookSecret(
			t.Context(), s.admin, s.factory, u.UID, factory.RotateRequest{OverlapSeconds: 2},
		)
		if err != nil {
			t.Fatal(err)
		}
		each("the old one within the overlap", 202, inURL(u.Secret))
		each("the new one within the overlap", 202, inURL(overlap.Secret))
		testkit.Eventually(t, time.Minute, func() error {
			if got := replicas[0].post(path(u)+"/"+u.Secret, nil, []byte("0")); got.status != 401 {
				return fmt.Errorf("got %d", got.status)
			}
			return nil
		})
		each("the old one after the overlap", 401, inURL(u.Secret))
		each("the new one after the overlap", 202, inURL(overlap.Secret))

		set := func(enabled bool) {
			t.Helper()
			if _, err := replicas[1].Resources.UpdateWebhook(
				t.Context(), s.admin, s.factory, w.UID, factory.WebhookRequest{Enabled: &enabled},
			); err != nil {
				t.Fatal(err)
			}
		}
		set(false)
		each("disabled", 404, token(rotated.Secret))
		set(true)
		each("enabled", 202, token(rotated.Secret))

		matches := func(want ...string) {
			t.Helper()
			for _, r := range replicas {
				n++
				got := r.post(
					path(w), map[string]string{"Authorization": "Bearer " + rotated.Secret},
					fmt.Appendf(nil, `{"type": "a", "n": %d}`, n),
				)
				var names []string
				for _, m := range s.logged(w, got.id()).Matches {
					if m.WouldTrigger {
						names = append(names, m.Automation)
					}
				}
				if diff := cmp.Diff(want, names); diff != "" {
					t.Error(diff)
				}
			}
		}
		matches()
		a := s.automation(w, `{"type": ["a"]}`, nil)
		matches(a.Name)
		if _, err := s.Resources.UpdateAutomation(
			t.Context(), s.admin, s.factory, a.UID, factory.AutomationRequest{Enabled: new(false)},
		); err != nil {
			t.Fatal(err)
		}
		matches()
		if err := s.Resources.DeleteWebhook(t.Context(), s.admin, s.factory, w.UID); err != nil {
			t.Fatal(err)
		}
		each("deleted", 404, token(rotated.Secret))
	}, noRate)
}

// During continuous rotations of the secret, a sender with the current one is never refused, and
// one without it is never accepted.
func TestRotationsUnderLoad(t *testing.T) {
	sites(t, func(s *site) {
		other := s
		if strings.HasPrefix(s.url, "postgres") { // two writers of one SQLite file wait for each other
			other = open(t, s.url, s.dir, noRate)
		}
		w := s.hook(penstock.AuthToken, nil)
		steady := s.hook(penstock.AuthToken, nil)
		stop := make(chan struct{})
		var together sync.WaitGroup
		for i := range 4 {
			together.Go(func() {
				r := []*site{s, other}[i%2]
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
						r.post(path(steady), bearer(steady), fmt.Appendf(nil, "[%d, %d]", i, n)).want(t, "meanwhile", http.StatusAccepted)
					}
				}
			})
		}
		secret := w.Secret
		for n := range 20 {
			rotated, err := s.Resources.RotateWebhookSecret(t.Context(), s.admin, s.factory, w.UID, factory.RotateRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []*site{s, other} {
				body := fmt.Appendf(nil, `"%s %d"`, r.addr, n)
				r.post(
					path(w), map[string]string{"Authorization": "Bearer " + secret, "X-Forwarded-For": fmt.Sprintf("192.0.2.%d", n)},
					body,
				).want(t, "the old secret", http.StatusUnauthorized)
				r.post(
					path(w), map[string]string{"Authorization": "Bearer " + rotated.Secret}, body,
				).want(t, "the new secret", http.StatusAccepted)
			}
			secret = rotated.Secret
		}
		close(stop)
		together.Wait()
	}, noRate)
}

func TestABrokenAutomationIsRecordedAndFailsNothing(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		environment, err := s.Catalog.CreateEnvironment(t.Context(), s.admin, penstock.EnvironmentConfig{Name: "build"})
		if err != nil {
			t.Fatal(err)
		}
		a := s.automation(w, "", func(r *factory.AutomationRequest) { r.EnvironmentID = &environment.UID })
		b := s.automation(w, "", nil)
		testkit.Exec(t, s.url, "UPDATE environments SET deleted_at = 1")
		testkit.Exec(t, s.url, "UPDATE teams SET version = version + 1")
		got := s.post(path(w), bearer(w), []byte("{}"))
		got.want(t, "deliver", http.StatusAccepted)
		for _, m := range s.logged(w, got.id()).Matches {
			switch m.UID {
			case a.UID:
				if m.FailedAt == nil || *m.FailedAt != store.FailedAtAutomation ||
					!strings.Contains(m.Reason, environment.UID) || m.RunID != "" || m.WouldTrigger {
					t.Errorf("the broken one: %+v", m)
				}
			case b.UID:
				if m.RunID == "" {
					t.Errorf("the other one: %+v", m)
				}
			}
		}
	})
}
