package signature_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
)

func TestSchemesMatchTheContract(t *testing.T) {
	t.Parallel()
	const contract = `standard_webhooks svix github gitlab stripe sentry pagerduty vercel slack linear shopify bitbucket
		jira zendesk
		intercom typeform circleci calendly mux paddle notion launchdarkly dropbox meta woocommerce buildkite discord square
		hubspot
		grafana docusign contentful coinbase_commerce custom_hmac`
	var got, later, generated []string
	for _, preset := range signature.Presets() {
		name := string(preset.Scheme)
		got = append(got, name)
		if preset.SecretAfterURL {
			later = append(later, name)
		}
		if preset.SecretGenerated {
			generated = append(generated, name)
		}
		if preset.Sender == "" || !strings.HasSuffix(preset.Hint, ".") {
			t.Errorf("%s is for %q with the hint %q", name, preset.Sender, preset.Hint)
		}
	}
	sorted := cmp.Transformer("set", func(names []string) map[string]int {
		set := map[string]int{}
		for _, name := range names {
			set[name]++
		}
		return set
	})
	if diff := cmp.Diff(strings.Fields(contract), got, sorted); diff != "" {
		t.Errorf("schemes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(
		strings.Fields("stripe pagerduty vercel notion zendesk square paddle mux shopify"), later, sorted,
	); diff != "" {
		t.Errorf("whose secret comes after the URL (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"standard_webhooks", "svix"}, generated); diff != "" {
		t.Errorf("whose secret is generated (-want +got):\n%s", diff)
	}
}

// A preset satisfies the rules for a user's own scheme.
func TestPresetsAreWellFormed(t *testing.T) {
	t.Parallel()
	for _, preset := range signature.Presets() {
		for _, form := range preset.Forms {
			own := form.Signature
			// Public keys and tokens exclude the options of a user's scheme. A list of signed
			// headers must include the time, and only a preset has the time beside the signature.
			own.Hash, own.KeyForm = "sha256", signature.KeyText
			own.Template = strings.ReplaceAll(own.Template, "{signed_headers}", "{timestamp}")
			if form.TimestampField != "" {
				own.TimestampHeader = "X-Time"
			}
			if form.Algorithm == signature.AlgorithmToken {
				own.Template, own.Encoding = "{body}", "hex"
			}
			for _, problem := range signature.Check(signature.CustomHMAC, &own) {
				t.Errorf("%s: %s %s", preset.Scheme, problem.Pointer, problem.Detail)
			}
			if form.SignsTime() != (form.Tolerance > 0) || form.SignsTime() != (form.TimestampUnit != "") {
				t.Errorf(
					"%s signs a time: %t, with the tolerance %s in %q", preset.Scheme, form.SignsTime(), form.Tolerance,
					form.TimestampUnit,
				)
			}
			if form.IDBody != "" && form.IDHeader != "" {
				t.Errorf("%s has its id in two places", preset.Scheme)
			}
		}
	}
}

func TestFormReportsWhatFollows(t *testing.T) {
	t.Parallel()
	preset, _ := signature.PresetOf(signature.StandardWebhooks)
	got, err := json.Marshal(preset.Forms[0])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"header":"webhook-signature","prefix":"v1,","hash":"sha256","encoding":"base64","key_form":"whsec",` +
		`"template":"{header:webhook-id}.{timestamp}.{body}","timestamp_header":"webhook-timestamp","algorithm":"hmac",` +
		`"separator":" ",` +
		`"timestamp_unit":"s","id_header":"webhook-id","headers":["webhook-signature","webhook-timestamp","webhook-id"],` +
		`"tolerance_seconds":300,"time_signed":true,"id_signed":true}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("form as JSON (-want +got):\n%s", diff)
	}
}

