package worker

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/layer"
)

// After each turn, the worker saves what changed in the workspace, HOME and image since they were
// prepared: a checkpoint. Another worker prepares the same, and restores the checkpoint on it.

// keptFile has what is known of a workspace from one checkpoint to the next, beside it.
const keptFile = "checkpoint.gob"

// kept is the content of keptFile.
type kept struct {
	layer.Since

	UID     string // of the last checkpoint that was saved or restored; "": none
	Ended   string // the message of the last turn after it, whose files could not be saved; "": none
	Origins penstock.Prepared
}

// readKept returns what is known of a workspace. Without a file, a checkpoint has all files.
func (s *workspace) readKept() (k kept) {
	file, err := os.Open(filepath.Join(s.dir, keptFile))
	if err == nil {
		err = gob.NewDecoder(file).Decode(&k)
		_ = file.Close() // only read
	}
	if err != nil {
		return kept{}
	}
	return k
}

func (s *workspace) writeKept(k kept) error {
	name := filepath.Join(s.dir, keptFile)
	temp, err := os.CreateTemp(s.dir, keptFile+"-*")
	if err != nil {
		return err
	}
	err = errors.Join(gob.NewEncoder(temp).Encode(k), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()), removeIfThere(name)) // what it says is out of date
	}
	return nil
}

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// parts calls use with everything that a checkpoint has.
func (b *box) parts(use func([]layer.Part) error) error {
	list := []layer.Part{{Name: workPart, From: b.space.root}, {Name: homePart, From: b.space.homeRoot}}
	if b.image == nil || b.image.dir == "" {
		return use(list)
	}
	return b.image.changes(func(part layer.Part) error { return use(append(list, part)) })
}

