package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/blob"
)

// A backup is a tar archive, compressed if its name ends in gz. The manifest is its last entry, so
// a truncated archive has no manifest.
const (
	manifestFile  = "manifest.json"
	dumpFile      = "database.dump" // of PostgreSQL, from pg_dump
	archiveFormat = 1
	maxManifest   = 1 << 30
)

// manifest lists the content of a backup.
type manifest struct {
	Format    int           `json:"format"`
	Version   string        `json:"version"` // of the program that made it
	CreatedAt penstock.Time `json:"created_at"`
	Engine    string        `json:"engine"` // sqlite or postgres
	Files     []archiveItem `json:"files"`
}

type archiveItem struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// archiveWriter writes a backup to a temporary file, and moves it to its place at the end.
type archiveWriter struct {
	target   string
	file     *os.File
	buffer   *bufio.Writer
	gzip     *gzip.Writer // nil: not compressed
	tar      *tar.Writer
	manifest manifest
}

// newArchive begins a backup for a path that does not exist yet.
func newArchive(target, engine string) (*archiveWriter, error) {
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return nil, exitf(exitUsage, "--to %s already exists", target)
	}
	file, err := os.CreateTemp(filepath.Dir(target), ".penstock-backup-*") // mode 0600
	if err != nil {
		return nil, exitf(exitUsage, "--to: %w", err)
	}
	a := &archiveWriter{target: target, file: file, buffer: bufio.NewWriterSize(file, 1<<20)}
	var w io.Writer = a.buffer
	if strings.HasSuffix(target, "gz") {
		a.gzip = gzip.NewWriter(a.buffer)
		w = a.gzip
	}
	a.tar = tar.NewWriter(w)
	a.manifest = manifest{Format: archiveFormat, Version: buildVersion(), CreatedAt: penstock.Now(), Engine: engine}
	return a, nil
}

// add copies a file into the archive. Existing files never change, but may disappear.
func (a *archiveWriter) add(name, from string) error {
	file, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("back up %s: %w", name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("back up %s: %w", name, err)
	}
	return a.addContent(name, file, info.Size(), info.ModTime())
}

func (a *archiveWriter) addContent(name string, content io.Reader, size int64, at time.Time) error {
	header := &tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: at, Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("back up %s: %w", name, err)
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(a.tar, sum), io.LimitReader(content, size)); err != nil {
		return fmt.Errorf("back up %s: %w", name, err)
	}
	a.manifest.Files = append(a.manifest.Files, archiveItem{name, size, hex.EncodeToString(sum.Sum(nil))})
	return nil
}

