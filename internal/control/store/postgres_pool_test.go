package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestSizeOfThePoolOfConnections(t *testing.T) {
	t.Parallel()
	database := testkit.Postgres(t)
	mustCreate(t, testkit.OpenStore(t, database+"&pool_max_conns=4"), nil)
	for _, size := range []string{"3", "1001", "many", ""} {
		_, err := store.Open(t.Context(), store.Options{URL: database + "&pool_max_conns=" + size})
		if !errors.Is(err, store.ErrURL) || !strings.Contains(err.Error(), "pool_max_conns") {
			t.Errorf("%q: got %v", size, err)
		}
	}
}
