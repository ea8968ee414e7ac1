// Package catalog owns the building blocks of runs: environments, runners, models and skills.
package catalog

import (
	"log/slog"
	"sync/atomic"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/git"
	"github.com/penstock-dev/penstock/internal/store"
)

// Options are the dependencies and settings of the catalog.
type Options struct {
	Store      *store.Store
	Log        *slog.Logger
	Responses  *access.Responses
	Models     []penstock.ModelInfo // the models that the provider keys of this server allow
	Defaults   penstock.Config      // the weakest layer of every run's configuration
	Aliases    map[string]string    // models by alias; an auto-* name without an alias is the default model
	KeyHolders map[string][]string  // names of the variables that the configuration gives to harnesses, by harness
	Programs   map[string]Program   // what is known of harnesses, by name
	Providers  map[string]string    // the APIs of providers, by the prefix of their models, such as "ollama/"
	Network    ServerNetwork        // the layer of every run's network
	SkillCache *git.Cache           // reads repositories with skills; nil: disabled
	// MaxListBytes limits the total size of a team's schedules, of its agents, and of its
	// environments; 0: 16 MiB.
	MaxListBytes int64
}

// Catalog manages environments, runners, models and connected workers.
type Catalog struct {
	store        *store.Store
	responses    *access.Responses
	offer        atomic.Pointer[offer]
	defaults     penstock.Config // without a model
	aliases      map[string]string
	keyHolders   map[string][]string
	programs     map[string]Program
	providers    map[string]string
	network      ServerNetwork
	skillCache   *git.Cache
	maxListBytes int64
}

// Skills finds the skills in the repositories of environments.
type Skills struct {
	store   *store.Store
	catalog *Catalog
	reader  *skillReader
}

// Parts are the rules of this package.
type Parts struct {
	Catalog *Catalog
	Skills  *Skills
}

// New makes the catalog.
func New(o Options) Parts {
	catalog := &Catalog{
		store: o.Store, responses: o.Responses, defaults: o.Defaults, keyHolders: o.KeyHolders,
		programs: o.Programs, providers: o.Providers, aliases: o.Aliases, network: o.Network, skillCache: o.SkillCache,
		maxListBytes: o.MaxListBytes,
	}
	catalog.SetModels(o.Models, o.Defaults.ModelID)
	catalog.defaults.ModelID = ""
	return Parts{
		Catalog: catalog,
		Skills:  &Skills{store: o.Store, catalog: catalog, reader: newSkillReader(o.SkillCache, o.Log)},
	}
}
