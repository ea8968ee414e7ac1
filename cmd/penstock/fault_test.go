package main_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// reply is a response.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// send makes one request, like a caller without a client library.
func send(t *testing.T, s *testkit.Server, method, path, body string) reply {
	t.Helper()
	return ask(t, method, s, path, testkit.Bearer(s.Key), body)
}

// createRun creates a run. ok is false if the server could not store it. Then the response must
// follow the contract.
func createRun(t *testing.T, s *testkit.Server, prompt string) (id string, ok bool) {
	t.Helper()
	body, err := json.Marshal(penstock.RunRequest{Prompt: prompt})
	if err != nil {
		t.Fatal(err)
	}
	got := send(t, s, http.MethodPost, "/agent/runs", string(body))
	if got.status == http.StatusServiceUnavailable {
		if got.header.Get("Retry-After") == "" || got.header.Get("X-Should-Retry") != "true" ||
			!bytes.Contains(got.body, []byte(penstock.CodeUnavailable)) {
			t.Errorf("the 503 does not say when to come again: %v %s", got.header, got.body)
		}
		return "", false
	}
	var created run.Created
	if err := json.Unmarshal(got.body, &created); err != nil || got.status != http.StatusOK {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	return created.ID, true
}

// states reads all runs, which must be exactly the acknowledged ones.
func states(t *testing.T, s *testkit.Server, acknowledged []string) map[string]penstock.Run {
	t.Helper()
	runs := map[string]penstock.Run{}
	for cursor := ""; ; {
		got := send(t, s, http.MethodGet, "/agent/runs?limit=500&cursor="+cursor, "")
		var page run.Page
		if err := json.Unmarshal(got.body, &page); err != nil || got.status != http.StatusOK {
			t.Fatalf("got %d: %s", got.status, got.body)
		}
		for _, r := range page.Runs {
			runs[r.ID] = r
		}
		if cursor = page.PageInfo.NextCursor; cursor == "" {
			break
		}
	}
	for _, id := range acknowledged {
		if _, there := runs[id]; !there {
			t.Errorf("run %s was acknowledged but does not exist", id)
		}
	}
	return runs
}

// count returns how many runs are in each state.
func count(runs map[string]penstock.Run) map[penstock.State]int {
	n := map[penstock.State]int{}
	for _, r := range runs {
		n[r.State]++
	}
	return n
}

// sleepers returns the processes of the prompts' commands, by prompt.
func sleepers(t *testing.T, base int, n int) map[int]int {
	t.Helper()
	found := map[int]int{}
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		line, _ := os.ReadFile(path) // it may have ended
		var seconds int
		if _, err := fmt.Sscanf(strings.ReplaceAll(string(line), "\x00", " "), "sleep %d", &seconds); err == nil &&
			seconds >= base && seconds < base+n {
			found[seconds-base]++
		}
	}
	return found
}

