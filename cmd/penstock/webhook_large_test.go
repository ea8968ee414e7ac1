package main_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// Many clients send a whole body before they read the response. They get a 413 instead of a reset
// connection.
func TestSenderOfATooLargeBodyGetsTheResponse(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	w := h.tokenHook("bodies")
	body := text(5 << 20)
	for name, framed := range map[string]string{
		"of known length": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
		"in chunks":       fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		head := fmt.Sprintf(
			"POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n", strings.TrimPrefix(h.url(w), h.URL), w.Secret,
		)
		if _, err := conn.Write([]byte(head + framed)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: got %v, %v, want 413", name, response, err)
			continue
		}
		_ = response.Body.Close()
	}
	if log := h.log(w, ""); len(log) != 2 || log[0].Outcome != penstock.OutcomeRejectedSize ||
		log[1].Outcome != penstock.OutcomeRejectedSize {
		t.Errorf("got the log %+v, want two that were too large", log)
	}
}
