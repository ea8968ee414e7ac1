package main_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// refuses starts a server that must refuse its keyset.
func refuses(t *testing.T, env []string, says ...string) {
	t.Helper()
	got := call(t, env, "serve", "--listen", "127.0.0.1:0")
	got.want(t, 78, append(says, "--keyset", "backup", "--accept-lost-secrets")...)
}

// A server does not start with another keyset than the one that encrypted the secrets. It changes
// nothing, and starts again with the right one.
func TestServeRefusesAnotherKeyset(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := serveHooks(t, testkit.ServeOptions{Database: url})
		env := []string{"PENSTOCK_DATA=" + s.Data, "PENSTOCK_DATABASE=" + url}
		path := filepath.Join(s.Data, "keyset.json")
		hook := s.githubHook("pushes")
		s.Stop()
		right, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		put := func(content []byte) {
			t.Helper()
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		other := testkit.Serve(t, testkit.ServeOptions{})
		wrong, err := os.ReadFile(filepath.Join(other.Data, "keyset.json"))
		if err != nil {
			t.Fatal(err)
		}

		put(wrong)
		refuses(t, env, path, "decrypts none of the secrets")
		examine(t, 1, env).want(t, "keyset", "fail", "decrypts none of the secrets")
		if now, err := os.ReadFile(path); err != nil || string(now) != string(wrong) {
			t.Errorf("the keyset changed: %v", err)
		}

		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		refuses(t, env, path, "does not exist")
		examine(t, 1, env).want(t, "keyset", "fail", "does not exist")
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a refused server created a keyset: %v", err)
		}

		put(right)
		call(t, env, "secret", "rotate-key", "--settle", "0s").want(t, 0, "removed the old key")
		examine(t, 0, env).want(t, "keyset", "ok", path)
		s.Restart()
		header := signed("{}")
		deliver(t, http.StatusAccepted, s.url(hook), "{}", "X-Hub-Signature-256", header["X-Hub-Signature-256"])

		// With the flag, the server starts without the secrets. Once one is set again, the flag is not needed.
		s.Stop()
		put(wrong)
		accepting := serve(t, env, "--data", s.Data, "--accept-lost-secrets")
		admin := []string{"PENSTOCK_BASE_URL=" + accepting.url, "PENSTOCK_API_KEY=" + s.Key}
		callWith(t, "hunter22", admin, "secret", "create", "A", "--value-file", "-").want(t, 0)
		accepting.stop()
		s.Restart()
	})
}

// A keyset can be created before there is a server, once, and a server uses it.
func TestCreateKeyset(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	call(t, nil, "secret", "create-keyset", path).want(t, 0, "Keep a copy")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v; want mode 0600", info, err)
	}
	call(t, nil, "secret", "create-keyset", path).want(t, 64, "exists already")
	call(t, nil, "secret", "create-keyset", filepath.Join(path, "in-a-file")).want(t, 64, "cannot create the keyset")
	call(t, nil, "secret", "create-keyset", filepath.Join(filepath.Dir(path), "missing", "k")).want(t, 78, "no keyset")

	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--keyset", path}})
	callWith(t, "hunter22", client(s), "secret", "create", "A", "--value-file", "-").want(t, 0)
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the server changed the keyset: %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.Data, "keyset.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the server has another keyset: %v", err)
	}
}
