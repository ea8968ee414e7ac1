package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
)

// For any spelling of a URL with a token, and any outcome of the request, the token is in no log
// line, span, metric or response, nor in the log of deliveries.
func TestNothingStoresTheTokenOfAURL(t *testing.T) {
	sites(t, func(s *site) {
		w, tok := s.hook(penstock.AuthURLToken, nil), s.hook(penstock.AuthToken, nil)
		var responses strings.Builder
		for _, p := range []string{
			path(w) + "/" + w.Secret, path(w) + "/" + w.Secret + "/", path(w) + "/" + w.Secret + "?token=" + w.Secret,
			path(w) + "//" + w.Secret, "/" + path(w) + "/" + w.Secret, "/x/.." + path(w) + "/" + w.Secret,
			strings.ToUpper("/webhooks/w/") + w.UID + "/" + w.Secret, "/webhooks%2Fw%2F" + w.UID + "%2F" + w.Secret,
			"/webhooks%252Fw%252F" + w.UID + "%252F" + w.Secret, "/webhooks/w/" + w.Secret,
			path(tok) + "/" + w.Secret, path(w) + "/x" + w.Secret, path(w) + "/%2E" + w.Secret,
			`/webhooks\w\` + w.UID + `\` + w.Secret, "/./webhooks/./w/" + w.UID + "/" + w.Secret,
			"/webhooks/w/" + w.UID + ";/" + w.Secret,
		} {
			for _, method := range []string{http.MethodPost, http.MethodGet} {
				got := s.raw(
					method + " " + p +
						" HTTP/1.1\r\nHost: x\r\nTraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nConnection: " +
						"close\r\nContent-Length: 2\r\n\r\n{}",
				)
				fmt.Fprintln(&responses, got.status, got.header, got.body)
			}
		}
		if !strings.Contains(responses.String(), "202") {
			t.Error("none was accepted")
		}
		metrics, err := s.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for sink, text := range map[string]string{
			"the log": s.log.String(), "the spans": fmt.Sprintf("%+v", s.spans.GetSpans()), "the metrics": fmt.Sprint(metrics),
			"the responses":         responses.String(),
			"the log of deliveries": fmt.Sprintf("%+v %+v", s.entries(w), s.entries(tok)),
		} {
			if at := strings.Index(strings.ToLower(text), strings.ToLower(w.Secret)); at >= 0 {
				t.Errorf("%s: …%s…", sink, text[max(0, at-200):min(len(text), at+60)])
			}
			if sink != "the responses" && len(text) < 100 {
				t.Errorf("%s holds only %q", sink, text)
			}
		}
		if !strings.Contains(s.log.String(), path(w)+"/{token}") {
			t.Error("the log does not say which webhook it was")
		}
	})
}
