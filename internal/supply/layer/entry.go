package layer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// Entry is a layer, or why a key has no layer, for people.
type Entry struct {
	Record

	State  penstock.PreparedState
	Reason string    // why it has failed or was retired
	UsedAt time.Time // zero: never
	Uses   int64
}

// retired is the record of a layer that is no longer found.
type retired struct {
	Record
	Reason string    `json:"reason"`
	UsedAt time.Time `json:"used_at"`
	Uses   int64     `json:"uses"`
}

func (s *Store) retiredFile(uid string) string { return filepath.Join(s.dir, uid+".retired") }

// ID returns what identifies the folder of the store.
func (s *Store) ID() (string, error) {
	hidden, err := s.Hide("the folder of layers")
	return hidden[:min(len(hidden), 32)], err
}

// CountUse counts that a workspace got the layer.
func (l *Layer) CountUse() {
	f, err := os.OpenFile(l.dir+".lock", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return
	}
	_, _ = f.WriteString("+") // a full disk is no reason to stop
	_ = f.Close()
}

// Retire keeps a layer from being found again. The reason is for people.
func (s *Store) Retire(uid, reason string) {
	list, _ := s.list()
	if i := slices.IndexFunc(list, func(r Record) bool { return r.UID == uid }); i >= 0 {
		r := list[i]
		if content, err := json.Marshal(retired{r, reason, r.usedAt, r.uses}); err == nil {
			_ = replace(s.retiredFile(uid), s.retiredFile(penstock.NewID()), content)
		}
	}
	_ = os.Remove(s.recordFile(uid))
}

// Forget removes layers and what was made from them, and failures, unless they are in use: then it keeps
// them from being found again. It reports whether any was there.
func (s *Store) Forget(uids []string) (found bool) {
	if len(uids) == 0 {
		return false
	}
	list, _ := s.list()
	for _, r := range list {
		if r.has(uids) {
			found = true
			_ = os.Remove(s.recordFile(r.UID))
			s.remove(r.UID)
		}
	}
	_ = s.others(func(name string, e Entry) {
		if e.has(uids) {
			found = true
			_ = os.Remove(name)
		}
	})
	return found
}

// Entries lists all layers, those that were retired lately, and why keys have none. It first removes
// what is no longer found and not in use.
func (s *Store) Entries() ([]Entry, error) {
	if err := s.tidy(""); err != nil {
		return nil, err
	}
	list, err := s.list()
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, r := range list {
		e := Entry{Record: r, State: penstock.PreparedReady, Uses: r.uses}
		if r.uses > 0 {
			e.UsedAt = r.usedAt
		}
		all = append(all, e)
	}
	err = s.others(func(_ string, e Entry) { all = append(all, e) })
	slices.SortFunc(all, func(a, b Entry) int { return newestFirst(a.Record, b.Record) })
	return all, err
}

// others calls each with the entries that are not ready, and the files that have them.
func (s *Store) others(each func(name string, e Entry)) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list layers: %w", err)
	}
	for _, file := range entries {
		name := filepath.Join(s.dir, file.Name())
		switch filepath.Ext(name) {
		case ".retired":
			var r retired
			content, err := os.ReadFile(name)
			if err != nil || json.Unmarshal(content, &r) != nil || s.retiredFile(r.UID) != name {
				continue
			}
			e := Entry{Record: r.Record, State: penstock.PreparedRetired, Reason: r.Reason, Uses: r.Uses}
			if r.Uses > 0 {
				e.UsedAt = r.UsedAt
			}
			each(name, e)
		case ".failed":
			key := strings.TrimSuffix(file.Name(), ".failed")
			if f, err := s.failure(key); err == nil && f.Record.UID != "" && f.Record.Key == key {
				each(name, Entry{Record: f.Record, State: penstock.PreparedFailed, Reason: f.Reason})
			}
		}
	}
	return nil
}
