package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
)

// runFile is an artifact of a run that has content.
type runFile struct {
	UID         string                `json:"artifact_uid"`
	Type        penstock.ArtifactType `json:"artifact_type"`
	Name        string                `json:"name"` // where run download writes it, below its folder
	CreatedAt   penstock.Time         `json:"created_at"`
	MimeType    string                `json:"mime_type,omitempty"`
	SizeBytes   int64                 `json:"size_bytes,omitzero"` // 0: unknown, such as of a plan
	Title       string                `json:"title,omitempty"`
	Description string                `json:"description,omitempty"`
	Replaced    bool                  `json:"replaced,omitzero"` // a later file has the same name

	filename, filepath string // as the agent named it
}

// filesOf returns the artifacts of a run that can be downloaded, the oldest first.
func filesOf(run penstock.Run) []runFile {
	files := []runFile{}
	for _, a := range run.Artifacts {
		var data penstock.ArtifactData
		if json.Unmarshal(a.Data, &data) != nil {
			continue // of a newer server
		}
		f := runFile{
			UID: data.ArtifactUID, Type: a.Type, CreatedAt: a.CreatedAt, MimeType: data.MimeType, SizeBytes: data.SizeBytes,
			Title: data.Title, Description: data.Description, filename: data.Filename, filepath: data.Filepath,
		}
		switch a.Type {
		case penstock.ArtifactPlan:
			f.MimeType = "text/markdown"
		case penstock.ArtifactFile, penstock.ArtifactScreenshot:
		default:
			continue
		}
		if !penstock.ValidID(f.UID) { // it becomes a name
			continue
		}
		f.Name = f.name()
		files = append(files, f)
	}
	slices.SortStableFunc(files, func(a, b runFile) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	latest := map[string]int{}
	for i, f := range files {
		if before, ok := latest[f.Name]; ok {
			files[before].Replaced = true
		}
		latest[f.Name] = i
	}
	return files
}

// name returns the path of the file below the folder of a download. It is the path in the workspace, or the
// name of a file elsewhere. The agent chooses both, so a name that may harm is replaced by the ID.
func (f runFile) name() string {
	for _, name := range []string{f.filepath, f.filename} {
		if harmlessPath(name) {
			return path.Clean(name)
		}
	}
	extension := ".md"
	if f.Type != penstock.ArtifactPlan {
		extension = ""
		if list, err := mime.ExtensionsByType(f.MimeType); err == nil && len(list) > 0 {
			extension = list[0]
		}
	}
	return f.UID + extension
}

// harmlessPath reports whether a download may write a file with this path: it stays in its folder, is not in
// a folder of git, whose configuration names programs, and looks like what it is.
func harmlessPath(name string) bool {
	if name == "" || name != strings.TrimSpace(name) || !filepath.IsLocal(name) || path.Clean(name) == "." ||
		strings.ContainsFunc(name, harmful) || strings.ContainsAny(name, "\\\ufffd") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > 200 || strings.EqualFold(strings.TrimRight(part, ". "), ".git") {
			return false
		}
	}
	return true
}

type runFilesCmd struct {
	ID string `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
}

func (cmd *runFilesCmd) Help() string {
	return "Lists files, screenshots and plans that the agent saved as artifacts, the oldest first. run diff shows " +
		"what it changed in repositories."
}

func (cmd *runFilesCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	run, err := c.run(ctx, cmd.ID)
	if err != nil {
		return err
	}
	files := filesOf(run)
	if c.data {
		return std.result(ctx, map[string]any{"files": files})
	}
	var rows [][]string
	for _, f := range files {
		size, note := "", f.Title
		if f.SizeBytes > 0 || f.Type != penstock.ArtifactPlan {
			size = bytesText(f.SizeBytes)
		}
		if f.Replaced {
			note = strings.TrimSpace("(replaced) " + note)
		}
		rows = append(rows, []string{f.Name, string(f.Type), size, age(f.CreatedAt), f.UID, note})
	}
	return std.table([]string{"FILE", "KIND", "SIZE", "AGE", "ID", "TITLE"}, rows)
}

type runDownloadCmd struct {
	ID    string   `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
	Files []string `arg:"" optional:"" name:"file" help:"Names or IDs of files, as run files lists them; by default all, each in its latest version."`
	Dir   string   `type:"path" default:"." placeholder:"FOLDER" help:"Folder to write to; it is created. By default, the current folder."`
	Force bool     `help:"Overwrite files that exist."`
}

func (cmd *runDownloadCmd) Help() string {
	return "Prints the path of each file. Nothing is written outside of the folder, and each file is written whole or " +
		"not at all. If a file exists, nothing is downloaded without --force."
}

