package secret

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"github.com/tink-crypto/tink-go/v2/streamingaead/subtle"
)

// File encrypts and decrypts one file with its own key, in segments, so that a large file needs
// no more memory than a small one. The keyset encrypts the key: a rotation re-encrypts the key
// and does not touch the file.
type File struct {
	cipher  *subtle.AESGCMHKDF
	context []byte
}

const (
	fileKeyBytes = 32
	fileSegment  = 64 << 10 // bytes of the sealed content
)

// NewFile creates the key of a new file. To open the file, the caller needs sealedKey and the
// same context, which identifies the file.
func (k *Keyset) NewFile(context string) (f *File, sealedKey []byte, err error) {
	var key [fileKeyBytes]byte
	_, _ = rand.Read(key[:]) // never fails
	if sealedKey, err = k.Seal(key[:], context); err != nil {
		return nil, nil, fmt.Errorf("seal the key of a file: %w", err)
	}
	f, err = newFile(key[:], context)
	return f, sealedKey, err
}

// OpenFile decrypts the key that NewFile encrypted for the same context, or returns ErrSealed.
func (k *Keyset) OpenFile(sealedKey []byte, context string) (*File, error) {
	key, err := k.Open(sealedKey, context)
	if err != nil {
		return nil, err
	}
	return newFile(key, context)
}

func newFile(key []byte, context string) (*File, error) {
	cipher, err := subtle.NewAESGCMHKDF(key, "SHA256", fileKeyBytes, fileSegment, 0)
	if err != nil {
		return nil, fmt.Errorf("read the key of a file: %w", err)
	}
	return &File{cipher, []byte(context)}, nil
}

// Seal returns the encrypted content of r. It passes on an error of r: the partial output
// cannot be decrypted.
func (f *File) Seal(r io.Reader) (io.Reader, error) {
	s := &sealing{from: r, piece: make([]byte, fileSegment)}
	var err error
	if s.to, err = f.cipher.NewEncryptingWriter(&s.sealed, f.context); err != nil {
		return nil, fmt.Errorf("seal a file: %w", err)
	}
	return s, nil
}

// sealing turns Tink's writer into a reader.
type sealing struct {
	from   io.Reader
	to     io.WriteCloser // writes into sealed
	sealed bytes.Buffer
	piece  []byte
	ended  bool
}

func (s *sealing) Read(p []byte) (int, error) {
	for s.sealed.Len() == 0 && !s.ended {
		n, err := s.from.Read(s.piece)
		if n > 0 {
			if _, err := s.to.Write(s.piece[:n]); err != nil {
				return 0, fmt.Errorf("seal a file: %w", err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			s.ended = true
			if err := s.to.Close(); err != nil {
				return 0, fmt.Errorf("seal a file: %w", err)
			}
		case err != nil:
			return 0, err
		}
	}
	return s.sealed.Read(p)
}

// Open decrypts the output of Seal from r. It returns ErrSealed, at the latest at the end, if
// the content was changed, truncated, or encrypted for another file.
func (f *File) Open(r io.Reader) (io.Reader, error) {
	source := &watched{Reader: r}
	opened, err := f.cipher.NewDecryptingReader(source, f.context)
	if err != nil {
		return nil, source.blame(err)
	}
	return &opening{opened, source}, nil
}

// opening distinguishes errors of the content from errors of its source.
type opening struct {
	from   io.Reader
	source *watched
}

func (o *opening) Read(p []byte) (int, error) {
	n, err := o.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = o.source.blame(err)
	}
	return n, err
}

// watched keeps an error of a source.
type watched struct {
	io.Reader
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

func (w *watched) blame(err error) error {
	if w.err != nil {
		return w.err
	}
	return fmt.Errorf("%w (%w)", ErrSealed, err)
}
