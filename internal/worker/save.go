package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

// saveArtifact stores an artifact of the agent, and masks known secrets in its content. In the log,
// it comes after all earlier events.
func (e *execution) saveArtifact(ctx context.Context, u penstock.Upload, content io.ReadSeeker) (string, error) {
	data, err := json.Marshal(u.Artifact)
	if err != nil {
		return "", fmt.Errorf("describe an artifact: %w", err)
	}
	var masked penstock.ArtifactData
	if data = clean(data, e.mask); data == nil || json.Unmarshal(data, &masked) != nil {
		return "", penstock.Errorf(penstock.CodePayloadTooLarge, "the description of the artifact is too large")
	}
	masked.Content = e.mask.String(u.Artifact.Content)
	u.Artifact = &masked
	if err := e.events.Flush(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(ctx) // cancels the agent's request, and so the agent
	defer cancel(nil)
	defer context.AfterFunc(e.lease, func() { cancel(context.Cause(e.lease)) })()
	return e.save(ctx, u, content)
}

// save stores a file in the control plane. It retries until ctx ends, which depends on the lease.
func (e *execution) save(ctx context.Context, u penstock.Upload, content io.ReadSeeker) (uid string, err error) {
	err = again(ctx, func(context.Context) error {
		var r io.Reader
		if content != nil {
			if _, err := content.Seek(0, io.SeekStart); err != nil {
				return err
			}
			r = io.LimitReader(content, u.Size)
			if u.Artifact != nil {
				r = e.mask.Blank(r)
			}
		}
		var err error
		uid, err = e.w.Control.Save(ctx, e.Lease, u, r) // without a time limit, because files are large
		return err
	})
	return uid, err
}

// saveSession saves the agent's session, so that another worker can continue it. If that fails, the
// next execution begins a new session and gets the conversation as text.
func (e *execution) saveSession(ctx context.Context) {
	id := e.agent.SessionID()
	if id == "" || ctx.Err() != nil || e.tooLarge {
		return
	}
	e.sessionID = id
	err := e.uploadSession(ctx, id)
	e.saved, e.tooLarge = err == nil, errors.Is(err, errSessionTooLarge)
	if err != nil && ctx.Err() == nil {
		e.log.Warn("cannot save the session", "error", err)
	}
}

// keepSaving saves the session periodically until stop is called.
func (e *execution) keepSaving() (stop func()) {
	ctx, cancel := context.WithCancel(e.lease)
	var saving sync.WaitGroup
	saving.Go(func() {
		tick := time.NewTicker(e.w.SaveEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				e.saveSession(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		saving.Wait()
	}
}

// uploadSession packs HOME and stores it, unless it has not changed since the last time.
func (e *execution) uploadSession(ctx context.Context, id string) error {
	file, err := os.CreateTemp(e.space.dir, "session-*.tar.gz")
	if err != nil {
		return err
	}
	defer discard(file)
	hash := sha256.New()
	packed := &limitWriter{io.MultiWriter(file, hash), maxPacked}
	if err := pack(e.space.homeRoot, e.program.State, e.outlet.received, packed); err != nil {
		return err
	}
	sum := id + hex.EncodeToString(hash.Sum(nil))
	if sum == e.stored {
		return nil
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	_, err = e.save(ctx, penstock.Upload{
		ID: penstock.NewID(), Size: size,
		Session: &penstock.SavedSession{SessionID: id, Harness: e.config.Harness.Kind()},
	}, file)
	if err == nil {
		e.stored = sum
	}
	return err
}
