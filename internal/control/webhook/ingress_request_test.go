package webhook_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestOnlyTheExactPathIsAWebhook(t *testing.T) {
	sites(t, func(s *site) {
		w, u := s.hook(penstock.AuthToken, nil), s.hook(penstock.AuthURLToken, nil)
		signed := s.signed(signature.StandardWebhooks, "", nil)
		disabled := s.hook(penstock.AuthToken, func(r *factory.WebhookRequest) { r.Enabled = new(false) })
		pending := s.signed("stripe", "", nil)
		deleted := s.hook(penstock.AuthToken, nil)
		if err := s.Resources.DeleteWebhook(t.Context(), s.admin, s.factory, deleted.UID); err != nil {
			t.Fatal(err)
		}
		other := "a" + w.UID[1:]
		if w.UID[0] == 'a' {
			other = "b" + w.UID[1:]
		}
		auth := "Authorization: Bearer " + w.Secret + "\r\n"
		var first response
		for _, p := range []string{
			webhook.Prefix + other, path(disabled), path(pending), path(deleted), path(w) + "/" + u.Secret,
			path(signed) + "/" + u.Secret,
			path(w) + "/", path(w) + "//", path(w) + "/.", path(w) + "/..", path(w) + "/../" + w.UID, "/" + path(w),
			"//" + path(w)[1:], "/webhooks//w/" + w.UID, "/webhooks/w//" + w.UID,
			"/webhooks/w/" + swapCase(w.UID), "/WEBHOOKS/w/" + w.UID, "/Webhooks/W/" + w.UID, "/webhooks%2Fw/" + w.UID,
			"/webhooks/w%2F" + w.UID, "/webhooks/%77/" + w.UID,
			"/%77ebhooks/w/" + w.UID, "/webhooks/w/%" + fmt.Sprintf("%02x", w.UID[0]) + w.UID[1:], "/x/../webhooks/w/" + w.UID,
			"/./webhooks/w/" + w.UID, path(w) + "%00", path(w) + ";x", path(w) + "%20",
			"/webhooks/w", "/webhooks/w/", path(u) + "/", path(u) + "/" + u.Secret + "/", path(u) + "/" + u.Secret + "/x",
			path(u) + "/%41" + u.Secret[1:], path(u) + "//" + u.Secret,
			path(u) + "%2F" + u.Secret, "/webhooks/w/" + u.UID + "\\" + u.Secret, "/api/v1/../../webhooks/w/" + w.UID,
			"/webhooks/w/" + strings.Repeat("x", 4000), "http://evil.example.net//webhooks/w/" + w.UID,
		} {
			got := s.raw(request(p, auth))
			got.want(t, p, http.StatusNotFound)
			if got.header.Get("Location") != "" {
				t.Errorf("%s: redirected to %s", p, got.header.Get("Location"))
			}
			got.header.Del("Date")
			if first.body == "" {
				first = got
			}
			if got.body != first.body || fmt.Sprint(got.header) != fmt.Sprint(first.header) {
				t.Errorf(
					"%s: got %s %v, want the same as for every other: %s %v", p, got.body, got.header, first.body, first.header,
				)
			}
		}
		for _, p := range []string{path(w), "http://evil.example.net" + path(w), path(w) + "?x=1"} {
			s.raw(request(p, auth)).want(t, p, http.StatusAccepted)
		}
		s.raw(request(path(u)+"/"+u.Secret, "")).want(t, "url_token", http.StatusAccepted)
		for _, p := range []string{
			path(u), path(u) + "/" + swapCase(u.Secret), path(u) + "/x", path(u) + "/" + u.Secret + "x",
		} {
			got := s.raw(request(p, auth))
			got.want(t, p, http.StatusUnauthorized)
			if strings.Contains(got.body, u.UID) || strings.Contains(got.body, "instance") {
				t.Errorf("%s: the response reveals something: %s", p, got.body)
			}
		}
	})
}

