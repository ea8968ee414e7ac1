package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// MayShare reports whether a run knows and reaches the same as the run that another automation would start. Only then
// may it receive that automation's events. The automations were equal when they were applied, but a run keeps what it
// had, and one of them may have changed, or share its subjects no longer.
func MayShare(works, would store.RunRow) (bool, error) {
	a, err := knowledgeOf(works)
	if err != nil {
		return false, err
	}
	b, err := knowledgeOf(would)
	return bytes.Equal(a, b), err
}

func knowledgeOf(r store.RunRow) ([]byte, error) {
	c := cmp.Or(r.Config, &penstock.Config{})
	secrets := slices.Compact(slices.Sorted(slices.Values(c.Secrets)))
	servers := c.MCPServers
	if len(servers) == 0 { // the database does not keep an empty map
		servers = nil
	}
	repositories := c.Repositories
	if len(repositories) == 0 || r.ConfigSources["repositories"] == LayerEvent { // none, said or not, or the event's
		repositories = nil
	}
	return json.Marshal([]any{
		r.AgentUID, c.EnvironmentID, c.RunnerID, r.WorkerHost, secrets, c.HarnessAuthSecrets, servers, r.Network,
		forge.Push(c), forge.Outputs(c), repositories,
	})
}

// sharesNow is [MayShare] at the end of a turn, as far as it is certain without reading the automation: nothing of the
// factory has changed since the run was created. Otherwise the events reach the run after its end.
func sharesNow(ctx context.Context, tx *store.Tx, run store.RunRow, a store.AutomationRow) (bool, error) {
	if run.AutomationID == a.UID {
		return true, nil
	}
	revision, err := tx.Factories().Revision(ctx, a.FactoryUID)
	return err == nil && run.FactoryUID == a.FactoryUID && run.Revision == revision, err
}
