package sandbox

import (
	"os"
	"testing"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// The threads exist before the program can use up the limit of processes.
func TestKeptThreadsExist(t *testing.T) {
	t.Parallel()
	threads := func() int {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		return len(tasks)
	}
	want := threads() + inside.SpareThreads
	inside.KeepThreads(want)
	if got := threads(); got < want {
		t.Errorf("got %d threads, want at least %d", got, want)
	}
}
