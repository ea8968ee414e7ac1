package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/webhook"
)

// Sign verifies what it has signed, so each scheme must succeed, unless its key is a public one.
func TestARequestIsSignedAsByTheSenderOfEachScheme(t *testing.T) {
	t.Parallel()
	for _, preset := range signature.Presets() {
		var own *penstock.Signature
		if preset.Scheme == signature.CustomHMAC {
			own = &penstock.Signature{
				Header: "X-Own", Prefix: "v1=", Hash: "sha512", Encoding: "base64", KeyForm: "text",
				Template: "{method}:{timestamp}:{body}", TimestampHeader: "X-Own-Time",
			}
		}
		verifier, err := webhook.NewVerifier(preset.Scheme, own)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		body := fmt.Sprintf(`{"type": "test", "webhookTimestamp": %d}`, now.UnixMilli())
		request := webhook.Request{
			Method: http.MethodPost, URL: "https://penstock.example/webhooks/w/x", Header: http.Header{}, Body: []byte(body),
			Now: now,
		}
		err = verifier.Sign(&request, secretFor(preset), "test-1")
		private := len(preset.Forms) > 0 && preset.Forms[0].Algorithm == signature.AlgorithmEd25519
		if private != (err != nil) {
			t.Errorf("%s: %v", preset.Scheme, err)
			continue
		}
		if private {
			continue
		}
		if _, failure := verifier.Verify(request, []string{secretFor(preset)}); failure != nil {
			t.Errorf("%s: %s", preset.Scheme, failure)
		}
		if _, failure := verifier.Verify(request, []string{signature.NewSecret()}); failure == nil {
			t.Errorf("%s: another secret fits", preset.Scheme)
		}
	}
}

// secretFor is a valid secret of a scheme.
func secretFor(preset signature.Preset) string {
	for _, form := range preset.Forms {
		switch form.KeyForm {
		case signature.KeyHex, signature.KeyEd25519:
			return strings.Repeat("0f", 32)
		}
	}
	return signatureSecret
}

var signatureSecret = signature.NewSecret()
