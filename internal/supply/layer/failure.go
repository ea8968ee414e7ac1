package layer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/penstock-dev/penstock"
)

// failure is why a key has no layer.
type failure struct {
	Reason   string    `json:"reason"`
	Attempts int       `json:"attempts"`
	Until    time.Time `json:"until"` // when to try again
	// Record describes the last attempt. Its uid identifies the failure, and is empty for a failure of an
	// older version.
	Record Record `json:"record,omitzero"`
}

// The pause after a preparation that made no layer, which doubles each time.
const (
	firstPause = time.Minute
	lastPause  = 6 * time.Hour
)

func (s *Store) makingFile(key string) string { return filepath.Join(s.dir, key+".making") }

func (s *Store) failureFile(key string) string { return filepath.Join(s.dir, key+".failed") }

// Fail records why r.Key got no layer, and returns when to try again.
func (s *Store) Fail(r Record, reason string, now time.Time) (until time.Time, err error) {
	f, _ := s.failure(r.Key)
	pause := min(firstPause<<min(f.Attempts, 20), lastPause)
	r.UID, r.BuiltAt = f.Record.UID, penstock.TimeOf(now)
	if r.UID == "" {
		r.UID = penstock.NewID()
	}
	f = failure{reason, f.Attempts + 1, now.Add(pause), r}
	content, err := json.Marshal(f)
	if err == nil {
		err = os.MkdirAll(s.dir, 0o700)
	}
	if err == nil {
		err = replace(s.failureFile(r.Key), s.failureFile(penstock.NewID()), content) // swept as one
	}
	return f.Until, err
}

// Failed returns why a key got no layer, while it is too early to try again.
func (s *Store) Failed(key string, now time.Time) (reason string, until time.Time) {
	f, err := s.failure(key)
	if err != nil || !now.Before(f.Until) {
		return "", time.Time{}
	}
	return f.Reason, f.Until
}

func (s *Store) failure(key string) (f failure, err error) {
	content, err := os.ReadFile(s.failureFile(key))
	if err == nil {
		err = json.Unmarshal(content, &f)
	}
	return f, err
}
