package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// unlimited is a sandbox on a machine whose control groups cannot be used.
func unlimited(t *testing.T, kind string) Sandbox {
	t.Helper()
	none := &limiter{reason: "none in this test"}
	switch s := open(t, kind).(type) {
	case *bubblewrap:
		s.limits = none
		return s
	case *process:
		s.limits = none
		return s
	case *dockerKind:
		s.can = &image.DaemonInfo{}
		return s
	}
	t.Fatalf("no sandbox of kind %s", kind)
	return nil
}

// fill is a test program: it writes a large file in memory and stays.
func fill() {
	fd, err := unix.MemfdCreate("much", 0)
	for range 300 {
		if err == nil {
			_, err = unix.Write(fd, make([]byte, 1<<20))
		}
	}
	fmt.Println(err)
	_ = unix.Pause() // until it is ended
}

// The watcher ends a tree that exceeds its limit while it runs, and detects the excess of one that
// ends at once.
func TestTreeThatUsesTooMuchIsEnded(t *testing.T) {
	t.Parallel()
	// A supervisor in a container counts, too, and takes much memory under the race detector.
	disk, memory := Limits{Disk: 16 << 20}, Limits{Memory: 128 << 20}
	for name, test := range map[string]struct {
		limits Limits
		script string
		want   Resource
	}{
		"workspace":         {disk, `head -c 64M /dev/zero > big; exec sleep 600`, Disk},
		"HOME":              {disk, `head -c 64M /dev/zero > ~/big; exec sleep 600`, Disk},
		"both together":     {disk, `head -c 10M /dev/zero > a; head -c 10M /dev/zero > ~/a; exec sleep 600`, Disk},
		"unlinked file":     {disk, `exec 3> big; rm big; head -c 64M /dev/zero >&3; exec sleep 600`, Disk},
		"empty files":       {disk, `mkdir d; cd d; seq 1 5000 | xargs touch; exec sleep 600`, Disk},
		"unreadable folder": {disk, `mkdir d; head -c 64M /dev/zero > d/big; chmod 0 d; exec sleep 600`, Disk},
		"deep folder": {
			disk,
			`i=0; while [ $i -lt 600 ]; do mkdir d; cd -P d; i=$((i+1)); done; head -c 64M /dev/zero > big; exec sleep 600`,
			Disk,
		},
		"a moment": {disk, `head -c 64M /dev/zero > big`, Disk},
		"memory":   {memory, `{ head -c 300M /dev/zero; sleep 600; } | tail`, Memory},
		"memory of several": {
			memory, `for i in 1 2 3 4; do { head -c 40M /dev/zero; sleep 600; } | tail & done; wait`, Memory,
		},
		"file in memory": {memory, `exec "$0" fill`, Memory},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range kinds {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					s := unlimited(t, kind)
					sp := spec(t, test.script)
					sp.Limits = test.limits
					t.Cleanup(func() { _ = os.Chmod(filepath.Join(sp.Dir, "d"), 0o700) })
					sp.Argv[3] = s.Layout(sp).Exe
					var mu sync.Mutex
					var reported []Resource
					sp.Exceeded = func(r Resource) {
						mu.Lock()
						defer mu.Unlock()
						reported = append(reported, r)
					}
					result, err := Run(t.Context(), s, sp)
					if err != nil || result.Exceeded != test.want || !slices.Equal(reported, []Resource{test.want}) {
						t.Errorf("got %v, %v, told %v, output %q", result.Exit, err, reported, result.Output)
					}
					if !strings.Contains(result.Limits, "measured: ") {
						t.Errorf("got limits %q", result.Limits)
					}
				})
			}
		})
	}
}

func TestTreeBelowItsLimitsIsLeftAlone(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		sp := spec(t, `
			head -c 10M /dev/zero > a
			for i in 1 2 3 4 5; do ln a hard$i; ln -s a soft$i; done
			ln -s / machine; ln -s .. above
			truncate -s 1G sparse
			echo fine; read end`)
		sp.Limits = Limits{Disk: 16 << 20}
		r := start(t, s, sp)
		if text := make([]byte, 5); true {
			if _, err := r.Stdout().Read(text); err != nil || string(text) != "fine\n" {
				t.Fatalf("got %q, %v", text, err)
			}
		}
		if got := diskUse(t.Context(), 1<<30, []string{sp.Dir, sp.Home}, func() []int { return nil }); got < 10<<20 ||
			got > 11<<20 {
			t.Errorf("got %d bytes, want a little more than 10 MiB", got)
		}
		_ = r.Stdin().Close()
		if exit, err := r.Wait(); err != nil || exit.Exceeded != "" {
			t.Errorf("got %v, %v", exit, err)
		}
	})
}

// A folder that cannot be read keeps its last size.
func TestMeasuringChangesNoPermissions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(locked, "big"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(locked, 0o700) })
	if got := diskUse(t.Context(), 1<<30, []string{dir}, func() []int { return nil }); got < 1<<20 {
		t.Errorf("got %d bytes, want those in the folder too", got)
	}
	if info, err := os.Stat(locked); err != nil || info.Mode().Perm() != 0 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

// Memory that forked processes share counts once in the decision.
func TestSharedMemoryCountsOnce(t *testing.T) {
	t.Parallel()
	const limit = 256 << 20
	r, _ := start(t, open(t, Process), spec(t, `
		x=$(head -c 40M /dev/zero | tr '\0' x)
		for i in 1 2 3 4 5 6 7 8; do { read end; : $x; } <&0 & done
		wait`)).(*tree)
	var pids []int
	eventually(t, 30*time.Second, "children", func() bool {
		pids = inside.Descendants(r.pid())
		return len(pids) == 9 && sumMemory(pids, 0, inStatus) > limit
	})
	// While the shell still forks, a page may count for two processes.
	eventually(t, 30*time.Second, "memory that counts once", func() bool {
		got := memoryUse(pids, limit)
		return got <= limit && got >= 40<<20
	})
}
