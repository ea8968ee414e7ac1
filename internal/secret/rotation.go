package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// ErrBusy is a keyset that somebody else is changing or copying.
var ErrBusy = errors.New("the keyset is being changed or copied by another process")

// LockKeyset takes the keyset of a path: alone for who changes it, shared for
// who copies it together with what it seals. ErrBusy: it is taken. The lock
// ends with release or with the process.
func LockKeyset(path string, alone bool) (release func(), err error) {
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

// Rotation replaces the key that seals. From its begin new values are sealed
// with a new key, while old keys still open what they sealed; when everything
// was sealed again, Finish drops them. A rotation that was broken off is begun
// again and goes on with the same new key.
type Rotation struct {
	Resumed bool // an earlier one had begun it

	path    string
	keys    *keys
	release func()
}

// BeginRotation takes the keyset in a file and adds a key, which seals from
// then on, unless the file has several keys already. The caller closes it.
func BeginRotation(path string) (*Rotation, error) {
	path, err := filepath.EvalSymlinks(path) // a link goes on to lead to the file
	if err != nil {
		return nil, fmt.Errorf("keyset: %w", err)
	}
	release, err := LockKeyset(path, true)
	if err != nil {
		return nil, err
	}
	r := &Rotation{path: path, release: release}
	if err := r.begin(); err != nil {
		release()
		return nil, fmt.Errorf("keyset %s: %w", path, err)
	}
	return r, nil
}

func (r *Rotation) begin() error {
	var err error
	if r.keys, err = readKeys(r.path); err != nil {
		return err
	}
	if r.keys.handle.Len() > 1 {
		r.Resumed = true
		return nil
	}
	manager := keyset.NewManagerFromHandle(r.keys.handle)
	id, err := manager.Add(aead.AES256GCMKeyTemplate())
	if err == nil {
		err = manager.SetPrimary(id)
	}
	if err != nil {
		return err
	}
	handle, err := manager.Handle()
	if err != nil {
		return err
	}
	if r.keys, err = newKeys(handle, nil); err != nil {
		return err
	}
	return place(r.path, handle, os.Rename)
}

// Close gives the keyset back to others.
func (r *Rotation) Close() { r.release() }

// Reseal is a sealed value as the new key seals it; fresh is nil where it is
// that already. ErrSealed: no key opens it.
func (r *Rotation) Reseal(sealed []byte, context string) (fresh []byte, err error) {
	if r.keys.isCurrent(sealed) {
		return nil, nil
	}
	value, err := r.keys.aead.Decrypt(sealed, []byte(context))
	if err != nil {
		return nil, ErrSealed
	}
	return r.keys.aead.Encrypt(value, []byte(context))
}

// Finish drops all keys but the new one from the file. Reseal still knows them,
// for values that come to light late.
func (r *Rotation) Finish() error {
	manager := keyset.NewManagerFromHandle(r.keys.handle)
	for _, key := range r.keys.handle.KeysetInfo().GetKeyInfo() {
		if key.GetKeyId() == r.keys.primary {
			continue
		}
		if err := manager.Delete(key.GetKeyId()); err != nil {
			return fmt.Errorf("keyset %s: %w", r.path, err)
		}
	}
	handle, err := manager.Handle()
	if err == nil {
		err = place(r.path, handle, os.Rename)
	}
	if err != nil {
		return fmt.Errorf("keyset %s: %w", r.path, err)
	}
	return nil
}

// keepOwner gives a file the owner of the one that it replaces: whoever
// changes the keyset, the server must be able to read it.
func keepOwner(f *os.File, replaced string) error {
	old, err := os.Stat(replaced)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	owner, known := old.Sys().(*syscall.Stat_t)
	if !known || int(owner.Uid) == os.Geteuid() && int(owner.Gid) == os.Getegid() {
		return nil
	}
	return f.Chown(int(owner.Uid), int(owner.Gid))
}
