package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
)

var allRefs = []string{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}

// update fetches missing objects into the mirror and finds ref.
func (m *mirror) update(ctx context.Context, lock *os.File, ref string) (target, error) {
	if err := m.clearLeftovers(); err != nil {
		return target{}, err
	}
	if ref == "" {
		var err error
		if ref, err = m.defaultBranch(ctx, lock); errors.Is(err, errUnborn) {
			return updateUnborn(ctx, m, lock)
		} else if err != nil {
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
	t, err := m.find(ctx, lock, ref)
	if !errors.Is(err, errUnknownRef) || strings.HasPrefix(ref, "refs/") {
		return t, err
	}
	// In a repository without commits, no branch exists yet.
	if branches, listing := branchesOf(ctx, m, lock, "refs/"); listing != nil || len(branches) > 0 {
		return t, errors.Join(err, listing)
	}
	return target{branch: ref}, nil
}

// bring updates the mirror. It creates the mirror again if it is missing or damaged.
func (m *mirror) bring(ctx context.Context, lock *os.File, ref string) error {
	if _, err := os.Stat(m.path); err == nil {
		if responded, err := m.fetchRefs(ctx, lock, m.path, ref); err == nil || !responded {
			return err
		}
	}
	return m.create(ctx, lock, ref)
}

// fetchRefs fetches every branch and tag. If that fails, it fetches ref alone, because a bad object
// on one branch must not block the others; those then stay unchanged in the repository at path.
// With an error, responded means that the remote responds and has ref, so that a new repository may
// succeed.
func (m *mirror) fetchRefs(ctx context.Context, lock *os.File, path, ref string) (responded bool, err error) {
	err = m.fetch(ctx, lock, path, allRefs...)
	if !retriable(ctx, err) {
		return false, err
	}
	from, to, probe := m.wanted(ctx, lock, ref)
	switch {
	case ref == "": // no branch is wanted more than the others
		return false, err
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

// retriable reports whether git itself failed, so that another attempt may succeed.
func retriable(ctx context.Context, err error) bool {
	_, failed := errors.AsType[*runError](err)
	return failed && ctx.Err() == nil
}

// create makes a new mirror and then replaces the old one, if it exists.
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
	format, err := remoteFormat(ctx, m, lock)
	if err != nil {
		return err
	}
	init := command{lock: lock, args: []string{
		"init", "--quiet", "--bare", "--template=", "--object-format=" + format, "--initial-branch=" + unborn, "--", temp,
	}}
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

// remoteFormat asks the remote for the format of its ids, which a mirror must have, too. Most remotes
// show it with the id of HEAD. An unborn HEAD has no id.
func remoteFormat(ctx context.Context, m *mirror, lock *os.File) (string, error) {
	out, err := m.ask(ctx, lock, "--", m.remote.url, "HEAD")
	if err != nil {
		return "", err
	}
	if id, _, _ := strings.Cut(out, "\t"); id != "" {
		return formatOf(id), nil
	}
	_, format, err := askUnborn(ctx, m, lock)
	return format, err
}

// formatOf returns the format of an id.
func formatOf(id string) string {
	if len(id) == 2*sha256.Size {
		return "sha256"
	}
	return "sha1"
}

// fetch fetches refs of the remote into the repository at path. It removes refs in this range that
// the remote no longer has.
func (m *mirror) fetch(ctx context.Context, lock *os.File, path string, refs ...string) error {
	args := append([]string{
		"fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--", m.remote.url,
	}, refs...)
	_, err := m.run(ctx, command{args: args, repo: path, remote: &m.remote, watch: path, lock: lock})
	return err
}

// wanted asks the remote for ref. A branch comes before a tag. It returns the ref or commit to
// fetch, and the ref of the mirror to store it in.
func (m *mirror) wanted(ctx context.Context, lock *os.File, ref string) (from, to string, err error) {
	names := []string{"refs/heads/" + ref, "refs/tags/" + ref}
	if commitID().MatchString(ref) {
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

// unfetched returns the error for a ref whose objects git rejects, because they are damaged or
// attack a checkout.
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