// The server gets SIGKILL while 50 runs wait and 4 execute.
func TestKillLosesNothing(t *testing.T) {
	t.Parallel()
	const all, slots = 54, 4
	bases := map[string]int{"sqlite": 7_000_000, "postgres": 8_000_000}
	testkit.Engines(t, func(t *testing.T, database string) {
		testkit.TakesLongOnPostgres(t, database)
		scheme, _, _ := strings.Cut(database, ":")
		base := bases[scheme]
		s := testkit.Serve(
			t,
			testkit.ServeOptions{
				Database: database, Args: []string{"--concurrency", fmt.Sprint(slots)},
			},
		)
		var ids []string
		for i := range all {
			id, ok := createRun(t, s, fmt.Sprintf("p\ndemo: run sleep %d", base+i))
			if !ok {
				t.Fatal("a healthy server returned 503")
			}
			ids = append(ids, id)
		}
		working := func(want int) func() error {
			return func() error {
				found := sleepers(t, base, all)
				for i, n := range found {
					if n > 1 {
						t.Fatalf("run %d is executed %d times at once", i, n)
					}
				}
				if len(found) != want {
					return fmt.Errorf("%d runs are executed, want %d", len(found), want)
				}
				return nil
			}
		}
		testkit.Eventually(t, time.Minute, working(slots))
		first := sleepers(t, base, all)
		s.Kill9()
		testkit.Eventually(t, time.Minute, working(0))

		s.Restart()
		// Other runs start at once. The server knows that the four are lost when their leases
		// expire. Their agents can resume their sessions, so the runs are queued again.
		testkit.Eventually(t, time.Minute, func() error {
			runs := states(t, s, ids)
			n := count(runs)
			if n[penstock.StateInProgress] != slots || n[penstock.StateQueued] != all-slots {
				return fmt.Errorf("the runs are %v", n)
			}
			for i := range first {
				if r := runs[ids[i]]; r.State != penstock.StateQueued || r.ExecutionID != 2 {
					return fmt.Errorf("run %d was lost, and is %s in execution %d", i, r.State, r.ExecutionID)
				}
			}
			return working(slots)()
		})
		for i, id := range ids {
			if first[i] == 0 {
				send(t, s, http.MethodPost, "/agent/runs/"+id+"/cancel", "")
			}
		}
		testkit.Eventually(t, time.Minute, func() error {
			if err := working(slots)(); err != nil {
				return err
			}
			for i := range sleepers(t, base, all) {
				if first[i] == 0 {
					return fmt.Errorf("run %d is cancelled and works", i)
				}
			}
			return nil
		})
		for i := range first {
			send(t, s, http.MethodPost, "/agent/runs/"+ids[i]+"/cancel", "")
		}
		testkit.Eventually(t, time.Minute, working(0))
	})
}

