// Package layer keeps prepared folders, such as workspaces with everything that setup commands have
// made, for executions that need the same. A layer never changes: those that use it get a copy. No
// layer has a value of the secrets that its makers had, as far as its files are readable.
package layer

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

// Store keeps layers in a folder. It is safe for concurrent use, by several processes, too.
//
//	<uid>.lock      exclusive while the layer is made or removed, shared while it is used; its time
//	                of modification is the last use, and its size is the number of uses
//	<uid>/<part>    what the layer has
//	<uid>.json      its record; without it, the layer is not complete
//	<uid>.retired   the record of a layer that is no longer found
//	<key>.failed    why a key has no layer, see [Store.Fail]
//	<key>.making    exclusive while a layer of the key is made
type Store struct {
	dir string
	max int64
}

// keepEach is how many layers of one key are kept: the newest, and one that may still be in use.
const keepEach = 2

// Open returns the store in a folder, which is created with the first layer. maxBytes bounds all
// layers: those that are not in use are removed for a new one, the longest unused first. 0: no bound.
func Open(dir string, maxBytes int64) *Store { return &Store{dir: dir, max: maxBytes} }

// Record describes a layer.
type Record struct {
	UID string `json:"uid"`
	// Key identifies everything that the layer depends on, except the commits of repositories.
	Key     string        `json:"key"`
	Heads   []Head        `json:"heads"`
	Bytes   int64         `json:"bytes"`
	Files   int           `json:"files"`
	BuiltAt penstock.Time `json:"built_at"`
	// Environment is the uid of the environment, and ImageDigest the digest of the image, "" without one.
	// Layers of older versions have neither.
	Environment string `json:"environment_uid,omitempty"`
	ImageDigest string `json:"image_digest,omitempty"`
	// Duration is how long the preparation took, in milliseconds.
	Duration int64 `json:"duration_ms,omitempty"`
	// Parents are the layers that it was made from, the oldest one first. See [Record.On].
	Parents []string `json:"parents,omitempty"`
	usedAt  time.Time
	uses    int64
}

// maxParents bounds the parents. Older ones have been replaced long ago.
const maxParents = 100

// On returns the parents of a layer that is made from r.
func (r Record) On() []string {
	all := append(slices.Clone(r.Parents), r.UID)
	return all[max(len(all)-maxParents, 0):]
}

// has reports whether r is one of the layers, or was made from one.
func (r Record) has(uids []string) bool {
	return slices.ContainsFunc(uids, func(uid string) bool { return uid == r.UID || slices.Contains(r.Parents, uid) })
}

// Head is the commit of a repository in a layer.
type Head struct {
	Dir    string `json:"dir"` // its folder in the workspace
	Commit string `json:"commit"`
	Branch string `json:"branch,omitempty"` // "": none
	URL    string `json:"url,omitempty"`    // without credentials
}

// Layer is a layer in use. [Layer.Release] ends the use.
type Layer struct {
	Record

	dir string
	use *filelock.Lock
}

// Release allows the removal of the layer.
func (l *Layer) Release() { l.use.Release() }

func (s *Store) recordFile(uid string) string { return filepath.Join(s.dir, uid+".json") }
func (s *Store) lockFile(uid string) string   { return filepath.Join(s.dir, uid+".lock") }

// ErrNone is returned for a key without a layer.
var ErrNone = errors.New("there is no such layer")

// idle is how long an unused layer is used again. The control plane remembers longer which layers were
// deleted.
const idle = 90 * 24 * time.Hour

// Find returns the newest layer of a key that is none of the banned ones, and was made from none.
func (s *Store) Find(key string, banned []string) (*Layer, error) { return s.find(key, "", banned) }

// Use is Find for the layer with a uid.
func (s *Store) Use(key, uid string, banned []string) (*Layer, error) {
	return s.find(key, uid, banned)
}

// find returns the newest layer of a key, or the one with a uid, unless that is "".
func (s *Store) find(key, uid string, banned []string) (*Layer, error) {
	list, err := s.list()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, newestFirst)
	for _, r := range list {
		if r.Key != key || uid != "" && r.UID != uid || r.has(banned) || time.Since(r.usedAt) > idle {
			continue
		}
		use, err := filelock.Share(s.lockFile(r.UID))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, filelock.ErrHeld) {
			continue // being removed
		}
		if err != nil {
			return nil, fmt.Errorf("use a layer: %w", err)
		}
		if _, err := os.Stat(s.recordFile(r.UID)); err != nil { // removed meanwhile
			use.Release()
			continue
		}
		now := time.Now()
		if err := os.Chtimes(s.lockFile(r.UID), now, now); err != nil {
			use.Release()
			return nil, fmt.Errorf("use a layer: %w", err)
		}
		return &Layer{Record: r, dir: filepath.Join(s.dir, r.UID), use: use}, nil
	}
	return nil, ErrNone
}

