package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWebhookVerify(t *testing.T) {
	t.Parallel()
	const (
		github = "X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
		secret = "It's a Secret to Everybody"
		msgID  = "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek"
		msgAt  = "webhook-timestamp: 1614265330"
		msgSig = "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
		whsec  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		event  = `{"test": 2432232314}`
		square = `{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification",` +
			`"event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f",` +
			`"created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks",` +
			`"id":"bc368e64-01aa-407e-b46e-3231809b1129"}}`
		squareSig = "x-square-hmacsha256-signature: GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4="
		squareURL = "https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9"
		own       = `{"header":"X-Sig","prefix":"sha256=","hash":"sha256","encoding":"hex","key_form":"text",` +
			`"template":"{body}"}`
		ownSig = "X-Sig: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	)
	for name, test := range map[string]struct {
		body string
		args []string
		code int
		out  string
		err  string // "" for nothing at all
	}{
		"valid": {
			"Hello, World!", []string{"--scheme", "github", "--secret", secret, "--header", github}, 0, "valid\n", "",
		},
		"valid beside other headers": {
			"Hello, World!",
			[]string{"--scheme", "github", "--secret", secret, "--header", "Accept: */*", "--header", github},
			0, "valid\n", "",
		},
		"valid at its time": {
			event,
			[]string{
				"--scheme", "standard_webhooks", "--secret", whsec, "--header", msgID, "--header", msgAt, "--header", msgSig,
				"--at", "1614265330",
			},
			0, "valid\n", "",
		},
		"stale now": {
			event,
			[]string{
				"--scheme", "standard_webhooks", "--secret", whsec, "--header", msgID, "--header", msgAt, "--header", msgSig,
			},
			1, "invalid: stale\n", "--at",
		},
		"future": {
			event,
			[]string{
				"--scheme", "svix", "--secret", whsec, "--header", msgID, "--header", msgAt, "--header", msgSig, "--at",
				"1614265029",
			},
			1, "invalid: future\n", "clocks",
		},
		"another secret": {
			"Hello, World!",
			[]string{"--scheme", "github", "--secret", "other", "--header", github},
			1, "invalid: mismatch\n",
			"byte for byte",
		},
		"another body": {
			"Hello",
			[]string{"--scheme", "github", "--secret", secret, "--header", github},
			1, "invalid: mismatch\n",
			"byte for byte",
		},
		"a line break that was not sent": {
			"Hello, World!\n",
			[]string{"--scheme", "github", "--secret", secret, "--header", github},
			1, "invalid: mismatch\n",
			"ends with a line break that was not sent",
		},
		"white space around the secret": {
			"Hello, World!",
			[]string{"--scheme", "github", "--secret", " " + secret, "--header", github},
			1,
			"invalid: mismatch\n", "white space",
		},
		"no header": {
			"Hello, World!",
			[]string{"--scheme", "github", "--secret", secret},
			1, "invalid: missing_header\n",
			"X-Hub-Signature-256",
		},
		"another scheme": {
			"Hello, World!",
			[]string{"--scheme", "pagerduty", "--secret", secret, "--header", "X-PagerDuty-Signature: 00"},
			1,
			"invalid: bad_format\n", "X-PagerDuty-Signature",
		},
		"the header twice": {
			"Hello, World!",
			[]string{"--scheme", "github", "--secret", secret, "--header", github, "--header", github},
			1,
			"invalid: bad_format\n", "more than once",
		},
		"a secret that is no key": {
			event,
			[]string{
				"--scheme", "svix", "--secret", "not base64", "--header", msgID, "--header", msgAt, "--header", msgSig, "--at",
				"1614265330",
			},
			1, "invalid: no_secret\n", "not base64 after whsec_",
		},
		"an address that is signed": {
			square,
			[]string{"--scheme", "square", "--secret", "Ibxx_5AKakO-3qeNVR61Dw", "--header", squareSig, "--url", squareURL},
			0,
			"valid\n", "",
		},
		"another address": {
			square,
			[]string{
				"--scheme", "square", "--secret", "Ibxx_5AKakO-3qeNVR61Dw", "--header", squareSig, "--url", squareURL + "/",
			},
			1, "invalid: mismatch\n", "--url",
		},
		"no address": {
			square, []string{"--scheme", "square", "--secret", "Ibxx_5AKakO-3qeNVR61Dw", "--header", squareSig}, 64, "", "--url",
		},
		"a scheme of one's own": {
			"Hello, World!",
			[]string{"--scheme", "custom_hmac", "--signature", own, "--secret", secret, "--header", ownSig},
			0,
			"valid\n", "",
		},
		"one that is not described": {
			"Hello, World!",
			[]string{"--scheme", "custom_hmac", "--secret", secret, "--header", ownSig},
			64, "",
			"/signature: is required",
		},
		"one with a typing error": {
			"Hello, World!",
			[]string{"--scheme", "custom_hmac", "--signature", `{"haeder":"X-Sig"}`, "--secret", secret},
			64,
			"", "haeder",
		},
		"one without what it needs": {
			"Hello, World!",
			[]string{"--scheme", "custom_hmac", "--signature", `{"header":"X-Sig"}`, "--secret", secret},
			64,
			"", "/signature/hash",
		},
		"an unknown scheme": {
			"Hello, World!", []string{"--scheme", "gitbub", "--secret", secret}, 64, "", "must be one of",
		},
		"no secret": {"Hello, World!", []string{"--scheme", "github", "--header", github}, 64, "", "--secret"},
		"a header without a value": {
			"Hello, World!",
			[]string{"--scheme", "github", "--secret", secret, "--header", "X-Hub-Signature-256"},
			64, "",
			"--header number 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := filepath.Join(t.TempDir(), "body")
			if err := os.WriteFile(body, []byte(test.body), 0o600); err != nil {
				t.Fatal(err)
			}
			got := call(t, nil, append([]string{"webhook", "verify", "--body-file", body}, test.args...)...)
			got.want(t, test.code, test.err)
			if got.out != test.out {
				t.Errorf("got %q, want %q", got.out, test.out)
			}
			if test.err == "" && got.err != "" || test.code == 1 && strings.Count(got.err, "\n") != 1 {
				t.Errorf("got %q on standard error, want one line where it is invalid", got.err)
			}
			for _, hidden := range []string{secret, strings.TrimPrefix(whsec, "whsec_"), "757107ea", "g0hM9SsE"} {
				if strings.Contains(got.out+got.err, hidden) {
					t.Errorf("%q is in %q and %q", hidden, got.out, got.err)
				}
			}
		})
	}
}

func TestWebhookVerifyReadsFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("It's a Secret to Everybody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"webhook", "verify", "--scheme", "github", "--body-file", "-",
		"--header", "X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
	}
	callWith(t, "Hello, World!", nil, append(args, "--secret-file", file)...).want(t, 0, "valid")
	callWith(t, "Hello, World!", []string{"PENSTOCK_WEBHOOK_VERIFY_SECRET_FILE=" + file}, args...).want(t, 0, "valid")
	callWith(t, "Hello, World!", nil, append(args, "--secret-file", file, "--secret", "x")...).want(t, 64, "--secret")
	callWith(t, "Hello, World!", nil, append(args, "--secret-file", "none")...).want(t, 64, "no such file")
	callWith(t, "Hello, World!", nil, append(args, "--secret-file", "-")...).want(t, 64, "cannot both")
	call(
		t, nil, "webhook", "verify", "--scheme", "github", "--secret", "x", "--body-file", "none",
	).want(t, 64, "no such file")
	call(t, nil, "complete", "--", "webhook", "verify", "--scheme", "").want(t, 0, "standard_webhooks", "custom_hmac")
}
