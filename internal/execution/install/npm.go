package install

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Request says what to install.
type Request struct {
	Name string
	// Version is the pinned one if "". npm resolves any other version now, and only the lock that
	// npm writes lists its contents.
	Version string
	// From is an archive that Save wrote. Nothing is then downloaded, and npm is not needed.
	From string
	// Save is a file for an archive of all downloads; "" writes none.
	Save string
	// Say is called before each step that takes a while; nil is silent.
	Say func(text string)
}

// Install installs a program, with Node if it needs that, and makes runs use this version. A
// version that is installed already is only made the current one.
func (s *Store) Install(ctx context.Context, r Request) (Program, error) {
	pin, known := s.Pin(r.Name)
	if !known || r.Name == Node {
		return Program{}, fmt.Errorf("unknown harness %q; use one of %s", r.Name, strings.Join(s.names(), ", "))
	}
	r.Version = cmp.Or(r.Version, pin.Version)
	if !validVersion().MatchString(r.Version) {
		return Program{}, fmt.Errorf("%q is not an exact version such as %s", r.Version, pin.Version)
	}
	if r.Version != pin.Version && (r.From != "" || r.Save != "") {
		return Program{}, fmt.Errorf(
			"an archive has the pinned versions only, and this release pins %s %s", pin.Name, pin.Version)
	}
	if err := s.checkMachine(); err != nil {
		return Program{}, err
	}
	if r.Say == nil {
		r.Say = func(string) {}
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return Program{}, err
	}
	defer unlock()
	source, err := s.open(r)
	if err != nil {
		return Program{}, err
	}
	defer source.close()
	if node, _ := s.Pin(Node); pin.Node {
		if err := s.ensure(ctx, r, source, node.Name, node.Version); err != nil {
			return Program{}, err
		}
	}
	if err := s.ensure(ctx, r, source, r.Name, r.Version); err != nil {
		return Program{}, err
	}
	if r.Save != "" {
		if err := s.save(r.Save, source.cache, r.Name, pin.Node); err != nil {
			return Program{}, err
		}
	}
	p, _ := s.find(r.Name, r.Version)
	return p, nil
}

func (s *Store) names() []string {
	var names []string
	for _, p := range s.Pins() {
		names = append(names, p.Name)
	}
	return names
}

// source is where packages come from.
type source struct {
	archive string // folder of an archive; "": npm's registry
	cache   string // for npm, so that its downloads can be saved; "": its own
	dirs    []string
}

func (s *source) close() {
	for _, dir := range s.dirs {
		_ = os.RemoveAll(dir)
	}
}

func (s *Store) open(r Request) (*source, error) {
	from := &source{}
	if r.From == "" && r.Save == "" {
		return from, nil
	}
	dir, err := os.MkdirTemp(s.dir, stagingPrefix+"source-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for downloads: %w", err)
	}
	from.dirs = append(from.dirs, dir)
	if r.From == "" {
		from.cache = dir
		return from, nil
	}
	from.archive = dir
	r.Say("reading " + r.From)
	if err := unpackArchive(r.From, dir); err != nil {
		from.close()
		return nil, err
	}
	return from, nil
}

// ensure installs one package with all that it depends on, unless it is there, and makes it
// current.
func (s *Store) ensure(ctx context.Context, r Request, from *source, name, version string) error {
	_, installed := s.find(name, version)
	if installed && from.cache == "" {
		return s.use(name, version)
	}
	r.Say("installing " + name + " " + version)
	staging, err := os.MkdirTemp(s.dir, stagingPrefix+name+"-")
	if err != nil {
		return fmt.Errorf("create a folder for %s: %w", name, err)
	}
	defer os.RemoveAll(staging)
	if from.archive != "" {
		err = s.fill(from.archive, staging, name)
	} else {
		err = s.download(ctx, staging, from.cache, name, version)
	}
	if err != nil {
		return fmt.Errorf("install %s %s: %w", name, version, err)
	}
	if installed {
		return s.use(name, version)
	}
	return s.publish(staging, name, version)
}

// publish gives a complete folder its name, once it is on the disk.
func (s *Store) publish(staging, name, version string) error {
	folder := filepath.Join(s.dir, name)
	err := errors.Join(os.Chmod(staging, 0o755), //nolint:gosec // programs, no secrets
		os.MkdirAll(folder, 0o755), syncDir(staging)) //nolint:gosec // the same
	if err == nil {
		err = os.Rename(staging, filepath.Join(folder, version))
	}
	if err != nil {
		return fmt.Errorf("install %s %s: %w", name, version, err)
	}
	return s.use(name, version)
}

