package penstock_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
)

func TestScopesThatIncludeOthers(t *testing.T) {
	t.Parallel()
	included := map[penstock.Scope][]penstock.Scope{
		penstock.ScopeAdmin:           penstock.Scopes(),
		penstock.ScopeFactoriesManage: {penstock.ScopeFactoriesRead},
	}
	for _, has := range penstock.Scopes() {
		p := penstock.Principal{Scopes: []penstock.Scope{has}}
		for _, asked := range penstock.Scopes() {
			want := has == asked
			for _, scope := range included[has] {
				want = want || scope == asked
			}
			if got := p.May(asked); got != want {
				t.Errorf("a key with %s may do what needs %s: %t, want %t", has, asked, got, want)
			}
		}
	}
}
