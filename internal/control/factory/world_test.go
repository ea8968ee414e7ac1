package factory_test

import (
	"testing"

	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// world is testworld's world with what only these tests do to it.
type world struct{ *testworld.World }

// worlds runs a test in a new world of each engine.
func worlds(t *testing.T, change func(*run.Deps), test func(w *world)) {
	t.Helper()
	testworld.Each(t, change, func(w *testworld.World) { test(&world{w}) })
}
