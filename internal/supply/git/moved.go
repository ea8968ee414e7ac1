package git

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Moved is the way from an older commit to the head of a checkout.
type Moved struct {
	// Tracked are the files of the older commit, with the folders of its submodules.
	Tracked []string
	// Changed are the files that differ.
	Changed []string
	// Submodules means that one of the two commits has submodules.
	Submodules bool
	// Behind is the number of commits of the head that the older one lacks.
	Behind int
}

// ErrNoWay is returned if the repository does not have the older commit any more.
var ErrNoWay = errors.New("the repository no longer has the commit")

// maxFileNames bounds the list of the files of a commit, in bytes.
const maxFileNames = 64 << 20

// MovedFrom compares a commit with the head of the folder that [Cache.CheckoutWithBase] has kept in base.
func MovedFrom(ctx context.Context, c *Cache, base, commit string) (m Moved, err error) {
	if !commitID().MatchString(commit) {
		return m, fmt.Errorf("%q is not the id of a commit", commit)
	}
	run := func(args ...string) (string, error) {
		return c.run(ctx, command{args: args, repo: base, local: true, most: maxFileNames})
	}
	if _, err := run("cat-file", "-e", commit+"^{commit}"); err != nil {
		if ctx.Err() != nil {
			return m, err
		}
		return m, ErrNoWay
	}
	for _, of := range []string{commit, "HEAD"} {
		list, err := run("ls-tree", "-r", "-z", "--full-tree", of)
		if err != nil {
			return m, err
		}
		for entry := range strings.SplitSeq(list, "\x00") {
			kind, name, ok := strings.Cut(entry, "\t")
			m.Submodules = m.Submodules || strings.HasPrefix(kind, "160000 ")
			if ok && of == commit {
				m.Tracked = append(m.Tracked, name)
			}
		}
	}
	changed, err := run("diff-tree", "-r", "-z", "--name-only", "--no-renames", commit, "HEAD")
	if err != nil {
		return m, err
	}
	for name := range strings.SplitSeq(changed, "\x00") {
		if name != "" {
			m.Changed = append(m.Changed, name)
		}
	}
	behind, err := run("rev-list", "--count", commit+"..HEAD")
	if err == nil {
		m.Behind, err = strconv.Atoi(strings.TrimSpace(behind))
	}
	return m, err
}
