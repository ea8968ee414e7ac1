package access_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func TestSecretFromItsDeclarationToItsEnd(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		made := w.CreateSecret("DEPLOY_KEY", "")
		want := penstock.ManagedSecret{
			Name: "DEPLOY_KEY", Pending: true, CreatedAt: made.CreatedAt, UpdatedAt: made.CreatedAt,
			CreatedBy: &w.Admin.Actor, UpdatedBy: &w.Admin.Actor, UsedBy: []penstock.SecretUser{},
		}
		if diff := cmp.Diff(want, made); diff != "" || made.CreatedAt == 0 {
			w.T.Errorf("declared, -want +got:\n%s", diff)
		}
		for version := range int64(2) {
			set := w.SetSecret("DEPLOY_KEY", "hunter22")
			if set.Version != version+1 || set.Pending || set.CreatedAt != made.CreatedAt || set.UpdatedAt < made.UpdatedAt {
				w.T.Errorf("given a value: got %+v", set)
			}
		}
		w.CreateSecret("A", "another")
		list, err := w.Secrets.List(ctx, w.Admin)
		if err != nil || len(list) != 2 || list[0].Name != "A" || list[1].Version != 2 {
			w.T.Errorf("listed: got %+v, %v", list, err)
		}
		_, err = w.Secrets.Create(ctx, w.Admin, access.SecretRequest{Name: "A"})
		testworld.WantCode(w.T, err, penstock.CodeConflict, `"A" already`)
		if err := w.Secrets.Delete(ctx, w.Admin, "A"); err != nil {
			w.T.Fatal(err)
		}
		value := "v"
		for _, call := range []func(penstock.Principal) error{
			func(p penstock.Principal) error { _, err := w.Secrets.Read(ctx, p, "A"); return err },
			func(p penstock.Principal) error {
				_, err := w.Secrets.Set(ctx, p, "A", access.SecretChange{Value: &value})
				return err
			},
			func(p penstock.Principal) error { return w.Secrets.Delete(ctx, p, "A") },
		} {
			testworld.WantCode(w.T, call(w.Admin), penstock.CodeNotFound, `"A"`)
			bob := w.As("bob", penstock.ScopeFactoriesManage)
			testworld.WantCode(w.T, call(bob), penstock.CodeNotAuthorized, "secrets:manage")
		}
		stranger := penstock.Principal{Team: "another", Scopes: []penstock.Scope{penstock.ScopeAdmin}}
		_, err = w.Secrets.Read(ctx, stranger, "DEPLOY_KEY")
		testworld.WantCode(w.T, err, penstock.CodeNotFound, "DEPLOY_KEY")
		_, err = w.Secrets.List(ctx, w.As("bob", penstock.ScopeRunsWrite))
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "secrets:manage")
	})
}

func TestBadSecretsAreRefusedWithoutTheirValue(t *testing.T) {
	worlds(t, func(o *run.Deps) { o.MaxSecrets = 1 }, func(w *world) {
		long := strings.Repeat("x", access.MaxSecretBytes)
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
			_, err := w.Secrets.Create(w.T.Context(), w.Admin, access.SecretRequest{Name: tt.name, Value: &tt.value})
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, tt.pointer)
			if strings.Contains(fmt.Sprint(err), "hunter22") {
				w.T.Errorf("%s: the error repeats the value: %v", name, err)
			}
		}
		_, err := w.Secrets.Set(w.T.Context(), w.Admin, "A", access.SecretChange{})
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/value: is required")
		w.CreateSecret("A", long)
		_, err = w.Secrets.Create(w.T.Context(), w.Admin, access.SecretRequest{Name: "B"})
		testworld.WantCode(w.T, err, penstock.CodeConflict, "secrets_per_team")
	})
}

func TestLimitOfSecretsHoldsForManyAtOnce(t *testing.T) {
	const most = 5
	worlds(t, func(o *run.Deps) { o.MaxSecrets = most }, func(w *world) {
		var together sync.WaitGroup
		for n := range 4 * most {
			together.Go(func() {
				_, err := w.Secrets.Create(w.T.Context(), w.Admin, access.SecretRequest{Name: fmt.Sprint("S", n)})
				if err != nil && penstock.CodeOf(err) != penstock.CodeConflict {
					w.T.Error(err)
				}
			})
		}
		together.Wait()
		if list, err := w.Secrets.List(w.T.Context(), w.Admin); err != nil || len(list) != most {
			w.T.Errorf("there are %d secrets (%v), want %d", len(list), err, most)
		}
	})
}

