package announce_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

type world struct{ *testworld.World }

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func worlds(t *testing.T, change func(*run.Deps), test func(*world)) {
	t.Helper()
	testworld.Each(t, func(d *run.Deps) {
		d.EventNetworks = loopback
		if change != nil {
			change(d)
		}
	}, func(w *testworld.World) { test(&world{w}) })
}

// received is one request that a receiver got.
type received struct {
	header http.Header
	body   []byte
	penstock.EndpointMessage
}

// receiver is an endpoint that does what its test says.
type receiver struct {
	t      *testing.T
	url    string
	mu     sync.Mutex
	got    []received
	answer atomic.Pointer[http.HandlerFunc] // after the request was noted; nil: 204
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{t: t}
	if answer != nil {
		r.answer.Store(&answer)
	}
	server := httptest.NewServer(r)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	got := received{header: req.Header, body: body}
	if err := json.Unmarshal(body, &got.EndpointMessage); err != nil {
		r.t.Errorf("the body is %q: %v", body, err)
	}
	r.mu.Lock()
	r.got = append(r.got, got)
	r.mu.Unlock()
	if answer := r.answer.Load(); answer != nil {
		(*answer)(w, req)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// waitFor waits until the receiver has so many requests.
func (r *receiver) waitFor(n int) []received {
	r.t.Helper()
	testkit.Eventually(r.t, 30*time.Second, func() error {
		if got := len(r.all()); got < n {
			return fmt.Errorf("got %d requests, want %d", got, n)
		}
		return nil
	})
	return r.all()
}

func (r *receiver) types() []penstock.EndpointEvent {
	var list []penstock.EndpointEvent
	for _, got := range r.all() {
		list = append(list, got.Type)
	}
	return list
}

func (w *world) endpoint(url string, events ...penstock.EndpointEvent) penstock.EventEndpoint {
	w.T.Helper()
	e, err := w.Endpoints.Create(w.T.Context(), w.Admin, announce.EndpointRequest{URL: &url, Events: &events})
	if err != nil {
		w.T.Fatal(err)
	}
	return e
}

func (w *world) read(uid string) penstock.EventEndpoint {
	w.T.Helper()
	e, err := w.Endpoints.Read(w.T.Context(), w.Admin, uid)
	if err != nil {
		w.T.Fatal(err)
	}
	return e
}

func (w *world) attempts(uid string) []store.EndpointAttempt {
	w.T.Helper()
	page, err := w.Endpoints.Attempts(w.T.Context(), w.Admin, uid, store.AttemptQuery{})
	if err != nil {
		w.T.Fatal(err)
	}
	return page.Attempts
}

// waitForAttempts waits until so many attempts are in the log, and returns them, the oldest first.
func (w *world) waitForAttempts(uid string, n int) []store.EndpointAttempt {
	w.T.Helper()
	testkit.Eventually(w.T, 40*time.Second, func() error {
		if got := len(w.attempts(uid)); got < n {
			return fmt.Errorf("the log has %d attempts, want %d", got, n)
		}
		return nil
	})
	list := w.attempts(uid)
	slices.Reverse(list)
	return list
}

// hurry makes every message that waits due.
func (w *world) hurry() {
	w.T.Helper()
	testkit.Exec(w.T, w.URL, "UPDATE endpoint_messages SET next_at = 0 WHERE state = 'waiting'")
}

// verify is a receiver's check, as https://www.standardwebhooks.com describes it.
func verify(secret string, got received) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	sent, err := strconv.ParseInt(got.header.Get("Webhook-Timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(sent, 0)).Abs() > 5*time.Minute {
		return fmt.Errorf("the timestamp is %q: %w", got.header.Get("Webhook-Timestamp"), err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(got.header.Get("Webhook-Id") + "." + got.header.Get("Webhook-Timestamp") + "." + string(got.body)))
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if !slices.Contains(strings.Split(got.header.Get("Webhook-Signature"), " "), want) {
		return errors.New("no signature is of this secret")
	}
	return nil
}

func TestEachStateChangeIsAMessage(t *testing.T) {
	worlds(t, nil, func(w *world) {
		r := newReceiver(w.T, nil)
		e := w.endpoint(r.url + "/hook?token=s3cret")
		if len(e.Secrets) != 1 || !strings.HasPrefix(e.Secrets[0].Secret, "whsec_") {
			w.T.Fatalf("the secrets are %+v", e.Secrets)
		}
		id := w.Create(penstock.RunRequest{Prompt: "the prompt stays here"}).ID
		a := w.Work()
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		got := r.waitFor(4)
		slices.SortFunc(got, func(a, b received) int {
			return strings.Compare(a.header.Get("Webhook-Id"), b.header.Get("Webhook-Id"))
		})
		var types []penstock.EndpointEvent
		sequence, ids := int64(0), map[string]bool{}
		for _, m := range got {
			types = append(types, m.Type)
			if err := verify(e.Secrets[0].Secret, m); err != nil {
				w.T.Errorf("%s: %v", m.Type, err)
			}
			if m.Data.RunID != id || m.Data.URL != "https://penstock.test/api/v1/agent/runs/"+id {
				w.T.Errorf("%s has the data %+v", m.Type, m.Data)
			}
			if m.Data.Sequence < sequence {
				w.T.Errorf("%s has the sequence %d after %d", m.Type, m.Data.Sequence, sequence)
			}
			sequence = m.Data.Sequence
			ids[m.header.Get("Webhook-Id")] = true
			if strings.Contains(string(m.body), "stays here") {
				w.T.Errorf("the message has the prompt: %s", m.body)
			}
		}
		want := []penstock.EndpointEvent{
			store.EventRunCreated, store.EventRunStarted, store.EventRunSucceeded, store.EventRunHollow,
		}
		if diff := cmp.Diff(want, types); diff != "" {
			w.T.Error(diff)
		}
		if len(ids) != 4 {
			w.T.Errorf("the ids are %v", ids)
		}
		shown := w.read(e.UID)
		if shown.URL != r.url || shown.Secrets[0].Secret != "" {
			w.T.Errorf("later, the endpoint shows %+v", shown)
		}
		for _, attempt := range w.waitForAttempts(e.UID, 4) {
			if !attempt.Succeeded || attempt.Answer != "" || attempt.TookMs != 0 {
				w.T.Errorf("of a private address, the log shows %+v", attempt)
			}
		}
	})
}

func TestAnEndpointGetsOnlyWhatItChose(t *testing.T) {
	worlds(t, nil, func(w *world) {
		chosen, off := newReceiver(w.T, nil), newReceiver(w.T, nil)
		w.endpoint(chosen.url, store.EventRunCancelled)
		disabled := w.endpoint(off.url)
		if _, err := w.Endpoints.Update(
			w.T.Context(), w.Admin, disabled.UID, announce.EndpointRequest{Enabled: new(false)},
		); err != nil {
			w.T.Fatal(err)
		}
		personal := w.Create(penstock.RunRequest{Prompt: "p", Team: new(false)}).ID
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		for _, one := range []string{personal, id} {
			if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, one, false); err != nil {
				w.T.Fatal(err)
			}
		}
		got := chosen.waitFor(1)
		if len(got) != 1 || got[0].Data.RunID != id || got[0].Data.State != penstock.StateCancelled {
			w.T.Errorf("got %+v", got)
		}
		if list := off.all(); len(list) != 0 {
			w.T.Errorf("a disabled endpoint got %d messages", len(list))
		}
	})
}

// A change that is rolled back must not be announced, and one that is committed must be, whatever happens after.
func TestAMessageIsWrittenWithItsChange(t *testing.T) {
	worlds(t, nil, func(w *world) {
		r := newReceiver(w.T, nil)
		e := w.endpoint(r.url)
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		r.waitFor(1)
		broken := errors.New("after the move")
		err := w.Deps.Store.Write(w.T.Context(), func(tx *store.Tx) error {
			row, err := tx.Runs().Lock(w.T.Context(), id)
			if err != nil {
				return err
			}
			if err := tx.Runs().Move(w.T.Context(), store.Move{Run: row, To: penstock.StateCancelled}); err != nil {
				return err
			}
			return broken
		})
		if !errors.Is(err, broken) {
			w.T.Fatal(err)
		}
		if _, err := w.Endpoints.Ping(w.T.Context(), w.Admin, e.UID); err != nil {
			w.T.Fatal(err)
		}
		r.waitFor(2)
		if got := r.types(); !slices.Equal(got, []penstock.EndpointEvent{
			store.EventRunCreated, announce.EventEndpointPing,
		}) {
			w.T.Errorf("got %v", got)
		}
	})
}

func TestARetryKeepsItsIDAndSignsAgain(t *testing.T) {
	worlds(t, nil, func(w *world) {
		failures := int32(2)
		r := newReceiver(w.T, func(rw http.ResponseWriter, _ *http.Request) {
			if atomic.AddInt32(&failures, -1) >= 0 {
				rw.WriteHeader(http.StatusInternalServerError)
			}
		})
		e := w.endpoint(r.url, store.EventRunCreated)
		w.Create(penstock.RunRequest{Prompt: "p"})
		first := w.waitForAttempts(e.UID, 1)[0]
		if wait := first.NextAt.Sub(first.At); first.Status != 500 || wait < 5*time.Second || wait > 6*time.Second {
			w.T.Errorf("the first attempt is %+v", first)
		}
		rotated, err := w.Endpoints.RotateSecret(w.T.Context(), w.Admin, e.UID, announce.RotateRequest{})
		if err != nil {
			w.T.Fatal(err)
		}
		w.hurry()
		second := w.waitForAttempts(e.UID, 2)[1]
		if wait := second.NextAt.Sub(second.At); wait < 5*time.Minute || wait > 6*time.Minute {
			w.T.Errorf("the second attempt is %+v", second)
		}
		w.hurry()
		w.waitForAttempts(e.UID, 3)
		got := r.waitFor(3)
		for i, m := range got {
			if m.header.Get("Webhook-Id") != got[0].header.Get("Webhook-Id") || string(m.body) != string(got[0].body) {
				w.T.Errorf("attempt %d differs: %v %s", i+1, m.header, m.body)
			}
			if err := verify(e.Secrets[0].Secret, m); err != nil {
				w.T.Errorf("attempt %d with the old secret: %v", i+1, err)
			}
		}
		if err := verify(rotated.Secrets[0].Secret, got[2]); err != nil {
			w.T.Errorf("with the new secret: %v", err)
		}
		shown := w.read(e.UID)
		if shown.Stats.Delivered != 1 || shown.Stats.Waiting != 0 || shown.Stats.FailingSince != 0 ||
			len(shown.Secrets) != 2 || shown.Secrets[1].ExpiresAt == 0 {
			w.T.Errorf("the endpoint is %+v", shown)
		}
		again, err := w.Endpoints.RotateSecret(
			w.T.Context(), w.Admin, e.UID, announce.RotateRequest{OverlapSeconds: new(int64(0))},
		)
		if err != nil || len(again.Secrets) != 1 {
			w.T.Errorf("without an overlap, the secrets are %+v, %v", again.Secrets, err)
		}
	})
}

func TestAMessageFailsAfterItsLastAttempt(t *testing.T) {
	worlds(t, nil, func(w *world) {
		r := newReceiver(w.T, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) })
		e := w.endpoint(r.url, store.EventRunCreated)
		w.Create(penstock.RunRequest{Prompt: "p"})
		for n := 1; n <= 8; n++ {
			last := w.waitForAttempts(e.UID, n)[n-1]
			if (last.NextAt == 0) != (n == 8) || last.Attempt != n {
				w.T.Errorf("attempt %d is %+v", n, last)
			}
			w.hurry()
		}
		if s := w.read(e.UID).Stats; s.Failed != 1 || s.Waiting != 0 {
			w.T.Errorf("the stats are %+v", s)
		}
		id := w.attempts(e.UID)[0].MessageID
		r.answer.Store(nil)
		if _, err := w.Endpoints.Replay(
			w.T.Context(), w.Admin, e.UID, announce.ReplayRequest{MessageID: &id},
		); err != nil {
			w.T.Fatal(err)
		}
		if last := w.waitForAttempts(e.UID, 9)[8]; !last.Succeeded || last.MessageID != id {
			w.T.Errorf("the replay is %+v", last)
		}
		since := penstock.Now().Add(-time.Hour)
		all, err := w.Endpoints.Replay(w.T.Context(), w.Admin, e.UID, announce.ReplayRequest{Since: &since})
		if err != nil || all.Messages != 1 {
			w.T.Errorf("got %+v, %v", all, err)
		}
		w.waitForAttempts(e.UID, 10)
	})
}

