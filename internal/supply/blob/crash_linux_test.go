package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The test binary has two more roles besides running the tests.
func TestMain(m *testing.M) {
	dir, err := os.Getwd()
	switch part := os.Getenv("BLOB_TEST_PART"); {
	case part != "" && err != nil:
		os.Exit(1)
	case part == "writer":
		os.Exit(writeUntilKilled(dir))
	case part == "full disk":
		os.Exit(fillDisk(dir))
	case part == "uploader":
		os.Exit(uploadUntilKilled())
	}
	os.Exit(m.Run())
}

// part starts this binary in another role.
func part(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "BLOB_TEST_PART="+name)
	return cmd
}

// writeUntilKilled puts blobs, each filled with its number, and prints the number of each stored
// blob.
func writeUntilKilled(dir string) int {
	s, err := Open(dir)
	for i := 0; err == nil; i++ {
		content := bytes.Repeat([]byte{byte(i)}, 1<<20)
		if _, _, err = s.Put(context.Background(), fmt.Sprintf("blobs/%d", i), bytes.NewReader(content), -1); err == nil {
			fmt.Println(i)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestKilledWriter(t *testing.T) {
	t.Parallel()
	for range 5 {
		dir := t.TempDir()
		cmd := part(t, "writer", dir)
		var stdout bytes.Buffer
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(&stdout, pipe, 2+rand.Int64N(20)); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Process.Kill()
		_, _ = io.Copy(&stdout, pipe)
		_ = cmd.Wait()

		s := open(t, dir)
		stored := strings.Fields(stdout.String())
		for i := range stored {
			got, err := get(s, fmt.Sprintf("blobs/%d", i))
			if want := strings.Repeat(string([]byte{byte(i)}), 1<<20); err != nil || got != want {
				t.Errorf("blob %d was stored: got %d bytes, %v", i, len(got), err)
			}
		}
		// The last blob may be stored although its number was not printed, but it is complete.
		for _, name := range tree(t, dir) {
			if name == "blobs" {
				continue
			}
			if got, err := get(s, name); err != nil || len(got) != 1<<20 {
				t.Errorf("%s: got %d bytes, %v", name, len(got), err)
			}
		}
	}
}

// fillDisk runs in its own mount namespace, so that the full disk disappears with the process.
func fillDisk(dir string) int {
	const noSuchRight = 3
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		fmt.Println(err)
		return noSuchRight
	}
	s, err := Open(dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ctx := context.Background()
	_, _, err = s.Put(ctx, "kept", strings.NewReader("kept"), -1)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for range 3 {
		if _, _, err := s.Put(ctx, "some/where/big", zeros{}, 1<<30); !errors.Is(err, ErrFull) {
			fmt.Printf("got %v, want %v\n", err, ErrFull)
			return 1
		}
	}
	// There is room again without any cleanup.
	_, _, err = s.Put(ctx, "after", io.LimitReader(zeros{}, 100<<10), -1)
	got, getErr := get(s, "kept")
	left, _ := filepath.Glob(dir + "/*")
	temp, _ := filepath.Glob(dir + "/" + tempDir + "/*")
	if err != nil || getErr != nil || got != "kept" || len(left) != 4 || len(temp) != 0 {
		fmt.Println("after the disk was full:", err, getErr, got, left, temp)
		return 1
	}
	return 0
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	cmd := part(t, "full disk", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("no namespace to mount a small disk in: %v", err)
	case err != nil && exit.ExitCode() == 3:
		t.Skipf("no small disk: %s", out)
	case err != nil:
		t.Errorf("%v: %s", err, out)
	}
}
