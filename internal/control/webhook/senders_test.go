package webhook_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// TestSendersSDKsAgree signs with the senders' own SDKs, and compares their verifiers with ours for
// the request and for changes of it.
func TestSendersSDKsAgree(t *testing.T) {
	t.Parallel()
	sdks := testkit.NewSenders(t)
	bodies := map[string]string{
		"an object":        `{"id":"evt_1"}`,
		"spread out":       "{\n  \"id\": \"evt_1\",\r\n\t\"n\": 1.0\n}\n",
		"other scripts":    `{"id":"evt_1","text":"Grüße, 世界 🌊 \u2028"}`,
		"2 KB":             `{"id":"evt_1","text":"` + strings.Repeat("x", 2000) + `"}`,
		"256 KB":           `{"text":"` + strings.Repeat("y", 256<<10-11) + `"}`,
		"a lone value":     `1`,
		"signs of its own": `{"t":"1.2","v1,":"a=b;c"}`,
	}
	secrets := map[penstock.SignatureScheme]string{
		"standard_webhooks": signature.NewSecret(), "svix": signature.NewSecret(), "stripe": "whsec_Fh3+/=",
		"github": "It's a Secret to Everybody", "notion": "secret_abc", "discord": "",
	}
	now := time.Now().Truncate(time.Second)
	for scheme, secret := range secrets {
		for name, body := range bodies {
			t.Run(string(scheme)+", "+name, func(t *testing.T) {
				t.Parallel()
				request := testkit.SignRequest{Scheme: string(scheme), Secret: secret, Body: body, Now: now.Unix()}
				var headers map[string]string
				if scheme == signature.Discord {
					headers = signForDiscord(t, &request)
				} else {
					headers = sdks.Sign(request)
				}
				if ours := outcomeOf(verifySender(t, request, headers)); ours != "valid" {
					t.Fatalf("got %s of what the SDK signed, want valid", ours)
				}
				for what, other := range changed(request, headers) {
					ours := outcomeOf(verifySender(t, other.request, other.headers))
					theirs := sdks.Verify(other.request, other.headers)
					if (ours == "valid") != theirs && !moreThanTheirs(scheme, what) {
						t.Errorf("%s: got %s, the SDK says valid %t", what, ours, theirs)
					}
					if valid := what == "nothing"; valid != (ours == "valid") {
						t.Errorf("%s: got %s", what, ours)
					}
				}
			})
		}
	}
}

// moreThanTheirs are our checks that a sender's SDK does not have: Stripe's only limits the age,
// GitHub's and Notion's requests have no time, and Discord's SDK ignores it.
func moreThanTheirs(scheme penstock.SignatureScheme, what string) bool {
	switch scheme {
	case "stripe":
		return what == "301 s early"
	case signature.Discord:
		return strings.HasPrefix(what, "301 s")
	}
	return false
}

type sent struct {
	request testkit.SignRequest
	headers map[string]string
}

// changed is a signed request and the changes to it. Only "nothing" leaves it valid. A scheme
// without a time has none of the changes of the clock.
func changed(request testkit.SignRequest, headers map[string]string) map[string]sent {
	all := map[string]sent{"nothing": {request, headers}}
	change := func(what string, do func(*testkit.SignRequest, map[string]string)) {
		other := sent{request, maps.Clone(headers)}
		do(&other.request, other.headers)
		all[what] = other
	}
	change("a space behind the body", func(r *testkit.SignRequest, _ map[string]string) { r.Body += " " })
	change("another body", func(r *testkit.SignRequest, _ map[string]string) { r.Body = `{"id":"evt_2"}` })
	change("another secret", func(r *testkit.SignRequest, _ map[string]string) { r.Secret = otherSecretOf(r.Scheme) })
	if request.Scheme != "github" && request.Scheme != "notion" {
		change("301 s late", func(r *testkit.SignRequest, _ map[string]string) { r.Now += 301 })
		change("301 s early", func(r *testkit.SignRequest, _ map[string]string) { r.Now -= 301 })
	}
	for name := range headers {
		lower := strings.ToLower(name)
		switch {
		case strings.HasSuffix(lower, "-timestamp"):
			change(
				"another time",
				func(_ *testkit.SignRequest, h map[string]string) { h[name] = strconv.FormatInt(request.Now+1, 10) },
			)
			change("no time", func(_ *testkit.SignRequest, h map[string]string) { delete(h, name) })
		case strings.HasSuffix(lower, "-id"):
			change("another id", func(_ *testkit.SignRequest, h map[string]string) { h[name] += "x" })
		case strings.Contains(lower, "signature"):
			change("no signature", func(_ *testkit.SignRequest, h map[string]string) { delete(h, name) })
			change("a signature of another version", func(_ *testkit.SignRequest, h map[string]string) {
				h[name] = strings.NewReplacer("v1", "v7", "sha256", "sha1").Replace(h[name])
			})
			if request.Scheme == "discord" { // without a version
				delete(all, "a signature of another version")
			}
			change("another signature", func(_ *testkit.SignRequest, h map[string]string) {
				end := map[bool]string{true: "1111", false: "0000"}[strings.HasSuffix(h[name], "0000")]
				h[name] = h[name][:len(h[name])-4] + end
			})
		}
	}
	return all
}

func otherSecretOf(scheme string) string {
	if scheme == "discord" {
		return "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
	}
	return "whsec_YW5vdGhlcg=="
}

// signForDiscord signs like Discord, whose SDK only verifies. It puts the public key into the
// request.
func signForDiscord(t *testing.T, r *testkit.SignRequest) map[string]string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Secret = hex.EncodeToString(public)
	signature := ed25519.Sign(private, fmt.Appendf(nil, "%d%s", r.Now, r.Body))
	return map[string]string{
		"X-Signature-Timestamp": strconv.FormatInt(r.Now, 10), "X-Signature-Ed25519": hex.EncodeToString(signature),
	}
}

func verifySender(t *testing.T, r testkit.SignRequest, headers map[string]string) *webhook.Failure {
	t.Helper()
	header := http.Header{}
	for name, value := range headers {
		header.Set(name, value)
	}
	_, failure := newVerifier(t, penstock.SignatureScheme(r.Scheme)).Verify(webhook.Request{
		Method: http.MethodPost, Header: header, Body: []byte(r.Body), Now: time.Unix(r.Now, 0),
	}, []string{r.Secret})
	return failure
}