// A redirect would take the signed message past the check of the address.
func TestARedirectIsAFailureAndIsNotFollowed(t *testing.T) {
	worlds(t, nil, func(w *world) {
		target := newReceiver(w.T, nil)
		r := newReceiver(w.T, func(rw http.ResponseWriter, req *http.Request) {
			http.Redirect(rw, req, target.url, http.StatusTemporaryRedirect)
		})
		e := w.endpoint(r.url, store.EventRunCreated)
		w.Create(penstock.RunRequest{Prompt: "p"})
		got := w.waitForAttempts(e.UID, 1)[0]
		if got.Status != http.StatusTemporaryRedirect || got.Succeeded || got.NextAt == 0 {
			w.T.Errorf("the attempt is %+v", got)
		}
		if n := len(target.all()); n != 0 {
			w.T.Errorf("the target of the redirect got %d requests", n)
		}
	})
}

func TestGoneDisablesAndTheOthersHearOfIt(t *testing.T) {
	worlds(t, nil, func(w *world) {
		gone := newReceiver(w.T, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusGone) })
		other := newReceiver(w.T, nil)
		e := w.endpoint(gone.url)
		w.endpoint(other.url, store.EventEndpointDisabled)
		w.Create(penstock.RunRequest{Prompt: "p"})
		got := other.waitFor(1)[0]
		if got.Data.EndpointUID != e.UID || got.Data.URL != "https://penstock.test/api/v1/event-endpoints/"+e.UID {
			w.T.Errorf("got %s", got.body)
		}
		shown := w.read(e.UID)
		if shown.Enabled || !strings.Contains(shown.DisabledReason, "410") {
			w.T.Errorf("the endpoint is %+v", shown)
		}
		if _, err := w.Endpoints.Ping(w.T.Context(), w.Admin, e.UID); penstock.CodeOf(err) != penstock.CodeConflict {
			w.T.Errorf("a ping of a disabled endpoint: %v", err)
		}
		if n := len(other.all()); n != 1 {
			w.T.Errorf("it was announced %d times", n)
		}
	})
}

