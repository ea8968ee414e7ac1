package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// packed packs a binary, this test's own, as version 1.2.3, and returns the folder of the release.
func packed(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := release{
		version: "1.2.3", commit: "c0ffee", time: time.Unix(1_700_000_000, 0).UTC(), source: "../..", out: t.TempDir(),
	}
	if err := r.pack([]string{self}); err != nil {
		t.Fatal(err)
	}
	return r.out
}

func read(t *testing.T, folder, pattern string) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s matches %q (%v), want one file", pattern, found, err)
	}
	content, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Packing the same binary twice, in different folders, gives the same bytes.
func TestPackingIsReproducible(t *testing.T) {
	t.Parallel()
	one, other := packed(t), packed(t)
	for _, pattern := range []string{"*.tar.gz", "*.cdx.json", "SHA256SUMS"} {
		if !bytes.Equal(read(t, one, pattern), read(t, other, pattern)) {
			t.Errorf("%s differs between two packings", pattern)
		}
	}
}

// sha256sum accepts the checksums of a release, and refuses them once a file has changed.
func TestChecksumsFindAChange(t *testing.T) {
	t.Parallel()
	folder := packed(t)
	check := func() error {
		command := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
		command.Dir = folder
		return command.Run()
	}
	if err := check(); err != nil {
		t.Errorf("sha256sum refuses the release: %v", err)
	}
	found, err := filepath.Glob(filepath.Join(folder, "*.tar.gz"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := os.WriteFile(found[0], []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if check() == nil {
		t.Error("sha256sum accepts a release with a changed archive")
	}
}

// An archive has one folder named after the release, with an executable, the documents and the
// files to deploy it.
func TestArchiveHasTheBinaryAndTheDocuments(t *testing.T) {
	t.Parallel()
	unzipped, err := gzip.NewReader(bytes.NewReader(read(t, packed(t), "*.tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	tape, found := tar.NewReader(unzipped), map[string]int64{}
	for {
		header, err := tape.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		folder, name, _ := strings.Cut(header.Name, "/")
		if !strings.HasPrefix(folder, "penstock-1.2.3-") {
			t.Errorf("%s is outside the folder of the release", header.Name)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Uname != "" || header.ModTime.Unix() != 1_700_000_000 {
			t.Errorf("%s has the user or the time of this machine: %+v", header.Name, header)
		}
		found[name] = header.Mode
	}
	want := map[string]int64{
		"penstock": 0o755, "LICENSE": 0o644, "README.md": 0o644, "CHANGELOG.md": 0o644,
		"deploy/systemd/penstock.service": 0o644, "deploy/helm/penstock/Chart.yaml": 0o644,
	}
	for name, mode := range want {
		if found[name] != mode {
			t.Errorf("%s has mode %o, want %o", name, found[name], mode)
		}
	}
	for name := range found {
		if want[name] == 0 && !strings.HasPrefix(name, "deploy/") {
			t.Errorf("the archive has %s, want only %v and the folder deploy", name, want)
		}
	}
}

// The SBOM names what is in the binary: Go modules, the standard library, and the packages of the dashboard
// without the tools that build it.
func TestSBOMNamesWhatIsInside(t *testing.T) {
	t.Parallel()
	var bill struct {
		BOMFormat   string `json:"bomFormat"`
		SpecVersion string `json:"specVersion"`
		Metadata    struct {
			Component struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"component"`
		} `json:"metadata"`
		Components []struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			Purl    string `json:"purl"`
		} `json:"components"`
	}
	if err := json.Unmarshal(read(t, packed(t), "*.cdx.json"), &bill); err != nil {
		t.Fatal(err)
	}
	if bill.BOMFormat != "CycloneDX" || bill.SpecVersion != "1.6" || bill.Metadata.Component.Name != "penstock" ||
		bill.Metadata.Component.Version != "1.2.3" {
		t.Errorf("got %s %s of %+v", bill.BOMFormat, bill.SpecVersion, bill.Metadata.Component)
	}
	var purls []string
	for _, c := range bill.Components {
		if c.Version == "" {
			t.Errorf("%s has no version", c.Name)
		}
		name, _, _ := strings.Cut(strings.ReplaceAll(c.Purl, "%40", ""), "@")
		purls = append(purls, name)
	}
	for _, want := range []string{
		"pkg:golang/std", "pkg:golang/github.com/CycloneDX/cyclonedx-go", "pkg:npm/react", "pkg:npm/mantine/core",
	} {
		if !slices.Contains(purls, want) {
			t.Errorf("the SBOM does not name %s", want)
		}
	}
	if slices.Contains(purls, "pkg:npm/vite") {
		t.Error("the SBOM names vite, which only builds the dashboard")
	}
}
