package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

// factoryValidateCmd needs no server, because it runs the server's own parser. It skips checks that
// need a server, such as the existence of secrets.
type factoryValidateCmd struct {
	Folder string `arg:"" optional:"" default:"." help:"Folder with the factory's files; by default the current folder."`
	Format string `default:"text" enum:"text,json,github" help:"Output format: text (one line per finding, like a compiler), json, or github (annotations for a GitHub workflow)."`
	Strict bool   `help:"Treat warnings as errors, and also what is kept but not used."`
}

func (cmd *factoryValidateCmd) Help() string {
	return "Each finding has a file, line, column and code. Exits with 1 if there is an error; warnings and notes do " +
		"not count without --strict."
}

func (cmd *factoryValidateCmd) Run(ctx context.Context, std *stdio, settings *fileSettings) error {
	// Keep the path relative, because editors and GitHub resolve it from their own folder.
	if info, err := os.Stat(cmd.Folder); err != nil || !info.IsDir() {
		return exitf(exitUsage, "%s is not a folder", cmd.Folder)
	}
	files, found, err := definition.ReadTree(os.DirFS(cmd.Folder))
	if err != nil {
		return err
	}
	_, more := definition.Parse(files, definition.Known{
		CheckCron: factory.CheckCron, Model: settings.checkModel,
		Repositories: checkRepositories,
	})
	found = append(found, more...)
	if cmd.Strict {
		definition.Strict(found)
	}
	if err := cmd.print(ctx, std, found); err != nil {
		return err
	}
	if definition.HasErrors(found) {
		return &exitError{code: exitFailed}
	}
	if cmd.Format == "text" {
		std.notef("%s is valid: %d files", cmd.Folder, len(files))
	}
	return nil
}

// checkRepositories checks the repositories of runs. Whether they may be local depends on the server.
func checkRepositories(list []penstock.RunRepository) []penstock.FieldError {
	return penstock.CheckRepositories("", list, func(url string) error {
		if strings.HasPrefix(url, "file://") {
			return nil
		}
		return run.CheckRemote(nil, url)
	}, git.CheckRef)
}

// checkModel warns about a name that is probably not a model. A server may have unknown aliases, so
// a name that is not similar to a model may be one of them.
func (s *fileSettings) checkModel(name string) (problem, nearest string) {
	_, known := penstock.CanonicalModelID(name)
	_, alias := s.ModelAliases[name]
	if known || alias || run.IsModelAuto(name) {
		return "", ""
	}
	near := penstock.NearestModel(name)
	if near == "" && !strings.Contains(name, "/") {
		return "", ""
	}
	return fmt.Sprintf("the built-in agent does not support the model %q, unless the server has an alias with this "+
		"name", name), near
}

func (cmd *factoryValidateCmd) print(ctx context.Context, std *stdio, found []definition.Diagnostic) error {
	if cmd.Format == "json" {
		if found == nil {
			found = []definition.Diagnostic{}
		}
		return std.result(ctx, map[string]any{"valid": !definition.HasErrors(found), "diagnostics": found})
	}
	for _, d := range found {
		d.Path = path.Join(filepath.ToSlash(cmd.Folder), d.Path)
		line := d.String()
		if cmd.Format == "github" {
			line = d.GitHub()
		}
		if _, err := fmt.Fprintln(std.out, line); err != nil {
			return err
		}
	}
	return nil
}