// addBucket adds every blob of an object store.
func (a *archiveWriter) addBucket(ctx context.Context, name string, blobs *blob.Store) error {
	for key, err := range blobs.Keys(ctx) {
		if err == nil {
			err = a.addBlob(ctx, path.Join(name, key), blobs, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *archiveWriter) addBlob(ctx context.Context, name string, blobs *blob.Store, key string) error {
	content, size, err := blobs.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) { // the server has removed it since
		return nil
	}
	if err != nil {
		return err
	}
	defer content.Close()
	return a.addContent(name, content, size, a.manifest.CreatedAt.Std())
}

// addDir adds every file below a folder, except hidden ones, which are incomplete. A missing folder
// counts as empty.
func (a *archiveWriter) addDir(name, from string) error {
	return filepath.WalkDir(from, func(p string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("back up %s: %w", name, err)
		case strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		below, err := filepath.Rel(from, p)
		if err != nil {
			return fmt.Errorf("back up %s: %w", name, err)
		}
		if err := a.add(path.Join(name, filepath.ToSlash(below)), p); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// finish writes the manifest, flushes the archive to disk, and moves it to its place.
func (a *archiveWriter) finish() error {
	raw, err := json.Marshal(a.manifest, jsontext.WithIndent("  "))
	if err == nil {
		err = a.tar.WriteHeader(
			&tar.Header{
				Name: manifestFile, Mode: 0o600, Size: int64(len(raw)), ModTime: a.manifest.CreatedAt.Std(), Format: tar.FormatPAX,
			},
		)
	}
	if err == nil {
		_, err = a.tar.Write(raw)
	}
	if err == nil {
		err = a.tar.Close()
	}
	if err == nil && a.gzip != nil {
		err = a.gzip.Close()
	}
	if err == nil {
		err = errors.Join(a.buffer.Flush(), a.file.Sync())
	}
	if err == nil {
		err = os.Rename(a.file.Name(), a.target)
	}
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}

// close removes the temporary file of an archive, if it still exists.
func (a *archiveWriter) close() {
	_ = a.file.Close()
	_ = os.Remove(a.file.Name())
}

// unpackArchive writes the files of a backup below dir and checks each against the manifest. It
// writes only names that a backup can have, and nothing outside of dir.
func unpackArchive(from, dir string) (manifest, error) {
	var m manifest
	file, err := os.Open(from)
	if err != nil {
		return m, exitf(exitUsage, "--from: %w", err)
	}
	defer file.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return m, fmt.Errorf("restore into %s: %w", dir, err)
	}
	defer root.Close()
	bad := func(format string, args ...any) (manifest, error) {
		return manifest{}, exitf(exitRefused, "%s is not a complete backup: %w", from, fmt.Errorf(format, args...))
	}
	content, err := uncompressed(file)
	if err != nil {
		return bad("%w", err)
	}
	found := map[string]archiveItem{}
	source := &recordingReader{Reader: content}
	for entries := tar.NewReader(source); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return bad("it does not end with a manifest")
		}
		if err != nil {
			return bad("%w", err)
		}
		if header.Name == manifestFile {
			if m, err = readManifest(entries); err != nil {
				return bad("read its manifest: %w", err)
			}
			break
		}
		if header.Typeflag != tar.TypeReg || !restorable(header.Name) {
			return bad("it contains the unexpected file %q", header.Name)
		}
		item, err := unpackFile(root, header, entries)
		if err != nil && source.failed(err) {
			return bad("%w", err)
		}
		if err != nil {
			return m, err
		}
		found[item.Name] = item
	}
	if err := m.covers(found); err != nil {
		return bad("%w", err)
	}
	return m, nil
}

// uncompressed reads a file that may be compressed with gzip.
func uncompressed(file io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(file, 1<<20)
	if magic, err := buffered.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		return gzip.NewReader(buffered)
	}
	return buffered, nil
}

func readManifest(content io.Reader) (m manifest, err error) {
	raw, err := io.ReadAll(io.LimitReader(content, maxManifest))
	if err != nil {
		return m, err
	}
	err = json.Unmarshal(raw, &m)
	return m, err
}

// covers returns an error unless the manifest lists exactly the files that were found.
func (m manifest) covers(found map[string]archiveItem) error {
	if m.Format != archiveFormat {
		return fmt.Errorf("its format is %d, but this version supports %d", m.Format, archiveFormat)
	}
	if len(found) != len(m.Files) {
		return fmt.Errorf("it contains %d files, but its manifest lists %d", len(found), len(m.Files))
	}
	for _, want := range m.Files {
		if got := found[want.Name]; got != want {
			return fmt.Errorf("%s does not match the manifest", want.Name)
		}
	}
	return nil
}

// recordingReader distinguishes errors of reading from errors of writing.
type recordingReader struct {
	io.Reader
	err error
}

func (r *recordingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// failed reports whether err comes from this reader: the archive is broken or truncated.
func (r *recordingReader) failed(err error) bool {
	return r.err != nil || errors.Is(err, io.ErrUnexpectedEOF)
}

func restorable(name string) bool {
	switch name {
	case databaseFile, dumpFile, keysetFile, adminKeyFile:
		return true
	}
	return strings.HasPrefix(name, blobDir+"/") && filepath.IsLocal(name) && path.Clean(name) == name
}

func unpackFile(root *os.Root, header *tar.Header, content io.Reader) (archiveItem, error) {
	item := archiveItem{Name: header.Name}
	fail := func(err error) (archiveItem, error) {
		return item, fmt.Errorf("restore %s: %w", header.Name, err)
	}
	if err := root.MkdirAll(path.Dir(header.Name), 0o700); err != nil {
		return fail(err)
	}
	file, err := root.OpenFile(header.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fail(err)
	}
	sum := sha256.New()
	item.Size, err = io.Copy(io.MultiWriter(file, sum), content)
	item.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fail(err)
	}
	if err := root.Chtimes(header.Name, time.Time{}, header.ModTime); err != nil {
		return fail(err)
	}
	return item, nil
}
