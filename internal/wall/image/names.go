package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// reference says to which image a name led when it was last resolved.
type reference struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

func (s *Store) nameFile(name string) string {
	hash := sha256.Sum256([]byte(name))
	return filepath.Join(s.names(), hex.EncodeToString(hash[:])+".json")
}

func (s *Store) remember(name, digest string) error {
	return s.put(s.nameFile(name), reference{name, digest})
}

// known returns the digest to which a name led, or "".
func (s *Store) known(name string) string {
	r, err := readName(s.nameFile(name))
	if err != nil {
		return ""
	}
	return r.Digest
}

func readName(file string) (r reference, err error) {
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	return r, err
}

// allNames returns the names of each digest.
func (s *Store) allNames() (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(s.names(), "*.json"))
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, file := range files {
		r, err := readName(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the name of an image: %w", err)
		}
		out[r.Digest] = append(out[r.Digest], r.Name)
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out, nil
}

// forgetNames removes the names of images that the store does not have.
func (s *Store) forgetNames(list []Record) error {
	has := map[string]bool{}
	for _, r := range list {
		has[r.Digest] = true
	}
	names, err := s.allNames()
	if err != nil {
		return err
	}
	for digest, of := range names {
		for _, name := range of {
			if has[digest] {
				continue
			}
			if err := os.Remove(s.nameFile(name)); err != nil {
				return fmt.Errorf("forget the image %s: %w", name, err)
			}
		}
	}
	return nil
}