func (cmd *runDownloadCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	run, err := c.run(ctx, cmd.ID)
	if err != nil {
		return err
	}
	files, err := cmd.choose(filesOf(run))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		std.notef("run %s has no files; what it changed in repositories: penstock run diff %s", run.ID, run.ID)
		if c.data {
			return std.result(ctx, map[string]any{"files": files})
		}
		return nil
	}
	if err := os.MkdirAll(cmd.Dir, 0o777); err != nil { //nolint:gosec // the umask decides who may read downloads
		return exitf(exitUsage, "--dir: %w", err)
	}
	root, err := os.OpenRoot(cmd.Dir)
	if err != nil {
		return exitf(exitUsage, "--dir: %w", err)
	}
	defer root.Close()
	if err := cmd.checkFree(root, files); err != nil {
		return err
	}
	for i, f := range files {
		if err := c.saveFile(ctx, root, f, cmd.Force); err != nil {
			return fmt.Errorf("download %s: %w", cleanLine(f.Name), err)
		}
		files[i].Name = filepath.Join(cmd.Dir, f.Name)
		if !c.data {
			fmt.Fprintln(std.out, files[i].Name)
		}
	}
	if c.data {
		return std.result(ctx, map[string]any{"files": files})
	}
	return nil
}

// choose returns the files that the arguments name: each in its latest version, or the one with this ID.
func (cmd *runDownloadCmd) choose(all []runFile) ([]runFile, error) {
	chosen := []runFile{}
	add := func(f runFile) {
		if !slices.ContainsFunc(chosen, func(other runFile) bool { return other.UID == f.UID }) {
			chosen = append(chosen, f)
		}
	}
	for _, f := range all {
		if len(cmd.Files) == 0 && !f.Replaced {
			add(f)
		}
	}
	for _, name := range cmd.Files {
		found := false
		for _, f := range all {
			if f.UID == name || !f.Replaced && (f.Name == path.Clean(name) || f.filename == name) {
				found = true
				add(f)
			}
		}
		if !found {
			return nil, exitf(exitUsage, "the run has no file %q; see: penstock run files %s", name, cmd.ID)
		}
	}
	for i, f := range chosen {
		for _, other := range chosen[:i] {
			if f.Name == other.Name {
				return nil, exitf(
					exitUsage, "%s and %s are versions of %s: download them into different folders", other.UID, f.UID, f.Name,
				)
			}
		}
	}
	return chosen, nil
}

// checkFree returns a usage error that names the files that exist.
func (cmd *runDownloadCmd) checkFree(root *os.Root, files []runFile) error {
	var there []string
	for _, f := range files {
		info, err := root.Lstat(f.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return exitf(exitUsage, "--dir: %w", err)
		case !info.Mode().IsRegular():
			return exitf(exitUsage, "%s exists and is not a file", filepath.Join(cmd.Dir, f.Name))
		case !cmd.Force:
			there = append(there, filepath.Join(cmd.Dir, f.Name))
		}
	}
	if there != nil {
		return exitf(exitUsage, "nothing was downloaded, because files exist: %s; use --force or another --dir",
			strings.Join(there, ", "))
	}
	return nil
}

// saveFile downloads a file into a temporary one beside it, and names it only once it is complete.
func (c *client) saveFile(ctx context.Context, root *os.Root, f runFile, force bool) (failed error) {
	dir := path.Dir(f.Name)
	if err := root.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	temporary := path.Join(dir, ".penstock-"+rand.Text())
	file, err := root.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err := root.Remove(temporary); failed == nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
	}()
	err = c.retry(ctx, func(ctx context.Context, _ bool) error { return c.fetchFile(ctx, f, file) })
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if force {
		return root.Rename(temporary, f.Name)
	}
	return root.Link(temporary, f.Name) // fails if a file with this name was created meanwhile
}

// fetchFile writes the content of an artifact to a file, from its beginning.
func (c *client) fetchFile(ctx context.Context, f runFile, file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	response, err := c.send(
		ctx, http.MethodGet, "agent/artifacts/"+url.PathEscape(f.UID)+"/download", http.Header{}, nil,
	)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	most := cmp.Or(f.SizeBytes, maxAnswer) // a plan has no size
	n, err := io.Copy(file, io.LimitReader(response.Body, most+1))
	if _, ours := errors.AsType[*fs.PathError](err); ours {
		return err
	}
	if err == nil && (n > most || f.SizeBytes > 0 && n < f.SizeBytes) {
		err = fmt.Errorf("got %d bytes of %d", n, most)
	}
	if err != nil {
		return &transportError{c.base, err}
	}
	return nil
}
