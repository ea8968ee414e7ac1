package git

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

// diff fills found with the changed files, and returns their patch.
func (w *comparer) diff(found *penstock.RepositoryChanges) ([]byte, error) {
	found.FilesOmitted = w.choose()
	if err := w.store(); err != nil {
		return nil, err
	}
	list := &bytes.Buffer{}
	if err := w.compareTrees(command{stdout: list}, "--raw", "--numstat", "-z"); err != nil {
		return nil, err
	}
	files, err := parseFiles(list.String())
	if err != nil {
		return nil, err
	}
	all := &patch{files: files, left: penstock.MaxPatchBytes, mask: w.Mask}
	// A prefix that no configuration changes.
	err = w.compareTrees(
		command{stdout: all}, "--patch", "--binary", "--full-index", "--no-color", "--src-prefix=a/", "--dst-prefix=b/",
	)
	if err == nil {
		err = all.end()
	}
	if err != nil {
		return nil, err
	}
	kept, err := w.applicable(found.Base, all)
	if err != nil {
		return nil, err
	}
	for _, f := range w.changed {
		listed := func(other penstock.FileChange) bool { return other.Path == f.path }
		if f.large && !slices.ContainsFunc(files, listed) { // a folder in its place lists it
			files = append(files, penstock.FileChange{Path: f.path, Status: f.status(), Truncated: true})
		}
	}
	slices.SortStableFunc(files, func(a, b penstock.FileChange) int { return cmp.Compare(a.Path, b.Path) })
	for i := range files {
		files[i].Path, files[i].PreviousPath = w.shownPath(files[i].Path), w.shownPath(files[i].PreviousPath)
		found.Truncated = found.Truncated || files[i].Truncated
	}
	found.Files, found.Truncated = files, found.Truncated || found.FilesOmitted > 0
	return kept, nil
}

func (w *comparer) shownPath(path string) string {
	return w.Mask(strings.ToValidUTF8(path, "\uFFFD"))
}

