package webhook_test

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/webhook"
)

// unknownSecrets are secrets of each form that never signed anything.
func unknownSecrets(t testing.TB) []string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		signature.NewSecret(), hex.EncodeToString(public), "whpk_" + base64.StdEncoding.EncodeToString(public),
		rand.Text(),
	}
}

// FuzzVerify sends arbitrary input: nothing may panic, and nothing unsigned may be valid.
func FuzzVerify(f *testing.F) {
	secrets := unknownSecrets(f)
	for _, v := range readVectors(f) {
		names := slices.Sorted(maps.Keys(v.Headers))
		var headers strings.Builder
		for _, name := range names {
			headers.WriteString(name + ": " + v.Headers[name] + "\n")
		}
		timestampHeader := ""
		if v.Signature != nil {
			timestampHeader = v.Signature.TimestampHeader
		}
		f.Add(v.Scheme, timestampHeader, headers.String(), []byte(v.Body), cmp.Or(v.URL, "https://p.example/x"), v.Now)
	}
	f.Fuzz(func(t *testing.T, scheme, timestampHeader, headers string, body []byte, url string, now int64) {
		var signature *penstock.Signature
		switch {
		case scheme == "custom_hmac":
			signature = &penstock.Signature{
				Header: "X-Sig", Hash: "sha256", Encoding: "hex", KeyForm: "text", Template: "{body}",
			}
		case timestampHeader != "":
			signature = &penstock.Signature{TimestampHeader: timestampHeader}
		}
		verifier, err := webhook.NewVerifier(penstock.SignatureScheme(scheme), signature)
		if err != nil {
			return
		}
		request := webhook.Request{
			Method: "POST", URL: url, Header: map[string][]string{}, Body: body, Now: time.Unix(now%1e12, 0),
		}
		for line := range strings.Lines(headers) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			request.Header.Add(name, value)
		}
		before := string(body)
		proof, failure := verifier.Verify(request, secrets)
		if failure == nil {
			t.Fatalf("a delivery is valid that nobody signed: %+v", proof)
		}
		if missing := verifier.Missing(request.Header); missing != nil && failure.Reason != webhook.MissingHeader {
			t.Fatalf("got %v, but from the headers alone %v", failure, missing)
		}
		if string(body) != before {
			t.Fatal("the body was changed")
		}
	})
}

// FuzzSignedBody signs arbitrary bodies: reading a genuine body must not panic, and an id must be
// usable.
func FuzzSignedBody(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add([]byte(v.Body))
	}
	f.Add([]byte(`{"type":"url_verification","challenge":"x"}`))
	f.Add([]byte(`{"verification_token":"x"}`))
	slack, err := webhook.NewVerifier(signature.Slack, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		header := map[string][]string{
			"X-Slack-Request-Timestamp": {"1700000000"},
			"X-Slack-Signature":         {"v0=" + hex.EncodeToString(mac("sha256", []byte("k"), "v0:1700000000:"+string(body)))},
		}
		proof, failure := slack.Verify(webhook.Request{Header: header, Body: body, Now: clock}, []string{"k"})
		if failure != nil {
			t.Fatalf("got %v for a signed body", failure)
		}
		if proof.ID != "" && !webhook.ValidID(proof.ID) {
			t.Fatalf("got the id %q", proof.ID)
		}
		if secret, ok := webhook.OfferedSecret(signature.Notion, body); ok && !webhook.ValidID(secret) {
			t.Fatalf("got the secret %q", secret)
		}
	})
}

// BenchmarkVerify verifies one delivery of 2 KB. make bench compares it with a bare server.
func BenchmarkVerify(b *testing.B) {
	body := []byte(`{"id":"evt_1","text":"` + strings.Repeat("x", 2000) + `"}`)
	github := "sha256=" + hex.EncodeToString(mac("sha256", []byte("k"), string(body)))
	key, _ := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	standard := "v1," + base64.StdEncoding.EncodeToString(mac("sha256", key, "msg_1.1700000000."+string(body)))
	stripe := "t=1700000000,v1=" + hex.EncodeToString(mac("sha256", []byte("k"), "1700000000."+string(body)))
	for _, test := range []struct {
		scheme  penstock.SignatureScheme
		header  map[string][]string
		secrets []string
	}{
		{"github", map[string][]string{"X-Hub-Signature-256": {github}, "X-Github-Delivery": {"1"}}, []string{"k"}},
		{
			"standard_webhooks",
			map[string][]string{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {"1700000000"}, "Webhook-Signature": {standard}},
			[]string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		},
		{"stripe", map[string][]string{"Stripe-Signature": {stripe}}, []string{"k"}},
	} {
		b.Run(string(test.scheme), func(b *testing.B) {
			verifier := newVerifier(b, test.scheme)
			request := webhook.Request{Method: "POST", URL: "https://p.example/x", Header: test.header, Body: body, Now: clock}
			b.ReportAllocs()
			for b.Loop() {
				if _, failure := verifier.Verify(request, test.secrets); failure != nil {
					b.Fatal(failure)
				}
			}
		})
	}
}
