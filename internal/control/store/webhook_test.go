package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// addWebhook stores a webhook of the factory "factory" with the given encrypted secrets, the oldest
// first, all of them active.
func addWebhook(t *testing.T, s *store.Store, name string, sealed ...string) store.WebhookRow {
	t.Helper()
	now := penstock.Now()
	w := store.WebhookRow{Team: store.DefaultTeam, FactoryUID: "factory", Webhook: penstock.Webhook{
		UID: penstock.NewUID(), Name: name, Label: "The " + name, AuthMode: penstock.AuthSignature,
		SignatureScheme: "custom_hmac",
		Signature:       &penstock.Signature{Header: "X-Signature", Hash: "sha256", Encoding: "hex", Template: "{body}"},
		SecretName:      "S_" + name, DeliveryIDHeader: "X-Id", ReplayGuard: true, SecretRefresh: penstock.RefreshImmediate,
		Enabled:       true,
		PendingSecret: len(sealed) == 0, CreatedAt: now, UpdatedAt: now + 1,
	}}
	write(t, s, func(tx *store.Tx) error {
		if err := tx.Webhooks().Add(t.Context(), w); err != nil {
			return err
		}
		for _, value := range sealed {
			n, err := tx.Webhooks().NextSecret(t.Context(), w.UID)
			if err != nil {
				return err
			}
			if err := tx.Webhooks().SetSecret(
				t.Context(), w.UID, store.SealedSecret{N: n, Sealed: []byte(value)}, now.Add(time.Hour),
			); err != nil {
				return err
			}
		}
		return nil
	})
	stored, err := s.Webhooks.ByUID(t.Context(), w.UID)
	if err != nil {
		t.Fatal(err)
	}
	w.Number = stored.Number
	return w
}

func sealedValues(w store.WebhookRow) []string {
	values := []string{}
	for _, s := range w.Sealed {
		values = append(values, string(s.Sealed))
	}
	return values
}

func TestWebhookIsReadBackUnchanged(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		want := addWebhook(t, s, "b", "first", "second")
		bare := addWebhook(t, s, "a")
		got, err := s.Webhooks.ByUID(ctx, want.UID)
		if err != nil {
			t.Fatal(err)
		}
		end := got.Sealed[1].ExpiresAt
		if diff := cmp.Diff(
			[]store.SealedSecret{{N: 2, Sealed: []byte("second")}, {N: 1, Sealed: []byte("first"), ExpiresAt: end}}, got.Sealed,
		); diff != "" || end == 0 {
			t.Errorf("secrets, -want +got:\n%s", diff)
		}
		want.Secrets, want.Sealed, want.TeamVersion = []penstock.WebhookSecret{
			{Index: 0}, {Index: 1, ExpiresAt: end},
		}, got.Sealed, 1
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		bare.Secrets, bare.TeamVersion = []penstock.WebhookSecret{}, 1
		list, err := s.Webhooks.List(ctx, store.DefaultTeam, "factory")
		if diff := cmp.Diff([]store.WebhookRow{bare, want}, list); diff != "" || err != nil {
			t.Errorf("list, -want +got (%v):\n%s", err, diff)
		}
		one, err := s.Webhooks.Find(ctx, store.DefaultTeam, "factory", bare.UID)
		if diff := cmp.Diff(bare, one); diff != "" || err != nil {
			t.Errorf("one, -want +got (%v):\n%s", err, diff)
		}
	})
}

func TestWebhookIsFoundInItsFactoryOnly(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		w := addWebhook(t, s, "a", "x")
		for _, at := range [][3]string{
			{"another", "factory", w.UID}, {store.DefaultTeam, "another", w.UID}, {store.DefaultTeam, "factory", "another"},
		} {
			if _, err := s.Webhooks.Find(ctx, at[0], at[1], at[2]); penstock.CodeOf(err) != penstock.CodeNotFound {
				t.Errorf("%v: got %v, want not found", at, err)
			}
		}
		if _, err := s.Webhooks.ByUID(ctx, "another"); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("an unknown uid: got %v, want not found", err)
		}
		again := w
		again.UID = penstock.NewUID()
		if err := s.Write(
			ctx, func(tx *store.Tx) error { return tx.Webhooks().Add(ctx, again) },
		); penstock.CodeOf(err) != penstock.CodeConflict {
			t.Errorf("a second one of the name: got %v, want a conflict", err)
		}
	})
}

func TestWebhookIsUpdatedAndDeleted(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		w := addWebhook(t, s, "a", "x")
		w.Signature, w.DeliveryIDHeader, w.ReplayGuard, w.SecretRefresh = nil, "", false, penstock.RefreshApply
		w.Enabled, w.UpdatedAt = false, w.UpdatedAt+5
		write(t, s, func(tx *store.Tx) error { return tx.Webhooks().Set(ctx, w) })
		got, err := s.Webhooks.ByUID(ctx, w.UID)
		w.Secrets, w.Sealed, w.TeamVersion = got.Secrets, got.Sealed, 1
		if diff := cmp.Diff(w, got); diff != "" || err != nil {
			t.Errorf("-want +got (%v):\n%s", err, diff)
		}
		write(t, s, func(tx *store.Tx) error { return tx.Webhooks().Delete(ctx, w.UID) })
		if _, err := s.Webhooks.ByUID(ctx, w.UID); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("after its end: got %v, want not found", err)
		}
		addWebhook(t, s, "a") // the name is free
		write(t, s, func(tx *store.Tx) error {
			if n, err := tx.Webhooks().Count(ctx, "factory"); n != 1 || err != nil {
				t.Errorf("got %d webhooks, %v, want 1", n, err)
			}
			using, err := tx.Webhooks().OfSecret(ctx, store.DefaultTeam, "S_a")
			if len(using) != 1 || using[0].UID == w.UID {
				t.Errorf("got %+v, want the new one to use the secret", using)
			}
			return err
		})
	})
}

