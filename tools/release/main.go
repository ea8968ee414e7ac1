// Command release packs binaries that are already built. It writes an archive and a software bill
// of materials (SBOM, CycloneDX 1.6) for each, and SHA256SUMS for all. The same binaries, sources
// and flags give the same bytes: every time is the commit's, and nothing depends on the machine.
//
// It is a separate module, so that it is not part of the product. scripts/release calls it.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// documents go into each archive beside the binary: files, and folders with all their files.
var documents = []string{"CHANGELOG.md", "LICENSE", "README.md", "deploy"}

// release holds the parts of a release and their sources.
type release struct {
	version string    // without v: 0.1.0
	commit  string    // of the sources
	time    time.Time // of the commit
	source  string    // a folder with the sources: documents, web/package-lock.json
	out     string    // must exist and be empty
}

func main() {
	r := release{}
	flag.StringVar(&r.version, "version", "", "the version, such as 0.1.0")
	flag.StringVar(&r.commit, "commit", "", "the commit of the sources")
	seconds := flag.Int64("time", 0, "the time of the commit in Unix seconds")
	flag.StringVar(&r.source, "source", ".", "the folder of the sources")
	flag.StringVar(&r.out, "out", "", "an empty folder for the files of the release")
	flag.Parse()
	r.time = time.Unix(*seconds, 0).UTC()
	if err := r.pack(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// pack writes the files of the release for these binaries. Their build information names the platform.
func (r release) pack(binaries []string) error {
	for _, path := range binaries {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read the build information of %s: %w", path, err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("penstock-%s-%s-%s", r.version, setting(info, "GOOS"), setting(info, "GOARCH"))
		archive, err := r.archive(name, content)
		if err != nil {
			return err
		}
		bill, err := r.bill(info, content)
		if err != nil {
			return err
		}
		if err := r.write(name+".tar.gz", archive); err != nil {
			return err
		}
		if err := r.write(name+".cdx.json", bill); err != nil {
			return err
		}
	}
	return r.checksums()
}

func (r release) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644) //nolint:gosec // all may read a release
}

// archive returns a folder of this name, with the binary and the documents, as tar and gzip.
func (r release) archive(folder string, binary []byte) ([]byte, error) {
	var packed bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tape := tar.NewWriter(zipped)
	add := func(name string, mode int64, content []byte) error {
		header := tar.Header{
			Typeflag: tar.TypeReg, Name: folder + "/" + name, Mode: mode, Size: int64(len(content)),
			ModTime: r.time, Format: tar.FormatUSTAR,
		}
		if err := tape.WriteHeader(&header); err != nil {
			return err
		}
		_, err := tape.Write(content)
		return err
	}
	source := os.DirFS(r.source)
	for _, name := range documents {
		err := fs.WalkDir(source, name, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(source, path)
			if err != nil {
				return err
			}
			return add(path, 0o644, content)
		})
		if err != nil {
			return nil, err
		}
	}
	if err := add("penstock", 0o755, binary); err != nil {
		return nil, err
	}
	if err := tape.Close(); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// bill returns the SBOM of a binary: the Go modules that its build information names, Go's standard
// library, and the npm packages of the dashboard that it embeds.
func (r release) bill(info *buildinfo.BuildInfo, binary []byte) ([]byte, error) {
	digest := sha256.Sum256(binary)
	packages, err := dashboard(filepath.Join(r.source, "web", "package-lock.json"))
	if err != nil {
		return nil, err
	}
	components := append(modules(info), packages...)
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: "penstock", Type: cyclonedx.ComponentTypeApplication, Name: "penstock", Version: r.version,
			Licenses: licensed("Apache-2.0"),
			Hashes:   &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}},
			Properties: &[]cyclonedx.Property{
				{Name: "penstock:commit", Value: r.commit},
				{Name: "penstock:go", Value: info.GoVersion},
				{Name: "penstock:platform", Value: setting(info, "GOOS") + "/" + setting(info, "GOARCH")},
			},
		},
	}
	bom.Components = &components
	parts := make([]string, 0, len(components))
	for _, c := range components {
		parts = append(parts, c.BOMRef)
	}
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: "penstock", Dependencies: &parts}}

	var text bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
	if err := encoder.EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("encode the SBOM: %w", err)
	}
	return text.Bytes(), nil
}

// checksums writes SHA256SUMS of all other files, in the form that `sha256sum --check` reads.
func (r release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines []string
	for _, entry := range entries {
		file, err := os.Open(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		digest := sha256.New()
		_, err = io.Copy(digest, file)
		_ = file.Close()
		if err != nil {
			return fmt.Errorf("read %s: %w", file.Name(), err)
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", digest.Sum(nil), entry.Name()))
	}
	return r.write("SHA256SUMS", []byte(strings.Join(lines, "")))
}

func setting(info *buildinfo.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
