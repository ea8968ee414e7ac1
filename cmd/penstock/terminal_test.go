package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// timeout limits how long a test waits for output.
const timeout = time.Minute

// terminal is a pseudo-terminal: it holds what a person sees and types.
type terminal struct {
	t           *testing.T
	ours, child *os.File

	mu   sync.Mutex
	seen strings.Builder
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	fd := int(ours.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100})
	}
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	child, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	term := &terminal{t: t, ours: ours, child: child}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4096)
		for {
			n, err := ours.Read(buffer)
			term.mu.Lock()
			term.seen.Write(buffer[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = child.Close()
		_ = ours.Close()
		<-read
	})
	return term
}

// attach connects a command's streams to the terminal.
func (term *terminal) attach(cmd *exec.Cmd) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.child, term.child, term.child
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
}

func (term *terminal) write(text string) {
	term.t.Helper()
	if _, err := term.ours.WriteString(text); err != nil {
		term.t.Fatal(err)
	}
}

// screen returns everything that was shown so far.
func (term *terminal) screen() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.seen.String()
}

func (term *terminal) shows(text string) error {
	if screen := term.screen(); !strings.Contains(screen, text) {
		return fmt.Errorf("the terminal shows %q, want %q in it", screen, text)
	}
	return nil
}
