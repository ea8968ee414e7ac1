package service_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/secret"
	"github.com/penstock-dev/penstock/internal/service"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// secret creates a secret. Without a value it is pending.
func (w *world) secret(name, value string) penstock.ManagedSecret {
	w.t.Helper()
	req := penstock.SecretRequest{Name: name, Value: &value}
	if value == "" {
		req.Value = nil
	}
	made, err := w.Secrets.Create(w.t.Context(), w.admin, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

func (w *world) setSecret(name, value string) penstock.ManagedSecret {
	w.t.Helper()
	set, err := w.Secrets.Set(w.t.Context(), w.admin, name, penstock.SecretChange{Value: &value})
	if err != nil {
		w.t.Fatal(err)
	}
	return set
}

func TestSecretFromItsDeclarationToItsEnd(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		made := w.secret("DEPLOY_KEY", "")
		want := penstock.ManagedSecret{
			Name: "DEPLOY_KEY", Pending: true, CreatedAt: made.CreatedAt, UpdatedAt: made.CreatedAt,
			CreatedBy: &w.admin.Actor, UpdatedBy: &w.admin.Actor, UsedBy: []penstock.SecretUser{},
		}
		if diff := cmp.Diff(want, made); diff != "" || made.CreatedAt == 0 {
			w.t.Errorf("declared, -want +got:\n%s", diff)
		}
		for version := range int64(2) {
			set := w.setSecret("DEPLOY_KEY", "hunter22")
			if set.Version != version+1 || set.Pending || set.CreatedAt != made.CreatedAt || set.UpdatedAt < made.UpdatedAt {
				w.t.Errorf("given a value: got %+v", set)
			}
		}
		w.secret("A", "another")
		list, err := w.Secrets.List(ctx, w.admin)
		if err != nil || len(list) != 2 || list[0].Name != "A" || list[1].Version != 2 {
			w.t.Errorf("listed: got %+v, %v", list, err)
		}
		_, err = w.Secrets.Create(ctx, w.admin, penstock.SecretRequest{Name: "A"})
		wantCode(w.t, err, penstock.CodeConflict, `"A" already`)
		if err := w.Secrets.Delete(ctx, w.admin, "A"); err != nil {
			w.t.Fatal(err)
		}
		value := "v"
		for _, call := range []func(penstock.Principal) error{
			func(p penstock.Principal) error { _, err := w.Secrets.Read(ctx, p, "A"); return err },
			func(p penstock.Principal) error {
				_, err := w.Secrets.Set(ctx, p, "A", penstock.SecretChange{Value: &value})
				return err
			},
			func(p penstock.Principal) error { return w.Secrets.Delete(ctx, p, "A") },
		} {
			wantCode(w.t, call(w.admin), penstock.CodeNotFound, `"A"`)
			wantCode(w.t, call(w.as("bob", penstock.ScopeFactoriesManage)), penstock.CodeNotAuthorized, "secrets:manage")
		}
		stranger := penstock.Principal{Team: "another", Scopes: []penstock.Scope{penstock.ScopeAdmin}}
		_, err = w.Secrets.Read(ctx, stranger, "DEPLOY_KEY")
		wantCode(w.t, err, penstock.CodeNotFound, "DEPLOY_KEY")
		_, err = w.Secrets.List(ctx, w.as("bob", penstock.ScopeRunsWrite))
		wantCode(w.t, err, penstock.CodeNotAuthorized, "secrets:manage")
	})
}

func TestBadSecretsAreRefusedWithoutTheirValue(t *testing.T) {
	worlds(t, func(o *service.Options) { o.MaxSecrets = 1 }, func(w *world) {
		long := strings.Repeat("x", penstock.MaxSecretBytes)
		for name, tt := range map[string]struct{ name, value, pointer string }{
			"a name with a dash":   {"A-B", "hunter22", "/name"},
			"a name with a digit":  {"1A", "hunter22", "/name"},
			"a name too long":      {strings.Repeat("A", 129), "hunter22", "/name"},
			"no name":              {"", "hunter22", "/name"},
			"an empty value":       {"A", "", "/value"},
			"a value too long":     {"A", long + "hunter22", "/value"},
			"a value with NUL":     {"A", "hunter22\x00", "/value"},
			"a value not of UTF-8": {"A", "hunter22\xff", "/value"},
		} {
			_, err := w.Secrets.Create(w.t.Context(), w.admin, penstock.SecretRequest{Name: tt.name, Value: &tt.value})
			wantCode(w.t, err, penstock.CodeInvalidRequest, tt.pointer)
			if strings.Contains(fmt.Sprint(err), "hunter22") {
				w.t.Errorf("%s: the error repeats the value: %v", name, err)
			}
		}
		_, err := w.Secrets.Set(w.t.Context(), w.admin, "A", penstock.SecretChange{})
		wantCode(w.t, err, penstock.CodeInvalidRequest, "/value: is required")
		w.secret("A", long)
		_, err = w.Secrets.Create(w.t.Context(), w.admin, penstock.SecretRequest{Name: "B"})
		wantCode(w.t, err, penstock.CodeConflict, "secrets_per_team")
	})
}

