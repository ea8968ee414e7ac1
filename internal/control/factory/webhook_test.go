package factory_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// hooks is a world with a factory.
type hooks struct {
	*world
	factory string
}

func withFactory(t *testing.T, change func(*run.Deps), test func(h *hooks)) {
	t.Helper()
	worlds(t, func(o *run.Deps) {
		testworld.DefaultWebhooks(o)
		if change != nil {
			change(o)
		}
	}, func(w *world) {
		test(&hooks{w, w.NewFactory("acme")})
	})
}

// hook makes a webhook.
func (h *hooks) hook(req factory.WebhookRequest) penstock.Webhook {
	h.T.Helper()
	w, err := h.Resources.CreateWebhook(h.T.Context(), h.Admin, h.factory, req)
	if err != nil {
		h.T.Fatal(err)
	}
	return w
}

func (h *hooks) update(uid string, req factory.WebhookRequest) penstock.Webhook {
	h.T.Helper()
	w, err := h.Resources.UpdateWebhook(h.T.Context(), h.Admin, h.factory, uid, req)
	if err != nil {
		h.T.Fatal(err)
	}
	return w
}

func (h *hooks) rotate(uid string, req factory.RotateRequest) penstock.Webhook {
	h.T.Helper()
	w, err := h.Resources.RotateWebhookSecret(h.T.Context(), h.Admin, h.factory, uid, req)
	if err != nil {
		h.T.Fatal(err)
	}
	return w
}

// read returns the webhook as all callers see it later.
func (h *hooks) read(uid string) penstock.Webhook {
	h.T.Helper()
	w, err := h.Webhooks.Read(h.T.Context(), h.Admin, h.factory, uid)
	if err != nil {
		h.T.Fatal(err)
	}
	return w
}

// values requires the secrets that verify deliveries.
func (h *hooks) values(uid string, want ...string) {
	h.T.Helper()
	got, err := h.WebhookValues(h.T.Context(), uid)
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" || err != nil {
		h.T.Errorf("the webhook's secrets, -want +got (%v):\n%s", err, diff)
	}
}

// managed requires the value of the managed secret.
func (h *hooks) managed(name, want string) {
	h.T.Helper()
	if got, err := h.SecretValue(h.T.Context(), name); got != want || err != nil {
		h.T.Errorf("the managed secret %s: got %q, %v, want %q", name, got, err, want)
	}
}

func (h *hooks) secret(name string, value *string) {
	h.T.Helper()
	if _, err := h.Secrets.Create(h.T.Context(), h.Admin, access.SecretRequest{Name: name, Value: value}); err != nil {
		h.T.Fatal(err)
	}
}

func (h *hooks) setSecret(name, value string) {
	h.T.Helper()
	if _, err := h.Secrets.Set(h.T.Context(), h.Admin, name, access.SecretChange{Value: &value}); err != nil {
		h.T.Fatal(err)
	}
}

// signature requests a webhook whose deliveries are signed.
func signature(name, scheme string, secret *string) factory.WebhookRequest {
	return factory.WebhookRequest{
		Name: &name, AuthMode: new(penstock.AuthSignature), SignatureScheme: new(penstock.SignatureScheme(scheme)),
		Secret: secret,
	}
}

func named(name string, mode penstock.AuthMode) factory.WebhookRequest {
	return factory.WebhookRequest{Name: &name, AuthMode: &mode}
}

