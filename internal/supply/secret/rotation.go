package secret

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

// ErrBusy is returned if another process is changing or copying the keyset.
var ErrBusy = errors.New("the keyset is being changed or copied by another process")

// LockKeyset locks the keyset at a path: exclusively to change it, or shared to copy it
// together with the data. It returns ErrBusy if it is locked. The lock ends with release or
// with the process.
func LockKeyset(path string, alone bool) (release func(), err error) {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		path = file // one lock, even if the file is named through a link
	}
	dir, err := os.Open(filepath.Dir(path)) // lock the folder, because the file itself is replaced
	if err != nil {
		return nil, fmt.Errorf("lock the keyset: %w", err)
	}
	kind := filelock.Shared
	if alone {
		kind = filelock.Exclusive
	}
	if err := filelock.Try(dir, kind); err != nil {
		_ = dir.Close()
		if errors.Is(err, filelock.ErrHeld) {
			return nil, ErrBusy
		}
		return nil, fmt.Errorf("lock the keyset: %w", err)
	}
	return func() { _ = dir.Close() }, nil
}

// Rotation replaces the encryption key. From its beginning, new values use a new key, and old
// keys still decrypt old values. When everything is re-encrypted, Finish removes the old keys.
// An interrupted rotation continues with the same new key.
type Rotation struct {
	Resumed bool // continues an earlier rotation

	file    KeysetFile
	keys    *keys
	stale   bool // the form of the file must change
	release func()
}

// PrepareRotation adds the key for the next rotation to the keyset file. Until then, the key only
// decrypts. It is for servers with copies of the file: all of them must know the key before one
// encrypts with it. A keyset that already has a second key stays unchanged.
func PrepareRotation(ctx context.Context, file KeysetFile) error {
	r, err := openRotation(ctx, file)
	if err != nil {
		return err
	}
	defer r.Close()
	if r.keys.handle.Len() > 1 {
		return r.rewrite(ctx)
	}
	return r.change(ctx, func(m *keyset.Manager) error {
		_, err := m.Add(aead.AES256GCMKeyTemplate())
		return err
	})
}

// BeginRotation opens the keyset file and makes a new key encrypt from then on: the prepared one,
// or one that it adds. It changes no key if an earlier rotation has already done this. It also
// changes the form of the file: it encrypts a keyset in plain text, and rewrites one that
// file.Before can open for file.KMS. The caller closes the rotation.
func BeginRotation(ctx context.Context, file KeysetFile) (*Rotation, error) {
	r, err := openRotation(ctx, file)
	if err != nil {
		return nil, err
	}
	newest := r.keys.newest()
	switch {
	case r.keys.handle.Len() == 1:
		err = r.change(ctx, func(m *keyset.Manager) error {
			id, err := m.Add(aead.AES256GCMKeyTemplate())
			return errors.Join(err, m.SetPrimary(id))
		})
	case newest != r.keys.primary:
		err = r.change(ctx, func(m *keyset.Manager) error { return m.SetPrimary(newest) })
	default:
		r.Resumed = true
		err = r.rewrite(ctx)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func openRotation(ctx context.Context, file KeysetFile) (*Rotation, error) {
	path, err := filepath.EvalSymlinks(file.Path) // so that a link still leads to the file
	if err != nil {
		return nil, fmt.Errorf("keyset: %w", err)
	}
	file.Path = path
	release, err := LockKeyset(path, true)
	if err != nil {
		return nil, err
	}
	found, stale, err := file.readForRotation(ctx)
	if err != nil {
		release()
		return nil, fmt.Errorf("keyset %s: %w", path, err)
	}
	return &Rotation{file: file, keys: found, stale: stale, release: release}, nil
}

// rewrite writes a file in the right form, with the same keys.
func (r *Rotation) rewrite(ctx context.Context) error {
	if !r.stale {
		return nil
	}
	return r.change(ctx, func(*keyset.Manager) error { return nil })
}

// change writes a changed keyset to the file, and uses it.
func (r *Rotation) change(ctx context.Context, how func(*keyset.Manager) error) error {
	changed, err := r.changed(how)
	if err == nil {
		err = r.file.place(ctx, changed, os.Rename)
	}
	if err == nil {
		r.stale = false
		r.keys, err = newKeys(changed, nil)
	}
	if err != nil {
		return fmt.Errorf("keyset %s: %w", r.file.Path, err)
	}
	return nil
}

func (r *Rotation) changed(how func(*keyset.Manager) error) (*keyset.Handle, error) {
	manager := keyset.NewManagerFromHandle(r.keys.handle)
	if err := how(manager); err != nil {
		return nil, err
	}
	return manager.Handle()
}

// Close releases the keyset.
func (r *Rotation) Close() { r.release() }

// Reencrypt re-encrypts a value with the new key. fresh is nil if the new key already encrypted
// it. It returns ErrSealed if no key can decrypt it.
func (r *Rotation) Reencrypt(sealed []byte, context string) (fresh []byte, err error) {
	if r.keys.isCurrent(sealed) {
		return nil, nil
	}
	value, err := r.keys.aead.Decrypt(sealed, []byte(context))
	if err != nil {
		return nil, ErrSealed
	}
	return r.keys.aead.Encrypt(value, []byte(context))
}

// Finish removes all keys except the new one from the file. Reencrypt can still use them, for
// late values.
func (r *Rotation) Finish(ctx context.Context) error {
	all := r.keys
	defer func() { r.keys = all }()
	return r.change(ctx, func(m *keyset.Manager) error {
		var errs []error
		for _, key := range all.handle.KeysetInfo().GetKeyInfo() {
			if key.GetKeyId() != all.primary {
				errs = append(errs, m.Delete(key.GetKeyId()))
			}
		}
		return errors.Join(errs...)
	})
}
