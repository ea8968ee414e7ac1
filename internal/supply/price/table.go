package price

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// Table holds the prices of models. It never changes, so it may be shared. A nil Table holds only
// the price of [penstock.ModelOffline], which is free in every table.
type Table struct {
	date    string
	sources []Source
	models  map[string]*model // by provider/model; provider/* is for each model without its own
}

// Source is a public price list that prices were taken from.
type Source struct {
	Name      string `yaml:"name"`
	Version   string `yaml:"version"`
	License   string `yaml:"license"`
	Copyright string `yaml:"copyright"`
}

// The kinds of tokens that have a price.
const (
	input = iota
	output
	cacheRead
	cacheWrite
	cacheWriteLong
	audio
	audioCacheRead
	kinds
)

// rate is what a token of each kind costs, in pico-dollars. Audio may be unpriced.
type rate [kinds]int64

const unpriced = -1

type model struct {
	free      bool
	window    int64
	maxOutput int64
	regions   map[string]int64 // uplifts, in millionths
	tools     map[string]int64 // pico-dollars per use
	days      []day            // by their first day; the first has none
}

// day is what a model costs from a day on. It replaces everything before.
type day struct {
	from  string            // as 2006-01-02, UTC
	tiers map[string][]band // by their length; the standard tier is ""
}

// band is the rate of a request whose prompt is longer than above tokens. The whole request has it.
type band struct {
	above int64
	rate  rate
}

// Date is the day on which the prices were collected, as 2006-01-02; "" if the file does not say.
func (t *Table) Date() string { return t.date }

// Sources are the lists that the prices were taken from.
func (t *Table) Sources() []Source { return slices.Clone(t.sources) }

// Known reports whether a model has a price, or is free.
func (t *Table) Known(provider, name string) bool {
	_, ok := t.find(provider, name)
	return ok
}

// Free reports whether a model costs nothing.
func (t *Table) Free(provider, name string) bool {
	m, ok := t.find(provider, name)
	return ok && m.free
}

// Limits returns the greatest number of tokens of a model's prompt and of its output; 0 is unknown.
func (t *Table) Limits(provider, name string) (window, maxOutput int64) {
	m, ok := t.find(provider, name)
	if !ok {
		return 0, 0
	}
	return m.window, m.maxOutput
}

// dated is the end of a name that a provider gives to one version of a model.
var dated = penstock.LazyRegexp(`-(\d{8}|\d{4}-\d{2}-\d{2})$`)

// offline is penstock.ModelOffline, which calls nothing and is free whatever a list says.
var offline = &model{free: true}

// find returns a model by its name, by its name without the date of its version, or by what its
// provider has for every model.
func (t *Table) find(provider, name string) (*model, bool) {
	if provider == "" {
		id, _ := penstock.CanonicalModelID(name)
		provider, name, _ = strings.Cut(id, "/")
	}
	switch {
	case provider+"/"+name == penstock.ModelOffline:
		return offline, true
	case t == nil:
		return nil, false
	case provider == "gemini":
		provider = "google"
	}
	for _, candidate := range []string{name, dated().ReplaceAllString(name, ""), "*"} {
		if m, ok := t.models[provider+"/"+candidate]; ok && name != "" {
			return m, true
		}
	}
	return nil, false
}

// rate is the rate of a call; false if its tier has no price on that day.
func (m *model) rate(c Call) (rate, bool) {
	tier, ok := tierOf(c.Tier, c.Speed)
	if !ok {
		return rate{}, false
	}
	bands := m.on(c.At).tiers[tier]
	prompt := cmp.Or(c.Prompt, c.Usage.prompt())
	for _, b := range slices.Backward(bands) {
		if prompt > b.above || b.above == 0 {
			return b.rate, true
		}
	}
	return rate{}, false
}

// tierOf joins tier and speed, which are two words of different providers for the same thing.
func tierOf(tier, speed string) (string, bool) {
	if tier == "standard" || tier == "default" {
		tier = ""
	}
	if speed == "standard" || speed == "default" {
		speed = ""
	}
	return cmp.Or(tier, speed), tier == "" || speed == ""
}

