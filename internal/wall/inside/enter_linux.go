package inside

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// enter is the command "enter", the first program in a sandbox that isolates. Its arguments
// are descriptors (see entryArgs) and a program. In a sealed sandbox it starts the relay and takes
// part in the proof. Then it becomes the program. It returns the exit code for this process only if
// that fails.
func enter(args []string) int {
	if len(args) > 0 && args[0] == RelayArg {
		return relay(len(args) - 1)
	}
	if len(args) > 0 && args[0] == mountArg {
		fmt.Fprintf(os.Stderr, "penstock: set up the sandbox: %v\n", enterMount(args[1:]))
		return 1
	}
	if len(args) == 1 && args[0] == JoinArg {
		return join()
	}
	if len(args) == 1 && args[0] == containerArg {
		return superviseContainer()
	}
	if len(args) <= entryArgs {
		fmt.Fprintln(os.Stderr, "penstock enter is started by a sandbox, never by hand")
		return 2
	}
	runtime.LockOSThread() // Landlock restricts a thread, and that thread becomes the program
	program := args[entryArgs:]
	err := become(args[:entryArgs], program)
	if _, ok := errors.AsType[*setupError](err); ok {
		fmt.Fprintf(os.Stderr, "penstock: set up the sandbox: %v\n", err)
		return 1
	}
	fmt.Fprintf(os.Stderr, "penstock: cannot execute %s: %v\n", program[0], err)
	return CodeCannotExecute
}

// setupError is about the sandbox, not about the program.
type setupError struct{ error }

// entryArgs is the number of enter's arguments before the program: the descriptors of the
// environment, of the later standard input and output, of the proof's socket, and of a filter of
// system calls. The last two may be NoFD: in a sandbox that is not sealed, and in one that has its
// filter already.
const (
	entryArgs = 5
	NoFD      = "-"
)

func become(descriptors, program []string) error {
	var fds [entryArgs]int
	for i, text := range descriptors {
		if text == NoFD {
			fds[i] = -1
			continue
		}
		fd, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		fds[i] = fd
	}
	environment, stdin, stdout, proof, filter := fds[0], fds[1], fds[2], fds[3], fds[4]
	if filter >= 0 {
		if err := enterContainer(filter); err != nil {
			return &setupError{err}
		}
	}
	file := os.NewFile(uintptr(environment), "environment")
	text, err := io.ReadAll(file)
	_ = file.Close()
	if err != nil {
		return err
	}
	if proof >= 0 {
		// Only what follows may have it: the program and the relay must not.
		unix.CloseOnExec(proof)
		unix.CloseOnExec(stdin)
		unix.CloseOnExec(stdout)
		if err := proveInside(proof, text); err != nil {
			return &setupError{err}
		}
	}
	for i, fd := range []int{stdin, stdout} {
		if err := unix.Dup3(fd, i, 0); err != nil {
			return fmt.Errorf("take over standard stream %d: %w", i, err)
		}
		_ = unix.Close(fd) // the program must have it only once
	}
	env := strings.Split(string(text), "\x00")
	path, err := LookPath(program[0], ".", env)
	if err != nil {
		return err
	}
	if err := scope(); err != nil {
		return err
	}
	return explainExec(path, syscall.Exec(path, program, env))
}

// explainExec names what is missing if a program exists and the kernel says that it does not: its
// loader or interpreter. An image may lack it, such as one without glibc.
func explainExec(path string, err error) error {
	if !errors.Is(err, unix.ENOENT) {
		return err
	}
	file, openErr := os.Open(path)
	if openErr != nil {
		return err
	}
	defer file.Close()
	line, _ := bufio.NewReader(io.LimitReader(file, 4<<10)).ReadString('\n')
	if command, script := strings.CutPrefix(line, "#!"); script {
		if fields := strings.Fields(command); len(fields) > 0 {
			return fmt.Errorf("its interpreter %s does not exist here", fields[0])
		}
	}
	if program, elfErr := elf.NewFile(file); elfErr == nil {
		for _, p := range program.Progs {
			if p.Type != elf.PT_INTERP {
				continue
			}
			name, _ := io.ReadAll(io.LimitReader(p.Open(), 4<<10))
			return fmt.Errorf("its loader %s does not exist here, so it needs another C library", bytes.TrimRight(name, "\x00"))
		}
	}
	return err
}

// LookPath finds program in the PATH of env, not in ours.
func LookPath(program, dir string, env []string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	var list string
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			list = value
		}
	}
	for _, in := range filepath.SplitList(list) {
		if !filepath.IsAbs(in) {
			in = filepath.Join(dir, in)
		}
		path := filepath.Join(in, program)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}
