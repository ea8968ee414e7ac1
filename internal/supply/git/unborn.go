package git

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
)

// maxBranches limits the branches that exist instead of an unborn one.
const maxBranches = 5

// updateUnborn fetches everything of a remote whose HEAD names a branch without commits, and returns
// this branch.
func updateUnborn(ctx context.Context, m *mirror, lock *os.File) (target, error) {
	branch, _, err := askUnborn(ctx, m, lock)
	if err != nil {
		return target{}, err
	}
	if err := m.bring(ctx, lock, ""); err != nil {
		return target{}, err
	}
	if commit, err := m.resolve(ctx, lock, "refs/heads/"+branch); err == nil {
		return target{commit: commit, branch: branch}, nil // somebody has just pushed it
	}
	others, err := branchesOf(ctx, m, lock, "refs/heads/")
	return target{branch: branch, others: others}, err
}

// askUnborn returns the branch that the remote's HEAD names and that has no commits, and the format of
// the remote's ids. Only a clone reports them, and only with version 2 of Git's protocol. For other
// remotes, they are "main" and "sha1".
func askUnborn(ctx context.Context, m *mirror, lock *os.File) (branch, format string, err error) {
	temp := m.path + ".new"
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := os.RemoveAll(temp); err != nil {
		return "", "", err
	}
	_, err = m.run(ctx, command{
		// This fetches no objects, because HEAD has none.
		args: []string{
			"clone", "--quiet", "--bare", "--template=", "--depth=1", "--single-branch", "--", m.remote.url, temp,
		},
		config: [][2]string{{"init.defaultBranch", "main"}},
		remote: &m.remote, watch: temp, lock: lock,
	})
	if err != nil {
		return "", "", err
	}
	head, err := m.run(ctx, command{args: []string{"symbolic-ref", "HEAD"}, repo: temp, local: true, lock: lock})
	if err == nil {
		format, err = m.run(
			ctx, command{args: []string{"rev-parse", "--show-object-format"}, repo: temp, local: true, lock: lock},
		)
	}
	branch, ok := strings.CutPrefix(strings.TrimSpace(head), "refs/heads/")
	if !ok || branch == "" || CheckRef(branch) != nil {
		branch = "main"
	}
	return branch, strings.TrimSpace(format), err
}

// branchesOf lists the first few refs of the mirror below a prefix, without the prefix.
func branchesOf(ctx context.Context, m *mirror, lock *os.File, prefix string) ([]string, error) {
	out, err := m.run(ctx, command{
		args: []string{"for-each-ref", "--count=" + strconv.Itoa(maxBranches), "--format=%(refname)", prefix},
		repo: m.path, local: true, lock: lock,
	})
	var names []string
	for line := range strings.Lines(out) {
		names = append(names, strings.TrimPrefix(strings.TrimSpace(line), prefix))
	}
	return names, err
}
