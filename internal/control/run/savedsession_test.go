package run_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

const home = "HOME with the secret hunter22-of-the-run"

// save stores a session of the lease's run.
func (w *world) save(l penstock.Lease, id string, content io.Reader) error {
	u := penstock.Upload{ID: id, Session: &penstock.SavedSession{SessionID: "s", Harness: penstock.HarnessBuiltin}}
	_, err := w.Executions.Control().Save(w.T.Context(), l, u, content)
	return err
}

// saved creates a run with a saved session, and starts its next execution.
func (w *world) saved(content string) (a penstock.Assignment, key string) {
	w.T.Helper()
	run := w.Create(penstock.RunRequest{Prompt: "remember"})
	first := w.Work()
	if err := w.save(first.Lease, penstock.NewID(), strings.NewReader(content)); err != nil {
		w.T.Fatal(err)
	}
	w.Finish(first.Lease, penstock.Result{State: penstock.StateSucceeded})
	w.FollowUp(run.ID, "go on")
	for _, key := range w.keys() {
		if strings.HasPrefix(key, "sessions/"+w.Get(run.ID).ConversationID+"/") {
			return w.Work(), key
		}
	}
	w.T.Fatalf("there is no session among %v", w.keys())
	return a, ""
}

// open reads the session of an assignment.
func (w *world) open(a penstock.Assignment) (string, error) {
	w.T.Helper()
	content, err := w.Executions.Control().Open(w.T.Context(), a.Lease, a.Session.File)
	if err != nil {
		return "", err
	}
	defer content.Close()
	all, err := io.ReadAll(content)
	return string(all), err
}

func (w *world) onDisk(key string) string {
	w.T.Helper()
	content, err := os.ReadFile(filepath.Join(w.BlobDir, key))
	if err != nil {
		w.T.Fatal(err)
	}
	return string(content)
}

func (w *world) replace(key, content string) {
	w.T.Helper()
	if err := os.WriteFile(filepath.Join(w.BlobDir, key), []byte(content), 0o600); err != nil {
		w.T.Fatal(err)
	}
}

