package testkit_test

import (
	"testing"

	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A server that is killed before the last statement of a transaction has stored nothing. One that is killed after the
// commit has stored all, and does not know it. Neither writes again before it is revived.
func TestKiller(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		var k testkit.Killer
		s := testkit.OpenMortal(t, url, &k)
		write := func(key string) error {
			return s.Write(t.Context(), func(tx *store.Tx) error {
				for _, name := range []string{key, key + " again"} {
					if err := tx.Settings().Set(t.Context(), name, "1"); err != nil {
						return err
					}
				}
				return nil
			})
		}
		stored := func() (n int) { return len(testkit.Rows(t, url, "SELECT 1 FROM settings WHERE name LIKE 'kill%'")) }
		statements := 3 // with BEGIN
		if s.Shared() {
			statements = 2 // they are sent together
		}
		for _, test := range []struct {
			name string
			arm  func()
			want int
		}{
			{"before a statement", func() { k.BeforeStatement(statements) }, 0},
			{"after the commit", func() { k.AfterCommit(1) }, 2},
		} {
			test.arm()
			if err := write("kill " + test.name); err == nil || stored() != test.want || !k.Spare() {
				t.Errorf("killed %s, it stored %d settings, want %d (%v)", test.name, stored(), test.want, err)
			}
			if err := write("kill later"); err == nil || stored() != test.want {
				t.Errorf("the killed server stored something: %v", err)
			}
			k.Revive()
		}
		if err := write("kill no more"); err != nil || stored() != 4 {
			t.Errorf("a new server has stored %d settings: %v", stored(), err)
		}
	})
}
