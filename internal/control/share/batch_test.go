package share_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/share"
)

func TestASweepReachesEveryRowAndBoundsItsErrors(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 9, 10, 11, 37} {
		var got []int
		broken := errors.New("broken")
		err := share.Sweep(10, func(after int) (page []int, err error) {
			for i := after + 1; i <= n && len(page) < 10; i++ {
				page = append(page, i)
			}
			return page, nil
		}, func(row int) error {
			got = append(got, row)
			if row%2 == 1 {
				return fmt.Errorf("row %d is %w", row, broken)
			}
			return nil
		})
		if len(got) != n || !slices.IsSorted(got) {
			t.Errorf("of %d rows, these had their turn: %v", n, got)
		}
		if n > 0 && !errors.Is(err, broken) {
			t.Errorf("%d rows: got %v", n, err)
		}
		if n == 37 && (strings.Count(err.Error(), "\n") != 10 || !strings.HasSuffix(err.Error(), "\n9 more errors")) {
			t.Errorf("the errors are %v", err)
		}
	}
}

func TestASweepEndsWhereItCannotRead(t *testing.T) {
	t.Parallel()
	gone, broken := errors.New("the database is gone"), errors.New("broken")
	reads := 0
	err := share.Sweep(1, func(int) ([]int, error) {
		if reads++; reads > 1 {
			return nil, gone
		}
		return []int{1}, nil
	}, func(int) error { return broken })
	if reads != 2 || !errors.Is(err, gone) || !errors.Is(err, broken) {
		t.Errorf("got %v after %d reads", err, reads)
	}
}
