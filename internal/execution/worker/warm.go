package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
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
	made        func() // lets the runs continue that wait for the layer
}

// planWarm says why the run gets no layer, if so.
func (p *preparation) planWarm(config penstock.EnvironmentConfig, commands []string) (w *warm, why string) {
	w = &warm{in: p, environment: config, commands: commands, start: time.Now(), made: func() {}}
	if config.Prebuild != nil {
		w.rules = *config.Prebuild
	}
	switch {
	case w.rules.Mode == penstock.PrebuildOff:
		return nil, "The environment has prebuild.mode off."
	case p.config.Prebuild != nil && !*p.config.Prebuild:
		return nil, "The run has prebuild false."
	case p.hasOwnRepositories(config):
		return nil, "The run names repositories, or refs of them, that its environment does not have."
	case config.Prebuild == nil && hasVariables(p, nil):
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
	defer w.in.w.layersChanged()
	w.in.w.Layers.Forget(w.in.RetiredLayers)
	w.layer, err = w.find(ctx)
	defer w.made()
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
			if err := errors.Join(w.in.box.clear(), w.in.checkOut(ctx, w.environment)); err != nil {
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
		return false, "The files of the run do not fit into the prepared workspace.", w.in.box.clear()
	}
	payload["duration_ms"] = time.Since(w.start).Milliseconds()
	w.in.timeline(timelineWorkspaceReady, payload)
	return true, "", nil
}

// find returns the layer of the checkpoint, or else the newest one. If another run of the worker is about to
// make the first one, it waits for it.
func (w *warm) find(ctx context.Context) (*layer.Layer, error) {
	if w.in.box.resumes() && w.in.Checkpoint.Prepared.Layer != "" {
		l, err := w.in.w.Layers.Use(w.key, w.in.Checkpoint.Prepared.Layer, w.in.RetiredLayers)
		if !errors.Is(err, layer.ErrNone) {
			return l, err
		}
	}
	l, err := w.in.w.Layers.Find(w.key, w.in.RetiredLayers)
	if !errors.Is(err, layer.ErrNone) {
		return l, err
	}
	w.made = w.in.w.making.begin(ctx, w.key)
	return w.in.w.Layers.Find(w.key, w.in.RetiredLayers)
}

// making has the layers that runs of a worker are about to make. So runs that start together are prepared
// once, instead of each.
type making struct {
	mu   sync.Mutex
	keys map[string]chan struct{} // closed when the preparation has ended
}

// begin begins the preparation of a layer, or waits until the run that has begun it has ended it, with a layer
// or without. end ends it. What has waited does not wait again.
func (m *making) begin(ctx context.Context, key string) (end func()) {
	m.mu.Lock()
	ended, begun := m.keys[key]
	if begun {
		m.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		return func() {}
	}
	defer m.mu.Unlock()
	if m.keys == nil {
		m.keys = map[string]chan struct{}{}
	}
	ended = make(chan struct{})
	m.keys[key] = ended
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.keys, key)
		close(ended)
	}
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
		w.in.w.Layers.Retire(w.layer.UID, "The commands of a later run failed on it.")
		return "The commands failed on the layer of an earlier run, which is no longer used.", w.in.box.clear()
	case !w.lacked():
		return "", err // it would fail again
	}
	why = "The setup commands failed without the variables and files of the run."
	w.fail(why)
	return why, w.in.box.clear()
}

// fail records why there is no layer, for the next runs.
func (w *warm) fail(why string) {
	why = w.in.mask.String(cleanText(why))
	if _, err := w.in.w.Layers.Fail(w.record(), why, time.Now()); err != nil {
		w.in.log.Warn("cannot record why there is no layer", "error", err)
	}
}

// hasVariables reports whether a run has variables of its own, apart from some secrets.
func hasVariables(p *preparation, except []string) bool {
	return len(p.config.Env) > 0 || slices.ContainsFunc(p.config.SecretVariables(), func(name string) bool {
		return p.Secrets[name] != "" && p.box.outlet.entersSandbox(name) && !slices.Contains(except, name)
	})
}

// lacked reports whether the commands had less than they have in a cold preparation.
func (w *warm) lacked() bool {
	return hasVariables(w.in, w.rules.Secrets) || len(w.in.Files) > 0 || w.in.box.outlet.missed.Load()
}

// seal makes a layer if commands have run, and returns how the workspace was prepared. Without a
// layer, the run continues.
func (w *warm) seal(ctx context.Context, todo work, miss string) (payload map[string]any, err error) {
	payload = map[string]any{"from": "cold", "reason": miss, "commands": todo.name}
	if w.layer != nil {
		w.layer.CountUse()
		delete(payload, "reason")
		w.in.layers = append(w.in.layers, w.layer.UID)
		payload["from"], payload["prebuild_uid"], payload["commits_behind"] = "layer", w.layer.UID, todo.behind
		payload["age_seconds"] = int64(time.Since(w.layer.BuiltAt.Std()).Seconds())
		if len(todo.changed) > 0 {
			payload["changed_inputs"] = todo.changed[:min(len(todo.changed), maxChangedInputs)]
		}
	}
	if w.layer != nil && len(todo.commands) == 0 {
		w.in.layer = w.layer.UID
	}
	if len(todo.commands) > 0 {
		sealed, err := w.keep(ctx)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch {
		case err == nil:
			payload["sealed_uid"], w.in.layer = sealed.UID, sealed.UID
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
			p.w.Layers.Retire(uid, "The agent of a run did not start with it.")
			p.w.layersChanged()
		}
	}
	p.layers = nil
}

// maxChangedInputs is how many files a report names.
const maxChangedInputs = 20

// record describes what the preparation makes.
func (w *warm) record() layer.Record {
	r := layer.Record{
		Key: w.key, Environment: w.in.Environment.UID, ImageDigest: w.in.box.image.digest(),
		Duration: time.Since(w.start).Milliseconds(),
	}
	if w.layer != nil {
		r.Parents = w.layer.On()
	}
	for _, repo := range w.in.repos {
		r.Heads = append(r.Heads, layer.Head{
			Dir: repo.dir, Commit: repo.commit, Branch: repo.branch, URL: git.PublicURL(repo.source.URL),
		})
	}
	return r
}

func (w *warm) keep(ctx context.Context) (r layer.Record, err error) {
	r = w.record()
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
