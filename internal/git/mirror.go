package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// unborn is the default branch of a mirror whose own we have not asked for. It is
// one that does not exist, so that a copy does not take another for it.
const unborn = "penstock-unborn"

// mirror is the bare copy of one remote: its branches and tags under their own
// names, and other refs and commits that somebody asked for.
type mirror struct {
	*Cache
	remote remote
	path   string
}

// brokenError is a failure that has nothing to do with the remote.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "read mirror: " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

func (c *Cache) mirror(r remote) *mirror {
	key := sha256.Sum256([]byte(strings.TrimRight(r.url, "/")))
	return &mirror{Cache: c, remote: r, path: filepath.Join(c.dir, hex.EncodeToString(key[:16])+".git")}
}

// target is what a ref has turned out to be.
type target struct {
	commit string
	branch string // "" when it is no branch
}

// checkout brings the mirror up to date and copies it to dir.
func (m *mirror) checkout(ctx context.Context, ref, dir string) (string, error) {
	lock, err := m.lock(ctx)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	t, err := m.update(ctx, lock, ref)
	if err != nil {
		return "", err
	}
	// Any number of copies at the same time. Between the two locks another may
	// update the mirror: what we want stays in it for two weeks (gc.pruneExpire).
	if err := flock(ctx, lock, syscall.LOCK_SH); err != nil {
		return "", err
	}
	return t.commit, m.copy(ctx, lock, t, dir)
}

