package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// sessionsOf reads the saved sessions of a backup.
func sessionsOf(t *testing.T, backup string) (sessions [][]byte) {
	t.Helper()
	file, err := os.Open(backup)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for entries := tar.NewReader(file); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return sessions
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(header.Name, "blobs/sessions/") {
			content, err := io.ReadAll(entries)
			if err != nil {
				t.Fatal(err)
			}
			sessions = append(sessions, content)
		}
	}
}

// A backup contains no saved session in clear text. After a restore with its keyset, even if the
// key was rotated in between, the agent continues its session.
func TestBackupHasEncryptedSessions(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.Serve(t, testkit.ServeOptions{Database: url, Args: []string{"--keep-workspaces", "0"}})
		env := client(s)
		id := startRun(t, env, "look around", "--wait")
		where := []string{"PENSTOCK_DATA=" + s.Data, "PENSTOCK_DATABASE=" + url}
		call(t, where, "secret", "rotate-key", "--settle", "1s").want(t, 0, "removed the old key")
		backup := filepath.Join(t.TempDir(), "b.tar")
		call(t, where, "backup", "--to", backup).want(t, 0, "backed up")
		sessions := sessionsOf(t, backup)
		if len(sessions) != 1 {
			t.Fatalf("the backup has %d sessions, want one", len(sessions))
		}
		if _, err := gzip.NewReader(bytes.NewReader(sessions[0])); err == nil {
			t.Error("the backup has the session in clear")
		}
		goesOn := func(s *testkit.Server, env []string) {
			t.Helper()
			call(t, env, "run", "follow-up", id, "and on").want(t, 0, "")
			call(t, env, "run", "wait", id, "--timeout", "240s").want(t, 0, "SUCCEEDED")
			timeline := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/timeline", "").body)
			if n := strings.Count(timeline, `"session":"new"`); n != 1 {
				t.Errorf("%d sessions were begun, want the first to go on: %s", n, timeline)
			}
		}
		goesOn(s, env)
		if strings.HasPrefix(url, "postgres") {
			return // a restore needs an empty database
		}
		s.Stop()
		data := filepath.Join(t.TempDir(), "restored")
		call(t, nil, "restore", "--data", data, "--from", backup).want(t, 0, "restored")
		again := serve(t, nil, "--data", data, "--keep-workspaces", "0")
		goesOn(
			&testkit.Server{URL: again.url, Key: s.Key}, []string{"PENSTOCK_BASE_URL=" + again.url, "PENSTOCK_API_KEY=" + s.Key},
		)
	})
}
