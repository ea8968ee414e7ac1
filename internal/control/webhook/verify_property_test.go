package webhook_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/webhook"
)

var hashes = map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

func mac(hash string, key []byte, text string) []byte {
	m := hmac.New(hashes[hash], key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// custom is a custom_hmac scheme with a request that it signed.
type custom struct {
	signature penstock.Signature
	secret    string
	request   webhook.Request
}

func drawCustom(t *rapid.T) custom {
	c := custom{signature: penstock.Signature{
		Header:   "X-Signature",
		Prefix:   rapid.StringMatching(`([a-z]{1,5}[0-9]?[=,])?`).Draw(t, "prefix"),
		Hash:     rapid.SampledFrom([]string{"sha1", "sha256", "sha512"}).Draw(t, "hash"),
		Encoding: rapid.SampledFrom([]string{"hex", "base64"}).Draw(t, "encoding"),
		KeyForm:  rapid.SampledFrom([]string{"text", "base64", "hex", "whsec"}).Draw(t, "key form"),
	}}
	key := rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "key")
	c.secret = map[string]string{
		"text": string(key), "hex": hex.EncodeToString(key),
		"base64": base64.StdEncoding.EncodeToString(key), "whsec": "whsec_" + base64.StdEncoding.EncodeToString(key),
	}[c.signature.KeyForm]
	now := time.Unix(rapid.Int64Range(1_000_000_000, 4_000_000_000).Draw(t, "now"), 0)
	c.request = webhook.Request{
		Method: "POST", URL: "https://p.example/webhooks/w/x?y=z", Header: http.Header{"X-Id": {"id 1"}}, Now: now,
		Body: rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
	}
	values := map[string]string{
		"{body}": string(c.request.Body), "{method}": "POST", "{url}": c.request.URL, "{path}": "/webhooks/w/x?y=z",
		"{header:X-Id}": "id 1",
	}
	others := rapid.SliceOf(
		rapid.SampledFrom([]string{"{method}", "{url}", "{path}", "{header:X-Id}", ".", ":", "\n"}),
	).Draw(t, "template")
	if rapid.Bool().Draw(t, "timed") {
		c.signature.TimestampHeader = "X-Time"
		text := strconv.FormatInt(now.Unix()+rapid.Int64Range(-300, 300).Draw(t, "age"), 10)
		c.request.Header.Set("X-Time", text)
		values["{timestamp}"] = text
		others = append(others, "{timestamp}")
	}
	at := rapid.IntRange(0, len(others)).Draw(t, "place of the body")
	template := slices.Insert(slices.Clone(others), at, "{body}")
	var text strings.Builder
	for _, part := range template {
		if value, found := values[part]; found {
			part = value
		}
		text.WriteString(part)
	}
	c.signature.Template = strings.Join(template, "")
	sum := mac(c.signature.Hash, key, text.String())
	encoded := hex.EncodeToString(sum)
	if c.signature.Encoding == "base64" {
		encoded = base64.StdEncoding.EncodeToString(sum)
	}
	c.request.Header.Set("X-Signature", c.signature.Prefix+encoded)
	return c
}

func TestCustomSignaturesAreVerifiedAsDescribed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCustom(t)
		verifier, err := webhook.NewVerifier(signature.CustomHMAC, &c.signature)
		if err != nil {
			t.Fatal(err)
		}
		secrets := rapid.SliceOfDistinct(rapid.StringMatching(`[0-9a-f]{8}`), rapid.ID).Draw(t, "other secrets")
		at := rapid.IntRange(0, len(secrets)).Draw(t, "place of the secret")
		secrets = slices.Insert(secrets, at, c.secret)
		if rapid.Bool().Draw(t, "twice") {
			secrets = append(secrets, c.secret)
		}
		proof, failure := verifier.Verify(c.request, secrets)
		if failure != nil {
			t.Fatalf("got %v, want valid", failure)
		}
		if got, want := proof.Secret, slices.Index(secrets, c.secret); got != want {
			t.Fatalf("got secret %d, want %d", got, want)
		}
		flipped := c.request
		flipped.Body = append(slices.Clone(c.request.Body), '\n')
		if len(c.request.Body) > 0 && rapid.Bool().Draw(t, "flip") {
			flipped.Body = flipped.Body[:len(c.request.Body)]
			i := rapid.IntRange(0, 8*len(flipped.Body)-1).Draw(t, "bit")
			flipped.Body[i/8] ^= 1 << (i % 8)
		}
		if _, failure := verifier.Verify(flipped, secrets); failure == nil || failure.Reason != webhook.Mismatch {
			t.Fatalf("of another body: got %v, want mismatch", failure)
		}
		late := c.request
		late.Now = late.Now.Add(601 * time.Second)
		_, failure = verifier.Verify(late, secrets)
		if isLate := c.signature.TimestampHeader != ""; (failure != nil) != isLate ||
			isLate && failure.Reason != webhook.Stale {
			t.Fatalf("ten minutes later: got %v, timed %t", failure, isLate)
		}
	})
}