func TestFiveDaysOfFailuresDisable(t *testing.T) {
	worlds(t, nil, func(w *world) {
		r := newReceiver(w.T, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) })
		other := newReceiver(w.T, nil)
		e := w.endpoint(r.url, store.EventRunCreated)
		w.endpoint(other.url, store.EventEndpointDisabled)
		w.Create(penstock.RunRequest{Prompt: "p"})
		w.waitForAttempts(e.UID, 1)
		ago := func(d time.Duration) {
			testkit.Exec(w.T, w.URL, fmt.Sprintf(
				"UPDATE event_endpoints SET failing_since = %d WHERE uid = '%s'", int64(penstock.Now().Add(-d)), e.UID,
			))
		}
		ago(store.DisableAfter - time.Hour)
		w.hurry()
		w.waitForAttempts(e.UID, 2)
		if !w.read(e.UID).Enabled {
			w.T.Fatal("it was disabled before 5 days")
		}
		ago(store.DisableAfter)
		w.hurry()
		other.waitFor(1)
		if shown := w.read(e.UID); shown.Enabled || !strings.Contains(shown.DisabledReason, "5 days") {
			w.T.Errorf("the endpoint is %+v", shown)
		}
		r.answer.Store(nil)
		if _, err := w.Endpoints.Update(
			w.T.Context(), w.Admin, e.UID, announce.EndpointRequest{Enabled: new(true)},
		); err != nil {
			w.T.Fatal(err)
		}
		w.hurry()
		w.waitForAttempts(e.UID, 4)
		if shown := w.read(e.UID); !shown.Enabled || shown.DisabledReason != "" || shown.Stats.FailingSince != 0 {
			w.T.Errorf("after it was enabled, the endpoint is %+v", shown)
		}
	})
}

