package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// An archive contains the npm packages of a program and of its Node as npm downloads them, each
// named by its hash.

// maxPackage bounds one npm package, packed and unpacked.
const maxPackage = 2 << 30

var packageName = penstock.LazyRegexp(`^[0-9a-f]{128}\.tgz$`)

// hashOf returns the hash of an npm integrity, in hexadecimal digits.
func hashOf(integrity string) (string, error) {
	for part := range strings.FieldsSeq(integrity) {
		if encoded, ok := strings.CutPrefix(part, "sha512-"); ok {
			sum, err := base64.StdEncoding.DecodeString(encoded)
			if err == nil && len(sum) == sha512.Size {
				return hex.EncodeToString(sum), nil
			}
		}
	}
	return "", fmt.Errorf("%q is not a SHA-512 hash", integrity)
}

// save writes the packages of a program from npm's cache to an archive. The file appears
// complete.
func (s *Store) save(name, cache, program string, withNode bool) (err error) {
	programs := []string{program}
	if withNode {
		programs = append(programs, Node)
	}
	hashes := map[string]bool{}
	for _, p := range programs {
		lock, err := s.lockOf(p)
		if err != nil {
			return err
		}
		pin, _ := s.Pin(p)
		files, err := lock.files(pin.bare)
		if err != nil {
			return err
		}
		for _, integrity := range files {
			hash, err := hashOf(integrity)
			if err != nil {
				return err
			}
			hashes[hash] = true
		}
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return fmt.Errorf("save the packages: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("save the packages: %w", errors.Join(err, os.Remove(file.Name())))
		}
	}()
	zipped := gzip.NewWriter(file)
	archive := tar.NewWriter(zipped)
	for hash := range hashes {
		err = errors.Join(err, addPackage(archive, cache, hash))
	}
	err = errors.Join(err, archive.Close(), zipped.Close(), file.Sync(), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// addPackage copies a package from npm's cache, which names files by their hashes.
func addPackage(archive *tar.Writer, cache, hash string) error {
	file, err := os.Open(filepath.Join(cache, "_cacache", "content-v2", "sha512", hash[:2], hash[2:4], hash[4:]))
	if err != nil {
		return fmt.Errorf("npm's cache lacks a package: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header := tar.Header{Typeflag: tar.TypeReg, Name: hash + ".tgz", Mode: 0o644, Size: info.Size()}
	if err := archive.WriteHeader(&header); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// unpackArchive writes the packages of an archive into dir. They are checked when they are
// used.
func unpackArchive(name, dir string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("%s is not an archive of install --save: %w", name, err)
	}
	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the archive %s: %w", name, err)
		}
		if !packageName().MatchString(header.Name) || header.Typeflag != tar.TypeReg || header.Size > maxPackage {
			return fmt.Errorf("%s is not an archive of install --save: it has %q", name, header.Name)
		}
		at := filepath.Join(dir, header.Name) //nolint:gosec // the name is 128 digits
		if err := writeFile(at, 0o600, archive, header.Size); err != nil {
			return fmt.Errorf("read the archive %s: %w", name, err)
		}
	}
}

func writeFile(name string, mode fs.FileMode, content io.Reader, size int64) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.CopyN(file, content, size)
	return errors.Join(err, file.Close())
}

// fill unpacks the packages of a program's lock into dir, as npm would.
func (s *Store) fill(archive, dir, program string) error {
	if err := os.CopyFS(dir, sub(s.locks, program)); err != nil {
		return err
	}
	lock, err := s.lockOf(program)
	if err != nil {
		return err
	}
	pin, _ := s.Pin(program)
	files, err := lock.files(pin.bare)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, folder := range slices.Sorted(maps.Keys(files)) {
		hash, err := hashOf(files[folder])
		if err != nil {
			return err
		}
		packed, err := os.ReadFile(filepath.Join(archive, hash+".tgz"))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the archive lacks %s %s: it was saved by another release of Penstock, or on another kind of "+
				"machine", folder, lock.Packages[folder].Version)
		}
		if err != nil {
			return err
		}
		if sum := sha512.Sum512(packed); hex.EncodeToString(sum[:]) != hash {
			return fmt.Errorf("%s is not what was pinned: its hash differs", folder)
		}
		if err := unpackPackage(root, folder, packed); err != nil {
			return fmt.Errorf("unpack %s: %w", folder, err)
		}
	}
	return nil
}

// unpackPackage unpacks an npm package. Its files are below one folder, whose name varies.
func unpackPackage(root *os.Root, folder string, packed []byte) error {
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	archive := tar.NewReader(io.LimitReader(zipped, maxPackage))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, below := strings.Cut(path.Clean(header.Name), "/")
		if header.Typeflag != tar.TypeReg || !below {
			continue // npm ignores links, too
		}
		name = path.Join(folder, name)
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644|header.FileInfo().Mode().Perm()&0o111)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, archive) //nolint:gosec // archive is limited
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
}
