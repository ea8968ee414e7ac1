package store_test

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// Each log is read from where a page begins, in an index that has its order: no page sorts or reads a whole log.
func TestTheLedgerReadsOnlyPages(t *testing.T) {
	t.Parallel()
	s := testkit.OpenStore(t, "sqlite://"+t.TempDir()+"/penstock.db")
	plans, err := s.ExplainLedger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"d USING INDEX sqlite_autoindex_deliveries_1 (id<?)",
		"deliveries USING COVERING INDEX deliveries_log (webhook=? AND outcome=? AND rowid<?)",
		"e USING INDEX subject_events_calls (uid<?)",
		"r USING INDEX sqlite_autoindex_runs_1 (id<?)",
	} {
		if !strings.Contains(strings.Join(plans[i], "\n"), "SEARCH "+want) {
			t.Errorf("the plan has no %s:\n%s", want, strings.Join(plans[i], "\n"))
		}
		for _, step := range plans[i] {
			// Of one webhook, what the indexes of its outcomes return is merged.
			if i != 1 && (strings.HasPrefix(step, "SCAN") || strings.Contains(step, "TEMP B-TREE")) {
				t.Errorf("the plan reads or sorts too much:\n%s", strings.Join(plans[i], "\n"))
			}
		}
	}
}
