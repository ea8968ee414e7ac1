package git

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// applyDir is the folder in Scratch with the files of the commit that a patch changes. No path of the
// repository leads there.
const applyDir = ".git/apply"

// applicable returns the parts of a patch that git apply accepts on the commit, and marks the files of
// the others as truncated: those with a masked secret in the commit, with names that git refuses, and
// those that git converts on checkout in a way that a patch cannot express.
func (w *comparer) applicable(base string, all *patch) ([]byte, error) {
	if len(all.parts) == 0 {
		return nil, nil
	}
	if err := w.checkOutChanged(base); err != nil {
		return nil, err
	}
	kept, err := w.accepted(all.parts)
	if err != nil {
		return nil, err
	}
	for i := range all.files {
		all.files[i].Truncated = true
	}
	for _, part := range kept {
		all.files[part.file].Truncated = false
	}
	kept = w.withoutObstacles(kept, all.files)
	return []byte(textOf(kept)), nil
}

// withoutObstacles leaves out the files that would take the place of a folder, or whose folder would
// take the place of a file, where the patch does not remove it. git apply --check does not notice
// that. We do not apply the patch to see it, because old versions of git can then write elsewhere.
func (w *comparer) withoutObstacles(parts []patchPart, files []penstock.FileChange) []patchPart {
	gone := map[string]bool{} // what the patch removes or changes
	for _, part := range parts {
		f := files[part.file]
		gone[f.Path], gone[f.PreviousPath] = true, true
	}
	stays, folders := map[string]bool{}, map[string]bool{}
	for _, f := range w.changed {
		if f.was != nil && !gone[f.path] {
			stays[f.path] = true
			for dir := folder(f.path); dir != ""; dir = folder(dir) {
				folders[dir] = true
			}
		}
	}
	kept := slices.DeleteFunc(slices.Clone(parts), func(part patchPart) bool {
		f := &files[part.file]
		f.Truncated = folders[f.Path] && f.Status != FileDeleted
		for dir := folder(f.Path); dir != ""; dir = folder(dir) {
			f.Truncated = f.Truncated || stays[dir]
		}
		return f.Truncated
	})
	if len(kept) == len(parts) {
		return kept
	}
	return w.withoutObstacles(kept, files) // what they would have removed stays, too
}

// checkOutChanged writes the changed files as a checkout of the commit has them. base is "" for a
// commit without files.
func (w *comparer) checkOutChanged(base string) error {
	dir := filepath.Join(w.Scratch, applyDir)
	if err := os.Mkdir(dir, 0o700); err != nil || base == "" {
		return err
	}
	if _, err := w.apply("", "read-tree", base); err != nil {
		return err
	}
	var paths strings.Builder
	for _, f := range w.changed {
		if f.was != nil && !f.large {
			paths.WriteString(f.path + "\x00")
		}
	}
	for file := range w.tracked { // git apply reads them in the folder only
		if path.Base(file) == ".gitattributes" {
			paths.WriteString(file + "\x00")
		}
	}
	if paths.Len() == 0 {
		return nil
	}
	_, err := w.apply(paths.String(), "checkout-index", "--quiet", "--force", "-z", "--stdin")
	return err
}

// apply runs git in the folder with the files of the commit.
func (w *comparer) apply(stdin string, args ...string) (string, error) {
	args = append([]string{"--git-dir=..", "--work-tree=."}, args...)
	return w.cache.run(w.ctx, command{args: args, repo: filepath.Join(w.Scratch, applyDir), local: true, stdin: stdin})
}

// accepted returns the parts that git apply accepts together.
func (w *comparer) accepted(parts []patchPart) ([]patchPart, error) {
	ok, err := w.accepts(parts)
	switch {
	case ok || err != nil:
		return parts, err
	case len(parts) == 1:
		return nil, nil
	}
	half := len(parts) / 2
	first, err := w.accepted(parts[:half])
	if err != nil {
		return nil, err
	}
	second, err := w.accepted(parts[half:])
	if err != nil {
		return nil, err
	}
	both := slices.Concat(first, second)
	if ok, err = w.accepts(both); !ok { // one of them is in the way of the other
		return first, err
	}
	return both, nil
}

// accepts reports whether git apply accepts parts together.
func (w *comparer) accepts(parts []patchPart) (bool, error) {
	if len(parts) == 0 {
		return true, nil
	}
	_, err := w.apply(textOf(parts), "apply", "--check", "-")
	if _, refused := errors.AsType[*runError](err); refused && context.Cause(w.ctx) == nil {
		return false, nil
	}
	return err == nil, err
}

func textOf(parts []patchPart) string {
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.text)
	}
	return text.String()
}
