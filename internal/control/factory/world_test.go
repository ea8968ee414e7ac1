package factory_test

import (
	"testing"

	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// world is testworld's world with what only these tests do to it.
type world struct{ *testworld.World }

// worlds runs a test in a new world of each engine. Schedules fire when the test says so, unless change
// sets it otherwise.
func worlds(t *testing.T, change func(*run.Deps), test func(w *world)) {
	t.Helper()
	byHand := func(d *run.Deps) {
		d.TimesByHand = true
		if change != nil {
			change(d)
		}
	}
	testworld.Each(t, byHand, func(w *testworld.World) { test(&world{w}) })
}