// smallDisk mounts a file system of the given size. grow enlarges it.
func smallDisk(t *testing.T, size string) (dir string, grow func()) {
	t.Helper()
	// Not t.TempDir: PostgreSQL's user could not access it.
	dir, err := os.MkdirTemp("", "penstock-disk-") //nolint:usetesting // as said
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	if out, err := exec.CommandContext(
		t.Context(), "mount", "-t", "tmpfs", "-o", "mode=777,size="+size, "tmpfs", dir,
	).CombinedOutput(); err != nil {
		t.Skipf("a small file system cannot be mounted here: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	return dir, func() {
		if out, err := exec.CommandContext(
			t.Context(), "mount", "-o", "remount,size=256m", dir,
		).CombinedOutput(); err != nil {
			t.Fatalf("remount: %s", out)
		}
	}
}

// noise is a text that PostgreSQL cannot compress.
func noise(n int) string {
	random := make([]byte, n/2)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}

// outlives fills the disk, makes room again, and checks that every acknowledged run exists.
func outlives(t *testing.T, s *testkit.Server, grow func()) {
	t.Helper()
	var ids []string
	refused := 0
	for refused < 3 {
		id, ok := createRun(t, s, noise(20_000))
		if !ok {
			refused++
			continue
		}
		if ids = append(ids, id); len(ids) > 10_000 {
			t.Fatal("the disk does not become full")
		}
	}
	grow()
	testkit.Eventually(t, time.Minute, func() error {
		id, ok := createRun(t, s, noise(20_000))
		if !ok {
			return fmt.Errorf("still 503 with room on the disk")
		}
		ids = append(ids, id)
		return nil
	})
	if runs := states(t, s, ids); len(runs) != len(ids) {
		t.Errorf("got %d runs, but %d were acknowledged", len(runs), len(ids))
	}
}

func TestFullDiskSQLite(t *testing.T) {
	t.Parallel()
	dir, grow := smallDisk(t, "6m")
	s := testkit.Serve(t, testkit.ServeOptions{
		Database: "sqlite://" + filepath.Join(dir, "penstock.db"),
		Args:     []string{"--no-worker"},
	})
	outlives(t, s, grow)
}

// fillDisk leaves no free block on the disk, and keeps it full until the test ends.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "others"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// On a full disk, the server refuses new runs but can cancel an active one. The agent ends at once,
// long before its lease expires.
func TestCancelOnAFullDisk(t *testing.T) {
	t.Parallel()
	const base, working, waiting = 9_000_000, 4, 20
	dir, grow := smallDisk(t, "64m")
	s := testkit.Serve(t, testkit.ServeOptions{
		Database: "sqlite://" + filepath.Join(dir, "penstock.db"),
		Args:     []string{"--concurrency", fmt.Sprint(working)},
	})
	var ids []string
	for i := range working + waiting {
		id, _ := createRun(t, s, fmt.Sprintf("p\ndemo: run sleep %d", base+i))
		ids = append(ids, id)
	}
	testkit.Eventually(t, time.Minute, func() error {
		if n := len(sleepers(t, base, len(ids))); n != working {
			return fmt.Errorf("%d runs work, want %d", n, working)
		}
		return nil
	})
	before := time.Now()
	fillDisk(t, dir)
	for refused := 0; refused < 3; { // the database's log has some reserved room
		if _, ok := createRun(t, s, strings.Repeat("x", 20_000)); !ok {
			refused++
		}
		fillDisk(t, dir)
	}
	for _, id := range ids {
		if got := send(t, s, http.MethodPost, "/agent/runs/"+id+"/cancel", ""); got.status != http.StatusOK {
			t.Fatalf("cancel run %s: got %d: %s", id, got.status, got.body)
		}
		fillDisk(t, dir)
	}
	testkit.Eventually(t, time.Minute, func() error {
		if left := sleepers(t, base, len(ids)); len(left) > 0 {
			return fmt.Errorf("agents that still work: %v", left)
		}
		return nil
	})
	if took := time.Since(before); took > penstock.LeaseTime {
		t.Skipf("the leases were over by themselves: it took %s", took)
	}
	if _, ok := createRun(t, s, strings.Repeat("x", 20_000)); ok {
		t.Error("a run was created: the disk is not full")
	}
	s.Kill9() // what was acknowledged is on the disk
	grow()
	s.Restart()
	runs := states(t, s, ids)
	for _, id := range ids {
		if state := runs[id].State; state != penstock.StateCancelled {
			t.Errorf("run %s is %s", id, state)
		}
	}
}

// While the server runs, its database files become read-only. Reads continue, and writes fail until
// the files are writable again.
func TestReadOnlySQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := testkit.Serve(t, testkit.ServeOptions{
		Database: "sqlite://" + filepath.Join(dir, "penstock.db"),
		Args:     []string{"--no-worker"},
	})
	immutable := func(change string) error {
		for _, file := range []string{"penstock.db", "penstock.db-wal"} {
			if out, err := exec.Command("chattr", change, filepath.Join(dir, file)).CombinedOutput(); err != nil {
				return fmt.Errorf("chattr: %w %s", err, out)
			}
		}
		return nil
	}
	before, _ := createRun(t, s, "before")
	t.Cleanup(func() { _ = immutable("-i") })
	if err := immutable("+i"); err != nil {
		t.Skipf("files cannot be made immutable here: %s", err)
	}
	for range 3 {
		if _, ok := createRun(t, s, "meanwhile"); ok {
			t.Fatal("a run was acknowledged that was not written")
		}
	}
	if runs := states(t, s, []string{before}); len(runs) != 1 {
		t.Error("what is there cannot be read")
	}
	if err := immutable("-i"); err != nil {
		t.Fatal(err)
	}
	var after string
	testkit.Eventually(t, time.Minute, func() error {
		id, ok := createRun(t, s, "after")
		if after = id; !ok {
			return fmt.Errorf("still 503")
		}
		return nil
	})
	s.Kill9()
	s.Restart()
	var all struct {
		Runs []struct {
			ID string `json:"run_id"`
		} `json:"runs"`
	}
	got := send(t, s, http.MethodGet, "/agent/runs", "")
	if err := json.Unmarshal(got.body, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Runs) != 2 || all.Runs[0].ID != after || all.Runs[1].ID != before {
		t.Errorf("got %s, want the two runs that were acknowledged", got.body)
	}
}

