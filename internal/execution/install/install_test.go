package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets a test start an installation in a separate process, to kill it.
func TestMain(m *testing.M) {
	if dir := os.Getenv("INSTALL_TEST_DIR"); dir != "" {
		s := Open(dir)
		s.locks = os.DirFS(os.Getenv("INSTALL_TEST_LOCKS"))
		if _, err := s.Install(context.Background(), Request{Name: "opencode"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pack returns an npm package with the given files.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(files[name]))}
		if err := archive.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// agent is the package of version.
func agent(t *testing.T, version string) []byte {
	t.Helper()
	return pack(t, map[string]string{
		"package/package.json": `{"name":"agent","version":"` + version + `","scripts":{"postinstall":"touch ran"}}`,
		"package/bin/agent":    "#!/bin/sh\necho " + version + "\n",
	})
}

func integrity(packed []byte) string {
	sum := sha512.Sum512(packed)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// writeLocks pins the package agent 1.0.0 as opencode, with a hash.
func writeLocks(t *testing.T, hash string) string {
	t.Helper()
	dir := t.TempDir()
	root := map[string]any{
		"private": true, "version": "1.0.0", "optionalDependencies": map[string]string{"agent": "1.0.0"},
	}
	lock := map[string]any{
		"name": "opencode", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
		"packages": map[string]any{
			"":                   root,
			"node_modules/agent": map[string]any{"version": "1.0.0", "integrity": hash, "optional": true},
			"node_modules/other": map[string]any{"version": "1.0.0", "integrity": hash, "optional": true, "os": "win32"},
		},
	}
	for name, value := range map[string]any{"package.json": root, "package-lock.json": lock} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "opencode"), 0o700),
			os.WriteFile(filepath.Join(dir, "opencode", name), text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serveRegistry starts an npm registry with agent 1.0.0 and 1.1.0. It calls asked before it sends a
// package.
func serveRegistry(t *testing.T, asked func()) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	versions := map[string]any{}
	for _, v := range []string{"1.0.0", "1.1.0"} {
		content := agent(t, v)
		versions[v] = map[string]any{
			"name": "agent", "version": v, "hasInstallScript": true,
			"dist": map[string]string{"tarball": server.URL + "/agent/-/agent-" + v + ".tgz", "integrity": integrity(content)},
		}
		mux.HandleFunc("GET /agent/-/agent-"+v+".tgz", func(w http.ResponseWriter, _ *http.Request) {
			asked()
			_, _ = w.Write(content)
		})
	}
	mux.HandleFunc("GET /agent", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "agent", "dist-tags": map[string]string{"latest": "1.1.0"}, "versions": versions,
		})
	})
	return server
}

// useRegistry configures npm as an operator does, and returns a store.
func useRegistry(t *testing.T, server *httptest.Server) *Store {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	settings := filepath.Join(t.TempDir(), "npmrc")
	text := "registry=" + server.URL + "\ncache=" + t.TempDir() + "\nupdate-notifier=false\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NPM_CONFIG_USERCONFIG", settings)
	s := Open(filepath.Join(t.TempDir(), "harnesses"))
	s.locks = os.DirFS(writeLocks(t, integrity(agent(t, "1.0.0"))))
	return s
}

// lines describes the versions of the store, one a line.
func lines(t *testing.T, s *Store) []string {
	t.Helper()
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, p := range list {
		line := p.Name + " " + p.Version
		if p.Current {
			line += " current"
		}
		if p.Pinned {
			line += " pinned"
		}
		got = append(got, line)
	}
	return got
}

func check(t *testing.T, s *Store, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), lines(t, s)); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
}

