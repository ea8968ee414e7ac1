package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

// unborn is the default branch of a mirror before we know the real one. It does not exist, so that
// a copy does not use a wrong branch.
const unborn = "penstock-unborn"

// mirror is the bare copy of one remote: its branches and tags under their own names, and other
// requested refs and commits.
type mirror struct {
	*Cache
	remote remote
	path   string
}

// brokenError is a failure of the mirror, not of the remote.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "read mirror: " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

func (c *Cache) mirror(r remote) *mirror {
	key := sha256.Sum256([]byte(strings.TrimRight(r.url, "/")))
	return &mirror{Cache: c, remote: r, path: filepath.Join(c.dir, hex.EncodeToString(key[:16])+".git")}
}

// target is a resolved ref.
type target struct {
	commit string   // "": the branch has no commit yet
	branch string   // "" if the ref is not a branch
	others []string // branches that exist, if it has no commit
}

// checkout updates the mirror and copies it to dir and base.
func (m *mirror) checkout(ctx context.Context, src Source, dir, base string) (Checkout, error) {
	lock, err := m.lock(ctx)
	if err != nil {
		return Checkout{}, err
	}
	defer lock.Close()
	t, err := m.update(ctx, lock, cmp.Or(src.At, src.Ref))
	if err != nil {
		return Checkout{}, err
	}
	if src.At != "" {
		t.branch = src.Branch
	}
	// Any number of copies may run at the same time. Another process may update the mirror between
	// the two locks, but our commit stays in it for two weeks (gc.pruneExpire).
	if err := waitLock(ctx, lock, filelock.Shared); err != nil {
		return Checkout{}, err
	}
	checkout := Checkout{Commit: t.commit, Branch: t.branch, Branches: t.others}
	if err := m.copy(ctx, lock, t, dir); err != nil || base == "" {
		return checkout, err
	}
	return checkout, m.keepBase(ctx, lock, t.commit, dir, base)
}

// lock takes the exclusive lock of the mirror, a file beside it. It is released when we and every
// git that inherited the file have closed it.
func (m *mirror) lock(ctx context.Context) (*os.File, error) {
	f, err := os.OpenFile(m.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = waitLock(ctx, f, filelock.Exclusive)
	if err == nil { // marks the mirror as used now
		now := time.Now()
		err = os.Chtimes(f.Name(), now, now)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func waitLock(ctx context.Context, f *os.File, kind int) error {
	if err := filelock.Wait(ctx, f, kind); err != nil {
		return fmt.Errorf("wait for another checkout of the same repository: %w", err)
	}
	return nil
}

// errUnborn is returned if the remote's HEAD names a branch without commits: the repository is
// empty, or has only other branches.
var errUnborn = errors.New("the default branch has no commits")

// defaultBranch asks the remote for its default branch, or for the commit of its HEAD if it has
// none. If its HEAD has no commit, the error is errUnborn.
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
		return "", errUnborn
	}
	if !commitID().MatchString(ref) && (!strings.HasPrefix(ref, "refs/heads/") || CheckRef(ref) != nil) {
		return "", fmt.Errorf("the repository's default branch has the name %q, which is not allowed", ref)
	}
	return ref, nil
}

// setHead records the default branch, so that copies have it as origin/HEAD. A failure has no other
// effect.
func (m *mirror) setHead(ctx context.Context, lock *os.File, ref string) {
	if strings.HasPrefix(ref, "refs/heads/") {
		_, _ = m.run(ctx, command{args: []string{"symbolic-ref", "HEAD", ref}, repo: m.path, lock: lock})
	}
}

// find resolves ref. The mirror is up to date, so a ref that it lacks is neither a branch nor a
// tag.
func (m *mirror) find(ctx context.Context, lock *os.File, ref string) (target, error) {
	if commitID().MatchString(ref) {
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
			return target{commit: commit, branch: branch}, nil
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

// copy makes dir an independent repository at t.
func (m *mirror) copy(ctx context.Context, lock *os.File, t target, dir string) error {
	clone := command{args: []string{
		"clone", "--quiet", "--local", "--no-hardlinks", "--no-checkout", "--template=",
		"--origin=origin", "--no-recurse-submodules", "--", m.path, dir,
	}}
	if t.commit == "" {
		return copyUnborn(ctx, m, lock, t.branch, dir)
	}
	if err := m.countable(ctx, lock, t.commit); err != nil {
		return err
	}
	steps := []command{clone, in(dir, "config", "remote.origin.url", m.remote.url)}
	if t.branch == "" {
		steps = append(steps, in(dir, "checkout", "--quiet", "--detach", t.commit, "--"))
	} else {
		// Not at origin/BRANCH, which may have moved since the commit was found.
		steps = append(steps,
			in(dir, "config", "branch."+t.branch+".remote", "origin"),
			in(dir, "config", "branch."+t.branch+".merge", "refs/heads/"+t.branch),
			in(dir, "checkout", "--quiet", "--no-track", "-B", t.branch, t.commit, "--"))
	}
	return m.runAll(ctx, lock, dir, steps)
}

// copyUnborn makes dir an independent repository on a branch without commits.
func copyUnborn(ctx context.Context, m *mirror, lock *os.File, branch, dir string) error {
	init, err := initLike(ctx, m, lock, branch, dir)
	if err != nil {
		return err
	}
	const heads = "+refs/heads/*:refs/remotes/origin/*"
	return m.runAll(ctx, lock, dir, []command{
		init,
		in(dir, "config", "remote.origin.url", m.remote.url),
		in(dir, "config", "remote.origin.fetch", heads),
		in(dir, "config", "branch."+branch+".remote", "origin"),
		in(dir, "config", "branch."+branch+".merge", "refs/heads/"+branch),
		in(dir, "fetch", "--quiet", "--no-write-fetch-head", "--", m.path, heads, "+refs/tags/*:refs/tags/*"),
	})
}

// initLike returns the command that creates a repository whose ids have the mirror's format.
func initLike(ctx context.Context, m *mirror, lock *os.File, branch, dir string, options ...string) (command, error) {
	format, err := m.run(ctx, command{args: []string{"rev-parse", "--show-object-format"}, repo: m.path, lock: lock})
	args := append([]string{"init", "--quiet"}, options...)
	return command{args: append(
		args, "--template=", "--initial-branch="+branch, "--object-format="+strings.TrimSpace(format), "--", dir,
	)}, err
}

// runAll runs commands that read only the mirror and write to dir.
func (m *mirror) runAll(ctx context.Context, lock *os.File, dir string, steps []command) error {
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

// countable rejects a commit whose files cannot be listed within a time limit. A checkout of
// endlessly nested folders would never end, and would neither print nor write anything.
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

// clearLeftovers removes the files of a killed git: its locks, which would block the next one, and
// its unfinished packs. We hold the mirror's lock, so no other git runs here.
func (m *mirror) clearLeftovers() error {
	// Not fs.WalkDir, which stops at a folder whose name is not UTF-8. Refs can have such names.
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
