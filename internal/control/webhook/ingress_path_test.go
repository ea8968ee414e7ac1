package webhook_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/webhook"
)

// The ingress handles every spelling of a path that leads to webhooks. The API's own routes below a
// factory, in their normal spelling, are not among them.
func TestPathsOfTheIngress(t *testing.T) {
	t.Parallel()
	const uid = "0123456789abcdefghijkl"
	tests := map[string]bool{
		// Senders' paths, and paths that resemble them.
		"/webhooks/w/" + uid:                   true,
		"/webhooks/w/" + uid + "/token":        true,
		"/webhooks/w/":                         true,
		"/webhooks/w":                          true,
		"//webhooks/w/" + uid + "/token":       true,
		"/webhooks//w/" + uid + "/token":       true,
		"/WEBHOOKS/W/" + uid + "/token":        true,
		"/x/../webhooks/w/" + uid:              true,
		"/webhooks%2Fw%2F" + uid + "%2Ftoken":  true,
		"/webhooks%2fw%2f" + uid:               true,
		"/webhooks%252Fw%252F" + uid:           true,
		"/webhooks%5Cw%5C" + uid:               true,
		"/webhooks/%2e/w/" + uid:               true,
		"/webhooks/x/%2e%2e/w/" + uid:          true,
		"/proxy/webhooks/w/" + uid + "/token":  true,
		"/api/v1/webhooks/w/" + uid + "/token": true,
		"/api/v1/factory/webhooks/w/" + uid:    true,
		"/api/v1/factory//webhooks/w/" + uid:   true,
		"/factory/f/webhooks/w":                true,
		"/api/v2/factory/f/webhooks/w":         true,
		// Paths of the API, in exactly this spelling.
		"/api/v1/factory/f/webhooks/w":               false,
		"/api/v1/factory/f/webhooks/W":               false,
		"/api/v1/factory/f/webhooks/w/deliveries":    false,
		"/api/v1/factory/f/webhooks/w/deliveries/d":  false,
		"/api/v1/factory/f/webhooks/w/rotate-secret": false,
		"/api/v1/factory/webhooks/webhooks/w":        false,
		"/api/v1/factory/caf%C3%A9/webhooks/w":       false,
		"/api/v1/factory/f/webhooks/w/" + uid + "/x": false,
		"/API/v1/factory/f/webhooks/w":               true,
		"/api/v1/Factory/f/webhooks/w":               true,
		"/api/v1/factory/f/Webhooks/w":               true,
		"//api/v1/factory/f/webhooks/w":              true,
		"/api//v1/factory/f/webhooks/w":              true,
		"/api/v1/factory/f/webhooks//w":              true,
		"/api/v1/factory/f/webhooks/w/":              true,
		"/api/v1/factory/f/webhooks/w//x":            true,
		"/api/v1/factory/./webhooks/w":               true,
		"/api/v1/factory/../webhooks/w/" + uid:       true,
		"/api/v1/factory/%2e%2e/webhooks/w/" + uid:   true,
		// it leads elsewhere: the API has nothing there either
		"/api/v1/factory/f/webhooks/w/../../../x":         false,
		"/api/v1/factory/f%2Fwebhooks/w/" + uid:           true,
		"/api/v1/factory/f/webhooks%2Fw/" + uid:           true,
		"/api/v1/factory/f/webhooks/w%2F" + uid:           true,
		"/api/v1/factory/f/webhooks/w%252F" + uid:         true,
		"/api/v1/factory/f/webhooks/w%5C" + uid:           true,
		"/api/v1/factory/f/../../../../webhooks/w/" + uid: true,
		"/api/v1/factory/..%2f..%2f..%2f/webhooks/w/x":    true,
		// Unrelated paths.
		"/api/v1/factory/f/webhooks":        false,
		"/api/v1/factory/f/webhooks/" + uid: false,
		"/webhooks":                         false,
		"/webhooks/other":                   false,
		"/api/v1/agent/runs":                false,
	}
	for path, want := range tests {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if got := webhook.IsWebhookPath(&http.Request{Method: http.MethodPost, URL: u}); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}