func TestVersionsAreInstalledSideBySide(t *testing.T) {
	s := useRegistry(t, serveRegistry(t, func() {}))
	check(t, s)
	install := func(version string) Program {
		t.Helper()
		p, err := s.Install(t.Context(), Request{Name: "opencode", Version: version})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := install("")
	out, err := exec.Command(filepath.Join(p.Dir, "node_modules/agent/bin/agent")).Output()
	if err != nil || string(out) != "1.0.0\n" {
		t.Errorf("the program printed %q, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "node_modules/agent/ran")); err == nil {
		t.Error("a script of the package ran")
	}
	check(t, s, "opencode 1.0.0 current pinned")
	install("1.1.0")
	check(t, s, "opencode 1.0.0 pinned", "opencode 1.1.0 current")
	install("1.0.0")
	check(t, s, "opencode 1.0.0 current pinned", "opencode 1.1.0")
	if removed, err := s.Remove(t.Context(), "opencode", "1.0.0"); err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
	if p, ok := s.Current("opencode"); ok {
		t.Errorf("the removed version is in use: %+v", p)
	}
	check(t, s, "opencode 1.1.0")
	for version, says := range map[string]string{
		"latest": "exact version", "../x": "exact version", "9.9.9": "does not have this version",
	} {
		if _, err := s.Install(t.Context(), Request{Name: "opencode", Version: version}); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("version %s: got %v", version, err)
		}
	}
	check(t, s, "opencode 1.1.0")
}

func TestAnotherPackageThanThePinnedOneIsRefused(t *testing.T) {
	s := useRegistry(t, serveRegistry(t, func() {}))
	s.locks = os.DirFS(writeLocks(t, integrity([]byte("something else"))))
	if _, err := s.Install(t.Context(), Request{Name: "opencode"}); err == nil {
		t.Error("it is installed")
	}
	check(t, s)
}

// An installation that is killed leaves nothing that looks installed, and the next one removes its
// files.
func TestKilledInstallation(t *testing.T) {
	asked := make(chan struct{}, 10)
	release := make(chan struct{})
	s := useRegistry(t, serveRegistry(t, func() {
		asked <- struct{}{}
		<-release
	}))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "INSTALL_TEST_DIR="+s.dir, "INSTALL_TEST_LOCKS="+fmt.Sprint(s.locks))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	close(release)
	left, err := filepath.Glob(filepath.Join(s.dir, stagingPrefix+"*"))
	if err != nil || len(left) == 0 {
		t.Errorf("the installation was not in the middle: %v, %v", left, err)
	}
	check(t, s)
	if _, ok := s.Current("opencode"); ok {
		t.Error("a version is in use")
	}
	if _, err := s.Install(t.Context(), Request{Name: "opencode"}); err != nil {
		t.Fatal(err)
	}
	check(t, s, "opencode 1.0.0 current pinned")
	if left, err = filepath.Glob(filepath.Join(s.dir, stagingPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestArchiveInstallsWithoutARegistry(t *testing.T) {
	online := useRegistry(t, serveRegistry(t, func() {}))
	archive := filepath.Join(t.TempDir(), "agent.tgz")
	if _, err := online.Install(t.Context(), Request{Name: "opencode", Save: archive}); err != nil {
		t.Fatal(err)
	}
	offline := Open(filepath.Join(t.TempDir(), "harnesses"))
	offline.locks, offline.npm = online.locks, "no-such-npm"
	if _, err := offline.Install(t.Context(), Request{Name: "opencode"}); err == nil ||
		!strings.Contains(err.Error(), "npm is not installed") {
		t.Errorf("without npm: got %v", err)
	}
	p, err := offline.Install(t.Context(), Request{Name: "opencode", From: archive})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(p.Dir, "node_modules/agent/bin/agent")).Output()
	if err != nil || string(out) != "1.0.0\n" {
		t.Errorf("the program printed %q, %v", out, err)
	}
	check(t, offline, "opencode 1.0.0 current pinned")

	changed := Open(filepath.Join(t.TempDir(), "harnesses"))
	changed.locks = os.DirFS(writeLocks(t, integrity([]byte("something else"))))
	if _, err := changed.Install(t.Context(), Request{Name: "opencode", From: archive}); err == nil ||
		!strings.Contains(err.Error(), "the archive lacks node_modules/agent 1.0.0") {
		t.Errorf("another release's archive: got %v", err)
	}
	check(t, changed)
}

func TestHostileArchives(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	escaping := pack(t, map[string]string{"package/../../../../../../../" + outside: "x", "package/ok": "x"})
	good := agent(t, "1.0.0")
	name := func(packed []byte) string {
		hash, err := hashOf(integrity(packed))
		if err != nil {
			t.Fatal(err)
		}
		return hash + ".tgz"
	}
	for what, test := range map[string]struct {
		archive []byte
		pinned  []byte
	}{
		"a file that leaves the folder": {pack(t, map[string]string{name(escaping): string(escaping)}), escaping},
		"a name that is no hash":        {pack(t, map[string]string{"../../x": "x"}), good},
		"another content":               {pack(t, map[string]string{name(good): "x"}), good},
		"no archive":                    {[]byte("hello"), good},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "archive.tgz")
			if err := os.WriteFile(file, test.archive, 0o600); err != nil {
				t.Fatal(err)
			}
			s := Open(filepath.Join(t.TempDir(), "harnesses"))
			s.locks = os.DirFS(writeLocks(t, integrity(test.pinned)))
			_, err := s.Install(t.Context(), Request{Name: "opencode", From: file})
			if what != "a file that leaves the folder" && err == nil {
				t.Error("it is installed")
			}
			if _, err := os.Stat(outside); err == nil {
				t.Error("a file was written outside of the folder")
			}
		})
	}
}

// Every file that this release downloads has a hash, for both architectures.
func TestPinsAreWhole(t *testing.T) {
	t.Parallel()
	s := Open(t.TempDir())
	if got := len(s.Pins()); got != 5 {
		t.Errorf("%d agents are pinned", got)
	}
	for _, p := range pins {
		lock, err := s.lockOf(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		machines := map[string]bool{}
		for dir, locked := range lock.Packages {
			if dir == "" {
				continue
			}
			if _, err := hashOf(locked.Integrity); err != nil || !strings.HasPrefix(path.Clean(dir), "node_modules/") {
				t.Errorf("%s: %s: %v", p.Name, dir, err)
			}
			for _, cpu := range []string{"x64", "arm64"} {
				machines[cpu] = machines[cpu] || slices.Contains(locked.CPU, cpu) && locked.OS.include("linux")
			}
		}
		if pin, ok := s.Pin(p.Name); !ok || !validVersion().MatchString(pin.Version) {
			t.Errorf("%s: %+v", p.Name, pin)
		}
		if p.Name != "gemini" && (!machines["x64"] || !machines["arm64"]) {
			t.Errorf("%s: %v", p.Name, machines)
		}
	}
}

func TestASystemWithoutGlibcIsRefused(t *testing.T) {
	t.Parallel()
	s := Open(t.TempDir())
	s.libc = "/no/such/loader"
	_, err := s.Install(t.Context(), Request{Name: "opencode"})
	if err == nil || !strings.Contains(err.Error(), "no glibc") {
		t.Errorf("got %v", err)
	}
}