func newestFirst(a, b Record) int {
	return cmp.Or(cmp.Compare(b.BuiltAt, a.BuiltAt), cmp.Compare(b.UID, a.UID))
}

// Hide returns a text that is the same for the same value in this store, and from which the value cannot
// be guessed without the folder of the store.
func (s *Store) Hide(value string) (string, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", fmt.Errorf("open the folder of layers: %w", err)
	}
	name := filepath.Join(s.dir, "hide.key")
	key, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		// Of several processes, the first one wins.
		temp := name + "." + penstock.NewID()
		err = errors.Join(os.WriteFile(temp, []byte(rand.Text()), 0o600), unlessExists(os.Link(temp, name)), os.Remove(temp))
		if err == nil {
			key, err = os.ReadFile(name)
		}
	}
	if err != nil {
		return "", fmt.Errorf("read the key of the folder of layers: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(value))
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// list returns the records of all complete layers. It passes over one that cannot be read.
func (s *Store) list() ([]Record, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list layers: %w", err)
	}
	var list []Record
	for _, e := range entries {
		uid, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		content, err := os.ReadFile(s.recordFile(uid))
		used, usedErr := os.Stat(s.lockFile(uid))
		var r Record
		if errors.Join(err, usedErr) != nil || json.Unmarshal(content, &r) != nil || r.UID != uid {
			continue
		}
		r.usedAt, r.uses = used.ModTime(), used.Size()
		list = append(list, r)
	}
	return list, nil
}

// remove removes a layer, unless it is in use. It reports whether the layer is gone.
func (s *Store) remove(uid string) bool { return s.removeIf(uid, func() bool { return true }) }

// removeIf is remove, if yes is true while nobody else has the layer.
func (s *Store) removeIf(uid string, yes func() bool) bool {
	alone, err := filelock.Hold(s.lockFile(uid), filelock.Exclusive)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer alone.Release()
	return yes() && s.erase(uid)
}

// erase removes a layer whose lock this process holds alone. It reports whether the layer is gone.
func (s *Store) erase(uid string) bool {
	// In this order, so that a layer that is removed in part is not found.
	for _, remove := range []func() error{
		func() error { return os.Remove(s.recordFile(uid)) },
		func() error { return removeAll(filepath.Join(s.dir, uid)) },
		func() error { return os.Remove(s.lockFile(uid)) },
	} {
		if err := remove(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// removeAll removes a folder with everything in it, also where a tool has removed permissions.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // nobody else is at work here
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// sweep removes what killed processes have left, layers of the key that have been replaced, and
// the longest unused ones beyond the bound. The layer with the uid keep stays.
func (s *Store) sweep(keep, key string) error {
	if err := s.tidy(keep); err != nil {
		return err
	}
	list, err := s.list()
	if err != nil {
		return err
	}
	slices.SortFunc(list, newestFirst)
	same := 0
	list = slices.DeleteFunc(list, func(r Record) bool {
		if r.Key != key {
			return false
		}
		same++
		return same > keepEach && r.UID != keep && s.remove(r.UID)
	})
	slices.SortFunc(list, func(a, b Record) int { return a.usedAt.Compare(b.usedAt) })
	var total int64
	for _, r := range list {
		total += r.Bytes
	}
	for _, r := range list {
		if s.max > 0 && total > s.max && r.UID != keep && s.remove(r.UID) {
			total -= r.Bytes
		}
	}
	return nil
}

// tidy removes what killed processes have left, and what is no longer found and not in use.
func (s *Store) tidy(keep string) error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list layers: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		old := err == nil && time.Since(info.ModTime()) > 4*lastPause
		if ext := filepath.Ext(e.Name()); old && (ext == ".failed" || ext == ".making" || ext == ".retired") {
			_ = os.Remove(filepath.Join(s.dir, e.Name()))
		}
		uid, ok := strings.CutSuffix(e.Name(), ".lock")
		half := func() bool {
			_, err := os.Stat(s.recordFile(uid))
			return errors.Is(err, fs.ErrNotExist)
		}
		if ok && uid != keep && half() {
			s.removeIf(uid, half) // unless it is complete now
		}
	}
	return nil
}

// MakeRoom removes all layers that are not in use, if err means that the disk is full: no run may fail
// because layers fill it.
func (s *Store) MakeRoom(err error) {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return
	}
	list, _ := s.list()
	for _, r := range list {
		s.remove(r.UID)
	}
}

// replace writes a file as a whole or not at all. temp is another file, which a killed process leaves.
func replace(name, temp string, content []byte) error {
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}
