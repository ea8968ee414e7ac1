package secret_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock/internal/supply/secret"
)

func openKeyset(t *testing.T, path string) *secret.Keyset {
	t.Helper()
	return openFile(t, secret.KeysetFile{Path: path})
}

func openFile(t *testing.T, file secret.KeysetFile) *secret.Keyset {
	t.Helper()
	k, err := secret.OpenKeyset(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func seal(t *testing.T, k *secret.Keyset, value, context string) []byte {
	t.Helper()
	sealed, err := k.Seal([]byte(value), context)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func wantOpen(t *testing.T, k *secret.Keyset, sealed []byte, context, want string) {
	t.Helper()
	got, err := k.Open(sealed, context)
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func beginRotation(t *testing.T, path string) *secret.Rotation {
	t.Helper()
	return beginFile(t, secret.KeysetFile{Path: path})
}

func beginFile(t *testing.T, file secret.KeysetFile) *secret.Rotation {
	t.Helper()
	r, err := secret.BeginRotation(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// reencrypt re-encrypts a value that was sealed for "c".
func reencrypt(t *testing.T, r *secret.Rotation, sealed []byte) []byte {
	t.Helper()
	fresh, err := r.Reencrypt(sealed, "c")
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

func TestEncryptedValueIsValidOnlyInItsPlace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	k := openKeyset(t, path)
	sealed := seal(t, k, "hunter22", "here")
	if bytes.Contains(sealed, []byte("hunter22")) {
		t.Errorf("the sealed value shows it: %q", sealed)
	}
	wantOpen(t, k, sealed, "here", "hunter22")
	wantOpen(t, openKeyset(t, path), sealed, "here", "hunter22")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v; want mode 0600", info.Mode(), err)
	}
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)-1] ^= 1
	for name, try := range map[string]func() ([]byte, error){
		"in another place":    func() ([]byte, error) { return k.Open(sealed, "there") },
		"changed by one bit":  func() ([]byte, error) { return k.Open(flipped, "here") },
		"cut":                 func() ([]byte, error) { return k.Open(sealed[:7], "here") },
		"nothing":             func() ([]byte, error) { return k.Open(nil, "here") },
		"with another keyset": func() ([]byte, error) { return openKeyset(t, path+"2").Open(sealed, "here") },
	} {
		if got, err := try(); !errors.Is(err, secret.ErrSealed) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := k.Open(flipped, "here"); !errors.Is(err, secret.ErrSealed) {
		t.Errorf("without the file: got %q, %v", got, err)
	}
	wantOpen(t, k, sealed, "here", "hunter22") // as long as the server runs
}

func TestKeysetIsMadeOnceByManyAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	sets := make([]*secret.Keyset, 8)
	var together sync.WaitGroup
	for i := range sets {
		together.Go(func() { sets[i], _ = secret.OpenKeyset(t.Context(), secret.KeysetFile{Path: path}) })
	}
	together.Wait()
	sealed := seal(t, sets[0], "v", "c")
	for _, k := range sets {
		wantOpen(t, k, sealed, "c", "v")
	}
}

func TestOnlyOneOfManyCreatesAKeyset(t *testing.T) {
	t.Parallel()
	file := secret.KeysetFile{Path: filepath.Join(t.TempDir(), "keyset.json")}
	errs := make([]error, 8)
	var together sync.WaitGroup
	for i := range errs {
		together.Go(func() { errs[i] = file.Create(t.Context()) })
	}
	together.Wait()
	created := 0
	for _, err := range errs {
		if err == nil {
			created++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
	}
	if created != 1 {
		t.Errorf("%d callers created the keyset, want one", created)
	}
	openFile(t, file)
}

// A server keeps working while the key is rotated, the rotation is killed half-way, and it is
// started again.
func TestRotationWhileServersRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "keyset.json")
		serving := openKeyset(t, path)
		old := seal(t, serving, "old", "c")

		r := beginRotation(t, path)
		if r.Resumed {
			t.Error("a fresh rotation says that it goes on with another")
		}
		fresh := reencrypt(t, r, old)
		wantOpen(t, serving, fresh, "c", "old") // at once: the file is read again
		wantOpen(t, serving, old, "c", "old")
		if again := reencrypt(t, r, fresh); again != nil {
			t.Error("what the new key sealed is sealed once more")
		}
		if _, err := r.Reencrypt(old, "elsewhere"); !errors.Is(err, secret.ErrSealed) {
			t.Errorf("in another place: got %v", err)
		}
		r.Close() // killed

		time.Sleep(secret.RefreshInterval)
		r = beginRotation(t, path)
		if !r.Resumed {
			t.Error("a rotation that was broken off is not gone on with")
		}
		if again := reencrypt(t, r, fresh); again != nil {
			t.Error("the second attempt has another key than the first")
		}
		if late := seal(t, serving, "late", "c"); reencrypt(t, r, late) != nil {
			t.Error("the server does not seal with the new key")
		}
		if err := r.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		if straggler := reencrypt(t, r, old); straggler == nil {
			t.Error("a value that comes to light late is not sealed again")
		}
		r.Close()
		time.Sleep(secret.RefreshInterval)
		wantOpen(t, serving, fresh, "c", "old")
		if _, err := serving.Open(old, "c"); !errors.Is(err, secret.ErrSealed) {
			t.Errorf("the old key still opens: %v", err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file: %v, %v; want mode 0600", info.Mode(), err)
		}
		r = beginRotation(t, path)
		defer r.Close()
		if r.Resumed || reencrypt(t, r, fresh) == nil {
			t.Error("the next rotation has no key of its own")
		}
	})
}

// Servers with copies of the keyset get the next key before any of them encrypts with it.
func TestPreparedRotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path, other := filepath.Join(t.TempDir(), "keyset.json"), filepath.Join(t.TempDir(), "keyset.json")
		here := openKeyset(t, path)
		spread := func() {
			content, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(other, content, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(secret.RefreshInterval)
		}
		spread()
		there := openKeyset(t, other)
		for range 2 { // the second time it changes nothing
			if err := secret.PrepareRotation(t.Context(), secret.KeysetFile{Path: path}); err != nil {
				t.Fatal(err)
			}
		}
		spread()
		old := seal(t, here, "v", "c")
		r := beginRotation(t, path)
		fresh := reencrypt(t, r, old)
		if r.Resumed || fresh == nil {
			t.Error("what was sealed after the preparation is not sealed again: the next key sealed already")
		}
		wantOpen(t, there, fresh, "c", "v")
		wantOpen(t, here, seal(t, there, "w", "c"), "c", "w")
		r.Close()
		spread()
		r = beginRotation(t, path)
		defer r.Close()
		if reencrypt(t, r, seal(t, there, "w", "c")) != nil {
			t.Error("the other server does not seal with the new key")
		}
		if err := r.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantOpen(t, there, seal(t, here, "v", "c"), "c", "v")
	})
}

func TestKeysetIsChangedByOneAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "keyset.json"), filepath.Join(t.TempDir(), "link.json")
	openKeyset(t, path)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	r := beginRotation(t, link)
	if _, err := secret.BeginRotation(t.Context(), secret.KeysetFile{Path: path}); !errors.Is(err, secret.ErrBusy) {
		t.Errorf("a second rotation: got %v", err)
	}
	for _, name := range []string{path, link} {
		if _, err := secret.LockKeyset(name, false); !errors.Is(err, secret.ErrBusy) {
			t.Errorf("a copy of %s meanwhile: got %v", name, err)
		}
	}
	if err := r.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if to, err := os.Readlink(link); err != nil || to != path {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	for range 2 { // copies do not hinder each other
		release, err := secret.LockKeyset(path, false)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
	}
	if _, err := secret.BeginRotation(t.Context(), secret.KeysetFile{Path: path}); !errors.Is(err, secret.ErrBusy) {
		t.Errorf("a rotation during a copy: got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".keyset-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