func TestLimitOfSecretsHoldsForManyAtOnce(t *testing.T) {
	const most = 5
	worlds(t, func(o *service.Options) { o.MaxSecrets = most }, func(w *world) {
		var together sync.WaitGroup
		for n := range 4 * most {
			together.Go(func() {
				_, err := w.Secrets.Create(w.t.Context(), w.admin, penstock.SecretRequest{Name: fmt.Sprint("S", n)})
				if err != nil && penstock.CodeOf(err) != penstock.CodeConflict {
					w.t.Error(err)
				}
			})
		}
		together.Wait()
		if list, err := w.Secrets.List(w.t.Context(), w.admin); err != nil || len(list) != most {
			w.t.Errorf("there are %d secrets (%v), want %d", len(list), err, most)
		}
	})
}

func TestSecretInUseIsNotDeleted(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		w.secret("S", "hunter22")
		name, secrets := "Reviewer", []penstock.NamedSecret{{Name: "S"}}
		agent, err := w.Resources.CreateIdentity(ctx, w.admin, penstock.IdentityRequest{Name: &name, Secrets: &secrets})
		if err != nil {
			w.t.Fatal(err)
		}
		bob, team := w.as("bob", penstock.ScopeRunsWrite, penstock.ScopeSecretsUse), false
		schedule, err := w.Schedules.Create(ctx, bob, penstock.ScheduleRequest{
			Name: "bob's own", Cron: "@daily", Prompt: "go", Team: &team, Config: &penstock.Config{Secrets: []string{"S"}},
		})
		if err != nil {
			w.t.Fatal(err)
		}
		testkit.Exec(
			w.t, w.url,
			"INSERT INTO factories (uid, team, name, folded, source, foreman_uid, created_at, updated_at) VALUES ('f', "+
				"'default', 'App', 'app', 'service', 'x', 1, 1)",
		)
		testkit.Exec(
			w.t, w.url,
			"INSERT INTO webhooks (uid, team, factory_uid, name, label, auth_mode, secret_name, secret_refresh, enabled, "+
				"created_at, updated_at) VALUES ('w', 'default', 'f', 'deploys', 'Deploys', 'token', 'S', 'apply', 1, 1, 1)",
		)

		wantCode(w.t, w.Secrets.Delete(ctx, w.admin, "S"), penstock.CodeConflict,
			`used by the agent "Reviewer", the schedule "bob's own", the webhook "deploys" of the factory "App"`)
		carol := w.as("carol", penstock.ScopeSecretsManage)
		wantCode(w.t, w.Secrets.Delete(ctx, carol, "S"), penstock.CodeConflict, `a personal schedule, the webhook`)
		got, err := w.Secrets.Read(ctx, carol, "S")
		if err != nil {
			w.t.Fatal(err)
		}
		want := []penstock.SecretUser{
			{Type: penstock.SecretOfAgent, UID: agent.UID, Name: "Reviewer"},
			{Type: penstock.SecretOfSchedule},
			{Type: penstock.SecretOfWebhook, UID: "w", Name: "deploys", FactoryUID: "f", FactoryName: "App"},
		}
		if diff := cmp.Diff(want, got.UsedBy); diff != "" {
			w.t.Errorf("used by, -want +got:\n%s", diff)
		}
		list, err := w.Secrets.List(ctx, carol)
		if err != nil || len(list) != 1 {
			w.t.Fatalf("listed: got %+v, %v", list, err)
		}
		if diff := cmp.Diff(got, list[0]); diff != "" {
			w.t.Errorf("listed, -read +listed:\n%s", diff)
		}
		testkit.Exec(w.t, w.url, "UPDATE webhooks SET deleted_at = 1")
		if err := w.Resources.DeleteIdentity(ctx, w.admin, agent.UID); err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.Schedules.Pause(ctx, bob, schedule.ID); err != nil {
			w.t.Fatal(err)
		}
		if err := w.Secrets.Delete(ctx, w.admin, "S"); err != nil {
			w.t.Errorf("with nobody left: %v", err)
		}
		_, err = w.Schedules.Resume(ctx, bob, schedule.ID)
		wantCode(w.t, err, penstock.CodeConflict, "names a deleted secret")
	})
}

