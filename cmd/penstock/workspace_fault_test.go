package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// TestKillsLoseNoTurn kills a server with its worker at random times while workspaces are prepared, layers are
// made, used and collected, and turns are saved and restored. Each turn that has ended is still in the files
// of its run, also where its worker's files are gone, and no run gets half a layer. `make kills` sets
// PENSTOCK_KILLS to the number of kills.
func TestKillsLoseNoTurn(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	kills := 6
	if text := os.Getenv("PENSTOCK_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	database := "sqlite://" + filepath.Join(t.TempDir(), "penstock.db")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := &killedWorld{
		t: t, database: database, seen: map[string]bool{}, random: rand.New(rand.NewPCG(seed, 0)),
		s: testkit.Serve(t, testkit.ServeOptions{Database: database, Args: []string{"--layer-cache", "4MB"}}),
	}
	for round := 0; round < kills && !t.Failed(); round++ {
		w.round(round)
	}
	t.Logf("%d kills: %d turns ended, %d workspaces were restored, %d layers were used and %d made, %d runs were lost "+
		"before their first turn ended", kills, w.turns, w.restored, w.used, w.sealed, w.lost)
	if kills > 30 && (w.restored == 0 || w.used == 0 || w.sealed == 0) {
		t.Error("the kills met nothing")
	}
}

type killedWorld struct {
	t           *testing.T
	s           *testkit.Server
	database    string
	random      *rand.Rand
	environment string
	long        []longRun
	seen        map[string]bool // timeline events

	turns, restored, used, sealed, lost int
}

// longRun is a run that goes on from kill to kill.
type longRun struct {
	id    string
	turns int // that have ended
}

// kept bounds the turns of a run, so that its conversation stays short.
const kept = 12

func (w *killedWorld) do(method, path string, in, out any) {
	w.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	got := send(w.t, w.s, method, path, string(body))
	if got.status >= http.StatusMultipleChoices {
		w.t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(got.body, out); err != nil {
		w.t.Fatal(err)
	}
}

// turn is a prompt that reports each earlier turn that is not in the files, and leaves its own.
func turn(n int) string {
	return fmt.Sprintf(`demo: run for i in $(seq 1 %d); do grep -qx $i turns || echo LOST""-TURN $i; done; `+
		`echo %d >> turns; head -c 300000 /dev/urandom > large-%d; sleep 0.%d`, n, n+1, n%3, n%4)
}

// prepare has another environment in each second round, so that layers are made, used and removed.
func (w *killedWorld) prepare(round int) {
	w.t.Helper()
	config := map[string]any{"name": "killed", "setup_commands": []string{fmt.Sprintf(
		"mkdir files; head -c 1200000 /dev/urandom | split -b 4000 -a 3 - files/f; echo %d > set-up", round/2,
	)}}
	var environment penstock.Environment
	if w.environment == "" {
		w.do(http.MethodPost, "/agent/environments", config, &environment)
		w.environment = environment.UID
	} else {
		w.do(http.MethodPut, "/agent/environments/"+w.environment, config, nil)
	}
}

func (w *killedWorld) create(prompt string, count int) (ids []string) {
	w.t.Helper()
	var created run.Created
	w.do(http.MethodPost, "/agent/runs", map[string]any{
		"prompt": prompt, "config": map[string]any{"environment_id": w.environment}, "attempts": count,
	}, &created)
	for _, r := range created.Runs {
		ids = append(ids, r.ID)
	}
	return ids
}

func (w *killedWorld) round(round int) {
	w.prepare(round)
	if round%kept == 0 {
		w.long = nil
		for _, id := range w.create(turn(0), 2) {
			w.long = append(w.long, longRun{id, 0})
		}
		w.ended(nil)
	}
	for i, r := range w.long {
		w.do(http.MethodPost, "/agent/runs/"+r.id+"/followups", map[string]any{"message": turn(r.turns)}, nil)
		w.long[i].turns++
	}
	fresh := w.create(`demo: run test -f set-up && test $(ls files | wc -l) = 300 || echo HALF""-LAYER`, 2)
	<-time.After(time.Duration(w.random.IntN(2500)) * time.Millisecond)
	w.s.Kill9()
	if w.random.IntN(2) == 0 { // as if another worker continued
		testkit.Eventually(w.t, time.Minute, func() error { // its programs may still write
			return os.RemoveAll(filepath.Join(w.s.Data, "work", worker.RunsDir))
		})
	}
	testkit.Exec(w.t, w.database, "UPDATE queue SET lease_until = 1 WHERE lease_until > 1")
	testkit.Exec(w.t, w.database, "UPDATE runs SET times_lost = 0 WHERE times_lost > 0")
	w.s.Restart()
	w.ended(fresh)
}

// ended waits until the runs have ended, and checks what they have found.
func (w *killedWorld) ended(fresh []string) {
	w.t.Helper()
	for i, r := range w.long {
		if w.result(r.id).State != penstock.StateSucceeded {
			w.t.Errorf("run %s did not continue: %+v", r.id, w.result(r.id).StatusMessage)
		}
		if fresh == nil {
			w.long[i].turns = 1
		}
		w.turns++
		w.check(r.id)
	}
	for _, id := range fresh {
		switch r := w.result(id); {
		case r.State == penstock.StateSucceeded:
		case r.State == penstock.StateError && strings.Contains(fmt.Sprintf("%+v", r.StatusMessage), "worker was lost"):
			w.lost++
		default:
			w.t.Errorf("run %s is %s: %+v", id, r.State, r.StatusMessage)
		}
		w.check(id)
	}
}

func (w *killedWorld) result(id string) (r penstock.Run) {
	w.t.Helper()
	testkit.Eventually(w.t, 2*time.Minute, func() error {
		if w.do(http.MethodGet, "/agent/runs/"+id, nil, &r); !r.State.Done() {
			return fmt.Errorf("run %s is %s", id, r.State)
		}
		return nil
	})
	return r
}

// check reads what a run has said, and how its workspaces were made.
func (w *killedWorld) check(id string) {
	w.t.Helper()
	said := string(send(w.t, w.s, http.MethodGet, "/agent/runs/"+id+"/conversation", "").body)
	for _, word := range []string{"LOST-TURN", "HALF-LAYER"} {
		if strings.Contains(said, word) {
			w.t.Errorf("run %s: %s: %s", id, word, said)
		}
	}
	var timeline struct {
		Events []penstock.TimelineEvent `json:"events"`
	}
	w.do(http.MethodGet, "/agent/runs/"+id+"/timeline", nil, &timeline)
	for _, e := range timeline.Events {
		if w.seen[e.UUID] {
			continue
		}
		w.seen[e.UUID] = true
		switch {
		case e.Type == "workspace_not_restored":
			w.t.Errorf("run %s: %v", id, e.Payload)
		case e.Type == "workspace_restored":
			w.restored++
		case e.Type == "workspace_ready" && e.Payload["from"] == "layer":
			w.used++
		case e.Type == "workspace_ready" && e.Payload["sealed_uid"] != nil:
			w.sealed++
		}
	}
}
