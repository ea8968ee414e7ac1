package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// A claim has the policy of the run. A fork has branches of its own, but none if its run had none.
func TestAClaimHasThePushPolicyOfTheRun(t *testing.T) {
	t.Parallel()
	row := func(branches ...[]string) store.RunRow {
		policy := penstock.PushPolicy{Branches: branches, Limits: penstock.PushLimits{Files: 7}}
		var r store.RunRow
		r.ID, r.Config = "x", &penstock.Config{}
		r.Config.Forge = &penstock.ForgeSettings{Policy: &policy}
		return r
	}
	forked := func(r store.RunRow) store.RunRow {
		r.ForkedFrom = &penstock.ForkedFrom{}
		return r
	}
	for _, test := range []struct {
		row  store.RunRow
		want [][]string
	}{
		{row([]string{"a/**"}, []string{"b"}), [][]string{{"a/**"}, {"b"}}},
		{forked(row([]string{"a/**"}, []string{"b"})), [][]string{{"penstock/fork-x/**"}}},
		{forked(row([]string{"a/**"}, []string{})), [][]string{{"a/**"}, {}}},
	} {
		got := pushPolicy(test.row)
		if diff := cmp.Diff(test.want, got.Branches); diff != "" || got.Limits.Files != 7 {
			t.Errorf("%+v (-want +got):\n%s", got, diff)
		}
	}
}