func swapCase(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' {
			return c - 32
		}
		if c >= 'A' && c <= 'Z' {
			return c + 32
		}
		return c
	}, s)
}

func TestOtherMethodsAreRefusedBeforeEverything(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthURLToken, nil)
		for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FROB"} {
			for _, p := range []string{path(w) + "/" + w.Secret, webhook.Prefix + "nobody", "//webhooks/w/x"} {
				got := s.send(method, p, nil, strings.NewReader("{}"))
				got.want(t, method+" "+p, http.StatusMethodNotAllowed)
				if got.header.Get("Allow") != "POST" {
					t.Errorf("%s: Allow %q", method, got.header.Get("Allow"))
				}
			}
		}
	})
}

// Each status and each label of the contract, in each mode.
func TestEveryStatusAndLabel(t *testing.T) {
	sites(t, func(s *site) {
		tok, url := s.hook(penstock.AuthToken, nil), s.hook(penstock.AuthURLToken, nil)
		git := s.signed("github", "s3cret-of-sixteen", nil)
		auth := func(token string) map[string]string { return map[string]string{"Authorization": "Bearer " + token} }
		with := func(h map[string]string, name, value string) map[string]string { h[name] = value; return h }
		body := []byte(`{"a": 1}`)
		const limit = 262144
		sized := func(n int) []byte { return []byte(`"` + strings.Repeat("x", n-2) + `"`) }
		for _, test := range []struct {
			name    string
			w       penstock.Webhook
			path    string
			header  map[string]string
			body    []byte
			status  int
			outcome penstock.Outcome
			reason  string
		}{
			{"token", tok, "", bearer(tok), body, 202, penstock.OutcomeAccepted, ""},
			{"the same again", tok, "", bearer(tok), body, 202, penstock.OutcomeDuplicate, ""},
			{"no token", tok, "", nil, body, 401, penstock.OutcomeRejectedAuth, "missing_header"},
			{
				"another scheme", tok, "",
				map[string]string{"Authorization": "Basic " + tok.Secret},
				body, 401,
				penstock.OutcomeRejectedAuth, "bad_format",
			},
			{
				"no value", tok, "",
				map[string]string{"Authorization": "Bearer "},
				body, 401, penstock.OutcomeRejectedAuth,
				"bad_format",
			},
			{"a wrong token", tok, "", auth(tok.Secret + "x"), body, 401, penstock.OutcomeRejectedAuth, "mismatch"},
			{"the other case", tok, "", auth(swapCase(tok.Secret)), body, 401, penstock.OutcomeRejectedAuth, "mismatch"},
			{"the token of another", tok, "", auth(url.Secret), body, 401, penstock.OutcomeRejectedAuth, "mismatch"},
			{"url token", url, "/" + url.Secret, nil, body, 202, penstock.OutcomeAccepted, ""},
			{"no url token", url, "", auth(url.Secret), body, 401, penstock.OutcomeRejectedAuth, "missing_header"},
			{"a wrong url token", url, "/wrong", nil, body, 401, penstock.OutcomeRejectedAuth, "mismatch"},
			{"signed", git, "", github("s3cret-of-sixteen", body), body, 202, penstock.OutcomeAccepted, ""},
			{"unsigned", git, "", auth("s3cret-of-sixteen"), body, 401, penstock.OutcomeRejectedAuth, "missing_header"},
			{"signed by another", git, "", github("other", body), body, 401, penstock.OutcomeRejectedAuth, "mismatch"},
			{
				"another body", git, "", github("s3cret-of-sixteen", body), []byte("{}"), 401, penstock.OutcomeRejectedAuth,
				"mismatch",
			},
			{"largest", tok, "", bearer(tok), sized(limit), 202, penstock.OutcomeAccepted, ""},
			{"too large", tok, "", bearer(tok), sized(limit + 1), 413, penstock.OutcomeRejectedSize, ""},
			{
				"largest, signed", git, "", github("s3cret-of-sixteen", sized(limit)), sized(limit), 202, penstock.OutcomeAccepted,
				"",
			},
			{
				"too large, signed", git, "", github("s3cret-of-sixteen", sized(limit+1)), sized(limit + 1), 413,
				penstock.OutcomeRejectedSize, "",
			},
			{"empty", tok, "", bearer(tok), nil, 400, penstock.OutcomeRejectedJSON, "invalid_json"},
			{"two values", tok, "", bearer(tok), []byte("1 2"), 400, penstock.OutcomeRejectedJSON, "invalid_json"},
			{"cut off", tok, "", bearer(tok), []byte(`{"a":`), 400, penstock.OutcomeRejectedJSON, "invalid_json"},
			{
				"byte order marks", tok, "", bearer(tok), []byte("\xef\xbb\xbf\xef\xbb\xbf{}"), 400,
				penstock.OutcomeRejectedJSON, "invalid_json",
			},
			{"not UTF-8", tok, "", bearer(tok), []byte("\"\xff\""), 400, penstock.OutcomeRejectedJSON, "invalid_json"},
			{"UTF-16", tok, "", bearer(tok), []byte("\xff\xfe{\x00}\x00"), 400, penstock.OutcomeRejectedJSON, "invalid_json"},
			{"half a surrogate pair", tok, "", bearer(tok), []byte(`"\ud800"`), 202, penstock.OutcomeAccepted, ""},
			{"a form", tok, "", bearer(tok), []byte("a=1&b=2"), 400, penstock.OutcomeRejectedJSON, "invalid_json"},
			{
				"gzip", tok, "", with(bearer(tok), "Content-Encoding", "gzip"), []byte("\x1f\x8b\x08\x00{}"), 400,
				penstock.OutcomeRejectedJSON, "content_encoding",
			},
			{
				"gzip that is JSON", tok, "", with(bearer(tok), "Content-Encoding", "gzip"), body, 400,
				penstock.OutcomeRejectedJSON, "content_encoding",
			},
			{
				"identity", tok, "", with(bearer(tok), "Content-Encoding", "identity"), []byte("11"), 202, penstock.OutcomeAccepted,
				"",
			},
			{"deep", tok, "", bearer(tok), nested(10_000), 202, penstock.OutcomeAccepted, ""},
			{"too deep", tok, "", bearer(tok), nested(10_001), 400, penstock.OutcomeRejectedJSON, "invalid_json"},
			{"duplicate keys", tok, "", bearer(tok), []byte(`{"a":1,"a":2}`), 202, penstock.OutcomeAccepted, ""},
			{
				"a scalar, of another type", tok, "", with(bearer(tok), "Content-Type", "text/html"), []byte(" null\n"), 202,
				penstock.OutcomeAccepted, "",
			},
		} {
			before := len(s.entries(test.w))
			got := s.post(path(test.w)+test.path, test.header, test.body)
			got.want(t, test.name, test.status)
			entries := s.entries(test.w)
			if len(entries) != before+1 {
				t.Errorf("%s: %d entries in the log, want %d", test.name, len(entries), before+1)
				continue
			}
			d := entries[before]
			if d.Outcome != test.outcome || d.Reason != test.reason || d.HTTPStatus != test.status ||
				d.Size != int64(len(test.body)) && test.status != 401 {
				t.Errorf(
					"%s: logged %s %q %d with %d bytes, want %s %q %d with %d", test.name, d.Outcome, d.Reason, d.HTTPStatus, d.Size,
					test.outcome, test.reason, test.status, len(test.body),
				)
			}
			if accepted := test.status == 202; accepted != (got.id() == d.ID) {
				t.Errorf("%s: responded %s, logged %s", test.name, got.body, d.ID)
			}
			if want := map[bool]string{
				true: "application/json", false: "application/problem+json",
			}[test.status == 202]; got.header.Get("Content-Type") != want {
				t.Errorf("%s: Content-Type %s", test.name, got.header.Get("Content-Type"))
			}
		}
	}, func(o *webhook.IngressOptions) { o.Limits.DeliveriesPerMinute = 0 })
}

