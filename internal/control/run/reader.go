package run

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/skills"
)

const (
	skillCacheFresh  = time.Minute      // how long a result is fresh
	skillCacheMaxAge = time.Hour        // how long an unused result is kept
	skillsReading    = 10 * time.Minute // time limit of one read
	skillReaders     = 4                // simultaneous reads
)

// skillFile is a SKILL.md with its error.
type skillFile struct {
	skills.File
	path string
	err  error
}

// repoSkills stores the skills of a repository at its last read. If the read failed, files come
// from the previous read.
type repoSkills struct {
	files   []skillFile
	err     error
	started time.Time
}

// skillReader reads repositories and caches the results. Concurrent callers share one read. A
// read outlives the request that started it, so that a later request finds a large repository.
type skillReader struct {
	cache *git.Cache // nil: there is no git
	log   *slog.Logger
	slots chan struct{}

	mu      sync.Mutex
	kept    map[git.Source]repoSkills
	reading map[git.Source]reading
	over    bool
	running sync.WaitGroup
}

// reading is an active read.
type reading struct {
	done   chan struct{} // closed at its end
	cancel context.CancelFunc
}

func newSkillReader(cache *git.Cache, log *slog.Logger) *skillReader {
	return &skillReader{
		cache: cache, log: log, slots: make(chan struct{}, skillReaders),
		kept: map[git.Source]repoSkills{}, reading: map[git.Source]reading{},
	}
}

// close ends the active reads and waits for them. Later reads fail.
func (k *skillReader) close() {
	k.mu.Lock()
	k.over = true
	for _, r := range k.reading {
		r.cancel()
	}
	k.mu.Unlock()
	k.running.Wait()
}

// begin ensures that a read is active or has started after since.
func (k *skillReader) begin(source git.Source, since time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ensure(source, since)
}

// ensure starts a read unless the cached result is new enough, and returns a channel that is closed
// at the end of the read. It returns nil if the cached result is enough. A read has its own
// context. The caller holds mu.
func (k *skillReader) ensure(source git.Source, since time.Time) <-chan struct{} {
	if got, ok := k.kept[source]; ok && !got.started.Before(since) {
		return nil
	}
	if r, ok := k.reading[source]; ok {
		return r.done
	}
	for old, got := range k.kept {
		if time.Since(got.started) > skillCacheMaxAge {
			delete(k.kept, old)
		}
	}
	if k.over {
		k.kept[source] = repoSkills{files: k.kept[source].files, err: errStopping, started: time.Now()}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), skillsReading)
	r := reading{make(chan struct{}), cancel}
	k.reading[source] = r
	k.running.Go(func() {
		defer close(r.done)
		defer cancel()
		k.read(ctx, source)
	})
	return r.done
}

var (
	errStopping  = errors.New("the server is stopping")
	errStillRead = errors.New("it is being read for the first time; try again in a few seconds")
)

// wait returns the result of a read that started after since. If ctx ends first, it returns the
// previous result.
func (k *skillReader) wait(ctx context.Context, source git.Source, since time.Time) repoSkills {
	for {
		k.mu.Lock()
		done := k.ensure(source, since)
		got, ok := k.kept[source]
		k.mu.Unlock()
		if done == nil {
			return got
		}
		select {
		case <-done:
		case <-ctx.Done():
			if !ok {
				got.err = errStillRead
			}
			return got
		}
	}
}

func (k *skillReader) read(ctx context.Context, source git.Source) {
	var files []skillFile
	var err error
	var started time.Time
	select {
	case k.slots <- struct{}{}:
		started = time.Now()
		files, err = fetchSkills(ctx, k.cache, source)
		<-k.slots
	case <-ctx.Done():
		started, err = time.Now(), ctx.Err()
	}
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, errNoGit) {
		k.log.Warn("cannot read the skills of a repository", "repository", source.URL, "ref", source.Ref, "error", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		files = k.kept[source].files
	}
	k.kept[source] = repoSkills{files: files, err: err, started: started}
	delete(k.reading, source)
}

// Close ends the reading of repositories and waits for it.
func (s *Skills) Close() { s.reader.close() }