func TestWebhookIsCreatedWithASecretThatIsShownOnce(t *testing.T) {
	token, whsec := regexp.MustCompile(`^[A-Za-z0-9_-]{32}$`), regexp.MustCompile(`^whsec_[A-Za-z0-9+/]{43}=$`)
	tests := []struct {
		name   string
		req    factory.WebhookRequest
		secret *regexp.Regexp // nil: none
		url    string         // after the uid, in the response; {secret} is the secret
		later  string
	}{
		{"a token, when nothing is said", factory.WebhookRequest{Name: new(" Deploy  Events ")}, token, "", ""},
		{
			"a token that is given",
			factory.WebhookRequest{Name: new("deploy-events"), Secret: new("of-old-and-long-1")},
			regexp.MustCompile("^of-old-and-long-1$"), "", "",
		},
		{"a token in the URL", named("deploy-events", penstock.AuthURLToken), token, "/{secret}", "/{token}"},
		{
			"a signature", signature("deploy-events", "github", new("given-by-a-person")),
			regexp.MustCompile("^given-by-a-person$"), "", "",
		},
		{"a generated signing secret", signature("deploy-events", "standard_webhooks", nil), whsec, "", ""},
		{"another generated signing secret", signature("deploy-events", "svix", nil), whsec, "", ""},
		{"a signature whose secret comes later", signature("deploy-events", "stripe", nil), nil, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			withFactory(t, nil, func(h *hooks) {
				made := h.hook(tt.req)
				pending := tt.secret == nil
				want := penstock.Webhook{
					UID: made.UID, Name: "deploy-events", Label: strings.TrimSpace(*tt.req.Name), AuthMode: penstock.AuthToken,
					SecretName: "DEPLOY_EVENTS_WEBHOOK_SECRET", SecretRefresh: penstock.RefreshApply, Enabled: !pending,
					PendingSecret: pending,
					IngressURL: "https://penstock.test/webhooks/w/" + made.UID + strings.ReplaceAll(
						tt.url, "{secret}", made.Secret,
					),
					Secrets: []penstock.WebhookSecret{{}}, CreatedAt: made.CreatedAt, UpdatedAt: made.CreatedAt, Secret: made.Secret,
				}
				if pending {
					want.Secrets = []penstock.WebhookSecret{}
				}
				if tt.req.AuthMode != nil {
					want.AuthMode = *tt.req.AuthMode
				}
				if tt.req.SignatureScheme != nil {
					want.SignatureScheme = *tt.req.SignatureScheme
				}
				if diff := cmp.Diff(want, made); diff != "" {
					h.T.Errorf("the response, -want +got:\n%s", diff)
				}
				if pending != (made.Secret == "") || !pending && !tt.secret.MatchString(made.Secret) {
					h.T.Errorf("got the secret %q, want %v", made.Secret, tt.secret)
				}
				if !pending {
					h.values(made.UID, made.Secret)
					h.managed("DEPLOY_EVENTS_WEBHOOK_SECRET", made.Secret)
				}
				want.Secret, want.IngressURL = "", "https://penstock.test/webhooks/w/"+made.UID+tt.later
				if diff := cmp.Diff(want, h.read(made.UID)); diff != "" {
					h.T.Errorf("later, -want +got:\n%s", diff)
				}
				list, err := h.Webhooks.List(h.T.Context(), h.Admin, h.factory)
				if diff := cmp.Diff([]penstock.Webhook{want}, list); diff != "" || err != nil {
					h.T.Errorf("in the list, -want +got (%v):\n%s", err, diff)
				}
			})
		})
	}
}

