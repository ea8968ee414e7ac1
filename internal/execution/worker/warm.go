package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/layer"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// A layer is a workspace as setup commands have left it, with HOME and the changes of the image. The
// preparation of one has nothing of the run: no variables, attachments, skills or keys, only what the
// environment names. So later runs of the environment may get it.

// The parts of a layer.
const (
	workPart  = "work"
	homePart  = "home"
	imagePart = "image"
)

// warmUp prepares a new workspace from a layer, or so that it becomes one. ready is false if
// everything must be prepared anew. why then says to users why, unless the run could not have a layer
// anyway.
func (p *preparation) warmUp(
	ctx context.Context, config penstock.EnvironmentConfig, commands []string,
) (ready bool, why string, err error) {
	if p.w.Layers == nil || p.box.space.reused() || len(commands) == 0 || p.Environment == nil ||
		!sandbox.Isolates(p.box.sandbox.Kind()) {
		return false, "", nil
	}
	w, why := p.planWarm(config, commands)
	if why != "" {
		return false, why, nil
	}
	return w.prepare(ctx)
}

// warm is a preparation with a layer or for one.
type warm struct {
	in          *preparation
	environment penstock.EnvironmentConfig
	rules       penstock.Prebuild
	commands    []string
	key         string
	secrets     []layer.Secret
	layer       *layer.Layer // nil: none
	start       time.Time
}

// planWarm says why the run gets no layer, if so.
func (p *preparation) planWarm(config penstock.EnvironmentConfig, commands []string) (w *warm, why string) {
	w = &warm{in: p, environment: config, commands: commands, start: time.Now()}
	if config.Prebuild != nil {
		w.rules = *config.Prebuild
	}
	variables := len(p.config.Env) > 0 || slices.ContainsFunc(p.config.SecretVariables(), func(name string) bool {
		return p.Secrets[name] != "" && p.box.outlet.entersSandbox(name)
	})
	switch {
	case w.rules.Mode == penstock.PrebuildOff:
		return nil, "The environment has prebuild.mode off."
	case p.config.Prebuild != nil && !*p.config.Prebuild:
		return nil, "The run has prebuild false."
	case config.Prebuild == nil && variables:
		return nil, "The run has variables, which its setup commands may need. Set prebuild of the environment to prepare " +
			"it without them, once for all runs."
	}
	for _, name := range w.rules.Secrets {
		value, granted := p.Secrets[name]
		if !granted {
			return nil, fmt.Sprintf("The run does not have the secret %s, which the preparation of the environment needs.", name)
		}
		w.secrets = append(w.secrets, layer.Secret{Name: name, Value: value})
	}
	if err := w.identify(); err != nil {
		p.log.Warn("cannot use layers", "error", err)
		return nil, "The worker cannot use its layers."
	}
	return w, ""
}

// layoutVersion changes with what a layer has.
const layoutVersion = 1

// identify sets the key: everything that a preparation depends on, except the commits.
func (w *warm) identify() error {
	type variable struct {
		Value  string
		Enters bool
	}
	secrets := map[string]variable{}
	for _, s := range w.secrets {
		secrets[s.Name] = variable{s.Value, w.in.box.outlet.entersSandbox(s.Name)}
	}
	var repos [][3]string
	for _, r := range w.in.repositories(w.environment) {
		repos = append(repos, [3]string{r.source.URL, r.source.Ref, r.dir})
	}
	machine := w.in.box.image.digest()
	if machine == "" {
		machine = hostPrograms()
	}
	data, err := json.Marshal([]any{
		layoutVersion, w.in.Environment.UID, repos, w.commands, w.rules.UpdateCommands, machine, w.in.box.sandbox.Kind(),
		w.in.box.sealed(), w.in.Network, secrets, w.in.NetworkSecrets, // which the proxy sends for the commands
	})
	if err != nil {
		return err
	}
	hidden, err := w.in.w.Layers.Hide(string(data))
	if err != nil {
		return err
	}
	w.key = hidden[:32]
	return nil
}

// hostPrograms changes when programs of this machine are installed, updated or removed.
func hostPrograms() string {
	var text strings.Builder
	for _, name := range []string{
		"/etc/os-release", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/local/lib",
		"/var/lib/dpkg/status", "/var/lib/rpm", "/lib/apk/db/installed",
	} {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintln(&text, name, info.ModTime().UnixNano())
		}
	}
	return text.String()
}

