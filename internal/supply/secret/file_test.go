package secret_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/penstock-dev/penstock/internal/supply/secret"
)

func testKeyset(t *testing.T) (*secret.Keyset, secret.KeysetFile) {
	t.Helper()
	file := secret.KeysetFile{Path: filepath.Join(t.TempDir(), "keyset.json")}
	return openFile(t, file), file
}

func sealFile(t *testing.T, keyset *secret.Keyset, context string, content []byte) (sealed, key []byte) {
	t.Helper()
	f, key, err := keyset.NewFile(context)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Seal(iotest.HalfReader(bytes.NewReader(content)))
	if err != nil {
		t.Fatal(err)
	}
	if sealed, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return sealed, key
}

func openContent(keyset *secret.Keyset, context string, sealed, key []byte) ([]byte, error) {
	f, err := keyset.OpenFile(key, context)
	if err != nil {
		return nil, err
	}
	r, err := f.Open(iotest.OneByteReader(bytes.NewReader(sealed)))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// noise returns random content of a size, always the same.
func noise(size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	return content
}

func TestFilesAreEncryptedAndDecrypted(t *testing.T) {
	t.Parallel()
	keyset, _ := testKeyset(t)
	for _, size := range []int{0, 1, 64<<10 - 57, 64<<10 - 56, 64<<10 - 55, 64 << 10, 300_000} {
		content := noise(size)
		sealed, key := sealFile(t, keyset, "a", content)
		if len(content) > 20 && bytes.Contains(sealed, content[:20]) {
			t.Errorf("%d bytes are in clear", size)
		}
		if got, err := openContent(keyset, "a", sealed, key); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: got %d back, %v", size, len(got), err)
		}
	}
}

// A file that was altered never opens to its end.
func TestAChangedFileCannotBeDecrypted(t *testing.T) {
	t.Parallel()
	keyset, _ := testKeyset(t)
	content := noise(200_000)
	sealed, key := sealFile(t, keyset, "a", content)
	other, otherKey := sealFile(t, keyset, "b", content)
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)-1] ^= 1
	swapped := append(append(bytes.Clone(sealed[:64<<10]), sealed[128<<10:192<<10]...), sealed[64<<10:128<<10]...)
	for name, tt := range map[string]struct {
		context     string
		sealed, key []byte
	}{
		"another file's content": {"a", other, key},
		"another file's key":     {"a", sealed, otherKey},
		"another file":           {"b", sealed, key},
		"a changed end":          {"a", flipped, key},
		"cut off":                {"a", sealed[:len(sealed)-1], key},
		"cut off at a segment":   {"a", sealed[:128<<10], key},
		"exchanged segments":     {"a", append(swapped, sealed[192<<10:]...), key},
		"a longer end":           {"a", append(bytes.Clone(sealed), 0), key},
		"nothing":                {"a", nil, key},
		"clear text":             {"a", content, key},
		"no key":                 {"a", sealed, nil},
	} {
		if got, err := openContent(keyset, tt.context, tt.sealed, tt.key); !errors.Is(err, secret.ErrSealed) {
			t.Errorf("%s: got %d bytes, %v, want ErrSealed", name, len(got), err)
		}
	}
}

// An error of the source is returned unchanged, and ends the content.
func TestAFileKeepsErrorsOfItsSource(t *testing.T) {
	t.Parallel()
	keyset, _ := testKeyset(t)
	lost := errors.New("the connection is lost")
	f, key, err := keyset.NewFile("a")
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Seal(io.MultiReader(bytes.NewReader(noise(100_000)), iotest.ErrReader(lost)))
	if err != nil {
		t.Fatal(err)
	}
	half, err := io.ReadAll(r)
	if !errors.Is(err, lost) {
		t.Errorf("sealing: got %v", err)
	}
	if _, err := openContent(keyset, "a", half, key); !errors.Is(err, secret.ErrSealed) {
		t.Errorf("opening what was sealed until then: got %v", err)
	}
	opened, err := f.Open(io.MultiReader(bytes.NewReader(half), iotest.ErrReader(lost)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(opened); !errors.Is(err, lost) || errors.Is(err, secret.ErrSealed) {
		t.Errorf("opening: got %v", err)
	}
}

// Memory holds only a few segments, however large the file is.
func TestFilesAreEncryptedAndDecryptedInSegments(t *testing.T) {
	t.Parallel()
	keyset, _ := testKeyset(t)
	f, _, err := keyset.NewFile("a")
	if err != nil {
		t.Fatal(err)
	}
	const size, most = 32 << 20, 256 << 10
	in := &counted{Reader: io.LimitReader(rand.NewChaCha8([32]byte{}), size)}
	sealed, err := f.Seal(in)
	if err != nil {
		t.Fatal(err)
	}
	between := &counted{Reader: sealed, source: in}
	opened, err := f.Open(between)
	if err != nil {
		t.Fatal(err)
	}
	out := &counted{Reader: opened, source: between}
	if n, err := io.Copy(io.Discard, out); n != size || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
	if between.held > most || out.held > most {
		t.Errorf("sealing held %d bytes, opening %d, want at most %d", between.held, out.held, most)
	}
}

// counted counts the bytes that were read, and those that its source has returned.
type counted struct {
	io.Reader
	source  *counted
	n, held int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	if c.source != nil {
		c.held = max(c.held, c.source.n-c.n)
	}
	return n, err
}

// A rotation re-encrypts the key of a file. The file itself opens unchanged.
func TestARotationKeepsFiles(t *testing.T) {
	t.Parallel()
	keyset, file := testKeyset(t)
	sealed, key := sealFile(t, keyset, "a", []byte("content"))
	rotation, err := secret.BeginRotation(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer rotation.Close()
	fresh, err := rotation.Reencrypt(key, "a")
	if err != nil || fresh == nil {
		t.Fatalf("got %x, %v", fresh, err)
	}
	if err := rotation.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := openFile(t, file)
	if got, err := openContent(after, "a", sealed, fresh); string(got) != "content" || err != nil {
		t.Errorf("after the rotation: got %q, %v", got, err)
	}
	if _, err := openContent(after, "a", sealed, key); !errors.Is(err, secret.ErrSealed) {
		t.Errorf("by the old key: got %v", err)
	}
}
