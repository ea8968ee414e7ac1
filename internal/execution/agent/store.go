package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

const savedVersion = 1

// savedSession is the file of a session.
type savedSession struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"`
	Model     string    `json:"model"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	History   []message `json:"history"`
}

// store keeps sessions as one file each, below dir.
type store struct{ dir string }

// path returns the path of a session. Ids come from the client, so it accepts only a UUID in its
// plain form.
func (st store) path(id string) (string, error) {
	if parsed, err := uuid.Parse(id); err != nil || parsed.String() != id {
		return "", &acp.Error{Code: acp.CodeResourceNotFound, Message: fmt.Sprintf("no session %q was saved", id)}
	}
	return filepath.Join(st.dir, "sessions", id+".json"), nil
}

// save writes the whole session. After a crash, either the old or the new file exists.
func (st store) save(s savedSession) error {
	path, err := st.path(s.ID)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(s)
	if err == nil {
		err = writeAtomically(path, raw)
	}
	if err != nil {
		return fmt.Errorf("save session %s: %w", s.ID, err)
	}
	return nil
}

func writeAtomically(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".saving-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// load reads a session. The error says whether it is missing or damaged.
func (st store) load(id string) (savedSession, error) {
	path, err := st.path(id)
	if err != nil {
		return savedSession{}, err
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return savedSession{}, &acp.Error{Code: acp.CodeResourceNotFound, Message: "no session " + id + " was saved"}
	}
	if err != nil {
		return savedSession{}, fmt.Errorf("load session %s: %w", id, err)
	}
	var s savedSession
	if err := json.Unmarshal(raw, &s); err != nil || s.ID != id {
		return savedSession{}, &acp.Error{
			Code:    acp.CodeInternal,
			Message: fmt.Sprintf("the saved session %s is damaged (%d bytes)", id, len(raw)),
		}
	}
	if s.Version != savedVersion {
		return savedSession{}, &acp.Error{
			Code: acp.CodeInternal,
			Message: fmt.Sprintf(
				"session %s was saved by another version of the agent (format %d, not %d)", id, s.Version, savedVersion,
			),
		}
	}
	return s, nil
}