// on is what the model costs at a time.
func (m *model) on(at time.Time) day {
	today := at.UTC().Format(time.DateOnly)
	for _, d := range slices.Backward(m.days) {
		if d.from <= today {
			return d
		}
	}
	return m.days[0]
}

// uplift is the factor of a region, in millionths.
func (m *model) uplift(region string) (int64, bool) {
	if region == "" || region == "global" {
		return wholeUplift, true
	}
	factor, ok := m.regions[region]
	return factor, ok
}

// Query asks for the highest price of a future call.
type Query struct {
	Provider, Model string // as in Call
	At              time.Time
	Prompt          int64    // the longest prompt that is possible; 0 is any length
	Tiers           []string // the tiers that are possible; empty is all that the model has
	Regions         []string // the regions that are possible; empty is all that the model has
}

// Rates are the most that a token can cost, in pico-dollars, and the uses of tools.
type Rates struct {
	Free           bool  // everything is 0, also tools that Tools does not have
	Input          int64 // text
	Audio          int64 // audio or text, cached or not, whichever costs more
	NoAudio        bool  // audio has no price
	CacheRead      int64 // text
	CacheWrite     int64 // for the shorter lifetime
	CacheWriteLong int64 // for either lifetime, whichever costs more
	Output         int64
	Tools          map[string]int64
}

// Dearest returns the most that each kind of token can cost in the 24 hours after q.At, or false if
// the model, or a tier or region of the query, has no price.
func (t *Table) Dearest(q Query) (Rates, bool) {
	m, ok := t.find(q.Provider, q.Model)
	switch {
	case !ok:
		return Rates{}, false
	case m.free:
		return Rates{Free: true}, true
	}
	var top rate
	noAudio := false
	first, last := m.on(q.At), m.on(q.At.AddDate(0, 0, 1))
	for _, d := range []day{first, last} {
		tiers := q.Tiers
		if len(tiers) == 0 {
			tiers = slices.Collect(maps.Keys(d.tiers))
		}
		for _, name := range tiers {
			tier, _ := tierOf(name, "")
			bands, known := d.tiers[tier]
			if !known {
				return Rates{}, false
			}
			for _, b := range bands {
				noAudio = noAudio || b.rate[audio] == unpriced
				for kind := range top {
					if q.Prompt == 0 || q.Prompt > b.above {
						top[kind] = max(top[kind], b.rate[kind])
					}
				}
			}
		}
	}
	factor, ok := m.dearestUplift(q.Regions)
	if !ok {
		return Rates{}, false
	}
	return Rates{
		Input:          raise(top[input], factor),
		Audio:          raise(max(top[input], top[audio], top[cacheRead], top[audioCacheRead]), factor),
		NoAudio:        noAudio,
		CacheRead:      raise(top[cacheRead], factor),
		CacheWrite:     raise(top[cacheWrite], factor),
		CacheWriteLong: raise(max(top[cacheWrite], top[cacheWriteLong]), factor),
		Output:         raise(top[output], factor),
		Tools:          maps.Clone(m.tools),
	}, true
}

func (m *model) dearestUplift(regions []string) (int64, bool) {
	var top int64
	for _, region := range regions {
		factor, ok := m.uplift(region)
		if !ok {
			return 0, false
		}
		top = max(top, factor)
	}
	if len(regions) == 0 {
		top = wholeUplift
		for _, factor := range m.regions {
			top = max(top, factor)
		}
	}
	return top, true
}

// raise multiplies a price with an uplift, rounded up. Both are bounded, so the result fits.
func raise(pico, factor int64) int64 {
	exact := new(big.Int).Mul(big.NewInt(pico), big.NewInt(factor))
	exact.Add(exact, big.NewInt(wholeUplift-1))
	return exact.Quo(exact, big.NewInt(wholeUplift)).Int64()
}

// With returns the table with the prices of one provider in place of those that it had.
func (t *Table) With(provider string, p Provider) *Table {
	merged := &Table{models: map[string]*model{}}
	if t != nil {
		merged.date, merged.sources = t.date, t.sources
		for id, m := range t.models {
			if !strings.HasPrefix(id, provider+"/") {
				merged.models[id] = m
			}
		}
	}
	for name, m := range p.models {
		merged.models[provider+"/"+name] = m
	}
	return merged
}
