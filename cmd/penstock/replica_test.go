package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// Servers that share a database share their files. A worker on one server gets what was attached on
// the other one, and each serves the artifacts of the other.
func TestReplicasShareTheirFiles(t *testing.T) {
	t.Parallel()
	first := testkit.Serve(t, testkit.ServeOptions{Database: testkit.Postgres(t), Args: []string{"--no-worker"}})
	first.Replica(testkit.ServeOptions{})
	env := client(first)
	id := startRunWithNotes(t, env)
	if got := artifact(t, first, getRun(t, env, id)); got != notes {
		t.Errorf("got %q, want %q", got, notes)
	}
}

// Two databases cannot share a folder: each server would remove the files of the other as unreferenced.
func TestFolderOfBlobsHasOneDatabase(t *testing.T) {
	t.Parallel()
	blobs := filepath.Join(t.TempDir(), "blobs")
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--blobs", blobs}})
	s.Stop()
	s.Restart()
	call(
		t, nil, "serve", "--data", t.TempDir(), "--blobs", blobs, "--listen", "127.0.0.1:0",
	).want(t, 78, "another database", "--blobs")
}

// A backup contains the files of --blobs. A restore writes them to --blobs, which may be on another
// disk and must be empty.
func TestBackupAndRestoreOfBlobsElsewhere(t *testing.T) {
	t.Parallel()
	other, err := os.MkdirTemp("/dev/shm", "penstock-test-*") //nolint:usetesting // on another file system
	if err != nil {
		t.Skipf("no second file system: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(other); err != nil {
			t.Error(err)
		}
	})
	blobs := filepath.Join(other, "blobs")
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--blobs", blobs}})
	id := startRunWithNotes(t, client(s))
	s.Stop()
	if left := files(t, filepath.Join(s.Data, "blobs")); len(left) > 0 {
		t.Errorf("got %v in the data folder, want all of it in %s", left, blobs)
	}

	backup, data := filepath.Join(t.TempDir(), "b.tar"), filepath.Join(t.TempDir(), "restored")
	call(t, nil, "backup", "--data", s.Data, "--blobs", blobs, "--to", backup).want(t, 0, "backed up")
	restore := []string{"restore", "--data", data, "--from", backup, "--blobs"}
	call(t, nil, append(restore, blobs)...).want(t, 65, "is not empty", "--blobs")
	restored := filepath.Join(other, "restored")
	call(t, nil, append(restore, restored)...).want(t, 0, "restored")

	again := testkit.Serve(t, testkit.ServeOptions{
		Database: "sqlite://" + filepath.Join(data, "penstock.db"),
		Args:     []string{"--blobs", restored, "--keyset", filepath.Join(data, "keyset.json")},
	})
	again.Key = s.Key
	if got := artifact(t, again, getRun(t, client(again), id)); got != notes {
		t.Errorf("got %q, want %q", got, notes)
	}
}

const notes = "the attached notes"

// startRunWithNotes creates a run that makes an artifact of its attachment.
func startRunWithNotes(t *testing.T, env []string) (id string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(file, []byte(notes), 0o600); err != nil {
		t.Fatal(err)
	}
	return startRun(
		t, env, "Copy.\ndemo: run cp .penstock/attachments/* copy.txt\ndemo: artifact copy.txt", "--attach", file, "--wait",
	)
}