func TestWebhookSecretsEnd(t *testing.T) {
	t.Parallel()
	hour := penstock.Now().Add(time.Hour)
	tests := []struct {
		name  string
		until penstock.Time
		want  []string
		ends  []penstock.Time
	}{
		{"at once, with those that had some time left", 0, []string{"next"}, []penstock.Time{0}},
		{"later", hour - 9, []string{"next", "second", "first"}, []penstock.Time{0, hour - 9, hour - 9}},
		{
			"no later than they would have", hour.Add(time.Hour),
			[]string{"next", "second", "first"},
			[]penstock.Time{0, hour.Add(time.Hour), hour},
		},
		{"in the past", 1, []string{"next"}, []penstock.Time{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			testkit.Stores(t, func(t *testing.T, s *store.Store) {
				ctx := t.Context()
				w := addWebhook(t, s, "a")
				for i, value := range []string{"first", "second", "next"} {
					until := []penstock.Time{hour, hour, tt.until}[i]
					write(t, s, func(tx *store.Tx) error {
						return tx.Webhooks().SetSecret(ctx, w.UID, store.SealedSecret{N: int64(i + 1), Sealed: []byte(value)}, until)
					})
				}
				got, err := s.Webhooks.ByUID(ctx, w.UID)
				if diff := cmp.Diff(tt.want, sealedValues(got)); diff != "" || err != nil {
					t.Fatalf("-want +got (%v):\n%s", err, diff)
				}
				for i, secret := range got.Secrets {
					if secret.Index != i || secret.ExpiresAt != tt.ends[i] {
						t.Errorf("secret %d: got %+v, want it to end at %v", i, secret, tt.ends[i])
					}
				}
			})
		})
	}
}

func TestExpiredWebhookSecretIsNotRead(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		w := addWebhook(t, s, "a", "old", "new")
		testkit.Exec(t, url, fmt.Sprintf("UPDATE webhook_secrets SET expires_at = %d WHERE n = 1", penstock.Now()-1))
		got, err := s.Webhooks.ByUID(t.Context(), w.UID)
		if diff := cmp.Diff([]string{"new"}, sealedValues(got)); diff != "" || err != nil {
			t.Errorf("-want +got (%v):\n%s", err, diff)
		}
	})
}

func TestWebhookShowsWhenASecretWasUsed(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		w := addWebhook(t, s, "a", "old", "new")
		addSecret(t, s, w.SecretName, "")
		addSecret(t, s, "OTHER", "")
		for _, at := range []penstock.Time{2000, 1000} { // the later one stays
			if err := s.Webhooks.TouchSecrets(
				ctx, map[store.WebhookSecretKey]penstock.Time{{WebhookUID: w.UID, N: 1}: at, {WebhookUID: "gone", N: 1}: at},
			); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Webhooks.ByUID(ctx, w.UID)
		if err != nil || got.Secrets[0].LastUsedAt != 0 || got.Secrets[1].LastUsedAt != 2000 {
			t.Errorf("got %+v, %v", got.Secrets, err)
		}
		for name, want := range map[string]penstock.Time{w.SecretName: 2000, "OTHER": 0} {
			if r, err := s.Secrets.Find(ctx, store.DefaultTeam, name); err != nil || r.LastUsedAt != want {
				t.Errorf("secret %s: got %v, %v, want %v", name, r.LastUsedAt, err, want)
			}
		}
	})
}

func TestWebhookCountsDeliveriesOfADay(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		ctx := t.Context()
		w, other := addWebhook(t, s, "a"), addWebhook(t, s, "b")
		now := store.Quarter(penstock.Now())
		for _, c := range []struct {
			uid, kind string
			ago, n    int64
		}{
			{w.UID, store.CountAccepted, 0, 1},
			{w.UID, store.CountAccepted, 90, 2},
			{w.UID, store.CountAccepted, 98, 100},
			{w.UID, store.CountDuplicate, 1, 4},
			{w.UID, store.CountRejected, 1, 8},
			{w.UID, store.CountRateLimited, 1, 16},
			{other.UID, store.CountRejected, 1, 32},
		} {
			testkit.Exec(
				t, url,
				fmt.Sprintf(
					"INSERT INTO webhook_counts (webhook_uid, quarter, kind, n) VALUES ('%s', %d, '%s', %d)", c.uid, now-c.ago, c.kind,
					c.n,
				),
			)
		}
		testkit.Exec(
			t, url,
			fmt.Sprintf("UPDATE webhook_counts SET last_at = 7 WHERE webhook_uid = '%s' AND n = 100", w.UID),
		)
		list, err := s.Webhooks.List(ctx, store.DefaultTeam, "factory")
		if err != nil || len(list) != 2 {
			t.Fatalf("got %+v, %v", list, err)
		}
		want := []penstock.DeliveryCounts{{Accepted: 3, Duplicate: 4, Rejected: 8, RateLimited: 16}, {Rejected: 32}}
		if diff := cmp.Diff(want, []penstock.DeliveryCounts{list[0].Counts, list[1].Counts}); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		one, err := s.Webhooks.Find(ctx, store.DefaultTeam, "factory", w.UID)
		if diff := cmp.Diff(want[0], one.Counts); diff != "" || err != nil || one.LastDeliveryAt != 7 ||
			list[1].LastDeliveryAt != 0 {
			t.Errorf("one, -want +got (%v, %v):\n%s", err, one.LastDeliveryAt, diff)
		}
	})
}
