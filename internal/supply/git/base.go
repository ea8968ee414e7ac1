package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// filesRef is the tree of the files as a checkout wrote them. It differs from the tree of the
// commit where attributes made git convert files, such as eol=crlf.
const filesRef = "refs/penstock/files"

// keepBase makes base a bare repository whose HEAD is commit, unless that is "", and whose filesRef
// has the files of the checkout in dir. It shares the mirror's objects through hard links. Removing the mirror does
// not damage it.
func (m *mirror) keepBase(ctx context.Context, lock *os.File, commit, dir, base string) error {
	if commit == "" {
		return keepEmptyBase(ctx, m, lock, base)
	}
	err := m.runAll(ctx, lock, base, []command{
		{args: []string{"clone", "--quiet", "--local", "--bare", "--template=", "--", m.path, base}},
		in(base, "update-ref", "--no-deref", "HEAD", commit),
		in(base, "update-ref", filesRef, commit+"^{tree}"),
	})
	if err != nil {
		return err
	}
	converts, err := m.hasAttributes(ctx, lock, base)
	if err != nil || !converts {
		return err
	}
	// These attributes win over attributes in the files: the files are stored unchanged.
	info := filepath.Join(base, "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	const unchanged = "* -text -ident -filter !working-tree-encoding\n"
	if err := os.WriteFile(filepath.Join(info, "attributes"), []byte(unchanged), 0o600); err != nil {
		return err
	}
	err = m.runAll(ctx, lock, base, []command{
		in(base, "read-tree", commit),
		in(base, "--git-dir=.", "--work-tree="+dir, "add", "--update", "--", ":/"),
	})
	if err != nil {
		return err
	}
	tree, err := m.run(ctx, command{args: []string{"write-tree"}, repo: base, local: true, lock: lock})
	if err != nil {
		return err
	}
	return m.runAll(ctx, lock, base, []command{in(base, "update-ref", filesRef, strings.TrimSpace(tree))})
}

// keepEmptyBase makes base a bare repository whose HEAD has no commit, and whose filesRef is empty.
func keepEmptyBase(ctx context.Context, m *mirror, lock *os.File, base string) error {
	init, err := initLike(ctx, m, lock, unborn, base, "--bare")
	if err == nil {
		err = m.runAll(ctx, lock, base, []command{init})
	}
	if err != nil {
		return err
	}
	tree, err := m.run(ctx, command{args: []string{"mktree"}, repo: base, local: true, lock: lock})
	if err != nil {
		return err
	}
	return m.runAll(ctx, lock, base, []command{in(base, "update-ref", filesRef, strings.TrimSpace(tree))})
}

// hasAttributes reports whether a file of the commit can make git convert files.
func (m *mirror) hasAttributes(ctx context.Context, lock *os.File, base string) (bool, error) {
	list := &search{text: ".gitattributes\x00"}
	_, err := m.run(ctx, command{
		args: []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"}, repo: base, local: true, lock: lock,
		stdout: list,
	})
	return list.found, err
}

// search looks for a text in what is written to it.
type search struct {
	text  string
	end   string // of the earlier writes
	found bool
}

func (s *search) Write(p []byte) (int, error) {
	all := s.end + string(p)
	s.found = s.found || strings.Contains(all, s.text)
	s.end = all[max(0, len(all)-len(s.text)):]
	return len(p), nil
}
