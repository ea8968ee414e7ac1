package sandbox

import (
	"context"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// Result is the end of a command that [Run] ran.
type Result struct {
	Exit
	// Output is the end of what the command wrote to its standard output and
	// standard error, in the order written: at most [TailSize] bytes.
	Output string
	// Limits is the text of Running.Limits.
	Limits string
}

// Run runs one command to its end, with an empty standard input. An error concerns the sandbox
// or ctx. A command that fails is not an error: the Result has its code.
func Run(ctx context.Context, s Sandbox, spec Spec) (Result, error) {
	spec.Stderr = nil
	running, err := s.Start(ctx, spec)
	if err != nil {
		return Result{}, err
	}
	_ = running.Stdin().Close()
	var tail Tail
	// A read error means the same as the end: no more output.
	_, _ = io.Copy(&tail, running.Stdout())
	_ = running.Stdout().Close()
	exit, err := running.Wait()
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("run %s: %w", spec.Argv[0], context.Cause(ctx))
	}
	return Result{Exit: exit, Output: tail.String(), Limits: running.Limits()}, err
}

// TailSize is how much a [Tail] keeps, in bytes.
const TailSize = 4 << 10

// Tail is a writer that keeps the last [TailSize] bytes. Its zero value is ready for use. It is
// safe for concurrent use.
type Tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if len(p) > TailSize {
		p, t.cut = p[len(p)-TailSize:], true
	}
	if over := len(t.buf) + len(p) - TailSize; over > 0 {
		t.buf, t.cut = append(t.buf[:0], t.buf[over:]...), true
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// String returns the kept bytes from the first whole character on.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buf
	for i := 0; t.cut && i < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	return string(b)
}
