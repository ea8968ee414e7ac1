package secret

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// ErrBusy means that another process is changing or copying the keyset.
var ErrBusy = errors.New("the keyset is being changed or copied by another process")

// LockKeyset locks the keyset at a path: exclusively to change it, or shared to copy it
// together with the data. It returns ErrBusy if it is locked. The lock ends with release or
// with the process.
func LockKeyset(path string, alone bool) (release func(), err error) {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		path = file // by whatever link the file is named, there is one lock
	}
	dir, err := os.Open(filepath.Dir(path)) // the file itself is replaced, its folder stays
	if err != nil {
		return nil, fmt.Errorf("lock the keyset: %w", err)
	}
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	if err := syscall.Flock(int(dir.Fd()), how|syscall.LOCK_NB); err != nil {
		_ = dir.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
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
	Resumed bool // an earlier one had begun it

	file    KeysetFile
	keys    *keys
	stale   bool // the file is not of the form that it is to have
	release func()
}

// PrepareRotation adds the key to the keyset in a file that the next rotation
// will seal with; until then it only opens. It is for servers that have copies
// of the file: all of them know the key before one of them seals with it. A
// keyset that has a second key is left as it is.
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

// BeginRotation takes the keyset in a file and lets a new key seal from then
// on: one that was prepared, or else one that it adds. Where an earlier
// rotation has come so far, it changes no key. From then on the file is of the
// form that it is to have: a keyset in plain text is encrypted, one that
// file.Before opens is written for file.KMS. The caller closes it.
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
	path, err := filepath.EvalSymlinks(file.Path) // a link goes on to lead to the file
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
