package inside

import (
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// Both ways to list a tree agree while nothing in it ends.
func TestChildrenAreTheDescendants(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `(sleep 60 & (sleep 60 & wait) & wait) & sleep 60 & read wait; kill 0`)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	}()
	testkit.Eventually(t, 10*time.Second, func() error {
		tree, all := children(cmd.Process.Pid), Descendants(cmd.Process.Pid)
		slices.Sort(tree)
		slices.Sort(all)
		if len(all) != 5 || !slices.Equal(tree, all) {
			return fmt.Errorf("got %v and %v", tree, all)
		}
		return nil
	})
}
