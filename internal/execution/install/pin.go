package install

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

// locks holds a package.json and a package-lock.json for each program. `make harness-locks` writes
// them.
//
//go:embed locks
var locks embed.FS

func pinned() fs.FS {
	sub, err := fs.Sub(locks, "locks")
	if err != nil {
		panic("install: the locks are not embedded: " + err.Error())
	}
	return sub
}

// Node is the name of the Node.js that programs written in JavaScript use.
const Node = "node"

// Pin is a program at the version that this release was tested with.
type Pin struct {
	Name    string
	Title   string
	Version string
	// License is what the operator should know about it before the download.
	License string
	// Node means that the program needs Node.
	Node bool
	// bare means that the program works without its optional packages.
	bare bool
}

var pins = []Pin{
	{
		Name: "claude", Title: "Claude Code", Node: true,
		License: "Apache-2.0 for the ACP adapter. Claude Code itself is proprietary: © Anthropic PBC, all rights reserved; " +
			"use is subject to Anthropic's legal agreements (https://code.claude.com/docs/en/legal-and-compliance). You " +
			"download it from the registry; it is no part of Penstock. Runs use API keys; subscription logins are not " +
			"supported.",
	},
	{
		Name: "codex", Title: "Codex", Node: true,
		License: "Apache-2.0. Runs use API keys; ChatGPT logins are not supported.",
	},
	{
		Name: "gemini", Title: "Gemini CLI", Node: true, bare: true,
		License: "Apache-2.0. Runs use API keys; Google logins are not supported.",
	},
	{Name: "opencode", Title: "OpenCode", License: "MIT."},
	{
		Name: "qwen", Title: "Qwen Code", Node: true, bare: true,
		License: "Apache-2.0. Runs use API keys; Qwen logins are not supported.",
	},
	{Name: Node, Title: "Node.js", License: "MIT."},
}

// Pins lists the programs that can be installed, without Node.
func (s *Store) Pins() []Pin {
	var list []Pin
	for _, p := range pins {
		if p, ok := s.Pin(p.Name); ok && p.Name != Node {
			list = append(list, p)
		}
	}
	return list
}

// Pin returns a program by its name.
func (s *Store) Pin(name string) (Pin, bool) {
	i := slices.IndexFunc(pins, func(p Pin) bool { return p.Name == name })
	if i < 0 {
		return Pin{}, false
	}
	pin := pins[i]
	root, err := s.manifest(name)
	pin.Version = root.Version
	return pin, err == nil
}

// manifest is the package.json of a program.
type manifest struct {
	Private bool   `json:"private"`
	Version string `json:"version"`
	// Required is one package; Optional are packages for different kinds of machine.
	Required map[string]string `json:"dependencies,omitempty"`
	Optional map[string]string `json:"optionalDependencies,omitempty"`
}

func (s *Store) manifest(name string) (m manifest, err error) {
	text, err := fs.ReadFile(s.locks, name+"/package.json")
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return m, fmt.Errorf("read the pinned version of %s: %w", name, err)
	}
	return m, nil
}

// lockFile is a package-lock.json of version 3.
type lockFile struct {
	Packages map[string]lockedPackage `json:"packages"`
}

type lockedPackage struct {
	Version   string `json:"version"`
	Integrity string `json:"integrity"`
	Optional  bool   `json:"optional"`
	OS        words  `json:"os"`
	CPU       words  `json:"cpu"`
	Libc      words  `json:"libc"`
}

// words is a list, or one word.
type words []string

func (w *words) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(w))
}

// include reports whether a list of package.json includes a value: one word of it is the
// value, or all are exclusions of others.
func (w words) include(value string) bool {
	excludes := true
	for _, word := range w {
		if word == value {
			return true
		}
		if word == "!"+value {
			return false
		}
		excludes = excludes && strings.HasPrefix(word, "!")
	}
	return excludes
}

// here reports whether a package is for this machine.
func (p lockedPackage) here() bool {
	return p.OS.include("linux") && p.CPU.include(cpu()) && p.Libc.include("glibc")
}

// files lists the folders of a lock's packages for this machine, with the hashes of their
// archives. If it is bare, it has no optional ones.
func (l lockFile) files(bare bool) (map[string]string, error) {
	list := map[string]string{}
	for dir, p := range l.Packages {
		if dir == "" || !p.here() || bare && p.Optional {
			continue
		}
		if p.Integrity == "" {
			return nil, fmt.Errorf("the lock has no hash for %s", dir)
		}
		list[dir] = p.Integrity
	}
	return list, nil
}

func (s *Store) lockOf(name string) (l lockFile, err error) {
	text, err := fs.ReadFile(s.locks, name+"/package-lock.json")
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		return l, fmt.Errorf("read the lock of %s: %w", name, err)
	}
	return l, nil
}

// validVersion is what npm accepts as an exact version.
var validVersion = penstock.LazyRegexp(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// compareVersions orders versions; a pre-release comes before its release.
func compareVersions(a, b string) int {
	a, aPre, _ := strings.Cut(a, "-")
	b, bPre, _ := strings.Cut(b, "-")
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if m != n {
			return cmp.Compare(m, n)
		}
	}
	switch {
	case aPre == bPre:
		return 0
	case aPre == "":
		return 1
	case bPre == "":
		return -1
	}
	return strings.Compare(aPre, bPre)
}
