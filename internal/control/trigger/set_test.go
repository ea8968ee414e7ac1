package trigger_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// A set evaluates each filter as the filter itself would, whatever conditions the filters share and
// in whatever order they are evaluated.
func TestSetsMatchAsTheirFiltersDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		conditions := append(filterOf(t, 3), filterOf(t, 2)...) // two of one key may differ
		filters := []*trigger.Filter{nil}
		for range rapid.IntRange(1, 5).Draw(t, "filters") {
			some := rapid.SliceOfNDistinct(
				rapid.SampledFrom(conditions), 0, 3, func(p pair) string { return p.key },
			).Draw(t, "conditions")
			f, err := trigger.ParseFilter([]byte(write(nil, object(some))))
			if err != nil {
				t.Fatal(err)
			}
			filters = append(filters, f)
		}
		set := trigger.NewFilterSet(filters)
		for _, body := range []string{
			`{"a": 1, "b": 2, "a": 1}`, write(t, bodyOf(t, 2)), write(t, payloadFor(t, conditions)), "",
		} {
			var d *trigger.Document
			if body != "" {
				var err error
				if d, err = trigger.ParseDocument([]byte(body)); err != nil {
					t.Fatal(err)
				}
			}
			trial := set.Try(d)
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(filters)-1), 1, 12).Draw(t, "asked") {
				got, gotWhy := trial.Match(i)
				want, wantWhy := filters[i].Match(d)
				if got != want || gotWhy != wantWhy {
					t.Fatalf("filter %d on %q: got %t %+v, by itself %t %+v", i, body, got, gotWhy, want, wantWhy)
				}
			}
		}
	})
}