// lock takes the lock of the mirror for us alone. It is a file beside it, and free when
// the file is closed, by us and by every git that it was handed to.
func (m *mirror) lock(ctx context.Context) (*os.File, error) {
	f, err := os.OpenFile(m.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = flock(ctx, f, syscall.LOCK_EX)
	if err == nil { // it was used just now
		now := time.Now()
		err = os.Chtimes(f.Name(), now, now)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func flock(ctx context.Context, f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for another checkout of the same repository: %w", context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// defaultBranch asks the remote for its default branch, or for the commit that its
// HEAD is at without one.
func (m *mirror) defaultBranch(ctx context.Context, lock *os.File) (string, error) {
	out, err := m.ask(ctx, lock, "--symref", "--", m.remote.url, "HEAD")
	if err != nil {
		return "", err
	}
	var ref string
	for line := range strings.Lines(out) {
		value, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if symbolic, ok := strings.CutPrefix(value, "ref: "); ok && name == "HEAD" {
			ref = symbolic
		} else if name == "HEAD" && ref == "" {
			ref = value
		}
	}
	if ref == "" {
		return "", errors.New("the repository has no default branch, or no commits")
	}
	if !commitID.MatchString(ref) && (!strings.HasPrefix(ref, "refs/heads/") || CheckRef(ref) != nil) {
		return "", fmt.Errorf("the repository's default branch has the name %q, which is not allowed", ref)
	}
	return ref, nil
}

// setHead notes the default branch, so that copies have it as origin/HEAD. It is a
// convenience: a failure costs nothing else.
func (m *mirror) setHead(ctx context.Context, lock *os.File, ref string) {
	if strings.HasPrefix(ref, "refs/heads/") {
		_, _ = m.run(ctx, command{args: []string{"symbolic-ref", "HEAD", ref}, repo: m.path, lock: lock})
	}
}

// find tells what ref is. The mirror is up to date; what it still lacks is
// no branch and no tag.
func (m *mirror) find(ctx context.Context, lock *os.File, ref string) (target, error) {
	if commitID.MatchString(ref) {
		if commit, err := m.resolve(ctx, lock, ref); err == nil {
			return target{commit: commit}, nil
		}
		if err := m.fetch(ctx, lock, m.path, "+"+ref+":refs/penstock/"+ref); err != nil {
			return target{}, fmt.Errorf(
				"no branch or tag of the repository contains the commit %s, and the remote does not send it: %w", ref, err,
			)
		}
		commit, err := m.resolve(ctx, lock, ref)
		if err != nil {
			return target{}, fmt.Errorf("%s is not a commit: %w", ref, err)
		}
		return target{commit: commit}, nil
	}
	names := []string{ref}
	if !strings.HasPrefix(ref, "refs/") {
		names = []string{"refs/heads/" + ref, "refs/tags/" + ref}
	} else if !strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/tags/") {
		if err := m.fetch(ctx, lock, m.path, "+"+ref+":"+ref); err != nil {
			return target{}, err
		}
	}
	for _, name := range names {
		if commit, err := m.resolve(ctx, lock, name); err == nil {
			branch, ok := strings.CutPrefix(name, "refs/heads/")
			if !ok {
				branch = ""
			}
			return target{commit, branch}, nil
		} else if ctx.Err() != nil {
			return target{}, err
		}
	}
	return target{}, fmt.Errorf("%w %q", errUnknownRef, ref)
}

// resolve returns the commit that a ref or an id of the mirror stands for.
func (m *mirror) resolve(ctx context.Context, lock *os.File, ref string) (string, error) {
	args := []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"}
	out, err := m.run(ctx, command{args: args, repo: m.path, lock: lock})
	return strings.TrimSpace(out), err
}

// copy makes dir a repository of its own at t.
func (m *mirror) copy(ctx context.Context, lock *os.File, t target, dir string) error {
	clone := command{args: []string{
		"clone", "--quiet", "--local", "--no-hardlinks", "--no-checkout", "--template=",
		"--origin=origin", "--no-recurse-submodules", "--", m.path, dir,
	}}
	if err := m.countable(ctx, lock, t.commit); err != nil {
		return err
	}
	steps := []command{clone, in(dir, "config", "remote.origin.url", m.remote.url)}
	if t.branch == "" {
		steps = append(steps, in(dir, "checkout", "--quiet", "--detach", t.commit, "--"))
	} else {
		// Not at origin/BRANCH, which may have moved on since the commit was found.
		steps = append(steps,
			in(dir, "config", "branch."+t.branch+".remote", "origin"),
			in(dir, "config", "branch."+t.branch+".merge", "refs/heads/"+t.branch),
			in(dir, "checkout", "--quiet", "--no-track", "-B", t.branch, t.commit, "--"))
	}
	for _, step := range steps {
		step.local, step.watch, step.lock = true, dir, lock
		_, err := m.run(ctx, step)
		if _, failed := errors.AsType[*runError](err); failed {
			return &brokenError{err}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// countable refuses a commit whose files cannot be listed in reasonable time: a
// checkout of folders without end would not end either, and prints and writes
// nothing meanwhile.
func (m *mirror) countable(ctx context.Context, lock *os.File, commit string) error {
	listing, cancel := context.WithTimeoutCause(ctx, m.listing, ErrManyFiles)
	defer cancel()
	_, err := m.run(
		listing,
		command{
			repo: m.path, args: []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", commit}, local: true, lock: lock,
			silent: true,
		},
	)
	if _, failed := errors.AsType[*runError](err); failed {
		return &brokenError{err}
	}
	return err
}

func in(repo string, args ...string) command { return command{repo: repo, args: args} }

// ask asks the remote for refs.
func (m *mirror) ask(ctx context.Context, lock *os.File, args ...string) (string, error) {
	return m.run(ctx, command{args: append([]string{"ls-remote", "--quiet"}, args...), remote: &m.remote, lock: lock})
}

// discard removes the mirror.
func (m *mirror) discard(ctx context.Context) error {
	lock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	return os.RemoveAll(m.path)
}

// clearLeftovers removes what a git that was killed has left: its locks, which
// would stop the next, and its unfinished packs. Nobody else is at work here.
func (m *mirror) clearLeftovers() error {
	// Not fs.WalkDir, which ends at a folder whose name is no UTF-8: refs may be so.
	err := filepath.WalkDir(m.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name := d.Name(); strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "tmp_") {
			return os.Remove(path) //nolint:gosec // nobody else is at work here
		}
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
