package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// passedChecks is the file with the checks that installed agents passed: names with the
// fingerprints that they had. A worker that restarts trusts it, and so takes runs at once.
type passedChecks string

// passedFile is its name in the folder of the installed agents. Names of agents do not begin with a dot.
const passedFile = ".passed-checks.json"

// read returns what passed. A file that is missing or damaged only means that agents are checked again.
func (f passedChecks) read() map[string]string {
	passed := map[string]string{}
	if content, err := os.ReadFile(string(f)); err != nil || json.Unmarshal(content, &passed) != nil || passed == nil {
		return map[string]string{}
	}
	return passed
}

// has reports whether an agent passed its check with exactly these files.
func (f passedChecks) has(name, fingerprint string) bool {
	return fingerprint != "" && f.read()[name] == fingerprint
}

// set stores the fingerprint of an agent that has passed; "" removes the agent.
func (f passedChecks) set(name, fingerprint string) error {
	passed := f.read()
	if passed[name] == fingerprint {
		return nil
	}
	if passed[name] = fingerprint; fingerprint == "" {
		delete(passed, name)
	}
	content, err := json.Marshal(passed)
	if err != nil {
		return err
	}
	staged := string(f) + ".new"
	if err := errors.Join(os.WriteFile(staged, content, 0o600), os.Rename(staged, string(f))); err != nil {
		return fmt.Errorf("store the checks of agents: %w", err)
	}
	return nil
}

// fingerprint identifies what a check has tried: the settings of the check, and the names, sizes, modes
// and times of all files. Reading the contents would take longer than the check.
func fingerprint(settings string, roots ...string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n", settings)
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			link := ""
			if entry.Type() == fs.ModeSymlink {
				link, _ = os.Readlink(path) // if it is gone, its name is missing next time
			}
			fmt.Fprintf(sum, "%q %s %q", path, info.Mode(), link)
			if info.Mode().IsRegular() {
				fmt.Fprintf(sum, " %d %d", info.Size(), info.ModTime().UnixNano())
			}
			fmt.Fprintln(sum)
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("read the files of an agent: %w", err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