func TestSecretInUseIsNotDeleted(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("S", "hunter22")
		name, secrets := "Reviewer", []penstock.NamedSecret{{Name: "S"}}
		agent, err := w.Resources.CreateIdentity(ctx, w.Admin, factory.IdentityRequest{Name: &name, Secrets: &secrets})
		if err != nil {
			w.T.Fatal(err)
		}
		bob, team := w.As("bob", penstock.ScopeRunsWrite, penstock.ScopeSecretsUse), false
		schedule, err := w.Schedules.Create(ctx, bob, factory.ScheduleRequest{
			Name: "bob's own", Cron: "@daily", Prompt: "go", Team: &team, Config: &penstock.Config{Secrets: []string{"S"}},
		})
		if err != nil {
			w.T.Fatal(err)
		}
		testkit.Exec(
			w.T, w.URL,
			"INSERT INTO factories (uid, team, name, folded, source, foreman_uid, created_at, updated_at) VALUES ('f', "+
				"'default', 'App', 'app', 'service', 'x', 1, 1)",
		)
		testkit.Exec(
			w.T, w.URL,
			"INSERT INTO webhooks (uid, team, factory_uid, name, label, auth_mode, secret_name, secret_refresh, enabled, "+
				"created_at, updated_at) VALUES ('w', 'default', 'f', 'deploys', 'Deploys', 'token', 'S', 'apply', 1, 1, 1)",
		)

		testworld.WantCode(w.T, w.Secrets.Delete(ctx, w.Admin, "S"), penstock.CodeConflict,
			`used by the agent "Reviewer", the schedule "bob's own", the webhook "deploys" of the factory "App"`)
		carol := w.As("carol", penstock.ScopeSecretsManage)
		testworld.WantCode(w.T, w.Secrets.Delete(ctx, carol, "S"), penstock.CodeConflict, `a personal schedule, the webhook`)
		got, err := w.Secrets.Read(ctx, carol, "S")
		if err != nil {
			w.T.Fatal(err)
		}
		want := []penstock.SecretUser{
			{Type: store.SecretOfAgent, UID: agent.UID, Name: "Reviewer"},
			{Type: store.SecretOfSchedule},
			{Type: store.SecretOfWebhook, UID: "w", Name: "deploys", FactoryUID: "f", FactoryName: "App"},
		}
		if diff := cmp.Diff(want, got.UsedBy); diff != "" {
			w.T.Errorf("used by, -want +got:\n%s", diff)
		}
		list, err := w.Secrets.List(ctx, carol)
		if err != nil || len(list) != 1 {
			w.T.Fatalf("listed: got %+v, %v", list, err)
		}
		if diff := cmp.Diff(got, list[0]); diff != "" {
			w.T.Errorf("listed, -read +listed:\n%s", diff)
		}
		testkit.Exec(w.T, w.URL, "UPDATE webhooks SET deleted_at = 1")
		if err := w.Resources.DeleteIdentity(ctx, w.Admin, agent.UID); err != nil {
			w.T.Fatal(err)
		}
		if _, err := w.Schedules.Pause(ctx, bob, schedule.ID); err != nil {
			w.T.Fatal(err)
		}
		if err := w.Secrets.Delete(ctx, w.Admin, "S"); err != nil {
			w.T.Errorf("with nobody left: %v", err)
		}
		_, err = w.Schedules.Resume(ctx, bob, schedule.ID)
		testworld.WantCode(w.T, err, penstock.CodeConflict, "names a deleted secret")
	})
}

// The files of a SQLite database, including its write-ahead log, contain no value, neither of a
// secret nor of a stored response.
func TestDatabaseFileHoldsNoValue(t *testing.T) {
	worlds(t, nil, func(w *world) {
		file, embedded := strings.CutPrefix(w.URL, "sqlite://")
		if !embedded {
			w.T.Skip("the files of PostgreSQL are its own")
		}
		value := "hunter22-in-the-clear"
		req := access.SecretRequest{Name: "S", Value: &value}
		i := testworld.Once("k", `{"name":"S","value":"hunter22-in-the-clear"}`)
		made, err := w.Secrets.Create(access.WithIdempotency(w.T.Context(), i), w.Admin, req)
		if err != nil {
			w.T.Fatal(err)
		}
		var again penstock.ManagedSecret
		if w.Replay(w.Admin, i, &again); again.Name != made.Name {
			w.T.Errorf("the kept response: got %+v", again)
		}
		w.SetSecret("S", value)
		w.Create(penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Secrets: []string{"S"}}})
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})
		for _, path := range []string{file, file + "-wal"} {
			content, err := os.ReadFile(path)
			if err != nil {
				w.T.Fatal(err)
			}
			for what, bytes := range map[string]string{
				"the value": value, "the hash of its request": fmt.Sprintf("%x", i.BodyHash),
				"the same in bytes": string(i.BodyHash[:]),
			} {
				if strings.Contains(string(content), bytes) {
					w.T.Errorf("%s holds %s", filepath.Base(path), what)
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
	worlds(t, func(o *run.Deps) {
		o.Keyset = keyset
		testworld.DefaultWebhooks(o)
	}, func(w *world) {
		ctx := w.T.Context()
		i := testworld.Once(w.URL, "body")
		value := "hunter22"
		if _, err := w.Secrets.Create(
			access.WithIdempotency(ctx, i), w.Admin, access.SecretRequest{Name: "S0", Value: &value},
		); err != nil {
			w.T.Fatal(err)
		}
		for n := range 250 { // more than one batch
			w.CreateSecret(fmt.Sprint("S", n+1), value)
		}
		w.CreateSecret("PENDING", "")
		hook := "deploys" // with a managed secret and a copy of it
		if _, err := w.Resources.CreateWebhook(
			ctx, w.Admin, w.NewFactory("acme"), factory.WebhookRequest{Name: &hook},
		); err != nil {
			w.T.Fatal(err)
		}
		w.CreateSecret("LOST", value)
		testkit.Exec(w.T, w.URL, "UPDATE secrets SET version = 7 WHERE name = 'LOST'") // it was sealed for version 1

		// This needs its own folder: the engines' tests share a keyset at the same time.
		rotation, err := secret.BeginRotation(t.Context(), secret.KeysetFile{Path: testworld.CopyOf(w.T, path)})
		if err != nil {
			w.T.Fatal(err)
		}
		defer rotation.Close()
		db := testkit.OpenStore(w.T, w.URL)
		for pass, want := range []access.Reencrypted{
			{Values: 254, Lost: []string{"the secret LOST of team default"}},
			{Values: 0, Lost: []string{"the secret LOST of team default"}},
		} {
			got, err := access.Reencrypt(ctx, db, rotation)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				w.T.Errorf("pass %d, -want +got (%v):\n%s", pass+1, err, diff)
			}
		}
	})
}
