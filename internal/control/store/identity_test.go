package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func addIdentity(t *testing.T, s *store.Store, change func(*penstock.Identity)) penstock.Identity {
	t.Helper()
	now := penstock.Now()
	i := penstock.Identity{UID: penstock.NewID(), Name: "reviewer", CreatedAt: now, UpdatedAt: now}
	if change != nil {
		change(&i)
	}
	write(t, s, func(tx *store.Tx) error { return tx.Identities().Add(t.Context(), store.DefaultTeam, i) })
	return i
}

func TestIdentityIsReadBackUnchanged(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		want := addIdentity(t, s, func(i *penstock.Identity) {
			i.Description, i.Prompt, i.EnvironmentID, i.BaseModel = "d", "p", "e", "m"
			i.Secrets, i.Skills = []penstock.NamedSecret{{Name: "S"}}, []string{"review"}
			i.Memory = penstock.Memory{
				AutoMemory:     penstock.AutoMemory{Enabled: true},
				AttachedStores: []penstock.MemoryStore{{UID: "x", Access: "read_write", Instructions: "i"}},
			}
			i.Harness, i.MCPServers = &penstock.Harness{Type: "builtin"}, map[string]penstock.MCPServer{
				"x": {URL: "https://x.example"},
			}
			i.HarnessAuthSecrets, i.OnBehalfOfEnabled, i.WorkerHost, i.Type, i.FactoryUID = json.RawMessage(
				`{"a":"B"}`,
			), true, "host", "REVIEW", "factory"
		})
		got, err := s.Identities.Find(t.Context(), store.DefaultTeam, want.UID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if _, err := s.Identities.Find(t.Context(), "another", want.UID); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("another team reads it: %v", err)
		}
	})
}

func TestIdentityNamesAreUniquePerFactory(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		first := addIdentity(t, s, nil)
		addIdentity(t, s, func(i *penstock.Identity) { i.FactoryUID = "a factory" })
		again := func(tx *store.Tx) error {
			agent := penstock.Identity{UID: penstock.NewID(), Name: "Reviewer"}
			return tx.Identities().Add(t.Context(), store.DefaultTeam, agent)
		}
		if err := s.Write(t.Context(), again); penstock.CodeOf(err) != penstock.CodeConflict {
			t.Errorf("the same name in another case: got %v, want a conflict", err)
		}
		write(t, s, func(tx *store.Tx) error { return tx.Identities().Delete(t.Context(), store.DefaultTeam, first.UID) })
		if err := s.Write(t.Context(), again); err != nil {
			t.Errorf("the name of a deleted one: %v", err)
		}
	})
}

// A key for an agent can be created only while the agent exists, and ends with it.
func TestKeysEndWithTheirAgent(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		for n := range 20 {
			agent := addIdentity(t, s, func(i *penstock.Identity) { i.Name = fmt.Sprint("agent ", n) })
			owner := penstock.Actor{Type: "service_account", UID: agent.UID}
			key := store.KeyRow{
				Key: penstock.Key{UID: penstock.NewUID(), Owner: owner, AgentUID: agent.UID}, Team: store.DefaultTeam,
				Hash: penstock.NewUID(),
			}
			var made, deleted error
			var both sync.WaitGroup
			both.Go(func() {
				made = s.Write(ctx, func(tx *store.Tx) error {
					if _, err := tx.Identities().Lock(ctx, store.DefaultTeam, agent.UID); err != nil {
						return err
					}
					return errors.Join(tx.Keys().AddPrincipal(ctx, store.DefaultTeam, owner), tx.Keys().Add(ctx, key))
				})
			})
			both.Go(func() {
				deleted = s.Write(ctx, func(tx *store.Tx) error {
					return tx.Identities().Delete(ctx, store.DefaultTeam, agent.UID)
				})
			})
			both.Wait()
			if deleted != nil || made != nil && penstock.CodeOf(made) != penstock.CodeNotFound {
				t.Fatalf("made: %v, deleted: %v", made, deleted)
			}
			if made != nil {
				continue
			}
			if got, err := s.Keys.ByHash(ctx, key.Hash); err != nil || got.RevokedAt == 0 {
				t.Fatalf("a key of a deleted agent works: revoked at %s, %v", got.RevokedAt, err)
			}
		}
	})
}
