package price

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
)

// builtin is made by `make prices`.
//
//go:embed prices.yaml
var builtin []byte

// Builtin is the text of the built-in price list, in the format that Parse reads.
func Builtin() []byte { return bytes.Clone(builtin) }

// Default returns the built-in prices.
var Default = sync.OnceValue(func() *Table {
	t, err := Parse(builtin)
	if err != nil {
		panic("the built-in prices are invalid: " + err.Error())
	}
	return t
})

// document is a price list as YAML or JSON.
type document struct {
	Date    string           `yaml:"date"`
	Sources []Source         `yaml:"sources"`
	Models  map[string]entry `yaml:"models"`
}

// entry is the price of a model: free, one rate, or rates with conditions.
type entry struct {
	Free      bool               `yaml:"free"`
	Source    string             `yaml:"source"` // the vendor's page
	Lists     []string           `yaml:"lists"`  // which of the sources have it
	Window    int64              `yaml:"window"`
	MaxOutput int64              `yaml:"max_output"`
	Regions   map[string]decimal `yaml:"regions"` // factors
	Tools     map[string]decimal `yaml:"tools"`   // US dollars per thousand uses
	Rates     []row              `yaml:"rates"`
	One       row                `yaml:",inline"`
}

// row is a rate in US dollars per million tokens, and when it applies.
type row struct {
	From           string   `yaml:"from"`
	Tiers          []string `yaml:"tiers"`
	Above          int64    `yaml:"above"`
	Input          *decimal `yaml:"input"`
	Output         *decimal `yaml:"output"`
	CacheRead      *decimal `yaml:"cache_read"`
	CacheWrite     *decimal `yaml:"cache_write"`
	CacheWriteLong *decimal `yaml:"cache_write_long"`
	Audio          *decimal `yaml:"audio"`
	AudioCacheRead *decimal `yaml:"audio_cache_read"`
}

// decimal is a number of the list in millionths, so dollars per million tokens are pico-dollars per
// token.
type decimal int64

// The form of a number: at most 999,999 with six places.
var decimalForm = penstock.LazyRegexp(`^\d{1,6}(\.\d{1,6})?$`)

// UnmarshalYAML reads the digits as they are written, never through a float.
func (d *decimal) UnmarshalYAML(node *yaml.Node) error {
	exact, ok := new(big.Rat).SetString(node.Value)
	if node.Kind != yaml.ScalarNode || !decimalForm().MatchString(node.Value) || !ok {
		return fmt.Errorf("line %d: %q is not a price: use a number such as 0.25, up to 999999, with at most six places",
			node.Line, node.Value)
	}
	*d = decimal(exact.Mul(exact, big.NewRat(1_000_000, 1)).Num().Int64())
	return nil
}

// UnmarshalYAML reads free, or a mapping.
func (e *entry) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		e.Free = node.Value == "free"
		if !e.Free {
			return fmt.Errorf("line %d: %q is not a price: use free, or input and output", node.Line, node.Value)
		}
		return nil
	}
	type plain entry
	return node.Load((*plain)(e), yaml.WithKnownFields())
}

// Provider is the prices of one provider in the configuration file: `free`, one price for all its
// models, or `models` with a price for each of them.
type Provider struct {
	models map[string]*model
}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (p *Provider) UnmarshalYAML(node *yaml.Node) error {
	var list struct {
		Models map[string]entry `yaml:"models"`
	}
	if node.Kind == yaml.MappingNode && len(node.Content) > 0 && node.Content[0].Value == "models" {
		if err := node.Load(&list, yaml.WithKnownFields()); err != nil {
			return err
		}
	} else {
		var all entry
		if err := node.Load(&all); err != nil {
			return err
		}
		list.Models = map[string]entry{"*": all}
	}
	var err error
	p.models, err = build(list.Models)
	return err
}

// Parse reads a price list as YAML or JSON (docs/prices.md). It replaces the built-in one.
func Parse(data []byte) (*Table, error) {
	var d document
	if err := yaml.Load(data, &d, yaml.WithKnownFields()); err != nil {
		return nil, fmt.Errorf("read the price list: %w", err)
	}
	if d.Date != "" && !isDay(d.Date) {
		return nil, fmt.Errorf("read the price list: date: %q is not a day such as 2026-12-31", d.Date)
	}
	for id := range d.Models {
		if provider, name, _ := strings.Cut(id, "/"); provider == "" || name == "" {
			return nil, fmt.Errorf("read the price list: %q: write a model as provider/model", id)
		}
	}
	models, err := build(d.Models)
	if err != nil {
		return nil, fmt.Errorf("read the price list: %w", err)
	}
	return &Table{date: d.Date, sources: d.Sources, models: models}, nil
}

