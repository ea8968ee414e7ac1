package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func addSecret(t *testing.T, s *store.Store, name, sealed string) store.SecretRow {
	t.Helper()
	now := penstock.Now()
	r := store.SecretRow{Team: store.DefaultTeam, ManagedSecret: penstock.ManagedSecret{
		Name: name, Pending: sealed == "", CreatedAt: now, UpdatedAt: now, CreatedBy: &ada, UpdatedBy: &ada,
	}}
	if sealed != "" {
		r.Version, r.Sealed = 1, []byte(sealed)
	}
	write(t, s, func(tx *store.Tx) error {
		if err := tx.Keys().AddPrincipal(t.Context(), store.DefaultTeam, ada); err != nil {
			return err
		}
		return tx.Secrets().Add(t.Context(), r)
	})
	return r
}

func names(rows []store.SecretRow) []string {
	var list []string
	for _, r := range rows {
		list = append(list, r.Name)
	}
	return list
}

func TestSecretIsReadBackUnchanged(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		want := addSecret(t, s, "B", "sealed")
		pending := addSecret(t, s, "a", "")
		got, err := s.Secrets.List(ctx, store.DefaultTeam)
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]store.SecretRow{}
		for _, r := range got {
			byName[r.Name] = r
		}
		if diff := cmp.Diff(map[string]store.SecretRow{"B": want, "a": pending}, byName); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		err = s.Write(ctx, func(tx *store.Tx) error { return tx.Secrets().Add(ctx, want) })
		if penstock.CodeOf(err) != penstock.CodeConflict {
			t.Errorf("a second one of the name: got %v, want a conflict", err)
		}
		for _, name := range []string{"b", "C"} { // names are told apart by their case
			if _, err := s.Secrets.Find(ctx, store.DefaultTeam, name); penstock.CodeOf(err) != penstock.CodeNotFound {
				t.Errorf("%s: got %v, want none", name, err)
			}
		}
		if _, err := s.Secrets.Find(ctx, "another", "B"); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("another team reads it: %v", err)
		}
		some, err := s.Secrets.Named(ctx, store.DefaultTeam, []string{"B", "C"})
		if diff := cmp.Diff([]string{"B"}, names(some)); diff != "" || err != nil {
			t.Errorf("those named, -want +got (%v):\n%s", err, diff)
		}
		if none, err := s.Secrets.Named(ctx, store.DefaultTeam, nil); err != nil || len(none) != 0 {
			t.Errorf("none named: got %v, %v", none, err)
		}
	})
}

func TestSecretGetsANewValueAndIsDeleted(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		addSecret(t, s, "S", "")
		write(t, s, func(tx *store.Tx) error {
			r, err := tx.Secrets().Lock(ctx, store.DefaultTeam, "S")
			if err != nil {
				return err
			}
			r.Version, r.Sealed, r.UpdatedAt = r.Version+1, []byte("first"), r.UpdatedAt+5
			return tx.Secrets().Set(ctx, r)
		})
		at := penstock.Now() + 10
		for _, used := range []penstock.Time{at, at - 5} { // what comes late does not turn it back
			if err := s.Secrets.Touch(
				ctx,
				map[store.SecretKey]penstock.Time{{Team: store.DefaultTeam, Name: "S"}: used, {Team: "another", Name: "S"}: used},
			); err != nil {
				t.Fatal(err)
			}
		}
		r, err := s.Secrets.Find(ctx, store.DefaultTeam, "S")
		if err != nil || r.Version != 1 || string(r.Sealed) != "first" || r.Pending || r.LastUsedAt != at ||
			r.UpdatedAt == r.CreatedAt {
			t.Errorf("got %+v, %v", r, err)
		}
		remove := func(tx *store.Tx) error { return tx.Secrets().Delete(ctx, store.DefaultTeam, "S") }
		write(t, s, remove)
		if err := s.Write(ctx, remove); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("deleted twice: got %v, want not found", err)
		}
		if err := s.Write(
			ctx, func(tx *store.Tx) error { return tx.Secrets().Set(ctx, r) },
		); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("changed after its end: got %v, want not found", err)
		}
	})
}