// The files of a SQLite database, including its write-ahead log, contain no value: neither that of
// a secret nor that of a stored response.
func TestDatabaseFileHoldsNoValue(t *testing.T) {
	worlds(t, nil, func(w *world) {
		file, embedded := strings.CutPrefix(w.url, "sqlite://")
		if !embedded {
			w.t.Skip("the files of PostgreSQL are its own")
		}
		value := "hunter22-in-the-clear"
		req := penstock.SecretRequest{Name: "S", Value: &value}
		i := once("k", `{"name":"S","value":"hunter22-in-the-clear"}`)
		made, err := w.Secrets.Create(access.WithIdempotency(w.t.Context(), i), w.admin, req)
		if err != nil {
			w.t.Fatal(err)
		}
		var again penstock.ManagedSecret
		if w.replay(w.admin, i, &again); again.Name != made.Name {
			w.t.Errorf("the kept response: got %+v", again)
		}
		w.setSecret("S", value)
		w.create(penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Secrets: []string{"S"}}})
		w.finish(w.work().Lease, penstock.Result{State: penstock.StateSucceeded})
		for _, path := range []string{file, file + "-wal"} {
			content, err := os.ReadFile(path)
			if err != nil {
				w.t.Fatal(err)
			}
			for what, bytes := range map[string]string{
				"the value": value, "the hash of its request": fmt.Sprintf("%x", i.BodyHash),
				"the same in bytes": string(i.BodyHash[:]),
			} {
				if strings.Contains(string(content), bytes) {
					w.t.Errorf("%s holds %s", filepath.Base(path), what)
				}
			}
		}
	})
}

func TestEverythingIsReencrypted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	keyset, err := secret.OpenKeyset(t.Context(), secret.KeysetFile{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	worlds(t, func(o *service.Options) {
		o.Keyset = keyset
		service.DefaultWebhooks(o)
	}, func(w *world) {
		ctx := w.t.Context()
		i := once(w.url, "body")
		value := "hunter22"
		if _, err := w.Secrets.Create(
			access.WithIdempotency(ctx, i), w.admin, penstock.SecretRequest{Name: "S0", Value: &value},
		); err != nil {
			w.t.Fatal(err)
		}
		for n := range 250 { // more than one batch
			w.secret(fmt.Sprint("S", n+1), value)
		}
		w.secret("PENDING", "")
		hook := "deploys" // with a managed secret and a copy of it
		if _, err := w.Resources.CreateWebhook(
			ctx, w.admin, w.newFactory("acme"), penstock.WebhookRequest{Name: &hook},
		); err != nil {
			w.t.Fatal(err)
		}
		w.secret("LOST", value)
		testkit.Exec(w.t, w.url, "UPDATE secrets SET version = 7 WHERE name = 'LOST'") // it was sealed for version 1

		// This needs its own folder: the engines' tests share a keyset at the same time.
		rotation, err := secret.BeginRotation(t.Context(), secret.KeysetFile{Path: copyOf(w.t, path)})
		if err != nil {
			w.t.Fatal(err)
		}
		defer rotation.Close()
		db := testkit.OpenStore(w.t, w.url)
		for pass, want := range []access.Reencrypted{
			{Values: 254, Lost: []string{"the secret LOST of team default"}},
			{Values: 0, Lost: []string{"the secret LOST of team default"}},
		} {
			got, err := access.Reencrypt(ctx, db, rotation)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				w.t.Errorf("pass %d, -want +got (%v):\n%s", pass+1, err, diff)
			}
		}
	})
}

func copyOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}
