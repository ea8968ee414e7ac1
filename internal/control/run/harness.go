package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// HarnessInfo is an agent program that runs can name.
type HarnessInfo struct {
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"` // of an installed agent
	Models  []string `json:"models"`            // ids of models that it can use; none: unknown, or its own
	Usable  bool     `json:"usable"`
	Reason  string   `json:"reason,omitempty"` // why it is not usable
	Workers int      `json:"workers"`          // connected workers that take runs for it
}

// Harnesses lists the agent programs that runs can name, and says of each whether a connected
// worker can run it.
func (s *Catalog) Harnesses(ctx context.Context, p penstock.Principal) ([]HarnessInfo, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return nil, err
	}
	workers, err := s.store.Queue.Workers(ctx)
	if err != nil {
		return nil, err
	}
	names := slices.AppendSeq(definition.Harnesses(), maps.Keys(s.programs))
	for _, w := range workers {
		names = append(names, w.Harnesses...)
	}
	slices.Sort(names)
	list := []HarnessInfo{}
	for _, name := range slices.Compact(names) {
		info := harnessOf(name, workers)
		info.Models = s.modelsOf(name)
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b HarnessInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Program is what the catalog knows of a harness's program. The zero value is a program whose models
// are not known.
type Program struct {
	AnyModel bool   // it can use the models of all providers
	API      string // it can use the models of providers with this API
	Provider string // it can use the models with this prefix, such as "ollama/"
	// Variables are the environment variables that its preset sets for each run.
	Variables []string
}

// modelsOf lists the models that are known to work with a harness.
func (s *Catalog) modelsOf(name string) []string {
	program := s.programs[name]
	list := []string{}
	for _, m := range s.offer.Load().models {
		prefix := store.ProviderPrefix(m.ID)
		api, known := s.providers[prefix]
		if m.DisableReason == "" &&
			(program.AnyModel || known && (program.API == api || program.Provider == prefix)) {
			list = append(list, m.ID)
		}
	}
	return list
}

// harnessOf is what the workers say of a harness.
func harnessOf(name string, workers []store.Worker) HarnessInfo {
	info := HarnessInfo{Name: name}
	for _, w := range workers {
		can := slices.Contains(w.Harnesses, name)
		if can {
			info.Workers++
		}
		i := slices.IndexFunc(w.Agents, func(a penstock.AgentState) bool { return a.Name == name })
		if i >= 0 && (can || info.Version == "") {
			info.Version, info.Reason = w.Agents[i].Version, w.Agents[i].Reason
		}
	}
	if info.Usable = info.Workers > 0; info.Usable {
		info.Reason = ""
	} else {
		info.Reason = cmp.Or(info.Reason, missingHarness(name, len(workers)))
	}
	return info
}

// missingHarness says why no worker has a harness.
func missingHarness(name string, workers int) string {
	switch {
	case workers == 0:
		return "No worker is connected."
	case name == penstock.HarnessCommand || !slices.Contains(definition.Harnesses(), name):
		return "No connected worker has it in its configuration file."
	}
	return "No connected worker has it: install it with penstock harness install " + name + "."
}

// NoHarness returns why no connected worker can run a harness.
func NoHarness(name string, workers []store.Worker) string {
	return fmt.Sprintf("no connected worker can run the harness %q. %s", name, harnessOf(name, workers).Reason)
}