func TestFullDiskPostgres(t *testing.T) {
	t.Parallel()
	database, grow, drop := smallPostgres(t, "24m")
	s := testkit.Serve(
		t, testkit.ServeOptions{Database: database, Args: []string{"--no-worker"}},
	)
	outlives(t, s, grow)
	s.Stop()
	drop()
}

// smallPostgres is a database on a small disk. grow enlarges the disk, and drop removes the
// database from it.
func smallPostgres(t *testing.T, size string) (database string, grow, drop func()) {
	t.Helper()
	database = testkit.Postgres(t)
	dir, grow := smallDisk(t, size)
	space := filepath.Join(dir, "space")
	if err := os.Mkdir(space, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(
		t.Context(), "chown", "--reference="+socketOf(t, database), space,
	).CombinedOutput(); err != nil {
		t.Fatalf("chown: %s", out)
	}
	admin, name := adminOf(t, database)
	testkit.Exec(t, admin, "CREATE TABLESPACE "+name+" LOCATION '"+space+"'")
	testkit.Exec(t, admin, "ALTER DATABASE "+name+" SET TABLESPACE "+name)
	return database, grow, func() {
		testkit.Exec(t, admin, "ALTER DATABASE "+name+" SET TABLESPACE pg_default")
		testkit.Exec(t, admin, "DROP TABLESPACE "+name)
	}
}

// adminOf returns the database from which to alter a test's database, and the name of the latter.
func adminOf(t *testing.T, database string) (admin, name string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	name = strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	return u.String(), name
}

// cutOff terminates the connections of a database.
func cutOff(name string) (statement string) {
	return "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'"
}

// socketOf returns the folder of the test server's socket, which its user owns.
func socketOf(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	dir := u.Query().Get("host")
	if dir == "" {
		t.Skip("the test's PostgreSQL is not on a socket of this machine")
	}
	return dir
}

// Connections end, new ones are refused, the database becomes read-only, and then recovers. No
// acknowledged run is lost, and the server recovers without help.
func TestPostgresRestarts(t *testing.T) {
	t.Parallel()
	database := testkit.Postgres(t)
	admin, name := adminOf(t, database)
	drop := cutOff(name)
	s := testkit.Serve(
		t, testkit.ServeOptions{Database: database, Args: []string{"--no-worker"}},
	)
	var ids []string
	create := func() error {
		id, ok := createRun(t, s, "p")
		if !ok {
			return fmt.Errorf("503")
		}
		ids = append(ids, id)
		return nil
	}
	away := func() error {
		if create() == nil {
			return fmt.Errorf("the database is away and a run was created")
		}
		return nil
	}
	if err := create(); err != nil {
		t.Fatal(err)
	}
	testkit.Exec(t, admin, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
	testkit.Exec(t, admin, drop)
	testkit.Eventually(t, time.Minute, away)
	testkit.Eventually(t, time.Minute, func() error { return notReady(t, s) })
	testkit.Exec(t, admin, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
	testkit.Eventually(t, time.Minute, create)

	testkit.Exec(t, admin, "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	testkit.Exec(t, admin, drop)
	testkit.Eventually(t, time.Minute, away)
	testkit.Exec(t, admin, "ALTER DATABASE "+name+" RESET default_transaction_read_only")
	testkit.Exec(t, admin, drop)
	testkit.Eventually(t, time.Minute, create)
	testkit.Eventually(t, time.Minute, func() error { // each terminated connection may fail one read
		if got := send(t, s, http.MethodGet, "/agent/runs", ""); got.status != http.StatusOK {
			return fmt.Errorf("listing runs returned %d", got.status)
		}
		return nil
	})
	if runs := states(t, s, ids); len(runs) != len(ids) {
		t.Errorf("got %d runs, but %d were acknowledged", len(runs), len(ids))
	}
}

func notReady(t *testing.T, s *testkit.Server) error {
	t.Helper()
	res, err := http.Get(s.URL + "/readyz") //nolint:noctx // on loopback, which responds at once
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		return fmt.Errorf("/readyz says %s while the database is away", res.Status)
	}
	return nil
}
