package main_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

func client(s *testkit.Server) []string {
	return []string{"PENSTOCK_BASE_URL=" + s.URL, "PENSTOCK_API_KEY=" + s.Key}
}

// startRun creates a run and returns its id.
func startRun(t *testing.T, env []string, args ...string) string {
	t.Helper()
	got := call(t, env, append([]string{"run", "create"}, args...)...)
	got.want(t, 0)
	return strings.TrimSpace(strings.Split(got.out, "\n")[0])
}

// A backup that is taken while runs are created contains every run that was acknowledged before it
// began. After a restore, the server serves these runs and their artifacts.
func TestBackupWhileServingAndRestore(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	first := startRun(t, env, "look around", "--wait")

	stop := make(chan struct{})
	var busy sync.WaitGroup
	for range 2 {
		busy.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					call(t, env, "run", "create", "more", "--worker-host", "none")
				}
			}
		})
	}
	if err := os.WriteFile(
		filepath.Join(s.Data, "admin.key"), []byte(s.Key+"\n"), 0o600,
	); err != nil { // like serve without PENSTOCK_BOOTSTRAP_KEY
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"b.tar", "b.tar.gz"} {
		call(t, nil, "backup", "--data", s.Data, "--to", filepath.Join(dir, name)).want(t, 0, "backed up")
	}
	close(stop)
	busy.Wait()
	call(t, nil, "backup", "--data", s.Data, "--to", filepath.Join(dir, "b.tar")).want(t, 64, "already exists")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("got %v (%v) beside the backups, want nothing", entries, err)
	}
	before := call(t, env, "run", "get", first, "-o", "json").out
	s.Stop()

	for _, name := range []string{"b.tar", "b.tar.gz"} {
		data := filepath.Join(t.TempDir(), "restored")
		call(t, nil, "restore", "--data", data, "--from", filepath.Join(dir, name)).want(t, 0, "restored")
		call(t, nil, "restore", "--data", data, "--from", filepath.Join(dir, name)).want(t, 65, "is not empty")
		again := serve(t, nil, "--data", data)
		restored := []string{"PENSTOCK_BASE_URL=" + again.url, "PENSTOCK_API_KEY=" + s.Key}
		after := strings.ReplaceAll(call(t, restored, "run", "get", first, "-o", "json").out, again.url, s.URL)
		if after != before {
			t.Errorf("the run became\n%s, it was\n%s", after, before)
		}
		call(t, restored, "run", "logs", first).want(t, 0, "demo/offline")
		call(t, restored, "run", "logs", first, "--raw").want(t, 0, `{"`)
		startRun(t, restored, "and on", "--wait")
		if key, err := os.ReadFile(filepath.Join(data, "admin.key")); err != nil || strings.TrimSpace(string(key)) != s.Key {
			t.Errorf("the way in is %q, %v", key, err)
		}
		again.stop()
	}
}

func TestRestoreRejectsIncompleteBackups(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "data")
	call(t, nil, "migrate", "--data", source).want(t, 0)
	if err := os.WriteFile(filepath.Join(source, "keyset.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(t.TempDir(), "b.tar")
	call(t, nil, "backup", "--data", source, "--to", good).want(t, 0)
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(bytes.Clone(whole), []byte("SQLite format 3"), []byte("SQLite format 4"), 1)
	var foreign bytes.Buffer
	w := tar.NewWriter(&foreign)
	if err := w.WriteHeader(&tar.Header{Name: "../escaped", Size: 1, Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		content []byte
		says    string
	}{
		"cut off":            {whole[:len(whole)/2], "not a complete backup"},
		"without its end":    {whole[:len(whole)-4096], "not a complete backup"},
		"a changed byte":     {changed, "penstock.db does not match the manifest"},
		"something else":     {[]byte("hello"), "not a complete backup"},
		"nothing":            {nil, "not a complete backup"},
		"a path that climbs": {foreign.Bytes(), `"../escaped"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "bad.tar")
			if err := os.WriteFile(file, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			data := filepath.Join(t.TempDir(), "data")
			call(t, nil, "restore", "--data", data, "--from", file).want(t, 65, test.says)
			entries, err := os.ReadDir(data)
			if err != nil || len(entries) != 1 { // the lock
				t.Errorf("got %v (%v) in the data folder, want nothing", entries, err)
			}
			call(t, nil, "restore", "--data", data, "--from", good).want(t, 0) // the failure is no obstacle
		})
	}
	call(t, nil, "restore", "--data", t.TempDir(), "--from", "nowhere").want(t, 64, "nowhere")
	call(t, nil, "backup", "--data", t.TempDir(), "--to", filepath.Join(t.TempDir(), "x")).want(t, 64, "no database")
}
