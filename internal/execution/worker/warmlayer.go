package worker

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/layer"
)

// A layer in a new workspace: what of it the workspace gets, at the commits that were checked out.

// useLayer fills the workspace from the layer, and moves its repositories to the commits that were
// checked out.
func (w *warm) useLayer(ctx context.Context) (todo work, err error) {
	inputs, err := w.inputs()
	if err != nil {
		return todo, err
	}
	tracked, moved, every := map[string]bool{}, []git.Moved{}, false
	for _, r := range w.in.repos {
		i := slices.IndexFunc(w.layer.Heads, func(h layer.Head) bool { return h.Dir == r.dir })
		if i < 0 {
			return todo, fmt.Errorf("the layer lacks the repository %s", r.dir)
		}
		if head := w.layer.Heads[i]; head.Commit == r.commit && head.Branch == r.branch {
			if err := w.keepRefs(r.dir); err != nil { // the rest is as the commands have left it
				return todo, err
			}
			continue
		}
		m, err := w.move(ctx, r, w.layer.Heads[i], tracked)
		if err != nil {
			return todo, err
		}
		for j := range m.Changed {
			if len(w.rules.Inputs) == 0 || slices.ContainsFunc(inputs, func(in input) bool { return in.has(m.Changed[j]) }) {
				todo.changed = append(todo.changed, path.Join(r.dir, m.Changed[j]))
			}
			m.Changed[j] = path.Join(r.dir, m.Changed[j])
		}
		every = every || m.Submodules || len(w.rules.Inputs) == 0
		moved, todo.behind = append(moved, m), todo.behind+m.Behind
	}
	if err := w.copyLayer(ctx, tracked); err != nil {
		return todo, err
	}
	for _, m := range moved {
		w.removeEmpty(m.Changed)
	}
	switch {
	case len(moved) == 0, len(todo.changed) == 0 && !every:
		todo.name = "skipped"
	case len(w.rules.UpdateCommands) > 0:
		todo.commands, todo.name = w.rules.UpdateCommands, "updated"
	default:
		todo.commands, todo.name = w.commands, "all"
	}
	return todo, nil
}

// move returns the way of a repository from its commit in the layer to the one that was checked out.
// It adds the files for which the layer is too old to tracked.
func (w *warm) move(ctx context.Context, r repository, from layer.Head, tracked map[string]bool) (git.Moved, error) {
	m, err := git.MovedFrom(ctx, w.in.w.Repositories, w.in.box.space.base(r.dir), from.Commit)
	if err != nil {
		return m, err
	}
	for _, name := range m.Tracked {
		tracked[path.Join(r.dir, name)] = true
	}
	return m, w.keepCheckout(r, from, tracked)
}

// ofClone are the files in .git that a workspace has from its clone although the head has not moved:
// other branches have.
var ofClone = []string{"objects", "packed-refs"}

// keepRefs removes a checkout, except for the branches and tags of the remote.
func (w *warm) keepRefs(dir string) error {
	root, repo := w.in.box.space.root, path.Join(dir, ".git")
	if len(w.layer.Names(workPart, repo)) == 0 { // the commands have replaced it
		return removeTree(root, dir)
	}
	for _, in := range []string{dir, repo} {
		entries, err := fs.ReadDir(root.FS(), in)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(in, e.Name())
			if name == repo || in == repo && slices.Contains(ofClone, e.Name()) {
				continue
			}
			if err := removeTree(root, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofCommands are the files in .git that a workspace has from its layer although the head has moved:
// commands put settings and hooks there.
var ofCommands = []string{"config", "config.worktree", "hooks", "info"}

// keepCheckout keeps a checkout, except for what its layer has set in .git. It adds the files that
// the layer has no say in to tracked.
func (w *warm) keepCheckout(r repository, head layer.Head, tracked map[string]bool) error {
	repo := path.Join(r.dir, ".git")
	names := w.layer.Names(workPart, repo)
	if head.Branch != r.branch || !slices.Contains(names, "config") {
		tracked[repo] = true
		return nil
	}
	for _, name := range names {
		if full := path.Join(repo, name); !slices.Contains(ofCommands, name) {
			tracked[full] = true
		} else if err := removeTree(w.in.box.space.root, full); err != nil {
			return err
		}
	}
	return nil
}

// copyLayer copies the layer into the new workspace, without the files that another commit has
// tracked.
func (w *warm) copyLayer(ctx context.Context, tracked map[string]bool) error {
	err := w.layer.CopyTo(ctx, layer.Part{Name: workPart, From: w.in.box.space.root}, func(name string, _ bool) bool {
		return tracked[name]
	})
	if err == nil {
		err = w.layer.CopyTo(ctx, layer.Part{Name: homePart, From: w.in.box.space.homeRoot}, nil)
	}
	if err == nil {
		err = w.ofImage(func(part layer.Part) error { return w.layer.CopyTo(ctx, part, nil) })
	}
	return err
}

// ofImage calls use with the changes of the image, if the run can have any.
func (w *warm) ofImage(use func(layer.Part) error) error {
	if w.in.box.image == nil || w.in.box.image.dir == "" {
		return nil
	}
	return w.in.box.image.changes(use)
}

// removeEmpty removes the folders of files that another commit has removed, as git does.
func (w *warm) removeEmpty(changed []string) {
	folders := map[string]bool{}
	for _, name := range changed {
		for dir := path.Dir(name); strings.Contains(dir, "/"); dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	list := make([]string, 0, len(folders))
	for dir := range folders {
		list = append(list, dir)
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) }) // the deepest first
	for _, dir := range list {
		if info, err := w.in.box.space.root.Lstat(dir); err == nil && info.IsDir() {
			_ = w.in.box.space.root.Remove(dir) // fails if it is not empty
		}
	}
}

// input is a pattern for files whose change needs commands.
type input struct {
	plain      string
	expression *regexp.Regexp
}

func (i input) has(name string) bool {
	return i.expression == nil && i.plain == name || i.expression != nil && i.expression.MatchString(name)
}

func (w *warm) inputs() (list []input, err error) {
	for _, pattern := range w.rules.Inputs {
		plain, expression, err := penstock.ParsePaths(pattern)
		if err != nil {
			return nil, fmt.Errorf("read an input of the environment: %w", err)
		}
		list = append(list, input{plain, expression})
	}
	return list, nil
}
