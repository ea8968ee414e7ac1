package price_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/supply/price"
)

// list is a random price list of one model, with the numbers that generated it.
type list struct {
	text  string
	above int64
	rate  [2][5]int64 // pico-dollars: input, cache read, cache write, its longer lifetime, output; by band
	tool  int64       // micro-dollars per thousand
	us    int64       // thousandths
}

func drawList(t *rapid.T) list {
	l := list{
		above: rapid.Int64Range(1, 1e6).Draw(t, "above"), tool: rapid.Int64Range(0, 1e9).Draw(t, "tool"),
		us: rapid.Int64Range(1000, 3000).Draw(t, "us"),
	}
	text := fmt.Sprintf("models:\n p/m:\n  tools: {search: %s}\n  regions: {us: %d.%03d}\n  rates:\n",
		millionths(l.tool), l.us/1000, l.us%1000)
	for band := range l.rate {
		for kind := range l.rate[band] {
			l.rate[band][kind] = rapid.OneOf(rapid.Int64Range(0, 1e8), rapid.Int64Range(0, 999_999_999_999)).Draw(t, "rate")
		}
		r := l.rate[band]
		text += fmt.Sprintf("  - {above: %d, input: %s, cache_read: %s, cache_write: %s, cache_write_long: %s, output: %s}\n",
			int64(band)*l.above, millionths(r[0]), millionths(r[1]), millionths(r[2]), millionths(r[3]), millionths(r[4]))
	}
	l.text = text
	return l
}

func millionths(n int64) string { return fmt.Sprintf("%d.%06d", n/1e6, n%1e6) }

func drawUsage(t *rapid.T) price.Usage {
	tokens := rapid.OneOf(rapid.Int64Range(0, 3e6), rapid.Int64Range(0, math.MaxInt64))
	return price.Usage{
		Input: tokens.Draw(t, "input"), CacheRead: tokens.Draw(t, "read"), CacheWrite: tokens.Draw(t, "write"),
		CacheWriteLong: tokens.Draw(t, "long"), Output: tokens.Draw(t, "output"),
		Tools: map[string]int64{"search": tokens.Draw(t, "searches")},
	}
}

// exact calculates the cost in fractions, with another algorithm than the package.
func (l list) exact(u price.Usage, us bool) *big.Rat {
	counts := []int64{u.Input, u.CacheRead, u.CacheWrite, u.CacheWriteLong, u.Output}
	prompt := new(big.Int)
	for _, n := range counts[:4] {
		prompt.Add(prompt, big.NewInt(n))
	}
	rate := l.rate[0]
	if prompt.Cmp(big.NewInt(l.above)) > 0 {
		rate = l.rate[1]
	}
	total := new(big.Rat)
	for i, n := range counts {
		cost := new(big.Rat).Mul(new(big.Rat).SetInt64(n), big.NewRat(rate[i], 1000))
		if us {
			cost.Mul(cost, big.NewRat(l.us, 1000))
		}
		total.Add(total, cost)
	}
	return total.Add(total, new(big.Rat).Mul(new(big.Rat).SetInt64(u.Tools["search"]), big.NewRat(l.tool, 1)))
}

func TestCostIsExactAndRoundedUpOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, u := drawList(t), drawUsage(t)
		table, err := price.Parse([]byte(l.text))
		if err != nil {
			t.Fatalf("%v:\n%s", err, l.text)
		}
		c := price.Call{Provider: "p", Model: "m", At: time.Unix(0, 0), Usage: u}
		us := rapid.Bool().Draw(t, "in us")
		if us {
			c.Region = "us"
		}
		exact := l.exact(u, us)
		want := new(big.Int).Quo(exact.Num(), exact.Denom())
		if !exact.IsInt() {
			want.Add(want, big.NewInt(1))
		}
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		parts, ok := table.Parts(c)
		total, _ := table.Cost(c)
		if !ok || total != want.Int64() || parts.Total() != total {
			t.Fatalf("got %d of %+v, %v; want %s", total, parts, ok, want)
		}
		if min(parts.Input, parts.CacheRead, parts.CacheWrite, parts.Output, parts.Tools) < 0 {
			t.Fatalf("a part is below zero: %+v", parts)
		}
	})
}

func TestNoCallCostsMoreThanTheDearestRates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, u := drawList(t), drawUsage(t)
		table, err := price.Parse([]byte(l.text))
		if err != nil {
			t.Fatal(err)
		}
		region := rapid.SampledFrom([]string{"", "us"}).Draw(t, "region")
		cost, _ := table.Cost(price.Call{Provider: "p", Model: "m", At: time.Unix(0, 0), Region: region, Usage: u})
		top, ok := table.Dearest(price.Query{Provider: "p", Model: "m", At: time.Unix(0, 0)})
		if !ok {
			t.Fatal("no dearest rate")
		}
		bound := new(big.Int)
		for _, x := range [][2]int64{
			{u.Input, top.Input},
			{u.CacheRead, top.CacheRead},
			{u.CacheWrite, top.CacheWrite},
			{u.CacheWriteLong, top.CacheWriteLong},
			{u.Output, top.Output},
			{u.Tools["search"], top.Tools["search"]},
		} {
			bound.Add(bound, new(big.Int).Mul(big.NewInt(x[0]), big.NewInt(x[1])))
		}
		if picos := new(big.Int).Mul(big.NewInt(cost-1), big.NewInt(1000)); cost > 0 && picos.Cmp(bound) >= 0 {
			t.Fatalf("costs %d nano-dollars, more than %s pico-dollars", cost, bound)
		}
	})
}
