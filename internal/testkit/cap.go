package testkit

import (
	"fmt"
	"path"
	"testing"
)

// Cap is what a proof of the cap has found. Amounts are in nano-dollars.
type Cap struct {
	Schedules  int64
	Calls      int64 // that reached the provider
	Over       int64 // spent over a cap
	Difference int64 // between ledger and bill, where each call has settled exactly
	Open       int64 // calls whose usage never came; they count as reserved
}

// ReportCap reports the findings of a test for `make cap`. The last part of the test's name is the
// engine.
func ReportCap(t *testing.T, what string, c Cap) {
	t.Helper()
	for _, figure := range []struct {
		name  string
		value int64
	}{
		{"schedules", c.Schedules}, {"calls", c.Calls}, {"over", c.Over}, {"difference", c.Difference}, {"open", c.Open},
	} {
		t.Attr("cap-"+figure.name, fmt.Sprint(figure.value))
	}
	t.Attr("cap-of", what+", "+path.Base(t.Name()))
}
