package testkit

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestProcessesAreFound: a child that has left its parent's session is found below the parent, and
// in its folder after the parent's death.
func TestProcessesAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent := exec.Command("sh", "-c", "setsid sleep 60 & wait")
	parent.Dir = dir
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var child process
	Eventually(t, 10*time.Second, func() error {
		for _, p := range descendants(parent.Process.Pid) {
			if strings.HasSuffix(p.command(), " sleep 60") {
				child = p
				return nil
			}
		}
		return fmt.Errorf("the child is not among %v", descendants(parent.Process.Pid))
	})
	t.Cleanup(func() { _ = syscall.Kill(child.pid, syscall.SIGKILL) })
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	if !child.alive() {
		t.Error("the child counts as dead")
	}
	if found := workingIn(dir); len(found) != 1 || found[0].pid != child.pid {
		t.Errorf("got %v working in the folder, want %v", found, child)
	}
	if err := syscall.Kill(child.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	Eventually(t, 10*time.Second, func() error {
		if child.alive() || len(workingIn(dir)) > 0 {
			return fmt.Errorf("%s counts as alive", child.command())
		}
		return nil
	})
}

// TestAReusedProcessNumberIsAnotherProcess: process ids are reused.
func TestAReusedProcessNumberIsAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, p := range processes() {
		if p.started = "1" + p.started; p.alive() {
			t.Fatalf("%v counts as alive", p)
		}
	}
}
