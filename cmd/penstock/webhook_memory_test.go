package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// worst returns the maximum-size bodies that are most expensive to hold, read and filter.
func worst() map[string]string {
	fill := func(open, each, end string) string {
		n := (maxBody - len(open) - len(end)) / len(each)
		body := open + strings.Repeat(each, n)
		return body + strings.Repeat(" ", maxBody-len(body)-len(end)) + end
	}
	var keys strings.Builder
	for i := 0; keys.Len() < maxBody-20; i++ {
		fmt.Fprintf(&keys, `"%x":0,`, i)
	}
	return map[string]string{
		"as many nodes as are evaluated": `{"a":[` + strings.Repeat("0,", 49_900) + `0], "pad": "` +
			strings.Repeat("x", maxBody-99_825) + `"}`,
		"more nodes than are evaluated": fill("[0", ",0", "]"),
		"objects":                       fill(`{"a":[{}`, ",{}", "]}"),
		"many keys":                     "{" + keys.String() + `"a":1}`,
		"escapes":                       fill(`{"a":"`, `\u00fc`, `"}`),
		"levels":                        fill(`{"a":[1`, ","+strings.Repeat(`{"a":`, 200)+"1"+strings.Repeat("}", 200), "]}"),
		"one long string":               text(maxBody),
	}
}

// With a thousand of the largest bodies at once, each sender gets a definite response, and the
// server's memory stays small.
func TestMemoryUnderLargeBodies(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	const atOnce, most = 1000, 512 << 20 // the bodies have 250 MB
	testkit.Engines(t, func(t *testing.T, database string) {
		h := serveHooks(t, testkit.ServeOptions{Database: database, Args: noWorker})
		token, github := h.tokenHook("token"), h.githubHook("github")
		leaves := map[string]any{}
		for i := range 60 {
			leaves[fmt.Sprintf("key-%d", i)] = map[string]any{"not_in": []string{"x"}}
		}
		leaves["a"] = map[string]any{"not_in": []string{"y"}}
		for i := range 5 {
			leaves["never"] = map[string]any{"in": []int{i}}
			h.automation(token, fmt.Sprintf("token-%d", i), "look", leaves)
			h.automation(github, fmt.Sprintf("github-%d", i), "look", leaves)
		}
		bodies := make([]string, 0, 8)
		signatures := make([]map[string]string, 0, 8)
		for name, body := range worst() {
			if len(body) > maxBody || len(body) < maxBody-64 {
				t.Errorf("%s has %d bytes", name, len(body))
			}
			bodies, signatures = append(bodies, body), append(signatures, signed(body))
		}
		responses := make(chan reply, atOnce)
		begin := make(chan struct{})
		s := newSender(t)
		var senders sync.WaitGroup
		for i := range atOnce {
			senders.Go(func() {
				<-begin
				n := i % len(bodies)
				to, header := h.url(token), bearer(token, "X-Penstock-Delivery-Id", fmt.Sprint(i))
				if i%2 == 1 {
					to, header = h.url(github), maps.Clone(signatures[n])
					header["X-GitHub-Delivery"] = fmt.Sprint(i)
				}
				got, err := s.try(t.Context(), http.MethodPost, to, header, strings.NewReader(bodies[n]))
				if err != nil {
					t.Logf("no response: %v", err)
				}
				responses <- got
			})
		}
		close(begin)
		senders.Wait()
		close(responses)
		status := map[int]int{}
		for got := range responses {
			status[got.status]++
			switch got.status {
			case http.StatusAccepted:
			case 0: // where this process is not even given the time to send the header
				if status[0] > atOnce/50 {
					t.Errorf("%d senders got no response", status[0])
				}
			case http.StatusRequestTimeout: // where this process is not given the time to send
				if !strings.Contains(string(got.body), `"retryable":true`) {
					t.Errorf("got a response that does not invite to try again: %s", got.body)
				}
			case http.StatusServiceUnavailable, http.StatusTooManyRequests:
				if _, err := got.retryAfter(); err != nil || !strings.Contains(string(got.body), "detail") {
					t.Errorf("got %d without a reason: %v %s", got.status, got.header, got.body)
				}
			default:
				t.Errorf("got %d: %s", got.status, got.body)
			}
		}
		stored := h.outcomes(token)[penstock.OutcomeAccepted] + h.outcomes(github)[penstock.OutcomeAccepted]
		if status[http.StatusAccepted] == 0 || stored != status[http.StatusAccepted] {
			t.Errorf("got %v, %d are in the log", status, stored)
		}
		peak := h.PeakMemory()
		t.Logf("responses %v, at most %d MB", status, peak>>20)
		if peak >= most {
			t.Errorf("the server took %d MB, want less than %d", peak>>20, most>>20)
		}
	})
}
