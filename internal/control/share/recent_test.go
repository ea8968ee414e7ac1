package share

import (
	"slices"
	"testing"
)

func TestRecentKeepsTheLastUsed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		most  int
		bytes int64
		want  []string
	}{
		"by number":                  {2, 100, []string{"a", "c"}},
		"by size":                    {10, 20, []string{"a", "c"}},
		"one, however large it is":   {10, 5, []string{"c"}},
		"all that there is room for": {10, 100, []string{"a", "b", "c"}},
	} {
		r := NewRecent[string, string](test.most, test.bytes)
		r.Keep("a", "old", 90)
		r.Keep("a", "a", 10) // in the place of the old one
		r.Keep("b", "b", 10)
		if r.Find("a") != "a" && test.bytes > 10 {
			t.Errorf("%s: the last value of a key is not found", name)
		}
		r.Keep("c", "c", 10)
		var got []string
		for _, key := range []string{"a", "b", "c"} {
			if r.Find(key) == key {
				got = append(got, key)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