// prepare does the preparation; see warmUp.
func (w *warm) prepare(ctx context.Context) (ready bool, why string, err error) {
	w.layer, err = w.in.w.Layers.Find(w.key)
	miss := "There is no layer yet."
	if err != nil && !errors.Is(err, layer.ErrNone) {
		w.in.log.Warn("cannot use a layer", "error", err)
		miss = "The worker cannot use its layers."
	}
	used := w.layer
	if used != nil {
		defer used.Release()
	} else if reason, until := w.in.w.Layers.Failed(w.key, time.Now()); reason != "" {
		return false, fmt.Sprintf("%s The next try is at %s.", reason, until.UTC().Format(time.RFC3339)), nil
	}
	if err := w.in.checkOut(ctx, w.environment); err != nil {
		return false, "", err
	}
	if slices.ContainsFunc(w.in.repos, func(r repository) bool { return r.commit == "" }) {
		return false, "A repository has no commits.", nil
	}
	var todo work
	if w.layer != nil {
		if todo, err = w.useLayer(ctx); err != nil {
			if ctx.Err() != nil {
				return false, "", context.Cause(ctx)
			}
			w.in.log.Warn("cannot use a layer", "layer", w.layer.UID, "error", err)
			miss, w.layer = "The layer could not be used: "+todo.problem(err), nil
			used.Release()
			w.in.w.Layers.MakeRoom(err)
			if err := errors.Join(w.clear(), w.in.checkOut(ctx, w.environment)); err != nil {
				return false, "", err
			}
		}
	}
	if w.layer == nil {
		todo = work{commands: w.commands, name: "all"}
	}
	if err := w.in.writeGitIdentity(); err != nil {
		return false, "", err
	}
	if why, err := w.run(ctx, todo); why != "" || err != nil {
		return false, why, err
	}
	payload, err := w.seal(ctx, todo, miss)
	if err != nil {
		return false, "", err
	}
	if err := w.in.fetchFiles(); err != nil { // the commands may have left something else in their place
		if ctx.Err() != nil {
			return false, "", context.Cause(ctx)
		}
		w.in.log.Warn("cannot use a prepared workspace", "error", err)
		return false, "The files of the run do not fit into the prepared workspace.", w.clear()
	}
	payload["duration_ms"] = time.Since(w.start).Milliseconds()
	w.in.timeline(timelineWorkspaceReady, payload)
	return true, "", nil
}

// work is what is left to do on a layer.
type work struct {
	commands []string
	name     string   // skipped, updated or all
	changed  []string // inputs
	behind   int      // commits
}

// problem is why a layer could not be used, for users.
func (work) problem(err error) string {
	if errors.Is(err, git.ErrNoWay) {
		return "the history of a repository was rewritten."
	}
	return "its files could not be copied."
}

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
			if err := w.leaveRefs(r.dir); err != nil { // the rest is as the commands have left it
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
	return m, w.leaveCheckout(r, from, tracked)
}

// ofClone are the files in .git that a workspace has from its clone although the head has not moved:
// other branches have.
var ofClone = []string{"objects", "packed-refs"}

