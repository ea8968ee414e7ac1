// Package git reads repositories safely with the program git: a bare mirror of
// each remote is kept as a cache, and every workspace gets a copy of its own.
//
// Repositories, and what a server answers, are hostile input. Git runs without
// the configuration of the machine or of a user, without hooks, submodules,
// filters or questions, and with no protocols but those named; credentials
// reach it in its environment, and neither a command line nor an error shows them.
package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// DefaultMaxBytes is the limit of Options.MaxBytes when none is given.
const DefaultMaxBytes = 10 << 30

// What a repository may cost that is small on the disk: a few kilobytes of it can
// unpack to an object of any size, or be folders within folders without end. Git
// reads files of more than 512 MB piece by piece, so no honest object needs more.
const (
	maxMemory  = "1g"
	maxListing = 30 * time.Second
)

// ErrTooLarge says that a repository, or what it holds, met Options.MaxBytes.
var ErrTooLarge = errors.New("the repository is too large")

// Options set up a Cache.
type Options struct {
	// Dir holds the mirrors. Several processes may use one.
	Dir string
	// AllowLocal permits file: URLs, and http: URLs of this very machine.
	AllowLocal bool
	// MaxBytes limits what one mirror, and one checkout, may take on the disk;
	// it can be passed by what is written within a second. The default is DefaultMaxBytes,
	// below zero there is no limit.
	MaxBytes int64
	// Env is added to git's environment, KEY=value: how to reach remotes from
	// here, such as HTTPS_PROXY, SSL_CERT_FILE or GIT_SSH_COMMAND. Nothing else of
	// our own environment reaches git.
	Env []string
	// Program is git: a path, or a name to look up. The default is "git".
	Program string
}

// Cache holds the mirrors. Its methods may be called at the same time.
type Cache struct {
	dir     string
	program string
	local   bool
	max     int64
	env     []string
	memory  string        // the most that git takes for one object
	listing time.Duration // how long it may take to list a folder
	client  *http.Client  // nil: remotes are asked by git alone
	formats sync.Map      // of remotes that speak version 2 of the protocol: sha1 or sha256, by URL
}

// Open makes the folder of the mirrors if need be and looks for git. The error
// says in one sentence what is missing.
func Open(ctx context.Context, o Options) (*Cache, error) {
	program, err := exec.LookPath(cmp.Or(o.Program, "git"))
	if err != nil {
		return nil, fmt.Errorf("git is not installed: %w", err)
	}
	dir, err := filepath.Abs(o.Dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("open mirrors: %w", err)
	}
	c := &Cache{
		dir: dir, program: program, local: o.AllowLocal, max: cmp.Or(o.MaxBytes, DefaultMaxBytes), env: o.Env,
		memory: maxMemory, listing: maxListing,
	}
	if c.client, err = newClient(o.Env); err != nil {
		return nil, err
	}
	out, err := c.run(ctx, command{args: []string{"version"}})
	if err != nil {
		return nil, fmt.Errorf("git cannot be run: %w", err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(out, "git version %d.%d", &major, &minor); err == nil && (major < 2 ||
		major == 2 && minor < 32) {
		return nil, fmt.Errorf("%s is too old; at least 2.32 is required", strings.TrimSpace(out))
	}
	return c, nil
}

// Source names what to read.
type Source struct {
	// URL is checked by CheckURL. A user name and password in it are used as
	// Username and Password, where those are not given.
	URL string
	// Ref is a branch, a tag, a full name (refs/…) or a full commit id; "" is
	// the remote's default branch.
	Ref string
	// Username and Password are sent to an https: remote and to no other host.
	// With a Password alone, the name is "x-access-token".
	Username, Password string
}

// Checkout puts the files of src into dir with a repository of their own, and
// returns the commit id. It asks the remote each time, but objects that the
// mirror has are not moved again. dir must be missing or empty; after an error
// it is as it was. Git runs in dir, so nobody else may be able to write there yet.
//
// The repository stands alone: its objects are copies (not hard links, through which
// an agent could write to the mirror), origin is the URL without credentials, and
// a branch is checked out as a branch that tracks its remote. Submodules are not
// fetched, LFS files are pointers. Symbolic links are made as they are and may
// lead anywhere: on the host, open files below dir by os.Root.
func (c *Cache) Checkout(ctx context.Context, src Source, dir string) (commit string, err error) {
	remote, err := c.remote(src)
	if err != nil {
		return "", err
	}
	undo, err := prepare(dir)
	if err != nil {
		return "", fmt.Errorf("check out %s: %w", remote.url, err)
	}
	commit, err = c.checkout(ctx, remote, src.Ref, dir)
	if err != nil {
		return "", fmt.Errorf("check out %s: %w", remote.url, remote.hide(errors.Join(err, undo())))
	}
	return commit, nil
}

func (c *Cache) checkout(ctx context.Context, r remote, ref, dir string) (string, error) {
	if err := CheckRef(ref); err != nil {
		return "", err
	}
	m := c.mirror(r)
	for retried := false; ; retried = true {
		commit, err := m.checkout(ctx, ref, dir)
		if _, broken := errors.AsType[*brokenError](err); retried || ctx.Err() != nil || !broken {
			return commit, err
		}
		// A copy failed that asks nobody but our own disk: the mirror is made anew.
		if err := errors.Join(m.discard(ctx), empty(dir)); err != nil {
			return "", err
		}
	}
}

// prepare makes sure that dir is missing or an empty directory, and returns
// what makes it so again.
func prepare(dir string) (undo func() error, err error) {
	entries, err := os.ReadDir(dir)
	info, statErr := os.Lstat(dir)
	switch {
	case errors.Is(statErr, os.ErrNotExist):
		return func() error { return os.RemoveAll(dir) }, nil
	case statErr != nil:
		return nil, statErr
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a directory", dir)
	case err != nil:
		return nil, err
	case len(entries) > 0:
		return nil, fmt.Errorf("%s is not empty", dir)
	}
	return func() error { return empty(dir) }, nil
}

// empty removes what is in dir, which may be missing.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