func TestInvalidWebhooksAreRejected(t *testing.T) {
	custom := func(s penstock.Signature) factory.WebhookRequest {
		r := signature("x", "custom_hmac", new("s"))
		r.Signature = &s
		return r
	}
	hmac := penstock.Signature{Header: "X-Sig", Hash: "sha256", Encoding: "hex", KeyForm: "text", Template: "{body}"}
	with := func(change func(*factory.WebhookRequest)) factory.WebhookRequest {
		r := factory.WebhookRequest{Name: new("x")}
		change(&r)
		return r
	}
	tests := []struct {
		name string
		req  factory.WebhookRequest
		at   string // all pointers, in order
	}{
		{"no name", factory.WebhookRequest{}, "/name"},
		{"an empty name", factory.WebhookRequest{Name: new(" \t")}, "/name"},
		{"a name with a dot", factory.WebhookRequest{Name: new("a.b")}, "/name"},
		{"a name that begins with a hyphen", factory.WebhookRequest{Name: new("-a")}, "/name"},
		{"a name with control characters", factory.WebhookRequest{Name: new("a\x1b[31mb\r\nc")}, "/name"},
		{"a name of 64 characters", factory.WebhookRequest{Name: new(strings.Repeat("n", 64))}, "/name"},
		{"a name of 10,000 bytes", factory.WebhookRequest{Name: new(strings.Repeat("n", 10_000))}, "/name"},
		{
			"a name of 10,000 spaces and a letter",
			factory.WebhookRequest{Name: new("a" + strings.Repeat(" ", 10_000) + "b")},
			"/name",
		},
		{"an unknown mode", named("x", "password"), "/auth_mode"},
		{"a signature without a scheme", named("x", penstock.AuthSignature), "/signature_scheme"},
		{"an unknown scheme", signature("x", "gihub", nil), "/signature_scheme"},
		{
			"a scheme for a token",
			with(func(r *factory.WebhookRequest) { r.SignatureScheme = new(penstock.SignatureScheme("github")) }),
			"/signature_scheme",
		},
		{"a signature object for a token", with(func(r *factory.WebhookRequest) { r.Signature = &hmac }), "/signature"},
		{"custom_hmac without one", signature("x", "custom_hmac", new("s")), "/signature"},
		{
			"custom_hmac that signs no body",
			custom(penstock.Signature{Header: "X-Sig", Hash: "sha256", Encoding: "hex", KeyForm: "text", Template: "x"}),
			"/signature/template",
		},
		{
			"custom_hmac in the header that has the key",
			custom(
				penstock.Signature{Header: "Authorization", Hash: "sha256", Encoding: "hex", KeyForm: "text", Template: "{body}"},
			),
			"/signature/header",
		},
		{
			"a signature object for github",
			with(func(r *factory.WebhookRequest) { *r = signature("x", "github", new("s")); r.Signature = &hmac }),
			"/signature",
		},
		{"a secret that is none of its scheme", signature("x", "svix", new("whsec_!")), "/secret"},
		{"a secret with a line end", signature("x", "github", new("s\n")), "/secret"},
		{"an empty secret", signature("x", "github", new("")), "/secret"},
		{"a token with a space", with(func(r *factory.WebhookRequest) { r.Secret = new("a b") }), "/secret"},
		{
			"a token of the URL with a slash",
			with(func(r *factory.WebhookRequest) { *r = named("x", penstock.AuthURLToken); r.Secret = new("a/b") }), "/secret",
		},
		{
			"a token of the URL that leads up",
			with(func(r *factory.WebhookRequest) { *r = named("x", penstock.AuthURLToken); r.Secret = new("..") }), "/secret",
		},
		{
			"a name of a secret that is none", with(func(r *factory.WebhookRequest) { r.SecretName = new("a-b") }),
			"/secret_name",
		},
		{
			"an id in the Cookie", with(func(r *factory.WebhookRequest) { r.DeliveryIDHeader = new("cookie") }),
			"/delivery_id_header",
		},
		{
			"an id in the Authorization", with(func(r *factory.WebhookRequest) { r.DeliveryIDHeader = new("AUTHORIZATION") }),
			"/delivery_id_header",
		},
		{
			"an id in a key of an API", with(func(r *factory.WebhookRequest) { r.DeliveryIDHeader = new("X-Api-Key") }),
			"/delivery_id_header",
		},
		{
			"an id in a token", with(func(r *factory.WebhookRequest) { r.DeliveryIDHeader = new("x-auth-token") }),
			"/delivery_id_header",
		},
		{
			"an id in a header of the connection",
			with(func(r *factory.WebhookRequest) { r.DeliveryIDHeader = new("transfer-encoding") }), "/delivery_id_header",
		},
		{
			"an id in the signature",
			with(func(r *factory.WebhookRequest) { *r = custom(hmac); r.DeliveryIDHeader = new("x-sig") }),
			"/delivery_id_header",
		},
		{
			"an id in no header", with(func(r *factory.WebhookRequest) { r.DeliveryIDHeader = new("a b") }),
			"/delivery_id_header",
		},
		{
			"an unknown refresh",
			with(func(r *factory.WebhookRequest) { r.SecretRefresh = new(penstock.SecretRefresh("never")) }), "/secret_refresh",
		},
		{"all at once", with(func(r *factory.WebhookRequest) {
			*r = named("", "x")
			r.SecretName, r.DeliveryIDHeader, r.SecretRefresh = new("-"), new("Cookie"), new(penstock.SecretRefresh("x"))
		}), "/name /auth_mode /secret_name /delivery_id_header /secret_refresh"},
	}
	withFactory(t, nil, func(h *hooks) {
		for _, tt := range tests {
			_, err := h.Resources.CreateWebhook(h.T.Context(), h.Admin, h.factory, tt.req)
			var known *penstock.Error
			if !errors.As(err, &known) || known.Code != penstock.CodeInvalidRequest {
				h.T.Errorf("%s: got %v, want it to be refused", tt.name, err)
				continue
			}
			var at []string
			for _, f := range known.Fields {
				at = append(at, f.Pointer)
				if len(f.Detail) > 600 || strings.ContainsAny(f.Detail, "\x1b\r\n") {
					h.T.Errorf("%s: the detail repeats what it refuses: %q", tt.name, f.Detail)
				}
			}
			if got := strings.Join(at, " "); got != tt.at {
				h.T.Errorf("%s: got errors at %q, want %q (%v)", tt.name, got, tt.at, err)
			}
		}
		secrets, err := h.Secrets.List(h.T.Context(), h.Admin)
		if len(secrets) != 0 || err != nil {
			h.T.Errorf("what was refused left secrets: %+v, %v", secrets, err)
		}
	})
}