// choose limits the changed files to those that are listed, and returns the number of the others.
// Files of the commit come before new ones.
func (w *comparer) choose() (omitted int) {
	slices.SortFunc(w.changed, func(a, b changedFile) int {
		if (a.was == nil) != (b.was == nil) {
			if a.was != nil {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.path, b.path)
	})
	n, text := 0, 0
	for ; n < len(w.changed) && n < maxChanged; n++ {
		if text += len(w.changed[n].path); text > maxChangedText {
			break
		}
	}
	omitted = len(w.changed) - n
	w.changed = w.changed[:n]
	return omitted
}

// store writes two commits into Scratch, with the changed files before and after, without secrets.
// A secret must be masked before the comparison: its lines have a prefix in a patch.
func (w *comparer) store() error {
	was, err := w.contentsBefore()
	if err != nil {
		return err
	}
	var blobs, before, after strings.Builder
	marks := 0
	put := func(to *strings.Builder, mode, path, content string) {
		marks++
		fmt.Fprintf(&blobs, "blob\nmark :%d\ndata %d\n%s\n", marks, len(content), content)
		fmt.Fprintf(to, "M %s :%d %s\n", mode, marks, quotePath(path))
	}
	for _, f := range w.changed { // removals first, because a folder can replace a file
		if f.mode == "" && !f.large {
			fmt.Fprintf(&after, "D %s\n", quotePath(f.path))
		}
	}
	for _, f := range w.changed {
		if content, known := was[f.path]; known && w.Mask(content) != content {
			put(&before, f.was.mode, f.path, w.Mask(content))
		}
		if f.mode != "" && !f.large {
			put(&after, f.mode, f.path, w.Mask(f.content))
		}
	}
	const commit = "commit refs/penstock/%s\nmark :%d\ncommitter Penstock <> 0 +0000\ndata 0\n%s%s\n"
	first, second := marks+1, marks+2
	_, err = w.cache.run(w.ctx, command{
		args: []string{"fast-import", "--quiet", "--done"}, repo: w.Scratch, local: true,
		stdin: blobs.String() +
			fmt.Sprintf(commit, "before", first, "M 040000 "+w.tree+" \n", before.String()) +
			fmt.Sprintf(commit, "after", second, fmt.Sprintf("from :%d\n", first), after.String()) + "done\n",
		// Nothing is checked out, so names that other systems reserve do no harm.
		config: [][2]string{{"core.protectHFS", "false"}, {"core.protectNTFS", "false"}},
	})
	return err
}

// contentsBefore returns what changed files had in the commit, by path, as long as they are
// compared line by line. It marks the others as large.
func (w *comparer) contentsBefore() (map[string]string, error) {
	var paths, objects []string
	size := int64(0)
	for i := range w.changed {
		f := &w.changed[i]
		if f.was == nil || f.was.mode == modeModule {
			continue
		}
		if f.large || f.was.size > min(maxContent, w.left) {
			f.large = true
			continue
		}
		w.left -= f.was.size
		size += f.was.size
		paths, objects = append(paths, f.path), append(objects, f.was.object)
	}
	contents := map[string]string{}
	if len(paths) == 0 {
		return contents, nil
	}
	out, err := w.cache.run(w.ctx, command{
		args: []string{"cat-file", "--batch"}, repo: w.Scratch, local: true,
		stdin: strings.Join(objects, "\n") + "\n", most: int(size) + perEntry*len(objects),
	})
	if err != nil {
		return nil, err
	}
	for i, path := range paths {
		head, rest, _ := strings.Cut(out, "\n")
		n := int(w.tracked[path].size)
		if head != fmt.Sprintf("%s blob %d", objects[i], n) || len(rest) <= n {
			return nil, fmt.Errorf("object %s cannot be read: %q", objects[i], head)
		}
		contents[path], out = rest[:n], rest[n+1:]
	}
	return contents, nil
}

// quotePath quotes a path for git fast-import.
func quotePath(path string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(path) {
		if c := path[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			fmt.Fprintf(&out, `\%03o`, c)
		} else {
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// compareTrees compares the two commits of store. No configuration of the repository is in effect.
func (w *comparer) compareTrees(c command, options ...string) error {
	c.args = slices.Concat(
		[]string{"diff-tree", "-r", "--find-renames", "-l500", "--no-ext-diff", "--no-textconv"}, options,
		[]string{"refs/penstock/before", "refs/penstock/after", "--"},
	)
	c.repo, c.local = w.Scratch, true
	c.config = [][2]string{{"core.quotePath", "false"}}
	_, err := w.cache.run(w.ctx, c)
	return err
}

// parseFiles reads the output of --raw --numstat -z: all files twice, first with their status, then
// with their numbers of lines.
func parseFiles(list string) ([]penstock.FileChange, error) {
	parts := strings.Split(list, "\x00")
	next := func() (part string) {
		if len(parts) > 0 {
			part, parts = parts[0], parts[1:]
		}
		return part
	}
	files := []penstock.FileChange{}
	for len(parts) > 0 && strings.HasPrefix(parts[0], ":") {
		fields := strings.Fields(next())
		f := penstock.FileChange{Path: next(), Status: FileModified}
		switch status := fields[len(fields)-1]; status[0] {
		case 'A':
			f.Status = FileAdded
		case 'D':
			f.Status = FileDeleted
		case 'R':
			f.Status, f.PreviousPath, f.Path = FileRenamed, f.Path, next()
		}
		files = append(files, f)
	}
	for i := range files {
		f := &files[i]
		numbers := strings.SplitN(next(), "\t", 3)
		if len(numbers) != 3 {
			return nil, fmt.Errorf("git diff-tree: no numbers for the file %q", f.Path)
		}
		path := numbers[2]
		if f.Status == FileRenamed {
			_, path = next(), next()
		}
		if path != f.Path {
			return nil, fmt.Errorf("git diff-tree: numbers for %q instead of %q", path, f.Path)
		}
		f.Binary = numbers[0] == "-"
		f.Additions, _ = strconv.Atoi(numbers[0]) // "-" for a binary file
		f.Deletions, _ = strconv.Atoi(numbers[1])
	}
	return files, nil
}