func TestRetryAfterHoldsEveryMessageOfTheEndpoint(t *testing.T) {
	worlds(t, nil, func(w *world) {
		r := newReceiver(w.T, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "3600")
			rw.WriteHeader(http.StatusTooManyRequests)
		})
		free := newReceiver(w.T, nil)
		e := w.endpoint(r.url, store.EventRunCreated)
		w.endpoint(free.url, store.EventRunCreated)
		w.Create(penstock.RunRequest{Prompt: "p"})
		got := w.waitForAttempts(e.UID, 1)[0]
		if wait := got.NextAt.Sub(got.At); wait < time.Hour || wait > 61*time.Minute {
			w.T.Errorf("the attempt is %+v", got)
		}
		w.Create(penstock.RunRequest{Prompt: "p"})
		free.waitFor(2)
		w.hurry()
		w.Create(penstock.RunRequest{Prompt: "p"})
		free.waitFor(3)
		if n := len(r.all()); n != 1 {
			w.T.Errorf("the endpoint that asked to wait got %d requests", n)
		}
	})
}

// Receivers that never answer, never end their answer or never take the connection cost 95 others nothing.
func TestASlowReceiverDelaysNobody(t *testing.T) {
	worlds(t, nil, func(w *world) {
		release := make(chan struct{})
		defer close(release)
		hang := func(_ http.ResponseWriter, req *http.Request) {
			select {
			case <-release:
			case <-req.Context().Done():
			}
		}
		begin := func(rw http.ResponseWriter, req *http.Request) {
			rw.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(rw).Flush()
			hang(rw, req)
		}
		deaf, err := (&net.ListenConfig{}).Listen(w.T.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			w.T.Fatal(err)
		}
		defer deaf.Close()
		var slow []penstock.EventEndpoint
		for _, url := range []string{
			newReceiver(w.T, hang).url, newReceiver(w.T, hang).url, newReceiver(w.T, begin).url, newReceiver(w.T, begin).url,
			"http://" + deaf.Addr().String(),
		} {
			slow = append(slow, w.endpoint(url, store.EventRunCreated))
		}
		const others = 95 // a team has 100 at most
		quick := newReceiver(w.T, nil)
		for range others {
			w.endpoint(quick.url, store.EventRunCreated)
		}
		for n := range 3 {
			w.Create(penstock.RunRequest{Prompt: "p"})
			quick.waitFor((n + 1) * others)
		}
		for _, e := range slow {
			if n := len(w.attempts(e.UID)); n != 0 {
				w.T.Skipf("the machine was too slow: an attempt timed out meanwhile (%d)", n)
			}
		}
		got := w.waitForAttempts(slow[0].UID, 1)[0]
		if got.Status != 0 || got.NextAt == 0 || got.Error == "" {
			w.T.Errorf("the attempt that hung is %+v", got)
		}
	})
}

