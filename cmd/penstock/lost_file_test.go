package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// A server that is killed after it wrote a file and before it wrote the row leaves the file behind.
// A day later, the server removes this file and no other.
func TestFileOfAKilledServerIsRemoved(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: noWorker})
		const request = `{"prompt": "p", "attachments": [{"file_name": "n", "mime_type": "text/plain", "data": "aGk="}]}`
		if got := send(t, s, http.MethodPost, "/agent/runs", request); got.status != http.StatusOK {
			t.Fatalf("got %d: %s", got.status, got.body)
		}
		blobs := filepath.Join(s.Data, "blobs")
		kept := files(t, blobs)
		if len(kept) != 1 {
			t.Fatalf("there are the files %v, want one", kept)
		}

		release := testkit.HoldWrites(t, database, "attachments")
		returned := make(chan struct{})
		go func() {
			defer close(returned)
			req, err := http.NewRequestWithContext(
				t.Context(), http.MethodPost, s.URL+"/api/v1/agent/runs", strings.NewReader(request),
			)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+s.Key)
			if res, err := http.DefaultClient.Do(req); err == nil {
				t.Errorf("the request returned %d", res.StatusCode)
				_ = res.Body.Close()
			}
		}()
		testkit.Eventually(t, timeout, func() error {
			if n := len(published(t, blobs)); n != 2 {
				return fmt.Errorf("there are %d files, want two", n)
			}
			return nil
		})
		s.Kill9()
		<-returned
		if strings.HasPrefix(database, "postgres") { // otherwise it commits the request, although the client is gone
			testkit.Exec(
				t, database,
				"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND "+
					"application_name = 'penstock'",
			)
		}
		release()

		for _, name := range published(t, blobs) {
			if err := os.Chtimes(name, time.Time{}, time.Now().Add(-25*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		// The server writes the setting at its first poll, which may not have happened yet.
		testkit.Exec(t, database, `INSERT INTO settings (name, value) VALUES ('files_since', '0')
			ON CONFLICT (name) DO UPDATE SET value = '0'`)
		s.Restart() // the server looks for lost files at the start and then daily
		testkit.Eventually(t, timeout, func() error {
			if diff := cmp.Diff(kept, published(t, blobs)); diff != "" {
				return fmt.Errorf("files: (-want +got)\n%s", diff)
			}
			if log := s.Logs(); !strings.Contains(log, "unused files removed") {
				return fmt.Errorf("the log does not tell of it:\n%s", log)
			}
			return nil
		})
	})
}

// published lists the files below dir that are complete.
func published(t *testing.T, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(files(t, dir), func(name string) bool { return strings.Contains(name, "/.tmp/") })
}
