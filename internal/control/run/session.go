package run

import (
	"context"
	"errors"
	"io"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/blob"
)

func (s *Executions) saveSession(
	ctx context.Context, l penstock.Lease, held store.RunRow, u penstock.Upload, content io.Reader,
) error {
	// Each attempt has its own file, because the content belongs to the key in the row.
	saved := store.Session{
		ConversationID: held.ConversationID, Team: held.Team, Harness: held.Harness, SessionID: u.Session.SessionID,
		Blob: SessionKey(held.ConversationID, penstock.NewID()),
	}
	if err := s.putSession(ctx, &saved, content); err != nil {
		return StorageError(err)
	}
	var old string
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Executions().Held(ctx, l); err != nil {
			return err
		}
		if err := tx.Runs().SetResumable(ctx, held.ID, true); err != nil {
			return err
		}
		var err error
		old, err = tx.Conversations().SaveSession(ctx, saved)
		return err
	})
	if err != nil {
		s.files.DropRejected(ctx, err, saved.Blob)
		return err
	}
	s.files.DropBlob(ctx, old)
	return nil
}

// putSession encrypts and stores the content of a session. It returns the plain size and the
// key.
func (s *Executions) putSession(ctx context.Context, saved *store.Session, content io.Reader) (err error) {
	saved.Size, saved.SealedKey, err = s.putSealed(
		ctx, saved.Blob, access.SessionContext(saved.ConversationID, saved.Blob), content, MaxSessionBytes,
	)
	return err
}

// putSealed encrypts and stores a file with at most so many bytes. It returns the plain size and the key.
func (s *Executions) putSealed(
	ctx context.Context, name, about string, content io.Reader, most int64,
) (size int64, key []byte, err error) {
	file, key, err := s.keyset.NewFile(about)
	if err != nil {
		return 0, nil, err
	}
	in := &bounded{Reader: content, most: most}
	sealed, err := file.Seal(in)
	if err != nil {
		return 0, nil, err
	}
	if _, _, err := s.blobs.Put(ctx, name, sealed, -1); err != nil {
		return 0, nil, err
	}
	return in.read, key, nil
}

// bounded counts the bytes that it reads, and returns blob.ErrTooLarge above its limit.
type bounded struct {
	io.Reader
	read, most int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.read += int64(n); b.read > b.most {
		return 0, blob.ErrTooLarge
	}
	return n, err
}

// session opens a saved session.
func (c control) session(ctx context.Context, f penstock.File, saved store.Session) (io.ReadCloser, error) {
	return c.sealed(ctx, f, saved.Blob, access.SessionContext(saved.ConversationID, saved.Blob), saved.SealedKey)
}

// sealed opens an encrypted file. If it cannot be decrypted completely, it is treated as missing, and no
// part is returned. But if it cannot be read now, the call can be repeated.
func (c control) sealed(ctx context.Context, f penstock.File, name, about string, key []byte) (io.ReadCloser, error) {
	content, err := c.blob(ctx, f, name)
	if err != nil || len(key) == 0 { // saved by an earlier version
		return content, err
	}
	opened, err := c.s.unseal(content, about, key)
	if err != nil {
		_ = content.Close() // only read
		if errors.Is(err, blob.ErrUnavailable) {
			return nil, StorageError(err)
		}
		c.s.log.Error("cannot open a saved file", "blob", name, "error", err)
		return nil, penstock.NotFound("file", f.ID)
	}
	return opened, nil
}

// unseal reads the content twice. The first time only checks that all of it can be decrypted.
func (s *Executions) unseal(content io.ReadSeekCloser, about string, key []byte) (io.ReadCloser, error) {
	file, err := s.keyset.OpenFile(key, about)
	if err != nil {
		return nil, err
	}
	tried, err := file.Open(content)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, tried); err != nil {
		return nil, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	opened, err := file.Open(content)
	return readCloser{opened, content}, err
}

// readCloser reads from one and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}
