package webhook_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/webhook"
)

// vector is a signed request whose validity is known. The vectors in signatures.json are samples
// from the senders' documentation and code. The vectors in signatures_more.json were generated as
// their source says.
type vector struct {
	Scheme       string              `json:"scheme"`
	Name         string              `json:"name"`
	Signature    *penstock.Signature `json:"signature"`
	Secret       string              `json:"secret"`
	Headers      map[string]string   `json:"headers"`
	ExtraHeaders map[string]string   `json:"extra_headers"` // further instances
	Body         string              `json:"body"`
	Now          int64               `json:"now"` // unix seconds
	URL          string              `json:"url"`
	Method       string              `json:"method"`
	Valid        bool                `json:"valid"`
	Reason       webhook.Reason      `json:"reason"` // "": not checked
	ID           string              `json:"id"`
	Response     *struct {
		Status int    `json:"status"`
		Body   string `json:"body"`
	} `json:"response"`
}

// aliases are names of our schemes in the samples.
var aliases = map[string]string{
	"gitlab_token": "gitlab", "gitlab_signing": "gitlab", "buildkite_signature": "buildkite",
	"buildkite_token": "buildkite",
	"hubspot_v3":      "hubspot", "grafana_ts": "grafana",
}

// notOurs are schemes of the samples that Penstock does not need.
var notOurs = []string{"adyen", "coinbase_cdp", "figma", "twilio", "hubspot_v1", "hubspot_v2"}

func readVectors(t testing.TB) []vector {
	t.Helper()
	var all []vector
	for _, file := range []string{"testdata/signatures.json", "testdata/signatures_more.json"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var vectors []vector
		if err := json.Unmarshal(content, &vectors); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, v := range vectors {
			if slices.Contains(notOurs, v.Scheme) {
				continue
			}
			if v.Scheme == "grafana_ts" {
				v.Signature = &penstock.Signature{TimestampHeader: "X-Grafana-Alerting-Signature-Timestamp"}
			}
			if scheme, found := aliases[v.Scheme]; found {
				v.Name, v.Scheme = v.Scheme+": "+v.Name, scheme
			}
			all = append(all, v)
		}
	}
	return all
}

// positives are the valid vectors, one of each scheme and form.
func positives(t testing.TB) []vector {
	t.Helper()
	return slices.DeleteFunc(readVectors(t), func(v vector) bool { return !v.Valid })
}

func (v vector) request() webhook.Request {
	header := http.Header{}
	for _, headers := range []map[string]string{v.Headers, v.ExtraHeaders} {
		for name, value := range headers {
			header.Add(name, strings.TrimSpace(value)) // as net/http does
		}
	}
	return webhook.Request{
		Method: cmp.Or(v.Method, http.MethodPost), URL: v.URL, Header: header, Body: []byte(v.Body), Now: time.Unix(v.Now, 0),
	}
}

func (v vector) verifier(t testing.TB) *webhook.Verifier {
	t.Helper()
	verifier, err := webhook.NewVerifier(penstock.SignatureScheme(v.Scheme), v.Signature)
	if err != nil {
		t.Fatal(err)
	}
	return verifier
}

func TestVectors(t *testing.T) {
	t.Parallel()
	passed := map[string]int{}
	for _, v := range readVectors(t) {
		proof, failure := v.verifier(t).Verify(v.request(), []string{v.Secret})
		switch {
		case (failure == nil) != v.Valid:
			t.Errorf("%s, %s: got failure %v, want valid %t", v.Scheme, v.Name, failure, v.Valid)
			continue
		case v.Reason != "" && failure.Reason != v.Reason:
			t.Errorf("%s, %s: got %v, want %s", v.Scheme, v.Name, failure, v.Reason)
			continue
		case v.ID != "" && proof.ID != v.ID:
			t.Errorf("%s, %s: got the id %q, want %q", v.Scheme, v.Name, proof.ID, v.ID)
			continue
		}
		if v.Scheme == "slack" || v.Scheme == "discord" {
			checkAnswer(t, v, proof.Handshake)
		}
		passed[v.Scheme]++
	}
	var table strings.Builder
	for _, preset := range signature.Presets() {
		n := passed[string(preset.Scheme)]
		if n < 2 {
			t.Errorf("%s has %d vectors, want one that is valid and one that is not at least", preset.Scheme, n)
		}
		fmt.Fprintf(&table, "\n%-20s %d", preset.Scheme, n)
		delete(passed, string(preset.Scheme))
	}
	t.Logf("vectors passed:%s", table.String())
	if len(passed) > 0 {
		t.Errorf("vectors of unknown schemes: %v", slices.Sorted(maps.Keys(passed)))
	}
}

