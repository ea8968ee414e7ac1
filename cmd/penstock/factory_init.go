package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

type factoryInitCmd struct {
	Folder string `arg:"" help:"Folder to write to; created if it does not exist."`
	From   string `xor:"source" placeholder:"FACTORY" help:"UID, name or alias of the factory whose files to write; by default a small new factory."`
	Name   string `xor:"source" help:"Name of the new factory; by default the name of the folder."`
}

func (cmd *factoryInitCmd) Help() string {
	return "Never changes an existing file. --from reads the files from the server. After you edit them, penstock " +
		"factory apply sends them back."
}

// The files of a small new factory.
const (
	newFactory = `# What the factory is, and what its agents have in common.
schemaVersion: v1alpha1
name: new
agentDefaults:
  model: auto # the server's own, or one by its id
`
	newForeman = `---
description: Takes the work of this factory
agentType: FOREMAN
---

Do what is asked for and check the result. Finish with a short account of what you did and what is left; where something
essential is missing, ask instead of guessing.
`
)

func (cmd *factoryInitCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	files, next, err := cmd.files(ctx, std, in)
	if err != nil {
		return err
	}
	if err := writeTree(cmd.Folder, files); err != nil {
		return err
	}
	std.notef("wrote %d files to %s; %s", len(files), cmd.Folder, next)
	return nil
}

// files returns the files to write, and the next step.
func (cmd *factoryInitCmd) files(
	ctx context.Context, std *stdio, in *connection,
) (files map[string]string, next string, err error) {
	if cmd.From == "" {
		return cmd.small()
	}
	c, path, err := factoryNoun.dialItem(ctx, std, in, cmd.From, "definition")
	if err != nil {
		return nil, "", err
	}
	var d factory.FactoryFiles
	if _, err := c.call(ctx, http.MethodGet, path, nil, &d); err != nil {
		return nil, "", err
	}
	return d.Files, fmt.Sprintf("apply them with: penstock factory apply %s --base %d", cmd.Folder, d.Revision), nil
}

// small returns the smallest factory that works.
func (cmd *factoryInitCmd) small() (files map[string]string, next string, err error) {
	name := cmd.Name
	if name == "" {
		folder, err := filepath.Abs(cmd.Folder)
		if err != nil {
			return nil, "", exitf(exitUsage, "resolve the folder: %w", err)
		}
		name = filepath.Base(folder)
	}
	tree := map[string][]byte{"factory.yaml": []byte(newFactory), "agents/foreman/agent.md": []byte(newForeman)}
	d, _ := definition.Parse(tree, definition.Known{})
	d.Factory.Name = name
	if tree["factory.yaml"], err = definition.WriteFactory(tree["factory.yaml"], d.Factory); err != nil {
		return nil, "", exitf(exitUsage, "%q is not a valid factory name: %w", name, err)
	}
	if _, found := definition.Parse(tree, definition.Known{}); definition.HasErrors(found) {
		return nil, "", exitf(exitUsage, "%q is not a valid factory name: %s", name, found[0].Message)
	}
	files = map[string]string{}
	for name, content := range tree {
		files[name] = string(content)
	}
	return files, "create the factory with: penstock factory apply " + cmd.Folder, nil
}

// writeTree writes files below a folder, and never outside of it. If one of them exists already, it
// writes nothing.
func writeTree(folder string, files map[string]string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil { //nolint:gosec // sources are for whomever the umask lets read them
		return exitf(exitUsage, "create the folder: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return exitf(exitUsage, "open the folder: %w", err)
	}
	defer root.Close()
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if _, err := root.Lstat(filepath.FromSlash(name)); !errors.Is(err, fs.ErrNotExist) {
			return exitf(exitUsage, "%s already exists: nothing was written", path.Join(filepath.ToSlash(folder), name))
		}
	}
	for _, name := range names {
		if err := writeInto(root, filepath.FromSlash(name), files[name]); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

func writeInto(root *os.Root, name, content string) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}
