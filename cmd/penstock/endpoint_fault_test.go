package main_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// heard is a receiver of messages, which answers the first request of each third one with 503.
type heard struct {
	t      *testing.T
	secret string

	mu   sync.Mutex
	seen map[string]bool            // ids of messages
	ids  map[string]map[string]bool // of the messages that were accepted, by run and type
}

func (h *heard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // the server was killed
		return
	}
	id := r.Header.Get("Webhook-Id")
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.signed(id, r.Header.Get("Webhook-Timestamp"), r.Header.Get("Webhook-Signature"), body) {
		h.t.Errorf("message %s is not signed", id)
	}
	var m penstock.EndpointMessage
	if err := json.Unmarshal(body, &m); err != nil {
		h.t.Errorf("message %s: %v", id, err)
	}
	first := !h.seen[id]
	h.seen[id] = true
	if first && len(h.seen)%3 == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	key := m.Data.RunID + " " + string(m.Type)
	if h.ids[key] == nil {
		h.ids[key] = map[string]bool{}
	}
	h.ids[key][id] = true
}

// signed verifies a message as Standard Webhooks say.
func (h *heard) signed(id, timestamp, signatures string, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(h.secret, "whsec_"))
	if err != nil {
		h.t.Error(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	return signatures == "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// missing returns an error unless each run has had one message of each type, and no other run has had any.
func (h *heard) missing(runs []penstock.Run, types ...penstock.EndpointEvent) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range runs {
		for _, event := range types {
			if n := len(h.ids[r.ID+" "+string(event)]); n != 1 {
				return fmt.Errorf("run %s has %d messages %s, want 1", r.ID, n, event)
			}
		}
	}
	if n := len(runs) * len(types); len(h.ids) != n {
		return fmt.Errorf("there are messages about %d changes, want %d", len(h.ids), n)
	}
	return nil
}

// The server gets SIGKILL while runs begin and end, and a receiver fails now and then. Each change of a run is one
// message, and none is invented.
func TestKillLosesNoMessage(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		testkit.TakesLongOnPostgres(t, database)
		killWhileSending(t, database, 24, 1, store.EventRunCreated, store.EventRunStarted, store.EventRunSucceeded)
	})
}

// The same while runs are created as fast as the server takes them, which is more than 200 a second.
func TestKillLosesNoMessageOfABurst(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		testkit.TakesLongOnPostgres(t, database)
		killWhileSending(t, database, 900, 16, store.EventRunCreated)
	})
}

// killWhileSending kills a server three times while senders send deliveries that each start a run. The receiver
// must get one message of each type about each run.
func killWhileSending(t *testing.T, database string, all, senders int, types ...penstock.EndpointEvent) {
	t.Helper()
	args := append([]string{"--event-private-network", "127.0.0.0/8"}, noWorker...)
	h := serveHooks(t, testkit.ServeOptions{Database: database, Args: args})
	if len(types) > 1 {
		startWorker(t, h.Server)
	}
	receiver := &heard{t: t, seen: map[string]bool{}, ids: map[string]map[string]bool{}}
	hooks := httptest.NewServer(receiver)
	t.Cleanup(hooks.Close)
	var endpoint penstock.EventEndpoint
	h.ask(http.MethodPost, "/event-endpoints", map[string]any{"url": hooks.URL, "events": types},
		http.StatusCreated, &endpoint)
	receiver.secret = endpoint.Secrets[0].Secret
	w := h.tokenHook("events")
	h.automation(w, "review", "demo: say seen", nil)
	var told ledger
	var sending sync.WaitGroup
	begun := time.Now()
	for sender := range senders {
		s := newSender(t)
		sending.Go(func() {
			for n := sender; n < all; n += senders {
				identity := fmt.Sprint(n)
				for !told.has(identity) { // like a sender that gets no response
					got, err := s.try(
						t.Context(), http.MethodPost, h.url(w), bearer(w, "X-Penstock-Delivery-Id", identity),
						strings.NewReader(fmt.Sprintf(`{"n": %d}`, n)),
					)
					if err == nil && got.status == http.StatusAccepted {
						told.note(identity, got.deliveryID())
					} else {
						<-time.After(20 * time.Millisecond)
					}
				}
			}
		})
	}
	for _, accepted := range []int{all / 4, all / 2, all} {
		testkit.Eventually(t, time.Minute, func() error {
			if n := told.size(); n < accepted {
				return fmt.Errorf("%d deliveries were accepted, waiting for %d", n, accepted)
			}
			return nil
		})
		t.Logf("a kill after %d deliveries in %s", told.size(), time.Since(begun))
		h.Kill9()
		h.Restart()
		begun = time.Now()
	}
	sending.Wait()
	testkit.Eventually(t, 2*time.Minute, func() error {
		runs := h.runs(w)
		if len(runs) != all {
			return fmt.Errorf("%d runs exist, want %d", len(runs), all)
		}
		return receiver.missing(runs, types...)
	})
}