// download lets npm install a package into dir.
func (s *Store) download(ctx context.Context, dir, cache, name, version string) error {
	root, err := s.manifest(name)
	if err != nil {
		return err
	}
	pinned := version == root.Version
	if pinned {
		err = os.CopyFS(dir, sub(s.locks, name))
	} else { // npm decides now what the version consists of
		for _, list := range []map[string]string{root.Required, root.Optional} {
			for name := range list {
				list[name] = version
			}
		}
		err = writeManifest(dir, root, version)
	}
	if err != nil {
		return err
	}
	// Most programs come in optional packages, one for each platform. `npm ci` would need the
	// packages of all platforms in the registry.
	pin, _ := s.Pin(name)
	args := []string{
		"install", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-progress", "--no-engine-strict",
		"--loglevel=error", "--include=optional",
	}
	if pin.bare {
		args[len(args)-1] = "--omit=optional"
	}
	if cache != "" {
		args = append(args, "--cache="+cache, "--prefer-online")
	}
	if err := s.runNpm(ctx, dir, args); err != nil {
		return err
	}
	if pinned {
		return s.verify(dir, name)
	}
	return s.complete(dir, root)
}

// verify checks that what npm installed is what the lock names: all of it, and nothing else.
// npm has compared each package with its hash.
func (s *Store) verify(dir, name string) error {
	lock, err := s.lockOf(name)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if err != nil {
		return fmt.Errorf("read what npm installed: %w", err)
	}
	var found lockFile
	if err := json.Unmarshal(text, &found); err != nil {
		return fmt.Errorf("read what npm installed: %w", err)
	}
	for at, p := range found.Packages {
		if want := lock.Packages[at]; want.Integrity == "" || p.Version != want.Version || p.Integrity != want.Integrity {
			return fmt.Errorf("npm installed %s %s, which is not pinned", at, p.Version)
		}
	}
	for at, want := range lock.Packages {
		if _, ok := found.Packages[at]; at != "" && !ok && !want.Optional {
			return fmt.Errorf("npm did not install %s %s", at, want.Version)
		}
	}
	root, err := s.manifest(name)
	if err != nil {
		return err
	}
	return s.complete(dir, root)
}

func sub(files fs.FS, name string) fs.FS {
	dir, err := fs.Sub(files, name)
	if err != nil {
		panic("install: " + err.Error()) // names are constants
	}
	return dir
}

func writeManifest(dir string, root manifest, version string) error {
	root.Version = version
	text, err := json.Marshal(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "package.json"), text, 0o600)
}

// complete checks that npm has installed what was asked for: an optional package that cannot
// be had is no error to it.
func (s *Store) complete(dir string, root manifest) error {
	packages := slices.Concat(slices.Collect(maps.Keys(root.Required)), slices.Collect(maps.Keys(root.Optional)))
	for _, name := range packages {
		if _, err := os.Stat(filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json")); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the registry does not have this version for linux on %s", runtime.GOARCH)
}

// runNpm runs npm. Its configuration is the operator's, as in any other folder.
func (s *Store) runNpm(ctx context.Context, dir string, args []string) error {
	npm, err := exec.LookPath(s.npm)
	if err != nil {
		return errors.New("npm is not installed (Node.js 20 or later, https://nodejs.org). Without npm, install --from an " +
			"archive that install --save wrote on another machine")
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, npm, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("npm %s: %w\n%s", args[0], err, firstLines(said.String()))
	}
	return nil
}

// firstLines is what npm said about a failure.
func firstLines(said string) string {
	const most = 8
	var lines []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if len(lines) < most && strings.HasPrefix(line, "npm error ") && !strings.Contains(line, "complete log") {
			lines = append(lines, strings.TrimPrefix(line, "npm error "))
		}
	}
	return strings.Join(lines, "\n")
}

// loader is a file of glibc, which Node and the agents are linked with.
var loader = map[string]string{
	"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1",
}[runtime.GOARCH]

// checkMachine refuses a machine on which the programs cannot run.
func (s *Store) checkMachine() error {
	if runtime.GOOS != "linux" || s.libc == "" {
		return fmt.Errorf("agents can be installed on linux on amd64 and arm64, not on %s on %s",
			runtime.GOOS, runtime.GOARCH)
	}
	if _, err := os.Stat(s.libc); err != nil {
		return fmt.Errorf("this system has no glibc (%s is missing), which Node and the agents need: use a system such as "+
			"Debian, not Alpine", s.libc)
	}
	return nil
}

// cpu is npm's name of this machine's processor.
func cpu() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}
