package main_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// With --retain-runs, the server removes an old ended run with everything that belongs only to it,
// and nothing else.
func TestOldRunsAreRemoved(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		settings := filepath.Join(t.TempDir(), "penstock.yaml")
		retain := func(d time.Duration) {
			t.Helper()
			if err := os.WriteFile(settings, fmt.Appendf(nil, "retain-runs: %s\n", d), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		retain(0)
		h := serveHooks(
			t, testkit.ServeOptions{Database: database, Args: append(slices.Clip(unlimited), "--config", settings)},
		)
		w := h.tokenHook("orders")
		h.automation(w, "handle", "demo: artifact event-payload.json", nil)
		h.automation(w, "ask", "demo: ask What now?", nil)
		var over run.Created
		h.ask(http.MethodPost, "/agent/runs", map[string]any{
			"prompt": "remarkable\ndemo: write a b\ndemo: artifact a", "metadata": map[string]string{"kind": "old"},
			"attachments": []any{map[string]any{"file_name": "n", "mime_type": "text/plain", "data": "aGk="}},
		}, http.StatusOK, &over)
		delivery := newSender(t).accepted(h.url(w), bearer(w), `{"order": 1}`)
		started := map[string]string{}
		for _, m := range h.entry(w, delivery).Matches {
			started[m.Automation] = m.RunID
		}
		env, handled, asks := client(h.Server), started["handle"], started["ask"]
		testkit.Eventually(t, timeout, func() error {
			return errors.Join(
				inState(t, env, over.ID, penstock.StateSucceeded), inState(t, env, handled, penstock.StateSucceeded),
				inState(t, env, asks, penstock.StateBlocked),
			)
		})
		testkit.Eventually(t, timeout, func() error { return h.found("q=remarkable", 1) })

		retain(time.Millisecond)
		h.Restart() // the server removes old runs at the start and then every minute
		testkit.Eventually(t, timeout, func() error {
			return errors.Join(h.found("", 1), h.found("q=remarkable", 0), h.found("metadata[kind]=old", 0))
		})
		for _, path := range []string{over.ID, over.ID + "/timeline", over.ID + "/conversation", handled} {
			h.ask(http.MethodGet, "/agent/runs/"+path, nil, http.StatusNotFound, nil)
		}
		if d := h.entry(w, delivery); len(d.Runs) != 1 || d.Runs[0] != asks || len(d.Matches) != 2 ||
			!d.Matches[0].WouldTrigger || !d.Matches[1].WouldTrigger {
			t.Errorf("the delivery names the runs %v with the matches %+v, want the one that is left", d.Runs, d.Matches)
		}
		testkit.Eventually(t, timeout, func() error {
			if left := files(t, filepath.Join(h.Data, "blobs")); len(left) != 2 {
				return fmt.Errorf("files left: %v, want the session and the turn of the run that waits for an answer", left)
			}
			return nil
		})
		h.ask(http.MethodPost, "/agent/runs/"+asks+"/followups", map[string]any{"message": "go on"}, http.StatusOK, nil)
		testkit.Eventually(t, timeout, func() error { return inState(t, env, asks, penstock.StateSucceeded) })
	})
}

// found lists runs and requires the given number.
func (h *hooked) found(query string, want int) error {
	h.t.Helper()
	var page run.Page
	h.ask(http.MethodGet, "/agent/runs?"+query, nil, http.StatusOK, &page)
	if got := len(page.Runs); got != want {
		return fmt.Errorf("?%s finds %d runs, want %d", query, got, want)
	}
	return nil
}

// files lists the files below dir.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}
