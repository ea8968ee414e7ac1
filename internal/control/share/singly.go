package share

import "sync"

// Singly does work for keys side by side, and for each key once at a time. The zero value is ready.
type Singly struct {
	mu      sync.Mutex
	again   map[string]bool // by the keys for which work is being done
	running sync.WaitGroup
}

// Do does the work for a key in a goroutine. If work is being done for the key already, that is done once more
// afterwards instead, unless it returns an error.
func (s *Singly) Do(key string, work func() error) {
	if !s.begin(key) {
		return
	}
	s.running.Go(func() {
		for more := true; more; {
			more = s.end(key, work())
		}
	})
}

// Wait returns when no work is being done any more.
func (s *Singly) Wait() { s.running.Wait() }

func (s *Singly) begin(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, active := s.again[key]
	if s.again == nil {
		s.again = map[string]bool{}
	}
	s.again[key] = active
	return !active
}

func (s *Singly) end(key string, err error) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.again[key] && err == nil {
		s.again[key] = false
		return true
	}
	delete(s.again, key)
	return false
}
