package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func addFactory(t *testing.T, s *store.Store, name string) store.FactoryRow {
	t.Helper()
	now := penstock.Now()
	r := store.FactoryRow{
		Team:          store.DefaultTeam,
		FactoryConfig: store.FactoryConfig{Defaults: penstock.Overrides{Model: "a/b", Secrets: []string{"S"}}},
		Factory: penstock.Factory{
			UID: penstock.NewID(), Name: name, Alias: name + ".x", Description: "d", Source: store.FactoryService,
			ForemanUID: penstock.NewID(),
			Agents:     []penstock.FactoryAgent{}, Definition: penstock.FactoryDefinition{Revision: 1, Status: "applied"},
			CreatedAt: now, UpdatedAt: now,
		},
	}
	r.TeamUID, r.FactorySettings = r.Team, store.SettingsOf(r.Defaults, r.WorksOn, r.CodeForges)
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(tx.Changed(t.Context(), r.Team), tx.Factories().Add(t.Context(), r))
	})
	return r
}

func addAutomation(
	t *testing.T, s *store.Store, factory store.FactoryRow, name, filter string, clocks ...store.Clock,
) store.AutomationRow {
	t.Helper()
	now := penstock.Now()
	r := store.AutomationRow{
		Team: factory.Team, FactoryUID: factory.UID, Automation: penstock.Automation{
			UID: penstock.NewID(), Name: name, Enabled: true, Agent: "foreman", Prompt: "go", CreatedAt: now, UpdatedAt: now,
			Triggers:  []penstock.Trigger{{Provider: "webhook", Event: "received", Filter: json.RawMessage(filter)}},
			Overrides: penstock.Overrides{Model: "a/b", Harness: &penstock.Harness{Type: "claude"}, EnvironmentID: "e"},
		},
	}
	for i := range clocks {
		clocks[i].AutomationUID = r.UID
	}
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(
			tx.Changed(t.Context(), r.Team), tx.Automations().Add(t.Context(), r),
			tx.Automations().SetClocks(t.Context(), r.Team, r.UID, clocks),
		)
	})
	return r
}

func TestAPageOfFactoriesEndsByItsBytes(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		huge := penstock.Overrides{
			MCPServers: map[string]penstock.MCPServer{"x": {Command: strings.Repeat("x", store.MaxPageBytes/2)}},
		}
		var want, got []string
		for _, name := range []string{"a", "b", "c", "d"} {
			r := addFactory(t, s, name)
			if want = append(want, name); name < "c" {
				r.Defaults = huge
				write(t, s, func(tx *store.Tx) error {
					return errors.Join(tx.Changed(t.Context(), r.Team), tx.Factories().Set(t.Context(), r))
				})
			}
		}
		pages, cursor := 0, ""
		for pages == 0 || cursor != "" {
			list, next, err := s.Factories.List(t.Context(), store.DefaultTeam, penstock.FactoryQuery{Cursor: cursor})
			if err != nil || len(list) == 0 {
				t.Fatalf("page %d: %v, %v", pages, list, err)
			}
			for _, r := range list {
				got = append(got, r.Name)
			}
			pages, cursor = pages+1, next
		}
		if diff := cmp.Diff(want, got); diff != "" || pages != 2 {
			t.Errorf("%d pages, want 2, -want +got:\n%s", pages, diff)
		}
	})
}

func TestFactoriesAndAutomationsAreReadBackUnchanged(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		want := addFactory(t, s, "acme")
		a := addAutomation(t, s, want, "a", `{"webhook_ids":["ci"],"payload":{"n":[9007199254740993,1e400]}}`)
		want.AutomationCount = 1
		got, err := s.Factories.Find(t.Context(), store.DefaultTeam, want.UID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("the factory (%v): -want +got:\n%s", err, diff)
		}
		read, err := s.Automations.Find(t.Context(), want.UID, a.UID)
		if diff := cmp.Diff(a, read); err != nil || diff != "" {
			t.Errorf("the automation (%v): -want +got:\n%s", err, diff)
		}
		if part, err := s.Factories.Part(t.Context(), store.DefaultTeam, want.UID); err != nil ||
			part.Name != want.Name || cmp.Diff(want.FactoryConfig, part.FactoryConfig) != "" {
			t.Errorf("the part %q (%v): %s", part.Name, err, cmp.Diff(want.FactoryConfig, part.FactoryConfig))
		}
		if _, err := s.Factories.Find(t.Context(), "another", want.UID); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("another team reads it: %v", err)
		}
	})
}

