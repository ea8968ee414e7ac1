package webhook_test

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/webhook"
)

var clock = time.Unix(1_700_000_000, 0)

func newVerifier(t testing.TB, scheme penstock.SignatureScheme) *webhook.Verifier {
	t.Helper()
	verifier, err := webhook.NewVerifier(scheme, nil)
	if err != nil {
		t.Fatal(err)
	}
	return verifier
}

// outcomeOf returns the result of a verification in one word.
func outcomeOf(failure *webhook.Failure) string {
	if failure == nil {
		return "valid"
	}
	return string(failure.Reason)
}

func TestBodyIDs(t *testing.T) {
	t.Parallel()
	verifier := newVerifier(t, "vercel")
	for name, test := range map[string]struct{ body, want string }{
		"a string":                       {`{"id":"evt_1"}`, "evt_1"},
		"a number, as it is written":     {`{"id":1.50e2}`, "1.50e2"},
		"not the first key":              {`{"a":{"id":"no"},"b":[{"id":"no"}],"id":"yes"}`, "yes"},
		"escapes in the key":             {`{"\u0069d":"evt_1"}`, "evt_1"},
		"escapes in the value":           {`{"id":"\u0065vt\/1"}`, "evt/1"},
		"256 characters":                 {`{"id":"` + strings.Repeat("x", 256) + `"}`, strings.Repeat("x", 256)},
		"257 characters":                 {`{"id":"` + strings.Repeat("x", 257) + `"}`, ""},
		"twice":                          {`{"id":"a","id":"b"}`, ""},
		"twice with the same value":      {`{"id":"a","id":"a"}`, ""},
		"twice, once in disguise":        {`{"id":"a","\u0069d":"b"}`, ""},
		"three times":                    {`{"id":"a","id":"b","id":"c"}`, ""},
		"other keys twice":               {`{"a":1,"a":2,"id":"evt_1"}`, "evt_1"},
		"another case":                   {`{"ID":"evt_1"}`, ""},
		"an empty string":                {`{"id":""}`, ""},
		"a space in it":                  {`{"id":"a b"}`, ""},
		"a control character in it":      {`{"id":"a\u0000b"}`, ""},
		"not ASCII":                      {`{"id":"é"}`, ""},
		"null":                           {`{"id":null}`, ""},
		"an object":                      {`{"id":{"id":"a"}}`, ""},
		"in an array":                    {`[{"id":"a"}]`, ""},
		"in an object that does not end": {`{"id":"a","b":1`, ""},
		"before text that is no JSON":    {`{"id":"a"} x`, ""},
		"before a second value":          {`{"id":"a"}{"id":"b"}`, ""},
		"before white space":             {"{\"id\":\"a\"}\r\n\t ", "a"},
		"a body that is no JSON":         {`id=a`, ""},
		"an empty body":                  {``, ""},
		"invalid UTF-8 elsewhere in it":  {"{\"id\":\"a\",\"b\":\"\xff\"}", ""},
		"deeper than a parser goes": {
			`{"id":"a","b":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "",
		},
		"a lone surrogate where it stands": {`{"id":"\ud800"}`, ""},
		"a lone surrogate within it":       {`{"id":"a\udc00b"}`, ""},
		"a lone surrogate beside it":       {`{"b":"\ud800","id":"a"}`, "a"},
		"a lone surrogate below it":        {`{"b":[{"\udfff":"x\udc00\ud800"}],"id":"a"}`, "a"},
		"a key with a lone surrogate":      {`{"id\ud800":"b","id":"a"}`, "a"},
	} {
		signature := hex.EncodeToString(mac("sha1", []byte("k"), test.body))
		proof, failure := verifier.Verify(webhook.Request{
			Header: http.Header{"X-Vercel-Signature": {signature}}, Body: []byte(test.body), Now: clock,
		}, []string{"k"})
		if failure != nil || proof.ID != test.want {
			t.Errorf("%s: got %q and %v, want %q", name, proof.ID, failure, test.want)
		}
	}
}

func TestHeaderIDs(t *testing.T) {
	t.Parallel()
	verifier := newVerifier(t, "github")
	signature := "sha256=" + hex.EncodeToString(mac("sha256", []byte("k"), "{}"))
	for name, test := range map[string]struct {
		values []string
		want   string
	}{
		"one":            {[]string{"72d3162e-cc78-11e3-81ab-4c9367dc0958"}, "72d3162e-cc78-11e3-81ab-4c9367dc0958"},
		"none":           {nil, ""},
		"empty":          {[]string{""}, ""},
		"two":            {[]string{"a", "b"}, ""},
		"two equal ones": {[]string{"a", "a"}, ""},
		"too long":       {[]string{strings.Repeat("x", 257)}, ""},
		"with a space":   {[]string{"a b"}, ""},
		"not ASCII":      {[]string{"\xc3\xa9"}, ""},
	} {
		proof, failure := verifier.Verify(webhook.Request{
			Header: http.Header{"X-Hub-Signature-256": {signature}, "X-Github-Delivery": test.values}, Body: []byte("{}"),
		}, []string{"k"})
		if failure != nil || proof.ID != test.want {
			t.Errorf("%s: got %q and %v, want %q", name, proof.ID, failure, test.want)
		}
	}
}

func TestLinearSignsTheTimeInTheBody(t *testing.T) {
	t.Parallel()
	verifier := newVerifier(t, "linear")
	now := clock.UnixMilli()
	for name, test := range map[string]struct{ body, want string }{
		"now":                         {fmt.Sprintf(`{"webhookTimestamp":%d}`, now), "valid"},
		"beside a lone surrogate":     {fmt.Sprintf(`{"data":{"title":"\ud83d"},"webhookTimestamp":%d}`, now), "valid"},
		"a retry after an hour":       {fmt.Sprintf(`{"webhookTimestamp":%d}`, now-3_600_000), "valid"},
		"24 h ago":                    {fmt.Sprintf(`{"webhookTimestamp":%d}`, now-86_400_000), "valid"},
		"24 h and 1 ms ago":           {fmt.Sprintf(`{"webhookTimestamp":%d}`, now-86_400_001), "stale"},
		"60 s ahead":                  {fmt.Sprintf(`{"webhookTimestamp":%d}`, now+60_000), "valid"},
		"60.001 s ahead":              {fmt.Sprintf(`{"webhookTimestamp":%d}`, now+60_001), "future"},
		"in seconds":                  {fmt.Sprintf(`{"webhookTimestamp":%d}`, now/1000), "stale"},
		"as a string":                 {fmt.Sprintf(`{"webhookTimestamp":"%d"}`, now), "bad_format"},
		"with a fraction":             {fmt.Sprintf(`{"webhookTimestamp":%d.0}`, now), "bad_format"},
		"twice":                       {fmt.Sprintf(`{"webhookTimestamp":%d,"webhookTimestamp":%d}`, now, now), "bad_format"},
		"below another key":           {fmt.Sprintf(`{"data":{"webhookTimestamp":%d}}`, now), "bad_format"},
		"none":                        {`{}`, "bad_format"},
		"in a body that is no object": {fmt.Sprint(now), "bad_format"},
		"in a body that is cut off":   {fmt.Sprintf(`{"webhookTimestamp":%d`, now), "bad_format"},
	} {
		header := http.Header{
			"Linear-Signature": {hex.EncodeToString(mac("sha256", []byte("k"), test.body))},
			"Linear-Timestamp": {fmt.Sprint(now)}, // not signed: nothing looks at it
		}
		_, failure := verifier.Verify(webhook.Request{Header: header, Body: []byte(test.body), Now: clock}, []string{"k"})
		if got := outcomeOf(failure); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
	// An unsigned body is not parsed: its time has no effect.
	_, failure := verifier.Verify(webhook.Request{
		Header: http.Header{"Linear-Signature": {strings.Repeat("0", 64)}}, Body: []byte(`{"webhookTimestamp":1}`),
		Now: clock,
	}, []string{"k"})
	if got, want := outcomeOf(failure), "mismatch"; got != want {
		t.Errorf("unsigned: got %s, want %s", got, want)
	}
}

// Contentful lists the signed headers in a header that must be signed, too.
func TestContentfulListsItsSignedHeaders(t *testing.T) {
	t.Parallel()
	verifier := newVerifier(t, "contentful")
	const own = "x-contentful-signed-headers,x-contentful-timestamp"
	for name, test := range map[string]struct {
		list   string
		header http.Header
		signed string
		want   string
	}{
		"itself and the time": {own, nil, "x-contentful-signed-headers:LIST;x-contentful-timestamp:TIME", "valid"},
		"another one": {
			"content-type," + own,
			http.Header{"Content-Type": {"text/x"}},
			"content-type:text/x;x-contentful-signed-headers:LIST;x-contentful-timestamp:TIME", "valid",
		},
		"in another order and case": {
			"X-Contentful-Timestamp, Content-Type,X-Contentful-Signed-Headers",
			http.Header{"Content-Type": {"text/x"}},
			"content-type:text/x;x-contentful-signed-headers:LIST;x-contentful-timestamp:TIME", "valid",
		},
		"the host, of the public URL": {
			"host," + own,
			http.Header{"Host": {"evil.example"}},
			"host:p.example;x-contentful-signed-headers:LIST;x-contentful-timestamp:TIME", "valid",
		},
		"the host that a request names": {
			"host," + own,
			http.Header{"Host": {"evil.example"}},
			"host:evil.example;x-contentful-signed-headers:LIST;x-contentful-timestamp:TIME", "mismatch",
		},
		"not the time": {"x-contentful-signed-headers", nil, "x-contentful-signed-headers:LIST", "bad_format"},
		"not itself":   {"x-contentful-timestamp", nil, "x-contentful-timestamp:TIME", "bad_format"},
		"one that is not there": {
			"x-a," + own, nil, "x-a:;x-contentful-signed-headers:LIST;x-contentful-timestamp:TIME", "bad_format",
		},
		"one that is there twice": {
			"x-a," + own,
			http.Header{"X-A": {"1", "2"}},
			"x-a:1;x-contentful-signed-headers:LIST;x-contentful-timestamp:TIME",
			"bad_format",
		},
		"no list": {"", nil, "", "missing_header"},
	} {
		header := http.Header{"X-Contentful-Timestamp": {"1700000000000"}}
		if test.list != "" {
			header.Set("X-Contentful-Signed-Headers", test.list)
		}
		maps.Copy(header, test.header)
		text := "POST\n/webhooks/w/x\n" + strings.NewReplacer(
			"LIST", test.list, "TIME", "1700000000000",
		).Replace(test.signed) + "\n{}"
		header.Set("X-Contentful-Signature", hex.EncodeToString(mac("sha256", []byte("k"), text)))
		_, failure := verifier.Verify(webhook.Request{
			Method: "POST", URL: "https://p.example/webhooks/w/x", Header: header, Body: []byte("{}"), Now: clock,
		}, []string{"k"})
		if got := outcomeOf(failure); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

// DocuSign sends one header for each key that is configured there.
func TestDocusignNumbersItsHeaders(t *testing.T) {
	t.Parallel()
	verifier := newVerifier(t, "docusign")
	valid := "wf1mT7Q7kJcR2mNbfTOtzZkFFFzwIvBpuXTFmuA9G4k="
	for _, v := range positives(t) {
		if v.Scheme == "docusign" {
			valid = v.Headers["X-DocuSign-Signature-1"]
		}
	}
	other := strings.Repeat("A", 43) + "="
	for name, test := range map[string]struct {
		header http.Header
		want   string
	}{
		"the first":         {http.Header{"X-Docusign-Signature-1": {valid}}, "valid"},
		"the second of two": {http.Header{"X-Docusign-Signature-1": {other}, "X-Docusign-Signature-2": {valid}}, "valid"},
		"the hundredth":     {http.Header{"X-Docusign-Signature-100": {valid}}, "valid"},
		"number 101":        {http.Header{"X-Docusign-Signature-101": {valid}}, "missing_header"},
		"number 0":          {http.Header{"X-Docusign-Signature-0": {valid}}, "missing_header"},
		"number 01":         {http.Header{"X-Docusign-Signature-01": {valid}}, "missing_header"},
		"no number":         {http.Header{"X-Docusign-Signature-": {valid}}, "missing_header"},
		"number 356, which is 100 more than a byte holds": {
			http.Header{"X-Docusign-Signature-356": {valid}}, "missing_header",
		},
		"one of them twice": {
			http.Header{"X-Docusign-Signature-1": {valid}, "X-Docusign-Signature-2": {other, other}}, "bad_format",
		},
	} {
		_, failure := verifier.Verify(webhook.Request{
			Header: test.header, Body: []byte(`{"event":"envelope-completed","data":{"envelopeId":"e1"}}`),
		}, []string{"docusign-hmac-key"})
		if got := outcomeOf(failure); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

// A sender may use either of two families of headers. A request that is valid in one stays valid
// with any content of the other, and has one id.
func TestEitherFamilyOfHeaders(t *testing.T) {
	t.Parallel()
	byName := map[string]vector{}
	for _, v := range positives(t) {
		byName[v.Scheme+" "+v.Name] = v
	}
	for _, test := range []struct{ name, scheme, valid, add, value string }{
		{"svix beside webhook-*", "standard_webhooks", "svix valid", "webhook-signature", "v1,AAAA"},
		{"webhook-* beside svix", "svix", "standard_webhooks valid", "svix-signature", "v1,AAAA"},
		{
			"GitLab's token beside a signature", "gitlab", "gitlab gitlab_token: secret token, valid", "webhook-signature",
			"v1,AAAA",
		},
		{"GitLab's signature beside a token", "gitlab", "gitlab gitlab_signing: signing token, valid", "X-Gitlab-Token", "x"},
		{
			"Buildkite's token beside a signature", "buildkite", "buildkite buildkite_token: valid", "X-Buildkite-Signature",
			"timestamp=1,signature=00",
		},
		{
			"Buildkite's signature beside a token", "buildkite", "buildkite buildkite_signature: valid", "X-Buildkite-Token",
			"x",
		},
	} {
		v, found := byName[test.valid]
		if !found {
			t.Fatalf("there is no vector %q", test.valid)
		}
		request, verifier := v.request(), newVerifier(t, penstock.SignatureScheme(test.scheme))
		request.Header.Set(test.add, test.value)
		if _, failure := verifier.Verify(request, []string{v.Secret}); failure != nil {
			t.Errorf("%s: got %v, want valid", test.name, failure)
		}
		request.Header.Add(test.add, test.value)
		_, failure := verifier.Verify(request, []string{v.Secret})
		if got, want := outcomeOf(failure), "bad_format"; got != want {
			t.Errorf("%s, twice: got %s, want %s", test.name, got, want)
		}
	}
	id := map[string]bool{}
	for _, name := range []string{"svix valid", "standard_webhooks valid"} {
		v := byName[name]
		proof, failure := newVerifier(t, "svix").Verify(v.request(), []string{v.Secret})
		if failure != nil {
			t.Fatal(failure)
		}
		id[proof.ID] = true
	}
	if len(id) != 1 {
		t.Errorf("got the ids %v for one delivery in two families, want one", id)
	}
}

// A missing signature is detected from the headers alone. An existing one is checked with the body,
// however wrong it is.
func TestMissing(t *testing.T) {
	t.Parallel()
	for _, v := range positives(t) {
		verifier, request := v.verifier(t), v.request()
		if failure := verifier.Missing(request.Header); failure != nil {
			t.Errorf("%s, %s: got %v, want nothing missing", v.Scheme, v.Name, failure)
		}
		got := verifier.Missing(http.Header{"Authorization": {"Bearer x"}})
		if got == nil || got.Reason != webhook.MissingHeader || got.Where == "" {
			t.Errorf("%s: got %v without headers, want missing_header with its name", v.Scheme, got)
		}
	}
}

func TestOfferedSecret(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scheme penstock.SignatureScheme
		body   string
		want   string
	}{
		"Notion's": {
			"notion", `{"verification_token":"secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl"}`,
			"secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl",
		},
		"another sender's":  {"slack", `{"verification_token":"x"}`, ""},
		"beside other keys": {"notion", `{"verification_token":"x","type":"page.created"}`, ""},
		"twice":             {"notion", `{"verification_token":"x","verification_token":"y"}`, ""},
		"empty":             {"notion", `{"verification_token":""}`, ""},
		"a number":          {"notion", `{"verification_token":1}`, ""},
		"with a space":      {"notion", `{"verification_token":"a b"}`, ""},
		"another case":      {"notion", `{"Verification_Token":"x"}`, ""},
		"no JSON":           {"notion", `verification_token=x`, ""},
		"nothing":           {"notion", ``, ""},
		"null":              {"notion", `null`, ""},
	} {
		got, ok := webhook.OfferedSecret(test.scheme, []byte(test.body))
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%s: got %q, %t, want %q", name, got, ok, test.want)
		}
	}
}

func TestNewVerifierRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scheme    penstock.SignatureScheme
		signature *penstock.Signature
		says      string
	}{
		"an unknown scheme":           {"hmac", nil, `unknown signature scheme "hmac"`},
		"a custom one without detail": {"custom_hmac", nil, "/signature: is required"},
		"detail for a known sender":   {"github", &penstock.Signature{Header: "X-Sig"}, "only for custom_hmac and grafana"},
	} {
		_, err := webhook.NewVerifier(test.scheme, test.signature)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v, want %q in it", name, err, test.says)
		}
	}
}