func checkAnswer(t *testing.T, v vector, got *webhook.Handshake) {
	t.Helper()
	switch {
	case (got != nil) != (v.Response != nil):
		t.Errorf("%s, %s: got the response %v, want %v", v.Scheme, v.Name, got, v.Response)
	case got != nil && (got.Status != v.Response.Status || string(got.Body) != v.Response.Body):
		t.Errorf("%s, %s: got %d %s, want %d %s", v.Scheme, v.Name, got.Status, got.Body, v.Response.Status, v.Response.Body)
	case got != nil && (got.ContentType == "") != (len(got.Body) == 0):
		t.Errorf("%s, %s: got the content type %q of %q", v.Scheme, v.Name, got.ContentType, got.Body)
	}
}

func TestSampleSchemesAreOursOrNamed(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t) {
		if _, known := signature.PresetOf(penstock.SignatureScheme(v.Scheme)); !known {
			t.Errorf("the sample %q is of no scheme that is required or named as left out", v.Scheme)
		}
	}
}

// TestIdentity checks the contract's column: which id a delivery has, and whether the signature
// covers it or a time.
func TestIdentity(t *testing.T) {
	t.Parallel()
	type identity struct {
		ID           string
		Signed, Time bool
	}
	want := map[string]identity{
		"docs pair":                                      {},
		"gitlab_signing: signing token, valid":           {"908a6d9e-45fd-46c8-97e6-c4f350f219dd", true, true},
		"gitlab_token: secret token, valid":              {},
		"valid with v0":                                  {"evt_123", true, true},
		"buildkite_signature: valid":                     {"", false, true},
		"docs example (form body)":                       {"", true, true},
		"grafana_ts: timestamp header configured, valid": {"", false, true},
	}
	byScheme := map[string]identity{
		"standard_webhooks": {"msg_p5jXN8AQM9LWM0D4loKWxJek", true, true},
		"svix":              {"msg_p5jXN8AQM9LWM0D4loKWxJek", true, true},
		"sentry":            {"7e4c1f2a", false, false},
		"pagerduty":         {"f0b6f0ab-0000-4000-8000-000000000001", false, false},
		"vercel":            {"4qR9", true, false},
		"linear":            {"234d1a4e-b617-4388-90fe-adc3633d6b72", false, true},
		"shopify":           {"b54557e4-bdd9-4b37-8a5f-bf7d70bcd043", false, false},
		"zendesk":           {"01H000000000000000000000", false, true},
		"typeform":          {"LtWXD3crgy", true, false},
		"notion":            {"evt_1", true, false},
		"launchdarkly":      {"57c0a8e29969090743529965", true, false},
		"dropbox":           {},
		"woocommerce":       {"5e8ff29a", false, false},
		"square":            {"ac3ac95b-f97d-458c-a6e6-18981597e05f", true, false},
		"coinbase_commerce": {"1", true, false},
		"mux":               {"3a56ac3d-33da-4366-855b-f592d898409d", true, true},
		"calendly":          {"", false, true},
	}
	seen := 0
	for _, v := range positives(t) {
		wanted, found := want[v.Name]
		if !found {
			if wanted, found = byScheme[v.Scheme]; !found || v.Name != "valid" {
				continue
			}
		}
		seen++
		proof, failure := v.verifier(t).Verify(v.request(), []string{v.Secret})
		if failure != nil {
			t.Fatalf("%s: %v", v.Scheme, failure)
		}
		if diff := gocmp.Diff(wanted, identity{proof.ID, proof.IDSigned, proof.TimeSigned}); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", v.Scheme, v.Name, diff)
		}
	}
	if got, want := seen, len(want)+len(byScheme)+2; got != want { // "docs pair" is github's, bitbucket's and jira's
		t.Errorf("got %d vectors with a known identity, want %d", got, want)
	}
}