// A saved session is encrypted on the disk, and a worker gets it in clear.
func TestSavedSessionsAreEncrypted(t *testing.T) {
	worlds(t, nil, func(w *world) {
		a, key := w.saved(home)
		if text := w.onDisk(key); strings.Contains(text, "hunter22") {
			w.T.Errorf("the disk has it in clear: %q", text)
		}
		if got, err := w.open(a); got != home || err != nil || a.Session.File.Size != int64(len(home)) {
			w.T.Errorf("the worker got %q, %v, of %d bytes", got, err, a.Session.File.Size)
		}
		// One upload that is tried twice.
		id := penstock.NewID()
		for range 2 {
			if err := w.save(a.Lease, id, strings.NewReader("the next "+home)); err != nil {
				w.T.Fatal(err)
			}
		}
		if got, err := w.open(a); got != "the next "+home || err != nil {
			w.T.Errorf("the worker got %q, %v", got, err)
		}
		if keys := w.keys(); len(keys) != 1 || strings.Contains(w.onDisk(keys[0]), "hunter22") {
			w.T.Errorf("there are the files %v, want one, sealed", keys)
		}
		if err := w.save(
			a.Lease, penstock.NewID(), io.LimitReader(zeros{}, 256<<20+1),
		); penstock.CodeOf(err) != penstock.CodePayloadTooLarge {
			w.T.Errorf("a session that is too large: got %v", err)
		}
		lost := errors.New("the worker is lost")
		half := io.MultiReader(strings.NewReader(home), failing{lost})
		if err := w.save(a.Lease, penstock.NewID(), half); !errors.Is(err, lost) {
			w.T.Errorf("a session that is cut off: got %v", err)
		}
		if got, err := w.open(a); got != "the next "+home || err != nil || len(w.keys()) != 1 {
			w.T.Errorf("after what was refused, the worker got %q, %v, of %v", got, err, w.keys())
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestLargeSavedSessionsAreUnchanged(t *testing.T) {
	worlds(t, nil, func(w *world) {
		content := make([]byte, 3<<20+7)
		_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
		a, _ := w.saved(string(content))
		if got, err := w.open(a); got != string(content) || err != nil || a.Session.File.Size != int64(len(content)) {
			w.T.Errorf("the worker got %d bytes, %v, want %d", len(got), err, len(content))
		}
	})
}

// A file that is not the saved one of the conversation counts as missing. Nothing of it is
// returned.
func TestSavedSessionsCannotBeExchanged(t *testing.T) {
	worlds(t, nil, func(w *world) {
		first, firstKey := w.saved(home)
		second, secondKey := w.saved("another " + home)
		one, two := w.onDisk(firstKey), w.onDisk(secondKey)
		for name, content := range map[string]string{
			"another conversation's": two, "cut off": one[:len(one)-1], "changed": one[:len(one)-1] + string(one[len(one)-1]^1),
			"in clear": home, "empty": "",
		} {
			w.replace(firstKey, content)
			if got, err := w.open(first); penstock.CodeOf(err) != penstock.CodeNotFound || got != "" {
				w.T.Errorf("%s: got %q, %v", name, got, err)
			}
		}
		w.replace(firstKey, one)
		if got, err := w.open(first); got != home || err != nil {
			w.T.Errorf("the worker got %q, %v", got, err)
		}
		// As if somebody had given one conversation the row of another.
		for _, columns := range []string{"sealed_key", "blob, sealed_key"} {
			set := "UPDATE conversations SET (" + columns + ") = (SELECT " + columns + " FROM conversations WHERE id = '" +
				first.Run.ConversationID + "') WHERE id = '" + second.Run.ConversationID + "'"
			testkit.Exec(w.T, w.URL, set)
			if got, err := w.open(second); penstock.CodeOf(err) != penstock.CodeNotFound || got != "" {
				w.T.Errorf("with another's %s: got %q, %v", columns, got, err)
			}
		}
	})
}

// A session that an earlier version saved in clear stays usable, and is encrypted at the next save.
func TestOldSavedSessionsAreEncryptedWhenTheyAreSavedAgain(t *testing.T) {
	worlds(t, nil, func(w *world) {
		a, key := w.saved(home)
		w.replace(key, home)
		testkit.Exec(w.T, w.URL, "UPDATE conversations SET sealed_key = '' WHERE id = '"+a.Run.ConversationID+"'")
		if got, err := w.open(a); got != home || err != nil {
			w.T.Fatalf("the worker got %q, %v", got, err)
		}
		if err := w.save(a.Lease, penstock.NewID(), strings.NewReader(home)); err != nil {
			w.T.Fatal(err)
		}
		keys := w.keys()
		if len(keys) != 1 || keys[0] == key || strings.Contains(w.onDisk(keys[0]), "hunter22") {
			w.T.Errorf("there are the files %v, want another one, sealed", keys)
		}
		if got, err := w.open(a); got != home || err != nil {
			w.T.Errorf("the worker got %q, %v", got, err)
		}
	})
}

// After a rotation of the key, the file stays unchanged.
func TestSavedSessionsOutliveTheKeyThatEncryptedThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	keyset, err := secret.OpenKeyset(t.Context(), secret.KeysetFile{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	worlds(t, func(o *run.Deps) { o.Keyset = keyset }, func(w *world) {
		a, key := w.saved(home)
		before := w.onDisk(key)
		own := testworld.CopyOf(w.T, path) // the engines' tests share a keyset at the same time
		rotation, err := secret.BeginRotation(w.T.Context(), secret.KeysetFile{Path: own})
		if err != nil {
			w.T.Fatal(err)
		}
		defer rotation.Close()
		db := testkit.OpenStore(w.T, w.URL)
		got, err := access.Reencrypt(w.T.Context(), db, rotation)
		if err != nil || got.Values != 1 || len(got.Lost) > 0 {
			w.T.Fatalf("got %+v, %v", got, err)
		}
		if err := rotation.Finish(w.T.Context()); err != nil {
			w.T.Fatal(err)
		}
		if _, err := w.open(a); penstock.CodeOf(err) != penstock.CodeNotFound {
			w.T.Errorf("with the old key: got %v", err)
		}
		options := w.Deps
		if options.Keyset, err = secret.OpenKeyset(w.T.Context(), secret.KeysetFile{Path: own}); err != nil {
			w.T.Fatal(err)
		}
		again := &world{&testworld.World{Rules: control.New(options), T: w.T}}
		if got, err := again.open(a); got != home || err != nil {
			w.T.Errorf("with the new key: got %q, %v", got, err)
		}
		if after := w.onDisk(key); !bytes.Equal([]byte(before), []byte(after)) {
			w.T.Error("the file was written again")
		}
	})
}