// nested is an array with the given number of levels.
func nested(levels int) []byte {
	return []byte(strings.Repeat("[", levels) + strings.Repeat("]", levels))
}

func TestChunkedBodiesAndExpect(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		head := "POST " + path(w) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.Secret + "\r\n"
		chunked := func(parts ...string) string {
			var b strings.Builder
			for _, p := range parts {
				b.WriteString(strconv.FormatInt(int64(len(p)), 16) + "\r\n" + p + "\r\n")
			}
			return head + "Transfer-Encoding: chunked\r\n\r\n" + b.String() + "0\r\n\r\n"
		}
		s.raw(chunked(`{"a":`, `1}`)).want(t, "two chunks", http.StatusAccepted)
		big := `"` + strings.Repeat("y", 262142) + `"`
		s.raw(chunked(big[:20_000], big[20_000:])).want(t, "the largest, in chunks", http.StatusAccepted)
		s.raw(chunked(big, "x")).want(t, "too large, in chunks", http.StatusRequestEntityTooLarge)
		s.raw(chunked()).want(t, "nothing, in chunks", http.StatusBadRequest)
		s.raw(
			head+"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		).want(t, "both lengths", http.StatusBadRequest)

		conn := s.dial()
		defer conn.Close()
		if _, err := io.WriteString(conn, head+"Expect: 100-continue\r\nContent-Length: 4\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		interim := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
		if _, err := io.ReadFull(conn, interim); err != nil || !strings.HasPrefix(string(interim), "HTTP/1.1 100") {
			t.Fatalf("got %q, %v, want to be told to go on", interim, err)
		}
		if _, err := io.WriteString(conn, "true"); err != nil {
			t.Fatal(err)
		}
		s.read(conn).want(t, "after 100", http.StatusAccepted)
		// The server never asks for the body of a sender without a token.
		s.raw(
			"POST "+path(w)+" HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
		).want(t, "unread", http.StatusUnauthorized)
	})
}

