package penstock_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
)

func TestHollowNeedsNoWorkOrOnlyFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		evidence penstock.Evidence
		hollow   bool
	}{
		"only an answer":                 {penstock.Evidence{Turns: 1, ModelCalls: 3}, true},
		"one action":                     {penstock.Evidence{Actions: 1}, false},
		"one of two actions failed":      {penstock.Evidence{Actions: 2, FailedActions: 1}, false},
		"the only action failed":         {penstock.Evidence{Actions: 1, FailedActions: 1}, true},
		"every action failed":            {penstock.Evidence{Actions: 3, FailedActions: 3}, true},
		"every action failed, an output": {penstock.Evidence{Actions: 3, FailedActions: 3, Outputs: 1}, true},
		"an output without an action":    {penstock.Evidence{Outputs: 1}, false},
		"a change without an action":     {penstock.Evidence{FilesChanged: 1}, false},
	} {
		if reason := c.evidence.Hollow(); (reason != "") != c.hollow {
			t.Errorf("%s: got the reason %q", name, reason)
		}
	}
}