func TestAHugeOrBrokenAnswerIsBounded(t *testing.T) {
	worlds(t, nil, func(w *world) {
		huge := newReceiver(w.T, func(rw http.ResponseWriter, req *http.Request) {
			for req.Context().Err() == nil {
				if _, err := rw.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		})
		half := newReceiver(w.T, func(rw http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(rw).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 O")
				_ = conn.Close()
			}
		})
		header := newReceiver(w.T, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("X-Huge", strings.Repeat("x", 1<<20))
		})
		first, second, third := w.endpoint(huge.url), w.endpoint(half.url), w.endpoint(header.url)
		w.Create(penstock.RunRequest{Prompt: "p"})
		if got := w.waitForAttempts(first.UID, 1)[0]; !got.Succeeded {
			w.T.Errorf("the attempt with a huge answer is %+v", got)
		}
		for _, uid := range []string{second.UID, third.UID} {
			if got := w.waitForAttempts(uid, 1)[0]; got.Status != 0 || got.Succeeded || got.NextAt == 0 {
				w.T.Errorf("the attempt with a broken answer is %+v", got)
			}
		}
	})
}

// A name can point elsewhere after the endpoint was created. The address is checked when it is dialled, and a name that
// cannot be looked up is tried again.
func TestANameThatMovesToAPrivateAddressGetsNothing(t *testing.T) {
	var address atomic.Pointer[netip.Addr]
	resolve := func(_ context.Context, host string) ([]netip.Addr, error) {
		if a := address.Load(); a != nil {
			return []netip.Addr{*a}, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	worlds(t, func(d *run.Deps) { d.EventNetworks, d.EventResolve = nil, resolve }, func(w *world) {
		address.Store(nil)
		r := newReceiver(w.T, nil)
		_, port, _ := net.SplitHostPort(strings.TrimPrefix(r.url, "http://"))
		e := w.endpoint("http://moves.example:"+port, store.EventRunCreated)
		w.Create(penstock.RunRequest{Prompt: "p"})
		unknown := w.waitForAttempts(e.UID, 1)[0]
		address.Store(new(netip.MustParseAddr("127.0.0.1")))
		w.hurry()
		private := w.waitForAttempts(e.UID, 2)[1]
		if unknown.NextAt == 0 || private.NextAt == 0 || unknown.Error != private.Error ||
			!strings.Contains(private.Error, "--event-private-network") {
			w.T.Errorf("the attempts are %+v and %+v", unknown, private)
		}
		if n := len(r.all()); n != 0 {
			w.T.Errorf("the private receiver got %d requests", n)
		}
		for _, url := range []string{
			"http://127.0.0.1:1", "https://[::ffff:10.0.0.1]/", "https://169.254.169.254/latest", "https://127.1/",
			"https://[::1]", "https://0x7f.1", "ftp://example.com", "//example.com", "https://example.com:0/", "https://",
			"https://example.com/#f", "https://example.com:99999", "http://93.184.215.14/",
		} {
			for _, try := range []func() error{
				func() error {
					_, err := w.Endpoints.Create(w.T.Context(), w.Admin, announce.EndpointRequest{URL: &url})
					return err
				},
				func() error {
					_, err := w.Endpoints.Update(w.T.Context(), w.Admin, e.UID, announce.EndpointRequest{URL: &url})
					return err
				},
			} {
				if err := try(); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
					w.T.Errorf("the URL %s: %v", url, err)
				}
			}
		}
	})
}

// otherServer starts another server on the same database.
func (w *world) otherServer() {
	other := control.New(w.Deps)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = other.Run(w.T.Context())
	}()
	w.T.Cleanup(func() { <-done })
}

