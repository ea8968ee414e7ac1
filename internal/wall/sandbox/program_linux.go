package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// insideProgram is the path of Options.Program in a sandbox.
const insideProgram = "/opt/penstock/inside"

// placed is Options.Program as a file, from which it is executed.
type placed struct {
	path    string
	content []byte
}

// programPrefix begins the names of the files. The rest depends on the content, so that processes
// with another program, such as a newer doctor beside a server, use another file.
const programPrefix = "inside-"

// keptPrograms is how many programs a folder keeps, because another version may still be in use.
const keptPrograms = 3

// placeProgram puts a program into a folder and tries it. It is in no folder that trees see, and they
// see the file by a mount that is read-only, so that no run can change it, nor its mode.
func placeProgram(dir string, content []byte) (*placed, error) {
	if len(content) == 0 {
		return nil, errors.New("this build of penstock does not contain the small program (make build does)")
	}
	if !filepath.IsAbs(dir) {
		return nil, errors.New("there is no folder for the small program")
	}
	sum := sha256.Sum256(content)
	p := &placed{filepath.Join(dir, fmt.Sprintf("%s%x", programPrefix, sum[:8])), content}
	if err := p.place(); err != nil {
		return nil, fmt.Errorf("place the small program: %w", err)
	}
	if err := p.try(); err != nil {
		return nil, err
	}
	removePrograms(dir, p.path)
	return p, nil
}

// place writes the file, unless it is there and as it should be.
func (p *placed) place() error {
	if p.intact() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return err
	}
	// A process that is forked while the file is open for writing keeps it open until it executes
	// something. Until then, the kernel would not execute the file.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	file, err := os.CreateTemp(filepath.Dir(p.path), ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(p.content)
	err = errors.Join(err, file.Chmod(programMode), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), p.path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// programMode lets the user of each tree execute the file, and nobody write it.
const programMode = 0o555

// intact reports whether the file has the content, and nobody else could change it.
func (p *placed) intact() bool {
	info, err := os.Lstat(p.path)
	if err != nil || info.Mode() != programMode || info.Size() != int64(len(p.content)) {
		return false
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return false
	}
	content, err := os.ReadFile(p.path)
	return err == nil && bytes.Equal(content, p.content)
}

// try executes the file. The file system may not allow it (noexec), or a security module, or the
// program may be for another processor.
func (p *placed) try() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, inside.TryArg)
	cmd.Dir, cmd.Env = "/", []string{"GOMAXPROCS=1"}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("execute the small program (does the file system of the folder allow it?): %w", err)
	}
	return nil
}

// removePrograms removes the oldest programs of other versions.
func removePrograms(dir, ours string) {
	files, _ := filepath.Glob(filepath.Join(dir, programPrefix+"*"))
	files = slices.DeleteFunc(files, func(file string) bool { return file == ours })
	age := func(file string) time.Time {
		if info, err := os.Lstat(file); err == nil {
			return info.ModTime()
		}
		return time.Time{}
	}
	slices.SortFunc(files, func(a, b string) int { return age(b).Compare(age(a)) })
	for _, file := range files[min(len(files), keptPrograms-1):] {
		_ = os.Remove(file)
	}
}

// starter is the program that starts as a supervisor on this machine.
func (m *machine) starter() string {
	if m.program == nil {
		return m.exe
	}
	return m.program.path
}

// replaceLost places the program again if somebody has removed it.
func (m *machine) replaceLost() {
	if m.program == nil {
		return
	}
	if _, err := os.Lstat(m.program.path); errors.Is(err, fs.ErrNotExist) {
		_ = m.program.place() // the start reports what is missing
	}
}

// entry is the path in a sandbox of the first program there.
func (m *machine) entry() string {
	if m.program == nil {
		return insideExe
	}
	return insideProgram
}

// StartsSlowly says why the trees of s are started by the large Options.Exe, or nil if Options.Program
// does.
func StartsSlowly(s Sandbox) error {
	if started, ok := s.(interface{ startsSlowly() error }); ok {
		return started.startsSlowly()
	}
	return nil
}

func (m *machine) startsSlowly() error { return m.noProgram }
