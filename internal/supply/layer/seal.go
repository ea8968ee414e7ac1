package layer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

// Part is a folder that becomes a part of a layer. Nobody writes to it meanwhile.
type Part struct {
	Name string
	From *os.Root
	// Changes means that the folder is the upper one of an overlay file system, with its marks of
	// what is hidden.
	Changes bool
}

// Secret is a value that no file of a layer may have.
type Secret struct{ Name, Value string }

// SecretError is returned for a layer that would have had a secret. File begins with the name of the part.
type SecretError struct{ Secret, File string }

func (e *SecretError) Error() string {
	return fmt.Sprintf("the setup left the value of the secret %s in the file %s", e.Secret, e.File)
}

// ErrTooLarge is returned for a layer that is larger than the bound of all layers.
var ErrTooLarge = errors.New("the prepared workspace is larger than the worker keeps")

// ErrKept is returned if another execution has made the same layer, or is making it.
var ErrKept = errors.New("another execution keeps the same")

// Seal makes a layer of r.Key and r.Heads, and returns its record. It leaves out sockets, pipes and the locks
// of Git. After an error, there is no layer.
func (s *Store) Seal(ctx context.Context, r Record, parts []Part, secrets []Secret) (_ Record, err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return r, fmt.Errorf("seal a layer: %w", err)
	}
	only, err := filelock.Create(s.makingFile(r.Key), filelock.Exclusive)
	if errors.Is(err, filelock.ErrHeld) || err == nil && s.has(r) {
		only.Release()
		return r, ErrKept
	}
	if err != nil {
		return r, fmt.Errorf("seal a layer: %w", err)
	}
	defer func() {
		_ = os.Remove(s.makingFile(r.Key))
		only.Release()
	}()
	making, err := s.begin(&r)
	if err != nil {
		return r, fmt.Errorf("seal a layer: %w", err)
	}
	defer func() {
		if err != nil {
			s.erase(r.UID)
			s.MakeRoom(err)
		}
		making.Release()
	}()
	if err := s.sweep(r.UID, r.Key); err != nil { // what a killed process has left takes space now
		return r, err
	}
	search := newSearch(secrets)
	for _, p := range parts {
		dir := filepath.Join(s.dir, r.UID, p.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return r, fmt.Errorf("seal a layer: %w", err)
		}
		to, err := os.OpenRoot(dir)
		if err != nil {
			return r, fmt.Errorf("seal a layer: %w", err)
		}
		c := &copier{skip: leftOut, changes: p.Changes, search: search, maxBytes: s.max, bytes: r.Bytes}
		err = c.copy(ctx, p.From, to)
		_ = to.Close()
		if found, ok := errors.AsType[*SecretError](err); ok {
			found.File = path.Join(p.Name, found.File)
		}
		if err != nil {
			return r, err
		}
		r.Bytes, r.Files = c.bytes, r.Files+c.files
	}
	r.BuiltAt = penstock.Now()
	content, err := json.Marshal(r)
	if err == nil {
		err = flush(s.dir) // after a power cut, a layer with a record is complete
	}
	if err == nil {
		err = replace(s.recordFile(r.UID), filepath.Join(s.dir, r.UID, "record"), content)
	}
	if err != nil {
		return r, fmt.Errorf("seal a layer: %w", err)
	}
	if err := os.Remove(s.failureFile(r.Key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("seal a layer: %w", err)
	}
	return r, s.sweep(r.UID, r.Key)
}

// begin gives a layer its uid, and locks it.
func (s *Store) begin(r *Record) (making *filelock.Lock, err error) {
	for range 10 { // another process may be about to remove the new lock as a leftover
		r.UID = penstock.NewID()
		if making, err = filelock.Create(s.lockFile(r.UID), filelock.Exclusive); !errors.Is(err, filelock.ErrHeld) {
			break
		}
	}
	return making, err
}

// has reports whether there is a layer with the same key and heads.
func (s *Store) has(r Record) bool {
	list, err := s.list()
	return err == nil && slices.ContainsFunc(list, func(there Record) bool {
		return there.Key == r.Key && slices.EqualFunc(there.Heads, r.Heads, func(a, b Head) bool {
			a.URL, b.URL = "", "" // which layers of older versions lack
			return a == b
		})
	})
}

// leftOut reports whether a file is a lock of Git, which would block the next one for ever.
func leftOut(name string, folder bool) bool {
	return !folder && strings.HasSuffix(name, ".lock") && strings.Contains("/"+path.Dir(name)+"/", "/.git/")
}

// CopyTo copies a part of the layer into a folder, or nothing if the layer does not have the part.
// What exists there already stays. It leaves out what skip returns true for, unless skip is nil; a
// folder with all of its content. Paths are relative to the folder, with slashes.
func (l *Layer) CopyTo(ctx context.Context, part Part, skip func(name string, folder bool) bool) error {
	from, err := os.OpenRoot(filepath.Join(l.dir, part.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("use a layer: %w", err)
	}
	defer from.Close()
	c := &copier{skip: skip, changes: part.Changes}
	return c.copy(ctx, from, part.From)
}

// Names lists a folder of a part of the layer. What is not a folder, or below a link, has no names.
func (l *Layer) Names(part, name string) []string {
	from, err := os.OpenRoot(filepath.Join(l.dir, part))
	if err != nil {
		return nil
	}
	defer from.Close()
	for at := name; at != "."; at = path.Dir(at) {
		if info, err := from.Lstat(at); err != nil || !info.IsDir() {
			return nil
		}
	}
	folder, err := from.Open(name)
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	return names
}
