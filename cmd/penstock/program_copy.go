package main

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// copyProgram copies this program into a folder, and bubblewrap with the libraries that it needs, so
// that containers of other images can use both. A machine without bubblewrap copies only the program.
func copyProgram(dir string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if err := copyFile(exe, filepath.Join(dir, "penstock")); err != nil {
		return err
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil //nolint:nilerr // the worker says what it lacks, unless it needs no bubblewrap
	}
	libraries := filepath.Join(dir, "lib")
	if err := os.MkdirAll(libraries, 0o755); err != nil { //nolint:gosec // others execute it
		return err
	}
	loader, needed, err := linked("/", bwrap)
	if err != nil {
		return fmt.Errorf("find the libraries of %s: %w", bwrap, err)
	}
	if loader == "" {
		return copyFile(bwrap, filepath.Join(dir, "bwrap"))
	}
	for _, file := range append(needed, bwrap, loader) {
		if err := copyFile(file, filepath.Join(libraries, filepath.Base(file))); err != nil {
			return err
		}
	}
	return writeStarter(filepath.Join(dir, "bwrap"), filepath.Join(libraries, filepath.Base(loader)), libraries,
		filepath.Join(libraries, "bwrap"))
}

// writeStarter writes a script that starts a program with the given loader and libraries.
func writeStarter(file, loader, libraries, program string) error {
	script := fmt.Sprintf("#!/bin/sh\nexec %s --library-path %s %s \"$@\"\n", loader, libraries, program)
	return os.WriteFile(file, []byte(script), 0o755) //nolint:gosec // others execute it
}

// mountedBubblewrap returns a program, below dir if it is new, that starts the bubblewrap of the image
// that is mounted at root.
func mountedBubblewrap(root, dir string) (string, error) {
	for _, place := range []string{"usr/local/bin/bwrap", "usr/bin/bwrap", "bin/bwrap"} {
		bwrap := filepath.Join(root, place)
		if !isFile(bwrap) {
			continue
		}
		loader, needed, err := linked(root, bwrap)
		if err != nil {
			return "", fmt.Errorf("find the libraries of %s: %w", bwrap, err)
		}
		if loader == "" {
			return bwrap, nil
		}
		var libraries []string
		for _, file := range needed {
			if found := filepath.Dir(file); !slices.Contains(libraries, found) {
				libraries = append(libraries, found)
			}
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		starter := filepath.Join(dir, "bwrap")
		return starter, writeStarter(starter, loader, strings.Join(libraries, ":"), bwrap)
	}
	return "", fmt.Errorf("the image at %s has no bubblewrap", root)
}

// linked returns the dynamic loader of a program and all libraries that it needs, below root; "": it is
// static.
func linked(root, program string) (loader string, libraries []string, err error) {
	seen := map[string]bool{}
	for files := []string{program}; len(files) > 0; files = files[1:] {
		file, err := elf.Open(files[0])
		if err != nil {
			return "", nil, err
		}
		if s := file.Section(".interp"); s != nil && loader == "" {
			content, err := s.Data()
			if err != nil {
				return "", nil, err
			}
			loader = string(content[:max(0, len(content)-1)])
			if loader, err = findLibrary(root, filepath.Base(loader)); err != nil {
				return "", nil, err
			}
		}
		names, err := file.ImportedLibraries()
		_ = file.Close()
		if err != nil {
			return "", nil, err
		}
		for _, name := range names {
			if seen[name] || name == filepath.Base(loader) {
				continue
			}
			seen[name] = true
			path, err := findLibrary(root, name)
			if err != nil {
				return "", nil, err
			}
			libraries, files = append(libraries, path), append(files, path)
		}
	}
	return loader, libraries, nil
}

func findLibrary(root, name string) (string, error) {
	for _, pattern := range []string{
		"/lib/*-linux-gnu", "/usr/lib/*-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
	} {
		dirs, _ := filepath.Glob(filepath.Join(root, pattern)) // the patterns are valid
		for _, dir := range dirs {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("the library %s is not found", name)
}

// copyFile copies an executable file.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755) //nolint:gosec // others execute it
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		_ = out.Close()
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return out.Close()
}