func TestWebhookNamesAreUniqueInAFactory(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		h.hook(named("Deploy Events", penstock.AuthToken))
		_, err := h.Resources.CreateWebhook(h.T.Context(), h.Admin, h.factory, named("deploy-EVENTS", penstock.AuthToken))
		testworld.WantCode(h.T, err, penstock.CodeConflict, "deploy-events")
		other := &hooks{h.world, h.NewFactory("other")}
		if got := other.hook(named("deploy events", penstock.AuthToken)).SecretName; got != "DEPLOY_EVENTS_WEBHOOK_SECRET_2" {
			h.T.Errorf("got the secret %s, want one of its own", got)
		}
		if got := other.hook(named("2fast", penstock.AuthToken)).SecretName; got != "_2FAST_WEBHOOK_SECRET" {
			h.T.Errorf("got the secret %s", got)
		}
	})
}

func TestWebhookUsesANamedSecret(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		manager := h.As("eve", penstock.ScopeFactoriesManage)
		h.secret("SHARED", new("a+b-of-sixteen-characters"))
		h.secret("SAFE", new("safe-in-a-path-1"))
		h.secret("DECLARED", nil)
		reuse := func(name string, mode penstock.AuthMode) factory.WebhookRequest {
			r := named("w-"+strings.ToLower(name), mode)
			r.SecretName = &name
			return r
		}
		_, err := h.Resources.CreateWebhook(ctx, manager, h.factory, reuse("SHARED", penstock.AuthToken))
		testworld.WantCode(h.T, err, penstock.CodeNotAuthorized, "secrets:manage")
		_, err = h.Resources.CreateWebhook(ctx, h.Admin, h.factory, reuse("SHARED", penstock.AuthURLToken))
		testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "A-Z a-z 0-9")
		given := reuse("SHARED", penstock.AuthToken)
		given.Secret = new("another-that-is-long")
		_, err = h.Resources.CreateWebhook(ctx, h.Admin, h.factory, given)
		testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "/secret: cannot be given together")

		shared := h.hook(reuse("SHARED", penstock.AuthToken))
		if h.values(shared.UID, "a+b-of-sixteen-characters"); shared.Secret != "" || !shared.Enabled {
			h.T.Errorf("got %+v, want it enabled and its secret not shown", shared)
		}
		inURL := h.hook(reuse("SAFE", penstock.AuthURLToken))
		if h.values(inURL.UID, "safe-in-a-path-1"); inURL.Secret != "" || !strings.HasSuffix(inURL.IngressURL, "/{token}") {
			h.T.Errorf("got %+v, want its secret not shown", inURL)
		}
		waits := h.hook(reuse("DECLARED", penstock.AuthToken))
		if h.values(waits.UID); waits.Enabled || !waits.PendingSecret {
			h.T.Errorf("got %+v, want it to wait for a value", waits)
		}
		own, err := h.Resources.CreateWebhook(ctx, manager, h.factory, reuse("OWN", penstock.AuthToken))
		if err != nil || own.Secret == "" || own.SecretName != "OWN" {
			h.T.Errorf("a name that is free: got %+v, %v", own, err)
		}
		testworld.WantCode(
			h.T, h.Secrets.Delete(ctx, h.Admin, "SHARED"), penstock.CodeConflict, `the webhook "w-shared" of the factory "acme"`,
		)
		secret, err := h.Secrets.Read(ctx, h.Admin, "SHARED")
		want := []penstock.SecretUser{
			{Type: store.SecretOfWebhook, UID: shared.UID, Name: "w-shared", FactoryUID: h.factory, FactoryName: "acme"},
		}
		if diff := cmp.Diff(want, secret.UsedBy); diff != "" || err != nil {
			h.T.Errorf("users of the secret, -want +got (%v):\n%s", err, diff)
		}
	})
}

