package store

import "time"

// BatchWithin makes a group commit give up the database after d.
func (s *Store) BatchWithin(d time.Duration) { s.d.batchWithin = d }