// A signature covers the bytes of the body: another body with equal JSON fails.
func TestOnlyTheRawBytesAreSigned(t *testing.T) {
	t.Parallel()
	verifier, err := webhook.NewVerifier("github", nil)
	if err != nil {
		t.Fatal(err)
	}
	const signed = `{"a":1,"b":"é"}`
	header := http.Header{"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac("sha256", []byte("k"), signed))}}
	for body, valid := range map[string]bool{
		signed: true, `{"b":"é","a":1}`: false, `{"a": 1,"b":"é"}`: false, `{"a":1,"b":"\u00e9"}`: false,
		`{"a":1.0,"b":"é"}`: false,
		signed + "\n":       false, "\ufeff" + signed: false,
	} {
		_, failure := verifier.Verify(webhook.Request{Header: header, Body: []byte(body)}, []string{"k"})
		if got := failure == nil; got != valid {
			t.Errorf("%q: got valid %t, want %t", body, got, valid)
		}
	}
}

// TestErrorsContainNoSecret looks for secrets and valid signatures in everything that the engine
// reports about a request.
func TestErrorsContainNoSecret(t *testing.T) {
	t.Parallel()
	for _, v := range positives(t) {
		for _, mutation := range mutations {
			s := prepared(t, v)
			hidden := []string{v.Secret, s.signature()}
			if !mutation.change(s) {
				continue
			}
			proof, failure := s.verify()
			output := fmt.Sprintf(
				"%v %+v %#v %v %#v %v", s.verifier, s.verifier, proof, failure, failure, s.verifier.Missing(s.Header),
			)
			if failure != nil {
				output += fmt.Sprintf(" %v %#v %s", *failure, *failure, failure.String())
			}
			for _, secret := range hidden {
				if len(secret) > len("secret") && strings.Contains(output, secret) { // shorter ones are words of any text
					t.Errorf("%s, %s: %q is in %s", v.Scheme, mutation.name, secret, output)
				}
			}
		}
	}
}

func TestTokenMatches(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given   string
		secrets []string
		want    int
	}{
		"the only one":              {"a", []string{"a"}, 0},
		"the second":                {"b", []string{"a", "b"}, 1},
		"the first of equal ones":   {"a", []string{"", "a", "a"}, 1},
		"another":                   {"c", []string{"a", "b"}, -1},
		"another case":              {"A", []string{"a"}, -1},
		"a longer one":              {"aa", []string{"a"}, -1},
		"with a space":              {"a ", []string{"a"}, -1},
		"an empty one":              {"", []string{"a"}, -1},
		"an empty one and no value": {"", []string{""}, -1},
		"no secrets":                {"a", nil, -1},
	} {
		if got := webhook.TokenMatches(test.given, test.secrets); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}