func TestASlowSenderIsCutOffAndHarmsNobody(t *testing.T) {
	sites(t, func(s *site) {
		w, git := s.hook(penstock.AuthToken, nil), s.signed("github", "s3cret-of-sixteen", nil)
		start := time.Now()
		for _, head := range []string{
			"POST " + path(w) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.Secret + "\r\nContent-Length: 100\r\n\r\n",
			"POST " + path(git) + " HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256=00\r\nContent-Length: 200000\r\n\r\n",
			"POST " + path(w) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.Secret +
				"\r\nTransfer-Encoding: chunked\r\n\r\n40000\r\n",
		} {
			conn := s.dial()
			defer conn.Close()
			if _, err := io.WriteString(conn, head+"1"); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() { // a byte every now and then
				defer close(done)
				for {
					if _, err := io.WriteString(conn, "1"); err != nil {
						return
					}
					select {
					case <-time.After(20 * time.Millisecond):
					case <-t.Context().Done():
						return
					}
				}
			}()
			s.post(
				path(w), bearer(w), []byte(fmt.Sprint(time.Now().UnixNano())),
			).want(t, "another sender meanwhile", http.StatusAccepted)
			s.read(conn).want(t, "the slow one", http.StatusRequestTimeout)
			_ = conn.Close()
			<-done
		}
		if took := time.Since(start); took < 900*time.Millisecond {
			t.Errorf("they were cut off after %s together, want 300 ms each", took)
		}
		if n := len(s.entries(git)); n != 0 {
			t.Errorf("%d entries, want none", n)
		}
	}, func(o *webhook.IngressOptions) { o.BodyTime = 300 * time.Millisecond })
}