func TestFactoryHasAMaximumNumberOfWebhooks(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		const tried = 40
		errs := make([]error, tried)
		var all sync.WaitGroup
		for i := range tried {
			all.Go(func() {
				_, errs[i] = h.Resources.CreateWebhook(
					h.T.Context(), h.Admin, h.factory, named(fmt.Sprintf("w%d", i), penstock.AuthToken),
				)
			})
		}
		all.Wait()
		made := 0
		for _, err := range errs {
			if err == nil {
				made++
				continue
			}
			testworld.WantCode(h.T, err, penstock.CodeConflict, "this server allows 20 (webhooks_per_factory)")
		}
		list, err := h.Webhooks.List(h.T.Context(), h.Admin, h.factory)
		if made != 20 || len(list) != 20 || err != nil {
			h.T.Fatalf("%d creates succeeded and there are %d (%v), want 20", made, len(list), err)
		}
		secrets, err := h.Secrets.List(h.T.Context(), h.Admin)
		if len(secrets) != 20 || err != nil {
			h.T.Errorf("got %d secrets, %v, want 20: what was refused leaves none", len(secrets), err)
		}
		if err := h.Resources.DeleteWebhook(h.T.Context(), h.Admin, h.factory, list[0].UID); err != nil {
			h.T.Fatal(err)
		}
		h.hook(named("in-its-place", penstock.AuthToken))
		(&hooks{h.world, h.NewFactory("other")}).hook(named("x", penstock.AuthToken))
	})
}

func TestFactoryHasAnyNumberOfWebhooksWithoutALimit(t *testing.T) {
	withFactory(t, func(o *run.Deps) { o.Webhooks.WebhooksPerFactory = 0 }, func(h *hooks) {
		for i := range 25 {
			h.hook(named(fmt.Sprintf("w%d", i), penstock.AuthToken))
		}
	})
}

