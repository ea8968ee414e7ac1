// Package git reads repositories safely with the program git. It keeps a bare mirror of each remote
// as a cache, and gives every workspace its own copy.
//
// Repositories and responses of servers are hostile. Git runs without the configuration of the
// machine or a user, without hooks, submodules, filters or prompts, and only with the listed
// protocols. It gets credentials in its environment. No command line and no error shows them.
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

// DefaultMaxBytes is the default of Options.MaxBytes.
const DefaultMaxBytes = 10 << 30

// Limits for a repository that is small on disk. A few kilobytes can unpack to an object of any
// size, or to endlessly nested folders. Git reads files of more than 512 MB in parts, so no honest
// object needs more memory.
const (
	maxMemory  = "1g"
	maxListing = 30 * time.Second
)

// ErrTooLarge is returned if a repository or its files exceed Options.MaxBytes.
var ErrTooLarge = errors.New("the repository is too large")

// Options configures a Cache.
type Options struct {
	// Dir is the folder of the mirrors. Several processes may share it.
	Dir string
	// AllowLocal allows file: URLs, and http: URLs of this machine.
	AllowLocal bool
	// MaxBytes limits the disk use of one mirror, and of one checkout. Git can exceed it by what it
	// writes within a second. The default is DefaultMaxBytes; a negative value disables the limit.
	MaxBytes int64
	// Env is added to git's environment, as KEY=value, for example HTTPS_PROXY, SSL_CERT_FILE or
	// GIT_SSH_COMMAND. Git gets nothing else from our environment.
	Env []string
	// Program is git: a path, or a name to look up. The default is "git".
	Program string
}

// Cache stores the mirrors. It is safe for concurrent use.
type Cache struct {
	dir     string
	program string
	local   bool
	max     int64
	env     []string
	memory  string        // the memory limit of git for one object
	listing time.Duration // time limit for listing a folder
	client  *http.Client  // nil: only git contacts remotes
	guard   *Guard        // nil: git connects by itself
	formats sync.Map      // object formats (sha1 or sha256) of remotes with protocol version 2, by URL
}

// Open creates the folder of the mirrors if necessary, and finds git. The error says in one
// sentence what is missing.
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
	// URL is checked by CheckURL. A user name and password in it are the defaults of Username and
	// Password.
	URL string
	// Ref is a branch, a tag, a full name (refs/…) or a full commit id; "" is
	// the remote's default branch.
	Ref string
	// At is the commit to check out instead of Ref, on the branch Branch, or on none; "": Ref.
	At, Branch string
	// Username and Password are sent to an https: remote and to no other host.
	// With a Password alone, the name is "x-access-token".
	Username, Password string
}

// Checkout creates a repository in dir with the files of src, and returns the commit id. It
// contacts the remote each time, but fetches only objects that the mirror lacks. If src is a branch
// without commits, such as the default branch of an empty repository, dir is on this branch,
// without files, and the commit id is "". dir must be missing or empty, and is restored after an
// error. Git runs in dir, so nobody else must be able to write there yet.
//
// The repository is independent. Its objects are copies, because with hard links an agent could
// write to the mirror. origin is the URL without credentials, and a branch is checked out as a
// branch that tracks its remote. Submodules are not fetched, and LFS files are pointers. Symbolic
// links may point anywhere, so open files below dir with os.Root on the host.
func (c *Cache) Checkout(ctx context.Context, src Source, dir string) (commit string, err error) {
	checkout, err := c.CheckoutWithBase(ctx, src, dir, "")
	return checkout.Commit, err
}

// Checkout says what was checked out.
type Checkout struct {
	Commit string // "": the repository is on an unborn branch, as git clone leaves an empty one
	Branch string // "" for a tag or a commit
	// Branches are the first few that exist instead of an unborn one.
	Branches []string
}

// CheckoutWithBase does the same as Checkout, and also keeps what Changes compares with in the
// folder base, unless that is "". base must be missing or empty, and is restored after an error.
// Nobody else may ever be able to write there.
func (c *Cache) CheckoutWithBase(ctx context.Context, src Source, dir, base string) (Checkout, error) {
	remote, err := c.remote(src)
	if err != nil {
		return Checkout{}, err
	}
	undo, err := prepare(dir)
	undoBase := func() error { return nil }
	if err == nil && base != "" {
		undoBase, err = prepare(base)
	}
	if err != nil {
		return Checkout{}, fmt.Errorf("check out %s: %w", remote.url, err)
	}
	checkout, err := c.checkoutRemote(ctx, remote, src, dir, base)
	if err != nil {
		return Checkout{}, fmt.Errorf("check out %s: %w", remote.url, remote.hide(errors.Join(err, undo(), undoBase())))
	}
	return checkout, nil
}

func (c *Cache) checkoutRemote(ctx context.Context, r remote, src Source, dir, base string) (Checkout, error) {
	if err := errors.Join(CheckRef(src.Ref), CheckRef(src.Branch)); err != nil {
		return Checkout{}, err
	}
	if src.At != "" && !commitID().MatchString(src.At) {
		return Checkout{}, fmt.Errorf("%q is no commit id", src.At)
	}
	m := c.mirror(r)
	for retried := false; ; retried = true {
		checkout, err := m.checkout(ctx, src, dir, base)
		if _, broken := errors.AsType[*brokenError](err); retried || ctx.Err() != nil || !broken {
			return checkout, err
		}
		// The copy only reads our own disk, so the mirror is damaged: create it again.
		if err := errors.Join(m.discard(ctx), empty(dir), empty(base)); err != nil {
			return Checkout{}, err
		}
	}
}

// prepare makes sure that dir is missing or empty. undo restores this state.
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

// empty removes the content of dir, which may be missing or "".
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
