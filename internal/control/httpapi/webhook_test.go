package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// factory creates a factory and returns the path of its webhooks.
func (w *world) factory(name string) (hooks string) {
	w.t.Helper()
	admin := penstock.Principal{
		Team: store.DefaultTeam, Actor: penstock.Actor{Type: "user", UID: "admin"},
		Scopes: []penstock.Scope{penstock.ScopeAdmin},
	}
	f, err := w.svc.Factories.Create(w.t.Context(), admin, factory.FactoryRequest{Name: &name})
	if err != nil {
		w.t.Fatal(err)
	}
	return "/api/v1/factory/" + f.UID + "/webhooks"
}

func TestAWebhooksSecretIsInOneResponseAndNoLog(t *testing.T) {
	t.Parallel()
	w := start(t)
	hooks := w.factory("acme")
	const given = "given-to-us-3fK9"
	var secrets []string
	for _, body := range []string{
		`{"name": "a"}`, `{"name": "b", "auth_mode": "url_token"}`,
		`{"name": "c", "auth_mode": "signature", "signature_scheme": "svix"}`,
		`{"name": "d", "auth_mode": "signature", "signature_scheme": "github", "secret": "` + given + `"}`,
	} {
		key := penstock.NewID()
		made := w.must(http.StatusCreated, "POST", hooks, body, "Idempotency-Key", key)
		again := w.must(http.StatusCreated, "POST", hooks, body, "Idempotency-Key", key)
		if again.body != made.body || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("again: got %s, want the first response", again.body)
		}
		secret := made.field("secret")
		if secret == "" || strings.Contains(body, "url_token") != strings.HasSuffix(made.field("ingress_url"), "/"+secret) {
			t.Errorf("got %s", made.body)
		}
		hook := hooks + "/" + made.field("uid")
		rotated := w.must(
			http.StatusOK, "POST", hook+"/rotate-secret", `{"overlap_seconds": 60, "secret": "`+secretLike(body)+`"}`,
		)
		secrets = append(secrets, secret, rotated.field("secret"))
		for _, later := range []response{
			w.must(http.StatusOK, "GET", hook, nil), w.must(http.StatusOK, "GET", hooks, nil),
			w.must(http.StatusOK, "PATCH", hook, `{"replay_guard": true}`),
			w.must(http.StatusOK, "GET", "/api/v1/secrets", nil), w.do("PATCH", hook, `{"secret": "`+given+`"}`),
			w.do("POST", hooks, body),
			w.do("POST", hook+"/rotate-secret", `{"secret": "`+given+` "}`),
			w.do("POST", hook+"/rotate-secret", `{"overlap_seconds": -1, "secret": "`+given+`"}`),
		} {
			for _, secret := range secrets {
				if strings.Contains(later.body, secret) {
					t.Errorf("the secret %q is in a later response: %s", secret, later.body)
				}
			}
		}
	}
	for _, secret := range secrets {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// secretLike returns a secret that fits the mode of a request.
func secretLike(request string) string {
	if strings.Contains(request, "svix") {
		return signature.NewSecret()
	}
	return penstock.NewUID()
}

func TestWebhookOfAnotherFactoryIsNotFound(t *testing.T) {
	t.Parallel()
	w := start(t)
	hooks, others := w.factory("acme"), w.factory("other")
	uid := w.must(http.StatusCreated, "POST", hooks, `{"name": "a"}`).field("uid")
	for _, tt := range []struct{ method, path, body string }{
		{"GET", "", ""}, {"PATCH", "", `{"enabled": false}`}, {"POST", "/rotate-secret", "{}"}, {"DELETE", "", ""},
	} {
		nobody := unknown(uid)
		foreign := w.must(http.StatusNotFound, tt.method, others+"/"+uid+tt.path, tt.body)
		none := w.must(http.StatusNotFound, tt.method, others+"/"+nobody+tt.path, tt.body)
		if want := strings.ReplaceAll(none.body, nobody, uid); foreign.body != want {
			t.Errorf("%s: got %s, want %s", tt.method, foreign.body, want)
		}
	}
	w.must(http.StatusOK, "GET", hooks+"/"+uid, nil)
}

func TestAWebhookWithAHostileNameIsABadRequest(t *testing.T) {
	t.Parallel()
	w := start(t)
	hooks := w.factory("acme")
	for what, name := range map[string]string{
		"control characters": `a\u001b[2Jb\r\n`, "10,000 bytes": strings.Repeat("a", 10_000), "NUL": `a\u0000b`,
		"bidirectional text": `a\u202eb`,
		"a path":             "../../etc", "HTML": "<b>a</b>", "an unpaired surrogate": `\ud800`,
	} {
		a := w.must(http.StatusBadRequest, "POST", hooks, fmt.Sprintf(`{"name": "%s"}`, name))
		if !strings.Contains(a.body, "/name") || len(a.body) > 1000 {
			t.Errorf("%s: got %s", what, a.body)
		}
	}
	if a := w.must(http.StatusOK, "GET", hooks, nil); a.body != `{"webhooks":[]}` {
		t.Errorf("got %s, want none", a.body)
	}
}

func TestAWebhooksSecretIsRotatedWithoutABody(t *testing.T) {
	t.Parallel()
	w := start(t)
	hooks := w.factory("acme")
	hook := hooks + "/" + w.must(http.StatusCreated, "POST", hooks, `{"name": "a"}`).field("uid")
	if a := w.must(http.StatusOK, "POST", hook+"/rotate-secret", nil); len(a.field("secret")) != 32 {
		t.Errorf("got %s, want a new secret", a.body)
	}
	if a := w.must(http.StatusOK, "PATCH", hook, `{"enabled": null, "label": "x"}`); a.field("enabled") != "true" ||
		a.header.Get("X-Penstock-Ignored-Fields") != "/label" {
		t.Errorf("got %s, %s ignored", a.body, a.header.Get("X-Penstock-Ignored-Fields"))
	}
}

func TestSignatureSchemesSayHowEachSenderSigns(t *testing.T) {
	t.Parallel()
	w := start(t)
	var got struct {
		Schemes []struct {
			Scheme       penstock.SignatureScheme
			Sender, Hint string
			Forms        []struct{ Header, Algorithm string }
		} `json:"signature_schemes"`
	}
	w.must(http.StatusOK, "GET", "/api/v1/signature-schemes", nil).into(t, &got)
	if len(got.Schemes) != len(signature.Presets()) {
		t.Errorf("got %d schemes, want %d", len(got.Schemes), len(signature.Presets()))
	}
	for _, s := range got.Schemes {
		if s.Sender == "" || s.Hint == "" || s.Forms == nil || len(s.Forms) == 0 != (s.Scheme == signature.CustomHMAC) {
			t.Errorf("got %+v, want a sender, a hint and its forms", s)
		}
	}
}

func TestADedupWindowIsATimeOrSeconds(t *testing.T) {
	t.Parallel()
	w := start(t)
	hooks := w.factory("acme")
	made := w.must(http.StatusCreated, "POST", hooks, `{"name": "a", "dedup_body_window": "90m"}`)
	hook := hooks + "/" + made.field("uid")
	for body, want := range map[string]string{
		`{"dedup_body_window": 0}`: "0s", `{"dedup_body_window": "0"}`: "0", `{"dedup_body_window": 72000}`: "72000s",
		`{"dedup_body_window": " 20h "}`: "20h", `{"dedup_body_window": ""}`: "",
	} {
		if got := w.must(http.StatusOK, "PATCH", hook, body).field("dedup_body_window"); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
	for _, body := range []string{`-1`, `1.5`, `true`, `[]`, `"1 day"`, `"-1h"`, `9999999999999`} {
		w.must(http.StatusBadRequest, "PATCH", hook, `{"dedup_body_window": `+body+`}`)
	}
}
