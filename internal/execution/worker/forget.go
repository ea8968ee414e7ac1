package worker

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
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

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/secret"
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
	Salt   string `json:"salt"`
	Sum    string `json:"sum"` // of the salt and the form
}

// form returns what was at the place, if values still contains it.
func (at blank) form(values map[string]string) (form string, known bool) {
	value := values[at.Name]
	if value == "" {
		return "", false
	}
	forms := secret.Forms(value)
	if at.Form < 0 || at.Form >= len(forms) {
		return "", false
	}
	form = forms[at.Form]
	return form, len(form) == at.Length && saltedSum(at.Salt, form) == at.Sum
}

func saltedSum(salt, form string) string {
	sum := sha256.Sum256([]byte(salt + form))
	return hex.EncodeToString(sum[:])
}

// keyName matches names of settings that hold a key. It is strict, because the words of such a setting are removed
// from all files: AUTHOR and TOKENIZER are no keys.
var keyName = penstock.LazyRegexp(
	`(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH|AUTHORIZATION|COOKIE)S?($|[_-])|(^|[_-])PAT($|[_-])`,
)

// keptSecrets returns the values of a run's secrets by name, also as parts of settings of MCP servers. A setting whose
// name is a key's may contain one in clear. The values in final must not enter the sandbox, so they are never put back.
func (b *box) keptSecrets() (granted, final map[string]string) {
	granted, final = map[string]string{}, map[string]string{}
	maps.Copy(granted, b.Secrets)
	for name, value := range b.NetworkSecrets {
		if _, ok := granted[name]; !ok {
			final[name] = value
		}
	}
	for name, server := range b.config.MCPServers {
		for kind, settings := range map[string]map[string]string{"env": server.Env, "headers": server.Headers} {
			for key, value := range settings {
				refs := secretRef().FindAllStringSubmatch(value, -1)
				if len(refs) == 0 && !keyName().MatchString(key) {
					continue // an ordinary setting
				}
				values := granted
				if slices.ContainsFunc(refs, func(ref []string) bool { return b.Secrets[ref[1]] == "" }) {
					values = final
				}
				text, _ := b.fillSecrets(value)
				for i, part := range longEnough(text) {
					values[fmt.Sprintf("mcp/%s/%s/%s/%d", name, kind, key, i)] = part
				}
			}
		}
	}
	return granted, final
}

