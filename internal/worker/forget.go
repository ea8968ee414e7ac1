package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/penstock-dev/penstock/internal/secret"
)

// blankedFile lists the places of a kept workspace from which the values of secrets were removed,
// beside the workspace. It has no values.
const blankedFile = "blanked.json"

// Limits of the search for secrets in a workspace that is kept. What exceeds them stays as it is.
const (
	maxBlankedFile = 16 << 20
	maxSearched    = 512 << 20
	maxFilesRead   = 50_000
)

// leastBlanked is the length of a value that is too long to be an ordinary word, in bytes.
const leastBlanked = 8

// blank is a place in a file that has asterisks instead of the value of a secret.
type blank struct {
	File   string `json:"file"` // in the folder of the run
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	Name   string `json:"name"` // of the secret
	Form   int    `json:"form"` // of secret.Forms
}

// keptSecrets are the values of a run's secrets, by name, and those of the settings of its MCP servers.
func (b *box) keptSecrets() map[string]string {
	values := map[string]string{}
	maps.Copy(values, b.NetworkSecrets)
	maps.Copy(values, b.Secrets)
	maps.DeleteFunc(values, func(_, value string) bool { return len(value) < leastBlanked })
	for name, server := range b.config.MCPServers {
		for kind, settings := range map[string]map[string]string{"env": server.Env, "headers": server.Headers} {
			for key, value := range settings {
				text, _ := b.fillSecrets(value)
				for i, part := range longEnough(text) {
					values[fmt.Sprintf("mcp/%s/%s/%s/%d", name, kind, key, i)] = part
				}
			}
		}
	}
	return values
}

// forgetSecrets replaces the values of secrets by asterisks in the files of a workspace that is kept.
// The next execution that gets these secrets gets the files as they were. All processes of the run
// have ended.
func (b *box) forgetSecrets() {
	values := b.keptSecrets()
	if len(values) == 0 {
		return
	}
	root, err := os.OpenRoot(b.space.dir)
	if err != nil {
		b.log.Warn("the files of a kept workspace were not searched for secrets", "error", err)
		return
	}
	defer root.Close()
	s := searcher{root: root, values: values, files: maxFilesRead, bytes: maxSearched}
	trees := []string{"home", "work"}
	if images, err := fs.Glob(root.FS(), "image-*/upper"); err == nil {
		trees = slices.Insert(trees, 1, images...)
	}
	for _, tree := range trees {
		err = errors.Join(err, fs.WalkDir(root.FS(), tree, s.visit))
	}
	err = errors.Join(err, writeBlanked(root, append(b.unknown, s.found...)))
	for _, at := range s.found {
		err = errors.Join(err, overwrite(root, at, bytes.Repeat([]byte{'*'}, at.Length)))
	}
	if err != nil || s.files < 0 || s.bytes < 0 {
		b.log.Warn("not all files of a kept workspace were searched for secrets", "error", err)
	}
}

// recallSecrets puts back what forgetSecrets has removed, as far as the run has the secrets.
func (b *box) recallSecrets() error {
	root, err := os.OpenRoot(b.space.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	data, err := root.ReadFile(blankedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var places []blank
	if err == nil {
		err = json.Unmarshal(data, &places)
	}
	if err != nil {
		return err
	}
	values := b.keptSecrets()
	for _, at := range slices.Backward(places) { // a form may contain another one
		forms := secret.Forms(values[at.Name])
		if values[at.Name] == "" || at.Form >= len(forms) || len(forms[at.Form]) != at.Length {
			b.unknown = append(b.unknown, at) // it is not granted any more, or has another value
			continue
		}
		if err := overwrite(root, at, []byte(forms[at.Form])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	slices.Reverse(b.unknown)
	return writeBlanked(root, b.unknown)
}

// writeBlanked stores the places that have asterisks.
func writeBlanked(root *os.Root, places []blank) error {
	if len(places) == 0 {
		if err := root.Remove(blankedFile); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(places)
	if err != nil {
		return err
	}
	return root.WriteFile(blankedFile, data, 0o600)
}

// overwrite replaces a part of a file, and keeps its times and mode.
func overwrite(root *os.Root, at blank, content []byte) error {
	info, err := root.Lstat(at.File)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if info.Mode().Perm()&0o200 == 0 {
		if err := root.Chmod(at.File, info.Mode().Perm()|0o200); err != nil {
			return err
		}
		defer func() { _ = root.Chmod(at.File, info.Mode().Perm()) }()
	}
	file, err := root.OpenFile(at.File, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, int64(at.Offset))
	return errors.Join(err, file.Close(), root.Chtimes(at.File, info.ModTime(), info.ModTime()))
}

// searcher finds values in files. It blanks what it has found, so that no shorter form is found in it.
type searcher struct {
	root   *os.Root
	values map[string]string
	files  int   // that may still be read
	bytes  int64 // likewise
	found  []blank
}

// visit is the function of a walk.
func (s *searcher) visit(name string, d fs.DirEntry, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		return nil
	case err != nil:
		return err
	case d.IsDir() && strings.HasSuffix(name, ".git/objects"): // compressed
		return fs.SkipDir
	case !d.Type().IsRegular():
		return nil
	}
	if s.files--; s.files < 0 || s.bytes < 0 {
		return fs.SkipAll
	}
	file, err := s.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil // not readable, as for the run
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() < leastBlanked || info.Size() > maxBlankedFile {
		return err
	}
	s.bytes -= info.Size()
	content, err := io.ReadAll(io.LimitReader(file, maxBlankedFile))
	if err == nil {
		s.search(name, content)
	}
	return err
}

func (s *searcher) search(file string, content []byte) {
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		for i, form := range secret.Forms(s.values[name]) {
			if len(form) < leastBlanked {
				continue
			}
			for from := 0; ; {
				at := bytes.Index(content[from:], []byte(form))
				if at < 0 {
					break
				}
				at += from
				from = at + len(form)
				copy(content[at:from], strings.Repeat("*", len(form)))
				s.found = append(s.found, blank{File: file, Offset: at, Length: len(form), Name: name, Form: i})
			}
		}
	}
}