// leaveRefs removes a checkout, except for the branches and tags of the remote.
func (w *warm) leaveRefs(dir string) error {
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

// leaveCheckout keeps a checkout, except for what its layer has set in .git. It adds the files that
// the layer has no say in to tracked.
func (w *warm) leaveCheckout(r repository, head layer.Head, tracked map[string]bool) error {
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
	dir := w.in.box.image.sandbox().Changes()
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // it becomes the root of the tree
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return use(layer.Part{Name: imagePart, From: root, Changes: true})
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

// run runs the commands that are left. why is not empty if they failed for lack of what the run has:
// the workspace is empty again then.
func (w *warm) run(ctx context.Context, todo work) (why string, err error) {
	env := slices.Concat(w.in.box.image.environment(), w.in.box.outlet.env)
	for _, s := range w.secrets {
		if w.in.box.outlet.entersSandbox(s.Name) && !strings.ContainsRune(s.Value, 0) {
			env = append(env, s.Name+"="+s.Value)
		}
	}
	w.in.box.outlet.preparing.Store(true)
	err = w.in.setUpAll(ctx, todo.commands, env)
	w.in.box.outlet.preparing.Store(false)
	failed, ok := errors.AsType[*penstock.Error](err)
	switch {
	case err == nil || ctx.Err() != nil || !ok || failed.Code != penstock.CodeEnvironmentSetupFailed:
		return "", err
	case w.layer != nil:
		w.in.w.Layers.Retire(w.layer.UID)
		return "The commands failed on the layer of an earlier run, which is no longer used.", w.clear()
	case !w.lacked():
		return "", err // it would fail again
	}
	why = "The setup commands failed without the variables and files of the run."
	w.fail(why)
	return why, w.clear()
}

// fail records why there is no layer, for the next runs.
func (w *warm) fail(why string) {
	if _, err := w.in.w.Layers.Fail(w.key, why, time.Now()); err != nil {
		w.in.log.Warn("cannot record why there is no layer", "error", err)
	}
}

// lacked reports whether the commands had less than they have in a cold preparation.
func (w *warm) lacked() bool {
	more := slices.ContainsFunc(w.in.config.SecretVariables(), func(name string) bool {
		return w.in.Secrets[name] != "" && w.in.box.outlet.entersSandbox(name) && !slices.Contains(w.rules.Secrets, name)
	})
	return more || len(w.in.config.Env) > 0 || len(w.in.Files) > 0 || w.in.box.outlet.missed.Load()
}

// seal makes a layer if commands have run, and returns how the workspace was prepared. Without a
// layer, the run continues.
func (w *warm) seal(ctx context.Context, todo work, miss string) (payload map[string]any, err error) {
	payload = map[string]any{"from": "cold", "reason": miss, "commands": todo.name}
	if w.layer != nil {
		delete(payload, "reason")
		w.in.layers = append(w.in.layers, w.layer.UID)
		payload["from"], payload["prebuild_uid"], payload["commits_behind"] = "layer", w.layer.UID, todo.behind
		payload["age_seconds"] = int64(time.Since(w.layer.BuiltAt.Std()).Seconds())
		if len(todo.changed) > 0 {
			payload["changed_inputs"] = todo.changed[:min(len(todo.changed), maxChangedInputs)]
		}
	}
	if len(todo.commands) > 0 {
		sealed, err := w.keep(ctx)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch {
		case err == nil:
			payload["sealed_uid"] = sealed.UID
			w.in.layers = append(w.in.layers, sealed.UID)
		case !errors.Is(err, layer.ErrKept):
			w.notKept(payload, err)
		}
	}
	return payload, nil
}

// trust ends the doubt about the layers of the run's workspace: its agent has started. If it has not,
// the layers may be the reason, and no other run gets them.
func (p *preparation) trust(started bool) {
	for _, uid := range p.layers {
		if !started {
			p.w.Layers.Retire(uid)
		}
	}
	p.layers = nil
}

// maxChangedInputs is how many files a report names.
const maxChangedInputs = 20

func (w *warm) keep(ctx context.Context) (r layer.Record, err error) {
	r.Key = w.key
	for _, repo := range w.in.repos {
		r.Heads = append(r.Heads, layer.Head{Dir: repo.dir, Commit: repo.commit, Branch: repo.branch})
	}
	parts := []layer.Part{{Name: workPart, From: w.in.box.space.root}, {Name: homePart, From: w.in.box.space.homeRoot}}
	seal := func(of ...layer.Part) (err error) {
		r, err = w.in.w.Layers.Seal(ctx, r, append(parts, of...), w.searched())
		return err
	}
	if w.in.box.image == nil || w.in.box.image.dir == "" {
		err = seal()
	} else {
		err = w.ofImage(func(part layer.Part) error { return seal(part) })
	}
	return r, err
}

// searched are the secrets that no layer may have: what the commands get as variables, and what the
// proxy sends for them, because a host may answer with it.
func (w *warm) searched() []layer.Secret {
	list := slices.Clone(w.secrets)
	for _, name := range slices.Sorted(maps.Keys(w.in.NetworkSecrets)) {
		list = append(list, layer.Secret{Name: name, Value: w.in.NetworkSecrets[name]})
	}
	return list
}

// notKept adds why there is no layer.
func (w *warm) notKept(payload map[string]any, err error) {
	why := "The workspace could not be kept."
	found, ok := errors.AsType[*layer.SecretError](err)
	switch {
	case ok:
		why = fmt.Sprintf("The setup left the secret %s in the file %s.", found.Secret, found.File)
		payload["secret_in_layer"] = map[string]any{"file": w.in.mask.String(cleanText(found.File)), "secret": found.Secret}
	case errors.Is(err, layer.ErrTooLarge):
		why = "The prepared workspace is larger than --layer-cache of the worker."
	default:
		w.in.log.Warn("cannot make a layer", "error", err)
	}
	payload["not_kept"] = w.in.mask.String(cleanText(why))
	w.fail(why)
}

// clear empties the workspace, HOME and the changes of the image.
func (w *warm) clear() error {
	var err error
	for _, root := range []*os.Root{w.in.box.space.root, w.in.box.space.homeRoot} {
		err = errors.Join(err, clearOut(root, ".", func(name string, _ bool) error { return removeTree(root, name) }))
	}
	if w.in.box.image != nil && w.in.box.image.dir != "" {
		name := filepath.Base(w.in.box.image.dir)
		err = errors.Join(err, w.in.w.spaces.removeIn(w.in.Lease.RunID, name), os.Mkdir(w.in.box.image.dir, 0o700))
	}
	return err
}
