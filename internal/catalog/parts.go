// Package catalog owns the building blocks of runs: environments, runners, models and skills.
package catalog

import (
	"log/slog"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/git"
	"github.com/penstock-dev/penstock/internal/store"
)

// Options are the dependencies and settings of the catalog.
type Options struct {
	Store      *store.Store
	Log        *slog.Logger
	Answers    *access.Answers
	Models     []penstock.ModelInfo // what the providers' keys of this server allow
	Defaults   penstock.Config      // the weakest layer of every run's configuration
	Aliases    map[string]string    // models by further names; of the family auto-* the rest stands for the default
	KeyHolders map[string][]string  // harnesses to which the configuration gives variables, with their names
	Network    ServerNetwork        // the layer of every run's network
	SkillCache *git.Cache           // where skills are looked for; nil: nowhere
	// MaxListBytes limits the total size of a team's schedules, of its agents, and of its
	// environments; 0: 16 MiB.
	MaxListBytes int64
}

// Catalog manages environments, runners, models and connected workers.
type Catalog struct {
	store        *store.Store
	answers      *access.Answers
	models       []penstock.ModelInfo
	defaults     penstock.Config
	aliases      map[string]string
	keyHolders   map[string][]string
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
		store: o.Store, answers: o.Answers, models: o.Models, defaults: o.Defaults, keyHolders: o.KeyHolders,
		aliases: o.Aliases, network: o.Network, skillCache: o.SkillCache, maxListBytes: o.MaxListBytes,
	}
	return Parts{
		Catalog: catalog,
		Skills:  &Skills{store: o.Store, catalog: catalog, reader: newSkillReader(o.SkillCache, o.Log)},
	}
}
