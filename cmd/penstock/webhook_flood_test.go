package main_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// limited requires a 429 that says when to retry.
func limited(t *testing.T, got reply, of string) {
	t.Helper()
	seconds, err := got.retryAfter()
	if got.status != http.StatusTooManyRequests || err != nil || seconds < 1 || seconds > 60 {
		t.Errorf(
			"%s: got %d with Retry-After %q, want 429 with 1 to 60 seconds", of, got.status, got.header.Get("Retry-After"),
		)
	}
}

// A flood of bad signatures under the default limits: each address is refused after 30 failures,
// the webhook's failures are no longer logged after 300, and valid deliveries always pass.
func TestFloodOfBadSignatures(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	w := h.githubHook("flooded")
	const known, stranger = "127.0.0.1", "127.0.0.99"
	valid := func(from string) reply {
		body := fmt.Sprintf(`{"id": %q}`, penstock.NewID())
		return senderFrom(t, from).post(h.url(w), signed(body), body)
	}
	if got := valid(known); got.status != http.StatusAccepted {
		t.Fatalf("got %d for a valid delivery", got.status)
	}
	for address := range 10 { // 300 failures, the first 30 from the address of a valid delivery
		s := senderFrom(t, fmt.Sprintf("127.0.0.%d", address+1))
		for n := range 30 {
			// The address of the connection counts. The server does not trust the headers that
			// claim another one.
			header := signed("forged", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", n))
			if got := s.post(h.url(w), header, "{}"); got.status != http.StatusUnauthorized {
				t.Fatalf("got %d for failure %d of address %d, want 401: %s", got.status, n+1, address+1, got.body)
			}
		}
		if address > 0 {
			limited(t, s.post(h.url(w), signed("forged"), "{}"), "the 31st failure of an address")
			limited(t, s.post(h.url(w), signed("{}"), "{}"), "an address that is shut out, unread")
		}
	}
	limited(t, senderFrom(t, stranger).post(h.url(w), signed("forged"), "{}"), "the 301st failure of the webhook")
	for _, from := range []string{known, stranger, "127.0.0.98"} {
		if got := valid(from); got.status != http.StatusAccepted {
			t.Errorf("got %d for a valid delivery from %s, want 202: %s", got.status, from, got.body)
		}
	}
	s := senderFrom(t, "127.0.0.97")
	if got := s.post(h.URL+"/webhooks/w/"+penstock.NewUID(), nil, "{}"); got.status != http.StatusNotFound {
		t.Errorf("got %d for a webhook that there is not", got.status)
	}
	n := h.outcomes(w)
	if n[penstock.OutcomeRejectedAuth] != 60 || n[penstock.OutcomeAccepted] != 4 {
		t.Errorf("got %v in the log, want 60 failures and the 4 that were accepted", n)
	}
	testkit.Eventually(t, timeout, func() error { // rejections without a log entry are counted periodically
		var now penstock.Webhook
		h.ask(http.MethodGet, h.hookPath(w), nil, http.StatusOK, &now)
		if want := (penstock.DeliveryCounts{Accepted: 4, Rejected: 300, RateLimited: 19}); now.Counts != want {
			return fmt.Errorf("got the counts %+v, want %+v", now.Counts, want)
		}
		return nil
	})
	// Another webhook with the same addresses is not affected.
	if got := s.post(h.url(h.tokenHook("quiet")), nil, "{}"); got.status != http.StatusUnauthorized {
		t.Errorf("got %d at another webhook, want 401", got.status)
	}
}

// The limit of 60 deliveries a minute counts all outcomes, except for deliveries whose sender is
// unknown.
func TestSixtyDeliveriesAMinute(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	w, other := h.tokenHook("busy"), h.tokenHook("other")
	s := newSender(t)
	begun := time.Now()
	status := map[int]int{}
	for i := range 60 {
		body := []string{fmt.Sprint(i), "0", "{", text(maxBody + 1)}[i%4] // accepted, duplicate, invalid, too large
		status[s.post(h.url(w), bearer(w), body).status]++
		if i < 20 {
			if got := s.post(h.url(w), nil, "{}"); got.status != http.StatusUnauthorized {
				t.Errorf("got %d without a token", got.status)
			}
		}
	}
	if status[http.StatusAccepted] != 30 || status[http.StatusBadRequest] != 15 ||
		status[http.StatusRequestEntityTooLarge] != 15 {
		t.Fatalf("got %v for 60 deliveries, want each admitted", status)
	}
	got := s.post(h.url(w), bearer(w), `"one more"`)
	limited(t, got, "the 61st")
	if seconds, _ := got.retryAfter(); time.Duration(seconds)*time.Second < time.Minute-time.Since(begun) {
		t.Errorf("Retry-After is %d s, too early: the first delivery came %s ago", seconds, time.Since(begun))
	}
	limited(t, s.post(h.url(w), bearer(w), "{"), "a 62nd that is not even JSON")
	if got := s.post(
		h.url(w), map[string]string{"Authorization": "Bearer x"}, "{}",
	); got.status != http.StatusUnauthorized {
		t.Errorf("got %d for a wrong token while the rate is used up, want 401", got.status)
	}
	s.accepted(h.url(other), bearer(other), "{}")
	if n := len(h.log(w, "")) - h.outcomes(w)[penstock.OutcomeRejectedAuth]; n != 60 {
		t.Errorf("%d entries in the log, want 60: what is refused for the rate has none", n)
	}
	testkit.Eventually(t, timeout, func() error {
		var now penstock.Webhook
		h.ask(http.MethodGet, h.hookPath(w), nil, http.StatusOK, &now)
		if want := (penstock.DeliveryCounts{Accepted: 15, Duplicate: 15, Rejected: 51, RateLimited: 2}); now.Counts != want {
			return fmt.Errorf("got the counts %+v, want %+v", now.Counts, want)
		}
		return nil
	})
}

// Two replicas together admit 60 concurrent deliveries, and then both refuse more.
func TestRateHoldsOverReplicas(t *testing.T) {
	t.Parallel()
	args := []string{"--no-worker"}
	first := serveHooks(t, testkit.ServeOptions{Database: testkit.Postgres(t), Args: args})
	both := []*hooked{first, first.replica(testkit.ServeOptions{Args: args})}
	w := first.tokenHook("busy")
	s := newSender(t)
	responses := make(chan reply, 100)
	var senders sync.WaitGroup
	for i := range cap(responses) {
		senders.Go(func() { responses <- s.post(both[i%2].url(w), bearer(w), fmt.Sprint(i)) })
	}
	senders.Wait()
	close(responses)
	admitted := 0
	for got := range responses {
		if got.status == http.StatusAccepted {
			admitted++
			continue
		}
		limited(t, got, "one too many")
	}
	if admitted != 60 || first.outcomes(w)[penstock.OutcomeAccepted] != 60 {
		t.Errorf("%d were admitted, %v are in the log, want 60", admitted, first.outcomes(w))
	}
	for _, h := range both {
		limited(t, s.post(h.url(w), bearer(w), `"more"`), h.URL)
	}
}

// A sender of one byte a second is disconnected after ten seconds. Many such senders harm nobody,
// even if some first send enough to occupy all the room for large bodies.
func TestSlowSenders(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	w, github := h.tokenHook("slow"), h.githubHook("slow-signed")
	begun := time.Now()
	var cut atomic.Int64 // slow senders that were disconnected
	var slow sync.WaitGroup
	tokenHead := "POST /webhooks/w/" + w.UID + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.Secret +
		"\r\nContent-Length: 262144\r\n\r\n"
	githubHead := "POST /webhooks/w/" + github.UID + " HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256=" +
		strings.Repeat("0", 64) + "\r\nContent-Length: 262144\r\n\r\n"
	for i := range 400 {
		var start string
		switch i % 4 {
		case 0:
			start = tokenHead
		case 1, 3: // knows the URL alone
			start = githubHead + strings.Repeat(" ", 20_000)
		case 2: // does not even end its headers
			start = tokenHead[:len(tokenHead)-2] + "X-Slow: "
		}
		conn := dial(t, h)
		defer conn.Close()
		slow.Go(func() { drip(t, conn, start, begun, &cut) })
	}
	s := newSender(t)
	beside := map[int]int{} // bodies by size that were accepted while all slow senders were connected
	for i := 0; i < 2 || time.Since(begun) < 8*time.Second; i++ {
		early := cut.Load() == 0
		size := 2_000
		if i%2 == 1 {
			size = maxBody
		}
		body := text(size)
		if got := s.post(
			h.url(github), signed(body, "X-GitHub-Delivery", penstock.NewID()), body,
		); got.status != http.StatusAccepted {
			t.Errorf("got %d for a body of %d bytes after %s, want 202: %s", got.status, size, time.Since(begun), got.body)
		}
		if !early || cut.Load() == 0 {
			beside[size]++
		}
		<-time.After(200 * time.Millisecond)
	}
	if beside[2_000] == 0 || beside[maxBody] == 0 {
		t.Errorf("bodies by size that did not wait for the end of slow ones: %v", beside)
	}
	slow.Wait()
}

// drip sends start and then a byte a second, until the server disconnects it.
func drip(t *testing.T, conn net.Conn, start string, begun time.Time, cut *atomic.Int64) {
	if _, err := io.WriteString(conn, start); err != nil {
		t.Errorf("send: %v", err)
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		response, err := io.ReadAll(conn)
		cut.Add(1)
		if took := time.Since(begun); took < 9*time.Second || took > testkit.Patience*time.Minute { // the machine may be busy
			t.Errorf("cut off after %s, want 10 s: %s (%v)", took, response, err)
		}
		if strings.Contains(string(response), " 202 ") {
			t.Errorf("got %s for half a body", response)
		}
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			if _, err := conn.Write([]byte(" ")); err != nil && !errors.Is(err, net.ErrClosed) {
				<-ended
				return
			}
		}
	}
}
