package secret

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// KeysetFile is the file of a keyset, in one of Tink's two JSON forms.
type KeysetFile struct {
	Path string
	KMS  *KMS // encrypts the keys in the file; nil: they are in plain text

	// Before is the previous KMS key of the file, if the key changes. A rotation opens the file
	// with either key, and writes it for KMS.
	Before *KMS
}

// The file does not have the expected form. A rotation encrypts a file in plain text.
var (
	ErrPlain     = errors.New("the keys are in plain text, not encrypted with a KMS key")
	ErrEncrypted = errors.New("the keys are encrypted with a KMS key, but no KMS key is set")
)

// Check reads the file like a server at its start, and changes nothing. It returns the errors of
// [OpenKeyset], and fs.ErrNotExist if the file does not exist and a new one could be encrypted.
func (f KeysetFile) Check(ctx context.Context) error {
	_, err := f.read(ctx)
	if errors.Is(err, fs.ErrNotExist) && f.KMS != nil {
		if refused := f.rehearse(ctx); refused != nil {
			err = refused
		}
	}
	if err != nil {
		return fmt.Errorf("keyset %s: %w", f.Path, err)
	}
	return nil
}

// rehearse encodes the content of a file and discards it.
func (f KeysetFile) rehearse(ctx context.Context) error {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err == nil {
		_, err = f.encode(ctx, handle)
	}
	return err
}

func (f KeysetFile) read(ctx context.Context) (*keys, error) {
	file, err := os.Stat(f.Path) // before the content, so that a change in between is read again
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, err
	}
	handle, err := f.decode(ctx, content)
	if err != nil {
		return nil, err
	}
	return newKeys(handle, file)
}

// readForRotation reads the file in any form before it is rewritten. stale means that the form must
// change.
func (f KeysetFile) readForRotation(ctx context.Context) (found *keys, stale bool, err error) {
	found, err = f.read(ctx)
	earlier := KeysetFile{Path: f.Path}
	switch {
	case errors.Is(err, ErrPlain):
	case f.Before != nil && (errors.Is(err, ErrEncrypted) || errors.Is(err, ErrKMS)):
		earlier.KMS = f.Before
	default:
		return found, false, err
	}
	found, earlierErr := earlier.read(ctx)
	if earlierErr != nil {
		return nil, false, errors.Join(err, earlierErr)
	}
	return found, true, nil
}

func (f KeysetFile) decode(ctx context.Context, content []byte) (*keyset.Handle, error) {
	var form struct {
		Encrypted string `json:"encryptedKeyset"`
	}
	if err := json.Unmarshal(content, &form); err != nil {
		return nil, fmt.Errorf("is not a keyset: %w", err)
	}
	reader := keyset.NewJSONReader(bytes.NewReader(content))
	switch encrypted := form.Encrypted != ""; {
	case encrypted && f.KMS == nil:
		return nil, ErrEncrypted
	case !encrypted && f.KMS != nil:
		return nil, ErrPlain
	case encrypted:
		return f.KMS.read(ctx, reader)
	}
	return insecurecleartextkeyset.Read(reader)
}

// encode returns the content of the file. It returns an error if the KMS cannot decrypt it again,
// because it must not replace readable content.
func (f KeysetFile) encode(ctx context.Context, handle *keyset.Handle) ([]byte, error) {
	var content bytes.Buffer
	writer := keyset.NewJSONWriter(&content)
	if f.KMS == nil {
		err := insecurecleartextkeyset.Write(handle, writer)
		return content.Bytes(), err
	}
	if err := f.KMS.write(ctx, handle, writer); err != nil {
		return nil, err
	}
	_, err := f.decode(ctx, content.Bytes())
	return content.Bytes(), err
}

// Create writes a new keyset. If the file exists, the error is [fs.ErrExist], and the file stays as it is.
func (f KeysetFile) Create(ctx context.Context) error {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return err
	}
	return f.place(ctx, handle, os.Link) // not rename, which replaces a file
}

// place writes a keyset to a new file beside its path, and moves it there. It flushes the file to
// disk before the keyset is used, because all encrypted data would be lost with the keyset.
func (f KeysetFile) place(ctx context.Context, handle *keyset.Handle, put func(from, to string) error) error {
	content, err := f.encode(ctx, handle)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(f.Path), ".keyset-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	if err := errors.Join(err, keepOwner(file, f.Path), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := put(file.Name(), f.Path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(f.Path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// keepOwner gives a file the owner of the file that it replaces, so that the server can still
// read it.
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
