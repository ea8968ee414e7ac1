package run

import (
	"context"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

// ClaimBranches implements penstock.Control.
func (c control) ClaimBranches(
	ctx context.Context, l penstock.Lease, claim penstock.PushClaim,
) (refusals []string, err error) {
	if err := checkPushClaim(claim); err != nil {
		return nil, err
	}
	err = c.s.store.Write(ctx, func(tx *store.Tx) error {
		run, err := tx.Executions().Held(ctx, l)
		if err != nil {
			return err
		}
		owner := store.BranchOwner{
			Team: run.Team, Repository: strings.ToLower(claim.URL), RunID: run.ID, Owner: branchOwner(run),
		}
		refusals = make([]string, len(claim.Branches))
		for i, b := range claim.Branches {
			if refusals[i], err = tx.Forges().ClaimBranch(ctx, owner, b); err != nil {
				return err
			}
		}
		return nil
	})
	return refusals, err
}

// pushPolicy is what a run may push. A fork pushes branches of its own, so that the forks of a run do not
// meet, unless its run could push none.
func pushPolicy(run store.RunRow) penstock.PushPolicy {
	policy := forge.Push(run.Config)
	none := slices.ContainsFunc(policy.Branches, func(list []string) bool { return len(list) == 0 })
	if run.ForkedFrom != nil && !none {
		policy.Branches = [][]string{{"penstock/fork-" + run.ID + "/**"}}
	}
	return policy
}

// What the name of a thread begins with.
const (
	ownerSubject = "subject:"
	ownerRun     = "run:"
)

// branchOwner names the thread of a run: all runs about one subject, or the run alone. A fork has no subject.
func branchOwner(run store.RunRow) string {
	if run.SubjectUID != "" {
		return ownerSubject + run.SubjectUID
	}
	return ownerRun + run.ID
}

func checkPushClaim(claim penstock.PushClaim) error {
	switch {
	case claim.URL == "" || len(claim.URL) > maxLayerText:
		return penstock.Invalid("/url", "must be the URL of a repository")
	case len(claim.Branches) == 0 || len(claim.Branches) > penstock.MaxPushedBranches:
		return penstock.Invalid("/branches", "must have 1 to %d branches", penstock.MaxPushedBranches)
	}
	for _, b := range claim.Branches {
		if b.Name == "" || git.CheckRef(b.Name) != nil || !git.IsObjectID(b.New) ||
			b.Current != "" && !git.IsObjectID(b.Current) {
			return penstock.Invalid("/branches", "must have names and ids of git")
		}
	}
	return nil
}