// forgetSecrets replaces the values of secrets by asterisks in the files of a workspace that is kept.
// The next execution that gets the same values gets the files as they were. All processes of the run
// have ended. If the places cannot be recorded, the workspace is not kept.
func (b *box) forgetSecrets() {
	wanted := spellings(b.keptSecrets())
	if len(wanted) == 0 {
		return
	}
	root, err := os.OpenRoot(b.space.dir)
	if err != nil {
		b.log.Warn("the files of a kept workspace were not searched for secrets", "error", err)
		return
	}
	defer root.Close()
	s := searcher{root: root, wanted: wanted, files: maxFilesRead, bytes: maxSearched}
	trees := []string{"home", "work"}
	if images, err := fs.Glob(root.FS(), "image-*/upper"); err == nil {
		trees = slices.Insert(trees, 1, images...)
	}
	for _, tree := range trees {
		err = errors.Join(err, fs.WalkDir(root.FS(), tree, s.visit))
	}
	places, unrecorded := readBlanked(root)
	if unrecorded == nil {
		unrecorded = writeBlanked(root, append(places, s.found...))
	}
	if unrecorded != nil {
		b.space.setup = "" // it is not kept
		b.log.Warn("a workspace is not kept, because its secrets cannot be recorded", "error", unrecorded)
		return
	}
	all := byFile(append(s.found, s.final...))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		err = errors.Join(err, edit(root, name, func(file *os.File) error {
			for _, at := range all[name] {
				if _, err := file.WriteAt(bytes.Repeat([]byte{'*'}, at.Length), int64(at.Offset)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	if err != nil || s.files < 0 || s.bytes < 0 {
		b.log.Warn("not all files of a kept workspace were searched for secrets", "error", err)
	}
}

// recallSecrets puts back what forgetSecrets has removed, as far as the run has the same values. After an
// error, the record still lists all places.
func (b *box) recallSecrets() error {
	root, err := os.OpenRoot(b.space.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	places, err := readBlanked(root)
	if err != nil || len(places) == 0 {
		return err
	}
	granted, _ := b.keptSecrets()
	var left []blank
	all := byFile(places)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		unknown, err := restore(root, name, all[name], granted)
		if err != nil {
			return err
		}
		left = append(left, unknown...)
	}
	return writeBlanked(root, left)
}

// restore puts values back into a file, and returns the places whose values are unknown. It drops the places that
// have no asterisks any more.
func restore(root *os.Root, name string, places []blank, values map[string]string) (unknown []blank, err error) {
	err = edit(root, name, func(file *os.File) error {
		for _, at := range slices.Backward(places) { // a form with asterisks may overlap an earlier place
			now := make([]byte, at.Length)
			_, err := file.ReadAt(now, int64(at.Offset))
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if err != nil || strings.Trim(string(now), "*") != "" {
				continue
			}
			form, known := at.form(values)
			if !known {
				unknown = append(unknown, at)
			} else if _, err := file.WriteAt([]byte(form), int64(at.Offset)); err != nil {
				return err
			}
		}
		return nil
	})
	slices.Reverse(unknown)
	if err != nil && isGone(err) {
		err = nil
	}
	return unknown, err
}

// isGone reports whether an error means that a path does not lead to a file of the run any more.
func isGone(err error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return true // os.Root refused the path
	}
	return slices.Contains([]syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.EACCES}, errno)
}

func byFile(places []blank) map[string][]blank {
	files := map[string][]blank{}
	for _, at := range places {
		files[at.File] = append(files[at.File], at)
	}
	return files
}

// readBlanked returns the places that have asterisks.
func readBlanked(root *os.Root) ([]blank, error) {
	data, err := root.ReadFile(blankedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var places []blank
	if err == nil {
		err = json.Unmarshal(data, &places)
	}
	return places, err
}

// writeBlanked stores the places that have asterisks. After an error, the earlier ones are still stored.
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
	const next = blankedFile + ".new"
	file, err := root.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return root.Rename(next, blankedFile)
}

// edit changes a regular file in place, and keeps its times and mode.
func edit(root *os.Root, name string, change func(*os.File) error) error {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if info.Mode().Perm()&0o600 != 0o600 {
		if err := root.Chmod(name, info.Mode().Perm()|0o600); err != nil {
			return err
		}
		defer func() { _ = root.Chmod(name, info.Mode().Perm()) }()
	}
	file, err := root.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return errors.Join(change(file), file.Close(), root.Chtimes(name, info.ModTime(), info.ModTime()))
}

// spelling is a form of a value to search for.
type spelling struct {
	text  string
	place blank // without the file and the offset
	final bool  // it is never put back
}

// spellings lists the forms of values that are too long for ordinary words, each once.
func spellings(granted, final map[string]string) []spelling {
	var list []spelling
	seen := map[string]bool{}
	salt := rand.Text()
	for _, values := range []map[string]string{granted, final} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if len(values[name]) < leastBlanked {
				continue
			}
			for i, form := range secret.Forms(values[name]) {
				if len(form) < leastBlanked || seen[form] {
					continue
				}
				seen[form] = true
				place := blank{Length: len(form), Name: name, Form: i, Salt: salt, Sum: saltedSum(salt, form)}
				_, put := granted[name]
				list = append(list, spelling{form, place, !put})
			}
		}
	}
	return list
}

// searcher finds values in files. It blanks what it has found, so that no shorter form is found in it.
type searcher struct {
	root   *os.Root
	wanted []spelling
	files  int   // that may still be read
	bytes  int64 // likewise
	found  []blank
	final  []blank // likewise, but never put back
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
	for _, w := range s.wanted {
		for from := 0; ; {
			at := bytes.Index(content[from:], []byte(w.text))
			if at < 0 {
				break
			}
			at += from
			from = at + len(w.text)
			copy(content[at:from], strings.Repeat("*", len(w.text)))
			place := w.place
			place.File, place.Offset = file, at
			if w.final {
				s.final = append(s.final, place)
			} else {
				s.found = append(s.found, place)
			}
		}
	}
}