func TestSignatureCheck(t *testing.T) {
	t.Parallel()
	good := func(change func(*penstock.Signature)) *penstock.Signature {
		s := &penstock.Signature{
			Header: "X-Sig", Prefix: "sha256=", Hash: "sha256", Encoding: "hex", KeyForm: "text", Template: "{body}",
		}
		change(s)
		return s
	}
	const custom = signature.CustomHMAC
	for name, test := range map[string]struct {
		scheme    penstock.SignatureScheme
		signature *penstock.Signature
		want      string // the first problem; "" for none
	}{
		"good": {custom, good(func(*penstock.Signature) {}), ""},
		"with everything": {custom, good(func(s *penstock.Signature) {
			s.TimestampHeader, s.Template = "X-T", "v0:{method}{url}{path}{header:X-Id}\n{timestamp}.{body}!"
		}), ""},
		"nothing for a known sender": {"github", nil, ""},
		"nothing for custom_hmac":    {custom, nil, "/signature: is required for custom_hmac"},
		"empty":                      {custom, &penstock.Signature{}, "/signature/header: is required"},
		"something for a known sender": {
			"github", good(func(*penstock.Signature) {}), "/signature: is allowed only for custom_hmac and grafana",
		},
		"grafana's timestamp header": {"grafana", &penstock.Signature{TimestampHeader: "X-T"}, ""},
		"grafana with nothing":       {"grafana", nil, ""},
		"grafana with nothing in it": {"grafana", &penstock.Signature{}, ""},
		"grafana with a hash": {
			"grafana", &penstock.Signature{TimestampHeader: "X-T", Hash: "sha256"},
			"/signature: must have only timestamp_header for grafana",
		},
		"grafana's own signature header": {
			"grafana", &penstock.Signature{TimestampHeader: "x-grafana-alerting-signature"},
			"/signature/timestamp_header: must not be the header of the signature",
		},
		"grafana with Authorization": {
			"grafana", &penstock.Signature{TimestampHeader: "authorization"},
			"/signature/timestamp_header: cannot be Authorization",
		},
		"a header with a space": {
			custom, good(func(s *penstock.Signature) { s.Header = "X Sig" }), "/signature/header: is not a valid header name",
		},
		"a header with a line break": {
			custom, good(func(s *penstock.Signature) { s.Header = "X-Sig\r\nA" }),
			"/signature/header: is not a valid header name",
		},
		"Authorization": {
			custom, good(func(s *penstock.Signature) { s.Header = "Authorization" }),
			"/signature/header: cannot be Authorization",
		},
		"cookie, in lower case": {
			custom, good(func(s *penstock.Signature) { s.Header = "cookie" }), "/signature/header: cannot be Cookie",
		},
		"a hop-by-hop header": {
			custom, good(func(s *penstock.Signature) { s.Header = "transfer-encoding" }),
			"/signature/header: cannot be Transfer-Encoding",
		},
		"a header without end": {
			custom, good(func(s *penstock.Signature) { s.Header = strings.Repeat("x", 129) }),
			"/signature/header: is longer than 128 characters",
		},
		"a prefix with a control": {
			custom, good(func(s *penstock.Signature) { s.Prefix = "v1\n" }),
			"/signature/prefix: must be at most 64 printable ASCII characters",
		},
		"no hash": {
			custom, good(func(s *penstock.Signature) { s.Hash = "" }), "/signature/hash: must be one of sha1, sha256, sha512",
		},
		"md5": {
			custom, good(func(s *penstock.Signature) { s.Hash = "md5" }), "/signature/hash: must be one of sha1, sha256, sha512",
		},
		"base32": {
			custom, good(func(s *penstock.Signature) { s.Encoding = "base32" }),
			"/signature/encoding: must be one of hex, base64",
		},
		"a public key": {
			custom, good(func(s *penstock.Signature) { s.KeyForm = "ed25519" }),
			"/signature/key_form: must be one of text, base64, hex, whsec",
		},
		"a template without a body": {
			custom, good(func(s *penstock.Signature) { s.Template = "x" }), "/signature/template: must have {body} exactly once",
		},
		"a template with two bodies": {
			custom, good(func(s *penstock.Signature) { s.Template = "{body}{body}" }),
			"/signature/template: must have {body} exactly once",
		},
		"an unknown placeholder": {
			custom, good(func(s *penstock.Signature) { s.Template = "{body}{id}" }),
			"/signature/template: has {id}; allowed are",
		},
		"an argument that is not taken": {
			custom, good(func(s *penstock.Signature) { s.Template = "{body:x}" }),
			"/signature/template: has {body:x}, which must not have a name",
		},
		"a brace that is not closed": {
			custom, good(func(s *penstock.Signature) { s.Template = "{body}{" }), "/signature/template: has a { without a }",
		},
		"a brace that is not opened": {
			custom, good(func(s *penstock.Signature) { s.Template = "a}{body}" }), "/signature/template: has a } without a {",
		},
		"a header that must not be read": {
			custom, good(func(s *penstock.Signature) { s.Template = "{header:Cookie}{body}" }),
			"/signature/template: the name in {header:Name} cannot be Cookie",
		},
		"a header without a name": {
			custom, good(func(s *penstock.Signature) { s.Template = "{header}{body}" }),
			"/signature/template: the name in {header:Name} is required",
		},
		"the signature signs itself": {
			custom, good(func(s *penstock.Signature) { s.Template = "{header:x-sig}{body}" }),
			"/signature/template: must not contain the signature itself",
		},
		"contentful's own": {
			custom, good(func(s *penstock.Signature) { s.Template = "{signed_headers}{body}" }),
			"/signature/template: must not have {signed_headers}: only contentful supports it",
		},
		"a time without a header": {
			custom, good(func(s *penstock.Signature) { s.Template = "{timestamp}{body}" }),
			"/signature/template: has {timestamp}, so timestamp_header is required",
		},
		"a time that is not signed": {
			custom, good(func(s *penstock.Signature) { s.TimestampHeader = "X-T" }),
			"/signature/template: must have {timestamp}",
		},
		"the time in the signature header": {
			custom, good(func(s *penstock.Signature) { s.TimestampHeader, s.Template = "x-sig", "{timestamp}{body}" }),
			"/signature/timestamp_header: must not be the header of the signature",
		},
		"a template without end": {
			custom, good(func(s *penstock.Signature) { s.Template = "{body}" + strings.Repeat("x", 1024) }),
			"/signature/template: is longer than 1024 bytes",
		},
	} {
		got := ""
		if problems := signature.Check(test.scheme, test.signature); len(problems) > 0 {
			got = problems[0].String()
		}
		if test.want == "" && got != "" || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	if got, want := len(signature.Check(custom, &penstock.Signature{})), 5; got != want {
		t.Errorf("an empty one has %d problems at once, want %d", got, want)
	}
}

func TestCheckSecret(t *testing.T) {
	t.Parallel()
	const publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
	customHex := &penstock.Signature{Header: "X-Sig", Hash: "sha256", Encoding: "hex", KeyForm: "hex", Template: "{body}"}
	for name, test := range map[string]struct {
		scheme    penstock.SignatureScheme
		signature *penstock.Signature
		secret    string
		want      string
	}{
		"any text":                       {"github", nil, "It's a Secret", ""},
		"no text":                        {"github", nil, "", "the secret is empty"},
		"one that was made here":         {"standard_webhooks", nil, signature.NewSecret(), ""},
		"without whsec_":                 {"svix", nil, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", ""},
		"without padding":                {"svix", nil, "whsec_dGVzdA", ""},
		"a public key":                   {"svix", nil, "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", ""},
		"a public key that is too short": {"svix", nil, "whpk_dGVzdA==", "the secret is not base64 after whsec_"},
		"a private key":                  {"svix", nil, "whsk_dGVzdA==", "the secret is not base64 after whsec_"},
		"nothing after whsec_":           {"svix", nil, "whsec_", "the secret is not base64 after whsec_"},
		"a passphrase": {
			"standard_webhooks", nil, "correct horse", "the secret is not base64 after whsec_",
		},
		"Stripe's whole text":            {"stripe", nil, "whsec_not/base64!", ""},
		"GitLab's token":                 {"gitlab", nil, "my token", ""},
		"Discord's key":                  {"discord", nil, publicKey, ""},
		"Discord's key in capitals":      {"discord", nil, strings.ToUpper(publicKey), ""},
		"half of Discord's key":          {"discord", nil, publicKey[:32], "the public key is not 64 characters of hex"},
		"Discord's token instead":        {"discord", nil, "MTk4NjIy.Cl2FMQ.x", "the public key is not 64 characters of hex"},
		"hex of a user's own":            {"custom_hmac", customHex, "00ff", ""},
		"no hex":                         {"custom_hmac", customHex, "secret-0xyz", "the secret is not hex"},
		"an unknown scheme":              {"nobody", nil, "secret-0xyz", "unknown signature scheme"},
		"a scheme that is not described": {"custom_hmac", nil, "secret-0xyz", "/signature: is required"},
	} {
		got := ""
		if err := signature.CheckSecret(test.scheme, test.signature, test.secret); err != nil {
			got = err.Error()
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q in it", name, got, test.want)
		}
		if len(test.secret) > 8 && strings.Contains(got, test.secret) {
			t.Errorf("%s: the error repeats the secret: %s", name, got)
		}
	}
}

func TestNewSigningSecret(t *testing.T) {
	t.Parallel()
	secret := signature.NewSecret()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if !strings.HasPrefix(secret, "whsec_") || err != nil || len(key) != 32 {
		t.Errorf("got a secret of %d bytes, error %v, want whsec_ and base64 of 32", len(key), err)
	}
	if secret == signature.NewSecret() {
		t.Error("the same secret was made twice")
	}
}

func TestCheckDeliveryIDHeader(t *testing.T) {
	t.Parallel()
	own := &penstock.Signature{Header: "X-Own-Sig"}
	for name, want := range map[string]string{
		"X-Request-Id": "", "Idempotency-Key": "", "webhook-id": "", "X-GitHub-Delivery": "", "Ce-Id": "",
		"": "is required", "X Id": "is not a valid header name", "authorization": "cannot be Authorization",
		"Cookie": "cannot be Cookie", "TE": "cannot be Te",
		"Proxy-Authorization": "cannot be", "Connection": "cannot be", "Keep-Alive": "cannot be", "Upgrade": "cannot be",
		"Proxy-Authenticate": "cannot be",
		"Set-Cookie":         "a credential", "X-Cookie": "a credential", "X-Api-Key": "a credential",
		"x-apikey": "a credential", "X-Auth-Token": "a credential",
		"X-Auth-Key": "a credential", "Private-Token": "a credential", "X-Vault-Token": "a credential",
		"X-Amz-Security-Token": "a credential",
		"X-Goog-Api-Key":       "a credential", "X-Goog-Iap-Jwt-Assertion": "a credential",
		"X-Goog-Channel-Token": "a credential", "X-Forwarded-Access-Token": "a credential",
		"Ocp-Apim-Subscription-Key": "a credential", "X-CSRF-Token": "a credential", "X-Session-Id": "a credential",
		"Client_Secret":    "a credential",
		"WWW-Authenticate": "a credential", "X-Authorization": "a credential", "X-Signature": "a credential",
		"X-Twilio-Signature": "a credential", "X-Password": "a credential",
		"X-Functions-Key": "a credential", "X-Amzn-Oidc-Data": "a credential", "X-PAT": "a credential",
		"X-User-Pass":  "a credential",
		"X-Passphrase": "a credential", "X-Pin": "a credential", "X-Sid": "a credential", "X-Login": "a credential",
		"X-Sign": "a credential",
		"Digest": "a credential", "X-Path-Id": "", "X-Passenger-Id": "", "X-Side-Id": "", "X-Function-Id": "",
		"X-Goog-Message-Number": "", "X-Idempotency-Token": "", "X-Request-Key": "", "X-Author-Id": "",
		"X-Amz-Sns-Message-Id": "", "X-Order-Key": "", "X-Penstock-Delivery-Id": "",
		"X-Buildkite-Token":   "carries a signature",
		"x-hub-signature-256": "carries a signature", "Stripe-Signature": "carries a signature",
		"X-Gitlab-Token":         "carries a signature",
		"X-DocuSign-Signature-7": "carries a signature", "x-own-sig": "carries a signature",
		"SVIX-SIGNATURE": "carries a signature",
	} {
		got := signature.CheckIDHeader(name, own)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q in it", name, got, want)
		}
	}
	for _, preset := range signature.Presets() {
		for _, form := range preset.Forms {
			if got := signature.CheckIDHeader(form.IDHeader, nil); form.IDHeader != "" && got != "" {
				t.Errorf("the id of %s: %s", preset.Scheme, got)
			}
			if got := signature.CheckIDHeader(form.Header+"1", nil); form.Numbered && got == "" {
				t.Errorf("the signature of %s can be an id", preset.Scheme)
			}
			if got := signature.CheckIDHeader(form.Header, nil); !form.Numbered && got == "" {
				t.Errorf("the signature of %s can be an id", preset.Scheme)
			}
		}
	}
}

// FuzzParseTemplate: a parsed template is written back unchanged, and a valid one has exactly one
// body.
func FuzzParseTemplate(f *testing.F) {
	for _, template := range []string{
		"{body}", "{header:webhook-id}.{timestamp}.{body}", "{method}\n{path}", "{{body}}", "{header:}", "}{",
	} {
		f.Add(template)
	}
	f.Fuzz(func(t *testing.T, template string) {
		parts, err := signature.ParseTemplate(template)
		if err != nil {
			return
		}
		var written strings.Builder
		for _, part := range parts {
			switch part.Kind {
			case signature.PartText:
				written.WriteString(part.Text)
			case signature.PartHeader:
				written.WriteString("{header:" + part.Text + "}")
			default:
				written.WriteString("{" + string(part.Kind) + "}")
			}
		}
		if written.String() != template {
			t.Fatalf("%q was read as %q", template, written.String())
		}
		own := &penstock.Signature{Header: "X-Sig", Hash: "sha1", Encoding: "hex", KeyForm: "text", Template: template}
		if len(signature.Check(signature.CustomHMAC, own)) == 0 && strings.Count(template, "{body}") != 1 {
			t.Fatalf("%q passes", template)
		}
	})
}
