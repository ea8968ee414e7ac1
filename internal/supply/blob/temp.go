package blob

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// create creates a temporary file. Its writer locks it while it is open, so that a sweep
// recognizes active writers.
func (s *folder) create() (f *os.File, name string, err error) {
	for {
		name = path.Join(tempDir, rand.Text())
		f, err = s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, "", err
		}
		// A sweep may have found the file before it was locked.
		err = lock(f)
		if err == nil && s.linked(f, name) {
			return f, name, nil
		}
		_, _ = f.Close(), s.root.Remove(name)
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, "", err
		}
	}
}

// removeUnfinished creates the folder of create, and removes the files of dead writers.
func (s *folder) removeUnfinished() error {
	if err := s.root.MkdirAll(tempDir, 0o700); err != nil {
		return err
	}
	left, err := fs.ReadDir(s.root.FS(), tempDir)
	if err != nil {
		return err
	}
	for _, e := range left {
		name := path.Join(tempDir, e.Name())
		f, err := s.root.Open(name)
		if absent(err) {
			continue
		}
		if err != nil {
			return err
		}
		if lock(f) == nil {
			err = s.root.Remove(name)
		}
		_ = f.Close()
		if err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

func lock(f *os.File) error { return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) }

// flock retries when a signal interrupts it.
func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// linked reports whether name still refers to f.
func (s *folder) linked(f *os.File, name string) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := s.root.Lstat(name)
	return err == nil && os.SameFile(info, at)
}