// changes calls use with the changes of the image.
func (i *usedImage) changes(use func(layer.Part) error) error {
	dir := i.sandbox().Changes()
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

// outdated reports whether the workspace of an earlier execution is not the one to continue with:
// another worker has continued the run since, or the run goes back to an earlier turn.
func (b *box) outdated() bool {
	c := b.Checkpoint
	if c == nil || !b.space.reused() {
		return false
	}
	k := b.space.readKept()
	return c.Restore || k.UID != c.UID || k.Ended != c.Ended
}

// resumes reports whether the workspace comes from a checkpoint.
func (b *box) resumes() bool { return b.Checkpoint != nil && !b.space.reused() }

// pin sets the commit of a repository to the one in the checkpoint.
func pin(r *repository, from penstock.Prepared) {
	for _, h := range from.Heads {
		if h.Dir == r.dir && h.URL == git.PublicURL(r.source.URL) {
			r.source.At, r.source.Branch = h.Commit, h.Branch
		}
	}
}

// restoring continues a run from its checkpoint, or begins its first one.
type restoring struct {
	in    *preparation
	setup string
}

// keepPrepared records how a new workspace was prepared. Files of the run itself count as changes, because
// a fork of it does not get them otherwise.
func (r restoring) keepPrepared() error {
	p := r.in
	if p.w.CheckpointBytes <= 0 {
		return nil
	}
	k := kept{Origins: penstock.Prepared{Setup: r.setup, Layer: p.layer}}
	for _, r := range p.repos {
		if r.commit != "" {
			k.Origins.Heads = append(k.Origins.Heads, penstock.PreparedRepository{
				Dir: r.dir, URL: git.PublicURL(r.source.URL), Commit: r.commit, Branch: r.branch,
			})
		}
	}
	err := p.box.parts(func(parts []layer.Part) (err error) {
		k.Prepared, err = layer.Scan(p.lease, parts)
		return err
	})
	if errors.Is(err, layer.ErrTooMany) {
		return nil // each checkpoint says so
	}
	if err != nil {
		return fmt.Errorf("read the files of the prepared workspace: %w", err)
	}
	for _, f := range p.Files {
		delete(k.Prepared[workPart], path.Clean(filepath.ToSlash(f.Path)))
	}
	return p.box.space.writeKept(k)
}

// restoreCheckpoint restores the checkpoint on the prepared workspace.
func (r restoring) restoreCheckpoint() error {
	p, start := r.in, time.Now()
	c := p.Checkpoint
	if len(c.Packs) == 0 {
		return fmt.Errorf("the checkpoint %s has no packs", c.UID)
	}
	if r.moved() {
		return errOtherRepositories
	}
	k := kept{UID: c.UID, Ended: c.Ended, Origins: c.Prepared}
	err := p.box.parts(func(parts []layer.Part) (err error) {
		from := layer.Restoring{Parts: parts, Open: r.openPack, Remove: removeTree}
		k.Since, err = from.Restore(p.lease, c.Packs[len(c.Packs)-1])
		return err
	})
	gone := penstock.CodeOf(err) == penstock.CodeNotFound || errors.Is(err, layer.ErrDamaged)
	if gone && p.lease.Err() == nil {
		return fmt.Errorf("%w: %w", errFilesGone, err)
	}
	if err != nil {
		return err
	}
	p.box.outlet.restoreReceived(k.Note)
	if c.Harness == p.config.Harness.Kind() && !c.Behind {
		p.sessionID = c.SessionID
	}
	p.timeline(timelineWorkspaceRestored, map[string]any{
		"checkpoint_uid": c.UID, "turn": c.Turn, "files": c.Files, "bytes": c.Bytes, "later_turns_lost": c.Ended != "",
		"prepared_again": k.Prepared != nil && len(p.setupCommands()) > 0 && (c.Prepared.Layer == "" ||
			c.Prepared.Layer != p.layer || c.Prepared.Setup != r.setup),
		"duration_ms": time.Since(start).Milliseconds(),
	})
	return p.box.space.writeKept(k)
}

// without fills the workspace without the checkpoint, whose files are gone. The session of the agent may
// still be there.
func (r restoring) without(ctx context.Context, why error) error {
	p := r.in
	p.log.Warn("cannot restore the workspace of a turn", "error", why)
	p.timeline(timelineWorkspaceNotRestored, map[string]any{
		"turn": p.Checkpoint.Turn, "reason": goneBecause(why),
	})
	p.Checkpoint, p.layer, p.fresh, p.box.space.setup = nil, "", "", ""
	if err := errors.Join(p.box.clear(), os.RemoveAll(p.box.space.base(""))); err != nil {
		return err
	}
	return p.fill(ctx)
}

// goneBecause says to users why files cannot be restored.
func goneBecause(err error) string {
	if errors.Is(err, errOtherRepositories) {
		return "The run has other repositories now."
	}
	return "The saved files are damaged or gone."
}

// errFilesGone is returned if a checkpoint cannot be restored, now or later.
var errFilesGone = errors.New("the saved files of the run are damaged or gone")

// errOtherRepositories is returned if the files of a checkpoint do not belong to the repositories that the run
// has now.
var errOtherRepositories = fmt.Errorf("%w: the run has other repositories now", errFilesGone)

// moved reports whether the run has other repositories than its checkpoint.
func (r restoring) moved() bool {
	return slices.ContainsFunc(r.in.Checkpoint.Prepared.Heads, func(h penstock.PreparedRepository) bool {
		return !slices.ContainsFunc(r.in.repos, func(now repository) bool {
			return now.dir == h.Dir && now.commit == h.Commit
		})
	})
}

// openPack fetches a pack of the checkpoint.
func (r restoring) openPack(uid string) (io.ReadCloser, error) {
	p := r.in
	i := slices.Index(p.Checkpoint.Packs, uid)
	if i < 0 || i >= len(p.Checkpoint.Content) {
		return nil, fmt.Errorf("the checkpoint does not have the pack %s", uid)
	}
	file, err := p.box.download(p.Checkpoint.Content[i])
	if err != nil {
		return nil, err
	}
	return discarded{file}, nil
}

// discarded is a file that is removed when it is closed.
type discarded struct{ *os.File }

func (d discarded) Close() error {
	discard(d.File)
	return nil
}

// saveCheckpoint saves the workspace at the end of a turn, before it is reported.
func (c *conversation) saveCheckpoint(p penstock.Prompt) {
	if c.w.CheckpointBytes <= 0 {
		return
	}
	err := context.Cause(c.lease)
	if err == nil {
		err = c.packCheckpoint(p)
	}
	if err != nil { // also after a cancel: a follow-up continues with these files
		k := c.box.space.readKept()
		k.Ended = p.ID
		if err := c.box.space.writeKept(k); err != nil {
			c.log.Warn("cannot record a turn that is not saved", "error", err)
		}
	}
	full, ok := errors.AsType[*layer.FullError](err)
	switch {
	case c.lease.Err() != nil || err == nil:
	case ok:
		c.timeline(timelineCheckpointSkipped, map[string]any{
			"reason": "More has changed in the workspace than --limit-checkpoint of the worker.", "bytes": full.Bytes,
			"limit": c.w.CheckpointBytes, "largest": full.Largest,
		})
	case errors.Is(err, layer.ErrTooMany):
		c.timeline(timelineCheckpointSkipped, map[string]any{
			"reason": "The workspace has too many files or levels of folders.",
		})
	default:
		c.log.Warn("cannot save the workspace of a turn", "error", err)
		c.timeline(timelineCheckpointSkipped, map[string]any{"reason": "The workspace could not be saved."})
	}
}

func (c *conversation) packCheckpoint(p penstock.Prompt) error {
	file, err := os.CreateTemp(c.box.space.dir, "checkpoint-*.tar.zst")
	if err != nil {
		return err
	}
	defer discard(file)
	k, uid := c.box.space.readKept(), penstock.NewID()
	k.Note = c.box.outlet.received()
	err = c.box.parts(func(parts []layer.Part) (err error) {
		k.Since, err = k.Next(c.lease, parts, uid, c.w.CheckpointBytes, file)
		return err
	})
	if err != nil {
		return err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	saved := penstock.SavedCheckpoint{
		PromptID: p.ID, SessionID: c.agent.SessionID(), Harness: c.config.Harness.Kind(), Prepared: k.Origins,
	}
	for _, pack := range k.Packs {
		saved.Packs = append(saved.Packs, pack.UID)
	}
	for _, files := range k.Changed {
		for _, f := range files {
			saved.Files, saved.Bytes = saved.Files+1, saved.Bytes+f.Bytes
		}
	}
	if err := c.events.Flush(); err != nil {
		return err
	}
	if _, err := c.save(c.lease, penstock.Upload{ID: uid, Size: size, Checkpoint: &saved}, file); err != nil {
		return err
	}
	k.UID, k.Ended = uid, ""
	return c.box.space.writeKept(k)
}
