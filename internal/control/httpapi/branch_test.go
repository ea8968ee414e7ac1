package httpapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

func TestBranchesOfRuns(t *testing.T) {
	t.Parallel()
	onControls(t, map[string]func(*testing.T, *world, penstock.Control){
		"a branch has one thread":    branchLife,
		"two runs want one branch":   branchRace,
		"claims of a hostile worker": branchHostile,
	})
}

const shopURL = "https://git.example.com/acme/shop.git"

var commitIDs = [...]string{"", strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)}

func (w *world) leaseOfRun(c penstock.Control) penstock.Lease {
	w.t.Helper()
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs", map[string]any{
		"prompt": "x", "config": map[string]any{"model_id": "demo/offline"},
	})
	return w.work(c).a.Lease
}

// claimBranch claims a branch, and returns the refusal. The ids are numbers of commitIDs.
func claimBranch(t *testing.T, c penstock.Control, l penstock.Lease, url, name string, current, next int) string {
	t.Helper()
	refusals, err := c.ClaimBranches(t.Context(), l, penstock.PushClaim{URL: url, Branches: []penstock.PushedBranch{
		{Name: name, Current: commitIDs[current], New: commitIDs[next]},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return refusals[0]
}

func branchLife(t *testing.T, w *world, c penstock.Control) {
	first, second := w.leaseOfRun(c), w.leaseOfRun(c)
	claim := func(l penstock.Lease, name string, current, next int, want string) {
		t.Helper()
		got := claimBranch(t, c, l, shopURL, name, current, next)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s from %d to %d: %q, not %q", name, current, next, got, want)
		}
	}
	claim(first, "penstock/a", 0, 1, "")
	claim(first, "penstock/a", 0, 1, "") // the push has failed
	claim(first, "penstock/a", 0, 2, "")
	claim(first, "penstock/a", 1, 3, "somebody else has made it") // it is not what the run has pushed
	claim(first, "penstock/a", 2, 3, "")
	claim(first, "penstock/a", 1, 3, "") // a person has changed the branch of the run
	claim(second, "penstock/a", 3, 1, "belongs to another run")
	claim(second, "penstock/a", 0, 1, "belongs to another run")
	claim(second, "penstock/b", 3, 1, "no run of Penstock has made it")
	claim(second, "penstock/b", 0, 1, "")
	got := claimBranch(t, c, second, strings.ToUpper(shopURL), "penstock/a", 0, 1)
	if !strings.Contains(got, "another run") {
		t.Errorf("the URL in capitals: %q", got)
	}
	if got := claimBranch(t, c, second, "https://git.example.com/acme/other.git", "penstock/a", 0, 1); got != "" {
		t.Errorf("another repository: %q", got)
	}
	three := penstock.PushClaim{URL: shopURL, Branches: []penstock.PushedBranch{
		{Name: "penstock/c", New: commitIDs[1]},
		{Name: "penstock/a", New: commitIDs[1]},
		{Name: "penstock/d", New: commitIDs[1]},
	}}
	refusals, err := c.ClaimBranches(t.Context(), second, three)
	want := []string{"", "the branch belongs to another run. Push another one", ""}
	if diff := cmp.Diff(want, refusals); err != nil || diff != "" {
		t.Errorf("three branches: %v (-want +got):\n%s", err, diff)
	}
	for i := range 17 { // with b, c and d: 20
		claim(second, fmt.Sprintf("penstock/n%d", i), 0, 1, "")
	}
	claim(second, "penstock/more", 0, 1, "20 branches")
	claim(second, "penstock/n1", 0, 2, "")
	if _, err := c.Finish(t.Context(), second, penstock.Result{State: penstock.StateSucceeded}); err != nil {
		t.Fatal(err)
	}
	_, err = c.ClaimBranches(t.Context(), second, penstock.PushClaim{URL: shopURL, Branches: []penstock.PushedBranch{
		{Name: "penstock/e", New: commitIDs[1]},
	}})
	if !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("after the end: %v", err)
	}
}

func branchRace(t *testing.T, w *world, c penstock.Control) {
	leases := make([]penstock.Lease, 4)
	for i := range leases {
		leases[i] = w.leaseOfRun(c)
	}
	for range 5 {
		name := "penstock/" + penstock.NewID()
		var all sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for _, l := range leases {
			all.Go(func() {
				refusals, err := c.ClaimBranches(t.Context(), l, penstock.PushClaim{URL: shopURL, Branches: []penstock.PushedBranch{
					{Name: name, New: commitIDs[1]},
				}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if refusals[0] == "" {
					won++
				}
			})
		}
		all.Wait()
		if won != 1 {
			t.Errorf("%d runs have the branch", won)
		}
	}
}

func branchHostile(t *testing.T, w *world, c penstock.Control) {
	l := w.leaseOfRun(c)
	good := penstock.PushedBranch{Name: "penstock/a", New: commitIDs[1]}
	for name, claim := range map[string]penstock.PushClaim{
		"no URL": {Branches: []penstock.PushedBranch{good}}, "no branch": {URL: shopURL},
		"many":       {URL: shopURL, Branches: make([]penstock.PushedBranch, 21)},
		"no name":    {URL: shopURL, Branches: []penstock.PushedBranch{{New: commitIDs[1]}}},
		"odd name":   {URL: shopURL, Branches: []penstock.PushedBranch{{Name: "a b", New: commitIDs[1]}}},
		"no commit":  {URL: shopURL, Branches: []penstock.PushedBranch{{Name: "a"}}},
		"odd commit": {URL: shopURL, Branches: []penstock.PushedBranch{{Name: "a", New: commitIDs[1], Current: "main"}}},
		"long URL":   {URL: strings.Repeat("a", 3000), Branches: []penstock.PushedBranch{good}},
	} {
		if _, err := c.ClaimBranches(t.Context(), l, claim); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.Token = "another"
	claim := penstock.PushClaim{URL: shopURL, Branches: []penstock.PushedBranch{good}}
	if _, err := c.ClaimBranches(t.Context(), l, claim); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("another token: %v", err)
	}
}