func TestWebhookOfAnotherTeamDoesNotExist(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		w := h.hook(named("x", penstock.AuthToken))
		other := h.NewFactory("other")
		stranger := h.As("eve", penstock.ScopeAdmin)
		stranger.Team = "another"
		weak := h.As("eve", penstock.ScopeRunsRead, penstock.ScopeRunsWrite, penstock.ScopeSecretsManage)
		for _, tt := range []struct {
			p            penstock.Principal
			factory, uid string
			code         penstock.Code
		}{
			{h.Admin, h.factory, "unknown", penstock.CodeNotFound},
			{h.Admin, other, w.UID, penstock.CodeNotFound},
			{h.Admin, "unknown", w.UID, penstock.CodeNotFound},
			{stranger, h.factory, w.UID, penstock.CodeNotFound},
			{weak, h.factory, w.UID, penstock.CodeNotAuthorized},
		} {
			_, read := h.Webhooks.Read(ctx, tt.p, tt.factory, tt.uid)
			_, update := h.Resources.UpdateWebhook(ctx, tt.p, tt.factory, tt.uid, factory.WebhookRequest{Enabled: new(false)})
			_, rotate := h.Resources.RotateWebhookSecret(ctx, tt.p, tt.factory, tt.uid, factory.RotateRequest{})
			for what, err := range map[string]error{
				"read": read, "update": update, "rotate": rotate,
				"delete": h.Resources.DeleteWebhook(ctx, tt.p, tt.factory, tt.uid),
			} {
				testworld.WantCode(h.T, err, tt.code, "")
				if tt.code == penstock.CodeNotFound && err.Error() != penstock.NotFound("webhook", tt.uid).Error() {
					h.T.Errorf("%s: got %v, which tells more than that there is none", what, err)
				}
			}
			if _, err := h.Webhooks.List(ctx, tt.p, tt.factory); err == nil && tt.factory != other && tt.uid == w.UID {
				h.T.Errorf("%s lists the webhooks of %s", tt.p.Team, tt.factory)
			}
			if _, err := h.Resources.CreateWebhook(ctx, tt.p, tt.factory, named("y", "")); err == nil {
				h.T.Errorf("%s makes a webhook in %s", tt.p.Team, tt.factory)
			}
		}
		if got := h.read(w.UID); !got.Enabled {
			h.T.Errorf("somebody changed it: %+v", got)
		}
	})
}

func TestWebhookEnds(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		w := h.hook(named("x", penstock.AuthToken))
		before, _ := h.TeamVersion(ctx)
		if err := h.Resources.DeleteWebhook(ctx, h.Admin, h.factory, w.UID); err != nil {
			h.T.Fatal(err)
		}
		if f, err := h.Factories.Read(ctx, h.Admin, h.factory); err != nil || f.Definition.Revision != 3 ||
			f.WebhookCount != 0 {
			h.T.Errorf("got %+v, %v, want the factory's third revision: made, webhook made, webhook deleted", f, err)
		}
		if after, err := h.TeamVersion(ctx); after <= before || err != nil {
			h.T.Errorf("the team's version went from %d to %d, %v", before, after, err)
		}
		testworld.WantCode(h.T, h.Resources.DeleteWebhook(ctx, h.Admin, h.factory, w.UID), penstock.CodeNotFound, w.UID)
		if _, err := h.WebhookValues(ctx, w.UID); penstock.CodeOf(err) != penstock.CodeNotFound {
			h.T.Errorf("the ingress finds it: %v", err)
		}
		h.managed(w.SecretName, w.Secret)
		if err := h.Secrets.Delete(ctx, h.Admin, w.SecretName); err != nil {
			h.T.Errorf("the secret that nothing uses any more: %v", err)
		}
	})
}

func TestRepeatedCreateOfAWebhookReturnsItsSecretAgain(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		i := testworld.Once("k", "body")
		i.OneTimeSecret = true
		made, err := h.Resources.CreateWebhook(
			access.WithIdempotency(h.T.Context(), i), h.Admin, h.factory, named("x", penstock.AuthURLToken),
		)
		if err != nil {
			h.T.Fatal(err)
		}
		var again penstock.Webhook
		h.Replay(h.Admin, i, &again)
		if diff := cmp.Diff(made, again); diff != "" || again.Secret == "" {
			h.T.Errorf("-first +again:\n%s", diff)
		}
	})
}

func TestWebhookSecretsAreEncrypted(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		w := h.hook(named("x", penstock.AuthToken))
		row, err := openBeside(h.T, h.URL).Webhooks.ByUID(h.T.Context(), w.UID)
		if err != nil || len(row.Sealed) != 1 || strings.Contains(string(row.Sealed[0].Sealed), w.Secret) {
			h.T.Errorf("got %v, %v, want it sealed", row.Sealed, err)
		}
	})
}

// openBeside opens the database of a world a second time.
func openBeside(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
