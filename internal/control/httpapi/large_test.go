package httpapi_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Most clients send a whole body before they read the response. They get a 413 instead of a reset
// connection.
func TestBodyThatIsMuchTooLarge(t *testing.T) {
	t.Parallel()
	w := start(t)
	body := `{"name": "` + strings.Repeat("x", 16<<20) + `"}`
	for name, framed := range map[string]string{
		"of known length": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
		"in chunks":       fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		head := fmt.Sprintf(
			"POST /api/v1/agent/environments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: "+
				"application/json\r\n",
			w.admin,
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
}
