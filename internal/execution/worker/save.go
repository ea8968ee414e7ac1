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
func (t *task) saveArtifact(ctx context.Context, u penstock.Upload, content io.ReadSeeker) (string, error) {
	data, err := json.Marshal(u.Artifact)
	if err != nil {
		return "", fmt.Errorf("describe an artifact: %w", err)
	}
	var masked penstock.ArtifactData
	if data = clean(data, t.mask); data == nil || json.Unmarshal(data, &masked) != nil {
		return "", penstock.Errorf(penstock.CodePayloadTooLarge, "the description of the artifact is too large")
	}
	masked.Content = t.mask.String(u.Artifact.Content)
	u.Artifact = &masked
	if err := t.events.Flush(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(ctx) // cancels the agent's request, and so the agent
	defer cancel(nil)
	defer context.AfterFunc(t.lease, func() { cancel(context.Cause(t.lease)) })()
	return t.save(ctx, u, content)
}

// save stores a file in the control plane. It retries until ctx ends, which depends on the lease.
func (t *task) save(ctx context.Context, u penstock.Upload, content io.ReadSeeker) (uid string, err error) {
	err = retry(ctx, func(context.Context) error {
		var r io.Reader
		if content != nil {
			if _, err := content.Seek(0, io.SeekStart); err != nil {
				return err
			}
			r = io.LimitReader(content, u.Size)
			if u.Artifact != nil {
				r = t.mask.Blank(r)
			}
		}
		var err error
		uid, err = t.w.Control.Save(ctx, t.Lease, u, r) // without a time limit, because files are large
		return err
	})
	return uid, err
}

// saveSession saves the agent's session, so that another worker can continue it. If that fails, the
// next execution begins a new session and gets the conversation as text.
func (c *conversation) saveSession(ctx context.Context) {
	id := c.agent.SessionID()
	if id == "" || ctx.Err() != nil || c.tooLarge {
		return
	}
	c.sessionID = id
	err := c.uploadSession(ctx, id)
	c.saved, c.tooLarge = err == nil, errors.Is(err, errSessionTooLarge)
	if err != nil && ctx.Err() == nil {
		c.log.Warn("cannot save the session", "error", err)
	}
}

// keepSaving saves the session periodically until stop is called.
func (c *conversation) keepSaving() (stop func()) {
	ctx, cancel := context.WithCancel(c.lease)
	var saving sync.WaitGroup
	saving.Go(func() {
		tick := time.NewTicker(c.w.SaveEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.saveSession(ctx)
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
func (c *conversation) uploadSession(ctx context.Context, id string) error {
	file, err := os.CreateTemp(c.box.space.dir, "session-*.tar.gz")
	if err != nil {
		return err
	}
	defer discard(file)
	hash := sha256.New()
	packed := &limitWriter{io.MultiWriter(file, hash), maxPacked}
	if err := pack(c.box.space.homeRoot, c.program.State, c.box.outlet.received, packed); err != nil {
		return err
	}
	sum := id + hex.EncodeToString(hash.Sum(nil))
	if sum == c.stored {
		return nil
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	_, err = c.save(ctx, penstock.Upload{
		ID: penstock.NewID(), Size: size,
		Session: &penstock.SavedSession{SessionID: id, Harness: c.config.Harness.Kind()},
	}, file)
	if err == nil {
		c.stored = sum
	}
	return err
}