func isDay(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

func build(entries map[string]entry) (map[string]*model, error) {
	models := make(map[string]*model, len(entries))
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		m, err := entries[id].model()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		models[id] = m
	}
	return models, nil
}

func (e entry) model() (*model, error) {
	m := &model{
		free: e.Free, window: e.Window, maxOutput: e.MaxOutput, regions: map[string]int64{}, tools: map[string]int64{},
	}
	if e.Window < 0 || e.MaxOutput < 0 {
		return nil, errors.New("window and max_output must not be negative")
	}
	for name, factor := range e.Regions {
		if factor < wholeUplift || factor > 100*wholeUplift {
			return nil, fmt.Errorf("regions: %s must be a factor from 1 to 100", name)
		}
		m.regions[name] = int64(factor)
	}
	for name, price := range e.Tools {
		m.tools[name] = int64(price) * 1000 // millionths of a dollar per thousand uses
	}
	rows := e.Rates
	if !e.One.empty() {
		rows = append([]row{e.One}, rows...)
	}
	if m.free != (len(rows) == 0) {
		return nil, errors.New("give either free or input and output")
	}
	for _, r := range rows {
		if err := m.add(r); err != nil {
			return nil, err
		}
	}
	return m, m.check()
}

func (r row) empty() bool {
	return r.Input == nil && r.Output == nil && r.From == "" && len(r.Tiers) == 0 && r.Above == 0
}

// add puts a row in its place.
func (m *model) add(r row) error {
	switch {
	case r.Input == nil || r.Output == nil:
		return errors.New("each rate needs input and output")
	case r.From != "" && !isDay(r.From):
		return fmt.Errorf("from: %q is not a day such as 2026-12-31", r.From)
	case r.Above < 0:
		return errors.New("above must not be negative")
	}
	i, found := slices.BinarySearchFunc(m.days, r.From, func(d day, from string) int { return cmp.Compare(d.from, from) })
	if !found {
		m.days = slices.Insert(m.days, i, day{from: r.From, tiers: map[string][]band{}})
	}
	tiers := r.Tiers
	if len(tiers) == 0 {
		tiers = []string{""}
	}
	for _, name := range tiers {
		tier, _ := tierOf(name, "")
		bands := m.days[i].tiers[tier]
		place, taken := slices.BinarySearchFunc(bands, r.Above, func(b band, above int64) int {
			return cmp.Compare(b.above, above)
		})
		if taken {
			return fmt.Errorf("two rates apply to the same calls: tier %q, above %d", name, r.Above)
		}
		m.days[i].tiers[tier] = slices.Insert(bands, place, band{above: r.Above, rate: r.rate()})
	}
	return nil
}

// rate fills in what a row leaves out: cached tokens cost what the same tokens cost otherwise, and a longer
// lifetime what the shorter one does. Audio has no price then: it can cost many times what text does.
func (r row) rate() rate {
	var out rate
	set := func(kind int, price *decimal, otherwise int64) {
		out[kind] = otherwise
		if price != nil {
			out[kind] = int64(*price)
		}
	}
	set(input, r.Input, 0)
	set(output, r.Output, 0)
	set(cacheRead, r.CacheRead, out[input])
	set(cacheWrite, r.CacheWrite, out[input])
	set(cacheWriteLong, r.CacheWriteLong, out[cacheWrite])
	set(audio, r.Audio, unpriced)
	set(audioCacheRead, r.AudioCacheRead, out[audio])
	return out
}

// check reports what is missing as a whole: a price for every day, and in each tier for every
// prompt.
func (m *model) check() error {
	for i, d := range m.days {
		if i == 0 && d.from != "" {
			return fmt.Errorf("it has no price before %s: add a rate without from", d.from)
		}
		if _, ok := d.tiers[""]; !ok {
			return fmt.Errorf("it has no standard rate from %s: add a rate without tiers", cmp.Or(d.from, "the beginning"))
		}
		for tier, bands := range d.tiers {
			if bands[0].above != 0 {
				return fmt.Errorf("tier %q has no rate for short prompts: add a rate without above", tier)
			}
		}
	}
	return nil
}