func TestSecretKnowsItsUsers(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		agent := addIdentity(t, s, func(i *penstock.Identity) {
			i.Secrets, i.HarnessAuthSecrets = []penstock.NamedSecret{
				{Name: "S"}, {Name: "T"}, {Name: "S"},
			}, []byte(`{"claude":"U"}`)
			i.MCPServers = map[string]penstock.MCPServer{
				"x": {URL: "https://x.example", Headers: map[string]string{"Authorization": "Bearer ${{ secrets.V }}"}},
			}
		})
		schedule := addSchedule(t, s, func(r *store.ScheduleRow) {
			r.Personal, r.Config = true, &penstock.Config{Secrets: []string{"S"}}
		})
		users := func(name string) []string {
			t.Helper()
			list, err := s.Secrets.Users(ctx, store.DefaultTeam, name)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, u := range list {
				out = append(out, fmt.Sprintf("%s by %s %s %v %s", u.Secret, u.Type, u.Name, u.Personal, u.Creator))
			}
			return out
		}
		for name, want := range map[string][]string{
			"S":    {"S by agent reviewer false ", "S by schedule nightly true ada"},
			"U":    {"U by agent reviewer false "},
			"V":    {"V by agent reviewer false "},
			"none": nil,
			"": {
				"S by agent reviewer false ", "T by agent reviewer false ", "U by agent reviewer false ",
				"V by agent reviewer false ", "S by schedule nightly true ada",
			},
		} {
			if diff := cmp.Diff(want, users(name)); diff != "" {
				t.Errorf("users of %q, -want +got:\n%s", name, diff)
			}
		}
		if list, err := s.Secrets.Users(ctx, "another", "S"); err != nil || len(list) != 0 {
			t.Errorf("another team: got %v, %v", list, err)
		}
		agent.Secrets = []penstock.NamedSecret{{Name: "T"}}
		schedule.Enabled = false
		write(t, s, func(tx *store.Tx) error {
			if err := tx.Identities().Set(ctx, store.DefaultTeam, agent); err != nil {
				return err
			}
			return tx.Schedules().Set(ctx, schedule)
		})
		if got := users("S"); len(got) != 0 {
			t.Errorf("after the agent and the paused schedule: got %v, want none", got)
		}
		write(t, s, func(tx *store.Tx) error {
			if err := tx.Identities().Delete(ctx, store.DefaultTeam, agent.UID); err != nil {
				return err
			}
			return tx.Schedules().Delete(ctx, schedule.ID)
		})
		if got := users(""); len(got) != 0 {
			t.Errorf("after their end: got %v, want none", got)
		}
	})
}

// A concurrent use of a secret that is being deleted is either seen by the deletion or does not
// find the secret.
func TestSecretIsNotDeletedBehindANewUser(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		for n := range 20 {
			name := fmt.Sprint("S", n)
			addSecret(t, s, name, "sealed")
			var found int
			var users []store.SecretUser
			var both sync.WaitGroup
			both.Go(func() {
				write(t, s, func(tx *store.Tx) error {
					rows, err := tx.Secrets().Use(ctx, store.DefaultTeam, []string{name})
					if found = len(rows); err != nil || found == 0 {
						return err
					}
					return tx.Identities().Add(
						ctx, store.DefaultTeam,
						penstock.Identity{UID: penstock.NewID(), Name: name, Secrets: []penstock.NamedSecret{{Name: name}}},
					)
				})
			})
			both.Go(func() {
				write(t, s, func(tx *store.Tx) error {
					if err := tx.Secrets().Delete(ctx, store.DefaultTeam, name); err != nil {
						return err
					}
					var err error
					users, err = tx.Secrets().Users(ctx, store.DefaultTeam, name)
					return err
				})
			})
			both.Wait()
			if found != len(users) {
				t.Errorf("the new user found %d secrets, the deletion saw %d users", found, len(users))
			}
		}
	})
}