// Two servers with one database: nothing is sent twice while both live, and one takes over from the other.
func TestTwoServersSendEachMessageOnce(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.otherServer()
		r := newReceiver(w.T, nil)
		w.endpoint(r.url)
		const n = 60
		for range n {
			w.Create(penstock.RunRequest{Prompt: "p"})
		}
		r.waitFor(n)
		seen := map[string]int{}
		for _, m := range r.all() {
			seen[m.header.Get("Webhook-Id")]++
		}
		if len(seen) != n || len(r.all()) != n {
			w.T.Errorf("got %d requests with %d ids, want %d", len(r.all()), len(seen), n)
		}
	})
}

// An answer takes longer than the lease of an endpoint, and another server looks for what is due meanwhile.
func TestALongAttemptIsNotRepeated(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.otherServer()
		r := newReceiver(w.T, func(rw http.ResponseWriter, req *http.Request) {
			select {
			case <-time.After(12 * time.Second):
				rw.WriteHeader(http.StatusNoContent)
			case <-req.Context().Done():
			}
		})
		e := w.endpoint(r.url)
		w.Create(penstock.RunRequest{Prompt: "p"})
		testkit.Eventually(w.T, 40*time.Second, func() error {
			if len(r.all()) < 2 && len(w.attempts(e.UID)) == 0 {
				return errors.New("no attempt is in the log")
			}
			return nil
		})
		got := w.attempts(e.UID)
		if n := len(r.all()); n != 1 || len(got) != 1 || !got[0].Succeeded {
			w.T.Errorf("%d requests, and the log has %+v", n, got)
		}
	})
}

func TestOnlyAKeyWithTheScopeManagesEndpoints(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.endpoint("https://example.com/hook")
		if _, err := w.Endpoints.List(w.T.Context(), w.As("u", penstock.ScopeEventsManage)); err != nil {
			w.T.Error(err)
		}
		agent := w.As("u", penstock.ScopeAdmin)
		agent.AgentUID = "a"
		for _, p := range []penstock.Principal{w.As("u", penstock.ScopeRunsWrite, penstock.ScopeFactoriesManage), agent} {
			if _, err := w.Endpoints.List(w.T.Context(), p); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
				w.T.Errorf("%+v: %v", p.Scopes, err)
			}
		}
		for range 99 {
			w.endpoint("https://example.com/hook")
		}
		url := "https://example.com/hook"
		_, err := w.Endpoints.Create(w.T.Context(), w.Admin, announce.EndpointRequest{URL: &url})
		if penstock.CodeOf(err) != penstock.CodeConflict {
			w.T.Errorf("the 101st endpoint: %v", err)
		}
		teams := penstock.EndpointFormat("teams")
		_, err = w.Endpoints.Create(w.T.Context(), w.Admin, announce.EndpointRequest{URL: &url, Format: &teams})
		if penstock.CodeOf(err) != penstock.CodeNotSupported {
			w.T.Errorf("the format teams: %v", err)
		}
	})
}
