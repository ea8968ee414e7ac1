package blob

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// create makes a file to write to. Its writer holds a lock on it for as long as
// it is open, so that a sweep tells what is being written from what was left.
func (s *Store) create() (f *os.File, name string, err error) {
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

// sweep makes the folder of create and removes the files whose writers are gone.
func (s *Store) sweep() error {
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

// flock waits on when a signal interrupts it.
func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// linked tells whether f is what has name.
func (s *Store) linked(f *os.File, name string) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := s.root.Lstat(name)
	return err == nil && os.SameFile(info, at)
}
