package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

var allRefs = []string{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}

// update fetches what the mirror lacks and finds ref.
func (m *mirror) update(ctx context.Context, lock *os.File, ref string) (target, error) {
	if err := m.clearLeftovers(); err != nil {
		return target{}, err
	}
	if ref == "" {
		var err error
		if ref, err = m.defaultBranch(ctx, lock); err != nil {
			return target{}, err
		}
		defer func() { m.setHead(ctx, lock, ref) }()
	}
	err := m.bring(ctx, lock, ref)
	if errors.Is(err, ErrTooLarge) {
		err = errors.Join(err, os.RemoveAll(m.path))
	}
	if err != nil {
		return target{}, err
	}
	return m.find(ctx, lock, ref)
}

// bring brings the mirror up to date, and makes it anew where it is missing or not sound.
func (m *mirror) bring(ctx context.Context, lock *os.File, ref string) error {
	if _, err := os.Stat(m.path); err == nil {
		if answers, err := m.fetchRefs(ctx, lock, m.path, ref); err == nil || !answers {
			return err
		}
	}
	return m.create(ctx, lock, ref)
}

// fetchRefs fetches every branch and tag, or ref alone where they cannot all be had: a bad object on one branch
// must not block the others. What the repository at path has of the others stays as it is then. With an error,
// answers says that the remote answers and has ref, so that another repository may do better.
func (m *mirror) fetchRefs(ctx context.Context, lock *os.File, path, ref string) (answers bool, err error) {
	err = m.fetch(ctx, lock, path, allRefs...)
	if !retriable(ctx, err) {
		return false, err
	}
	from, to, probe := m.wanted(ctx, lock, ref)
	switch {
	case errors.Is(probe, errUnknownRef):
		return false, probe
	case probe != nil:
		return false, err
	}
	if err := m.fetch(ctx, lock, path, "+"+from+":"+to); err != nil {
		return retriable(ctx, err), unfetched(from, err)
	}
	return true, nil
}

// retriable reports whether git itself failed, so that another try may do better.
func retriable(ctx context.Context, err error) bool {
	_, failed := errors.AsType[*runError](err)
	return failed && ctx.Err() == nil
}

// create makes the mirror anew beside the old one, if there is one, and puts it in its place.
func (m *mirror) create(ctx context.Context, lock *os.File, ref string) (err error) {
	temp := m.path + ".new"
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	init := command{
		args: []string{"init", "--quiet", "--bare", "--template=", "--initial-branch=" + unborn, "--", temp}, lock: lock,
	}
	if _, err := m.run(ctx, init); err != nil {
		return err
	}
	if _, err := m.fetchRefs(ctx, lock, temp, ref); err != nil {
		return err
	}
	if err := os.RemoveAll(m.path); err != nil {
		return err
	}
	return os.Rename(temp, m.path)
}

// fetch brings refs of the remote to the repository at path. What is not there
// any more, under the names that refs covers, goes.
func (m *mirror) fetch(ctx context.Context, lock *os.File, path string, refs ...string) error {
	args := append([]string{
		"fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--", m.remote.url,
	}, refs...)
	_, err := m.run(ctx, command{args: args, repo: path, remote: &m.remote, watch: path, lock: lock})
	return err
}

// wanted asks the remote what ref stands for, a branch before a tag: the ref or commit to fetch, and the ref of the
// mirror it goes to.
func (m *mirror) wanted(ctx context.Context, lock *os.File, ref string) (from, to string, err error) {
	names := []string{"refs/heads/" + ref, "refs/tags/" + ref}
	if commitID.MatchString(ref) {
		_, err := m.ask(ctx, lock, "--", m.remote.url, "HEAD")
		return ref, "refs/penstock/" + ref, err
	}
	if strings.HasPrefix(ref, "refs/") {
		names = []string{ref}
	}
	out, err := m.ask(ctx, lock, append([]string{"--", m.remote.url}, names...)...)
	if err != nil {
		return "", "", err
	}
	for _, name := range names {
		for line := range strings.Lines(out) {
			if _, found, _ := strings.Cut(strings.TrimSpace(line), "\t"); found == name {
				return name, name, nil
			}
		}
	}
	return "", "", fmt.Errorf("%w %q", errUnknownRef, ref)
}

var errUnknownRef = errors.New("the repository has no branch or tag")

// unfetched explains that the remote has a ref whose objects git does not take: they are damaged, or attack a
// checkout.
func unfetched(ref string, err error) error {
	what := "commit " + ref
	if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		what = fmt.Sprintf("the branch %q", name)
	} else if name, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
		what = fmt.Sprintf("the tag %q", name)
	} else if strings.HasPrefix(ref, "refs/") || ref == "HEAD" {
		what = ref
	}
	return fmt.Errorf("%s cannot be fetched, it may have an object that is damaged or not allowed: %w", what, err)
}