func TestASenderThatDisconnectsLeavesNothing(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		for range 5 {
			conn := s.dial()
			if _, err := io.WriteString(
				conn, "POST "+path(w)+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+w.Secret+"\r\nContent-Length: 10\r\n\r\n{}",
			); err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
		}
		s.post(path(w), bearer(w), []byte(`1`)).want(t, "another", http.StatusAccepted)
		if got := s.entries(w); len(got) != 1 {
			t.Errorf("%d entries, want 1", len(got))
		}
	})
}

// holdRoom occupies all the room for large bodies, with two partial ones.
func (s *site) holdRoom(w penstock.Webhook) (slow []net.Conn) {
	s.t.Helper()
	for range 2 {
		conn := s.dial()
		s.t.Cleanup(func() { _ = conn.Close() })
		head := "POST " + path(w) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.Secret +
			"\r\nContent-Length: 262144\r\n\r\n"
		if _, err := io.WriteString(conn, head+strings.Repeat(" ", 100_000)); err != nil {
			s.t.Fatal(err)
		}
		slow = append(slow, conn)
	}
	return slow
}

var largeBody = []byte(`"` + strings.Repeat("z", 262142) + `"`)

func TestBodiesWaitForRoom(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		var got response
		// A large body may arrive before or after the slow ones have the room.
		testkit.Eventually(t, time.Minute, func() error {
			s.holdRoom(w)
			if got = s.post(path(w), bearer(w), []byte(`{"small": true}`)); got.status != http.StatusAccepted {
				return fmt.Errorf("a small one got %d %s", got.status, got.body)
			}
			if got = s.post(path(w), bearer(w), largeBody); got.status != http.StatusServiceUnavailable {
				return fmt.Errorf("a large one got %d %s", got.status, got.body)
			}
			return nil
		})
		if got.header.Get("Retry-After") != "5" {
			t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
		}
		testkit.Eventually(t, time.Minute, func() error { // the slow ones are cut off
			if got := s.post(path(w), bearer(w), largeBody); got.status != http.StatusAccepted {
				return fmt.Errorf("got %d %s", got.status, got.body)
			}
			return nil
		})
	}, func(o *webhook.IngressOptions) { o.HeldBytes, o.BodyTime = 1, time.Second })
}

// A sender whose time passed while it waited for room is not told that it was slow.
func TestTheWaitForRoomIsNotTheSendersFault(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		testkit.Eventually(t, time.Minute, func() error {
			slow := s.holdRoom(w)
			arrived := func() { // likely, not certainly: what was sent before this is read by then
				s.post(path(w), bearer(w), []byte(`{"small": true}`))
			}
			arrived()
			waits := s.dial()
			defer func() { _ = waits.Close() }()
			head := "POST " + path(w) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.Secret +
				"\r\nContent-Length: 262144\r\n\r\n"
			if _, err := io.WriteString(waits, head+strings.Repeat(" ", 100_000)); err != nil {
				return err
			}
			arrived()
			for _, conn := range slow {
				_ = conn.Close()
			}
			if got := s.read(waits); got.status != http.StatusServiceUnavailable {
				return fmt.Errorf("got %d %s", got.status, got.body) // it did not wait
			}
			return nil
		})
	}, func(o *webhook.IngressOptions) { o.HeldBytes, o.BodyTime = 1, 2*time.Second })
}

// A slow sender loses its room when others wait for it: first the one that has held it longest,
// then others whose time is over.
func TestSlowBodiesAreDroppedFirst(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		slow := s.holdRoom(w)
		var reader *bufio.Reader
		testkit.Eventually(t, time.Minute, func() error {
			// The first bodies of other senders may arrive before the slow ones have the room.
			s.post(path(w), bearer(w), largeBody).want(t, "a large one", http.StatusAccepted)
			for _, conn := range slow {
				reader = bufio.NewReader(conn)
				_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
				if _, err := reader.Peek(1); err == nil {
					_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
					return nil
				}
			}
			return errors.New("no slow one got a response")
		})
		s.read(reader).want(t, "a slow one", http.StatusServiceUnavailable)
	}, func(o *webhook.IngressOptions) { o.HeldBytes = 1 })
}
