package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// The server returns a conversation of 50 MB completely, four times at once, with little memory.
func TestLargeConversationTakesLittleMemory(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	const messages, size, atOnce, atMost = 1000, 50_000, 4, 128 << 20
	database := "sqlite://" + filepath.Join(t.TempDir(), "penstock.db")
	s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: []string{"--no-worker"}})
	id, _ := createRun(t, s, "p")
	testkit.Exec(t, database, fmt.Sprintf(`INSERT INTO events (run_id, seq, execution_id, type, at, key, data)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT '%s', 1000 + i, 1, 'message', 1, '', json_object('message_id', 'm' || i, 'role', 'assistant', 'content',
			json_array(json_object('type', 'text', 'text', i || printf('%%.*c', %d, 'x')))) FROM n`, messages, id, size))
	before := s.PeakMemory()
	var group errgroup.Group
	for range atOnce {
		group.Go(func() error {
			req, err := http.NewRequestWithContext(
				t.Context(), http.MethodGet, s.URL+"/api/v1/agent/runs/"+id+"/conversation", http.NoBody,
			)
			if err != nil {
				return err
			}
			req.Header.Set("Authorization", "Bearer "+s.Key)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				return err
			}
			var got penstock.Conversation
			if err := json.Unmarshal(body, &got); err != nil {
				return err
			}
			last := got.Steps[len(got.Steps)-1]
			said := last.Messages[len(last.Messages)-messages:]
			for i, m := range said {
				if text := m.Content[0].Text; !strings.HasPrefix(text, fmt.Sprintf("%dx", i+1)) || len(text) < size {
					return fmt.Errorf("message %d begins with %.10q and has %d bytes", i, text, len(text))
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if grown := s.PeakMemory() - before; grown > atMost {
		t.Errorf("the server took %d MB more, want at most %d", grown>>20, atMost>>20)
	}
}
