package price

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
)

func TestBuiltinListHasItsSources(t *testing.T) {
	t.Parallel()
	table := Default()
	day, err := time.Parse(time.DateOnly, table.Date())
	if err != nil || day.Before(time.Date(2026, time.November, 23, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the list is of %q", table.Date())
	}
	if len(table.Sources()) == 0 || len(Builtin()) > 300_000 {
		t.Errorf("%d sources, %d bytes", len(table.Sources()), len(Builtin()))
	}
	for _, s := range table.Sources() {
		if s.Name == "" || s.Version == "" || s.License != "MIT" || s.Copyright == "" {
			t.Errorf("source %+v lacks something, or has another license", s)
		}
	}
	var d document
	if err := yaml.Load(builtin, &d); err != nil {
		t.Fatal(err)
	}
	for id, e := range d.Models {
		if len(e.Lists) == 0 && e.Source == "" {
			t.Errorf("%s does not say where its price is from", id)
		}
	}
}

// A list may use only these names. A misspelled name would never be found.
var (
	knownTiers   = []string{"", "batch", "flex", "priority", "fast", "ultrafast"}
	knownTools   = []string{"web_search", "web_fetch", "file_search", "google_maps", "url_context"}
	knownRegions = []string{"us", "eu"}
	modelName    = regexp.MustCompile(`^[a-z]+/[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$`)
)

func TestEntriesOfTheBuiltinList(t *testing.T) {
	t.Parallel()
	for id, m := range Default().models {
		if !modelName.MatchString(id) {
			t.Errorf("%q is not a name of a model", id)
		}
		if m.free {
			t.Errorf("%s is free", id)
		}
		for name, price := range m.tools {
			if !slices.Contains(knownTools, name) || price > 100_000_000_000 {
				t.Errorf("%s: tool %q for %d pico-dollars", id, name, price)
			}
		}
		for name, factor := range m.regions {
			if !slices.Contains(knownRegions, name) || factor > 2*wholeUplift {
				t.Errorf("%s: region %q with the factor %d", id, name, factor)
			}
		}
		for _, d := range m.days {
			checkDay(t, id, d)
		}
	}
}

func checkDay(t *testing.T, id string, d day) {
	t.Helper()
	for tier, bands := range d.tiers {
		if !slices.Contains(knownTiers, tier) {
			t.Errorf("%s: unknown tier %q", id, tier)
		}
		for i, b := range bands {
			r := b.rate
			switch {
			case slices.Min(r[:audio]) < 0 || min(r[audio], r[audioCacheRead]) < unpriced:
				t.Errorf("%s: a price below zero: %v", id, r)
			case r[output] == 0 || r[input] == 0:
				t.Errorf("%s: input or output costs nothing: %v", id, r)
			case slices.Max(r[:]) > 1_000_000_000: // 1,000 dollars per million: far more than any model costs
				t.Errorf("%s: a wrong unit? %v", id, r)
			case r[cacheRead] > r[input] || r[cacheWriteLong] < r[cacheWrite]:
				t.Errorf("%s: cached input costs more than input, or a longer lifetime less: %v", id, r)
			case b.above%1000 != 0 && b.above%1000 != 999:
				t.Errorf("%s: a band above %d", id, b.above)
			}
			for kind := range r {
				if i > 0 && r[kind] < bands[i-1].rate[kind] {
					t.Errorf("%s: tier %q is cheaper above %d: %v, %v", id, tier, b.above, bands[i-1].rate, r)
				}
			}
		}
	}
}

// The catalog promises that the price does not change below a model's prompt limit. [Table.Turn]
// relies on it.
func TestEveryModelOfTheCatalogHasAPrice(t *testing.T) {
	t.Parallel()
	for _, m := range penstock.Models() {
		found, ok := Default().find("", m.ID)
		if !ok {
			t.Errorf("%s has no price", m.ID)
			continue
		}
		for _, d := range found.days {
			for _, b := range d.tiers[""] {
				if b.above != 0 && b.above < m.PromptLimit {
					t.Errorf("%s: the price rises above %d, before the prompt limit of %d", m.ID, b.above, m.PromptLimit)
				}
			}
		}
		if provider, name, _ := strings.Cut(m.ID, "/"); !found.free {
			if window, _ := Default().Limits(provider, name); window < m.PromptLimit {
				t.Errorf("%s: a window of %d, with a prompt limit of %d", m.ID, window, m.PromptLimit)
			}
		}
	}
}