func TestAutomationsAreFoundByTheirWebhooks(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		f, other := addFactory(t, s, "acme"), addFactory(t, s, "other")
		addAutomation(t, s, f, "by-name", `{"webhook_ids":["ci","ci"]}`)
		addAutomation(t, s, f, "by-uid", `{"webhook_ids":["UID","ci"]}`)
		off := addAutomation(t, s, f, "off", `{"webhook_ids":["ci"]}`)
		addAutomation(t, s, other, "elsewhere", `{"webhook_ids":["ci","UID"]}`)
		gone := addAutomation(t, s, f, "gone", `{"webhook_ids":["ci"]}`)
		pulls := addAutomation(t, s, f, "pulls", `{"webhook_ids":["scheme:github","scheme:github"]}`)
		pulls.Triggers = append(
			pulls.Triggers, penstock.Trigger{Provider: "github", Event: "push"},
			penstock.Trigger{Provider: "github", Event: "pull_request_opened"},
		)
		off.Enabled = false
		write(t, s, func(tx *store.Tx) error {
			return errors.Join(
				tx.Automations().Set(t.Context(), off), tx.Automations().Set(t.Context(), pulls),
				tx.Automations().Delete(t.Context(), gone),
			)
		})
		for _, test := range []struct {
			uid, name string
			scheme    penstock.SignatureScheme
			want      []string
		}{
			{"UID", "ci", "", []string{"by-name", "by-uid"}},
			{"UID", "x", "stripe", []string{"by-uid"}},
			{"UID", "x", "github", []string{"by-uid", "pulls"}},
			{"x", "y", "linear", []string{}},
		} {
			rows, err := s.Automations.OfWebhook(t.Context(), store.WebhookRow{
				Webhook: penstock.Webhook{UID: test.uid, Name: test.name, SignatureScheme: test.scheme}, FactoryUID: f.UID,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, r := range rows {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s, %s: -want +got:\n%s", test.uid, test.name, diff)
			}
		}
	})
}

func TestOnlyOneReplicaAdvancesASchedule(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx, now := t.Context(), penstock.Now()
		f := addFactory(t, s, "acme")
		a := addAutomation(
			t, s, f, "a", `{"webhook_ids":["ci"]}`, store.Clock{N: 0, NextAt: now}, store.Clock{N: 1, NextAt: now + 1},
			store.Clock{N: 2},
		)
		due, err := s.Automations.Due(ctx, now, "", 10)
		if err != nil || len(due) != 1 || len(due[0].Clocks) != 1 || due[0].UID != a.UID {
			t.Fatalf("got %+v (%v), want the first clock", due, err)
		}
		clock := due[0].Clocks[0]
		var won sync.Map
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				err := s.Write(ctx, func(tx *store.Tx) error {
					first, err := tx.Automations().AdvanceClock(ctx, clock, now+5)
					if first {
						won.Store(i, true)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		winners := 0
		won.Range(func(any, any) bool { winners++; return true })
		if winners != 1 {
			t.Errorf("%d advanced the clock, want 1", winners)
		}
		// After an edit, a change based on the version before it fails, even if the time is the
		// same.
		due, err = s.Automations.Due(ctx, now+5, "", 10)
		if err != nil || len(due) != 1 || len(due[0].Clocks) != 2 {
			t.Fatalf("got %+v (%v)", due, err)
		}
		write(t, s, func(tx *store.Tx) error {
			return errors.Join(tx.Changed(ctx, f.Team), tx.Automations().SetClocks(ctx, f.Team, a.UID, due[0].Clocks))
		})
		write(t, s, func(tx *store.Tx) error {
			first, err := tx.Automations().AdvanceClock(ctx, due[0].Clocks[0], now+9)
			if first || err != nil {
				t.Errorf("a clock that was set anew was advanced: %t %v", first, err)
			}
			return nil
		})
	})
}

func TestChangesOfATeamAreCountedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		before, err := s.TeamVersion(ctx, store.DefaultTeam)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := s.Write(ctx, func(tx *store.Tx) error { return tx.Changed(ctx, store.DefaultTeam) }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if after, err := s.TeamVersion(ctx, store.DefaultTeam); err != nil || after != before+10 {
			t.Errorf("got %d after %d and 10 changes (%v)", after, before, err)
		}
		if _, err := s.TeamVersion(ctx, "nobody"); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("a team that is not there: got %v", err)
		}
	})
}
