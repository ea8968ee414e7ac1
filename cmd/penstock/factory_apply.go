package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// folderOfFactory is a folder with a factory's files, and their factory.
type folderOfFactory struct {
	Folder  string `arg:"" optional:"" default:"." field:"/files" help:"Folder with the factory's files; by default the current folder."`
	Factory string `placeholder:"FACTORY" help:"UID, name or alias of the factory; by default the name in factory.yaml."`
	Base    *int64 `placeholder:"REVISION" field:"/base_revision" help:"Revision that the files are based on; the server refuses the files if the factory has a newer one."`
}

type factoryPlanCmd struct{ folderOfFactory }

func (cmd *factoryPlanCmd) Help() string { return "Exits with 1 if the files have errors." }

func (cmd *factoryPlanCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	return cmd.send(ctx, std, in, true)
}

type factoryApplyCmd struct{ folderOfFactory }

func (cmd *factoryApplyCmd) Help() string {
	return "Applies all files or none. Creates the factory if no factory has the name in factory.yaml."
}

func (cmd *factoryApplyCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	return cmd.send(ctx, std, in, false)
}

// send applies the files of the folder, or requests a plan.
func (f *folderOfFactory) send(ctx context.Context, std *stdio, in *connection, dry bool) error {
	tree, d, local, err := f.read(std)
	if err != nil {
		return err
	}
	files := make(map[string]string, len(tree))
	for name, content := range tree {
		files[name] = string(content)
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	target := cmp.Or(f.Factory, d.Factory.Name)
	uid, err := findFactory(ctx, c, target)
	if refused, ok := errors.AsType[*exitError](err); ok && refused.code == exitRefused && f.Factory == "" &&
		f.Base == nil {
		return f.create(ctx, c, files, d, local, dry)
	}
	if err != nil {
		return err
	}
	request := factory.ApplyRequest{Files: files, DryRun: dry, BaseRevision: f.Base}
	err = perform(ctx, c, http.MethodPut, "factory/"+url.PathEscape(uid)+"/definition", request, func(
		a factory.Applied,
	) error {
		f.remark(std, local, a.Diagnostics)
		return printPlan(std, a.Plan, fmt.Sprintf("revision %d is active", a.Revision))
	})
	return f.explain(std, err)
}

// create creates a new factory. Its plan has the server's findings.
func (f *folderOfFactory) create(
	ctx context.Context, c *client, files map[string]string, d *definition.Definition, local []definition.Diagnostic,
	dry bool,
) error {
	plan := definition.Compare(nil, d, nil)
	if !dry {
		err := perform(ctx, c, http.MethodPost, "factory", map[string]any{"files": files}, func(made penstock.Factory) error {
			f.remark(c.std, local, made.Definition.Diagnostics)
			return printPlan(
				c.std, plan, fmt.Sprintf("revision %d is active in the new factory %s", made.Definition.Revision, made.UID),
			)
		})
		return f.explain(c.std, err)
	}
	var result factory.Validated
	if _, err := c.call(
		ctx, http.MethodPost, "factory-files/validate", map[string]any{"files": files}, &result,
	); err != nil {
		return err
	}
	if !result.Valid {
		return f.explain(c.std, &apiError{status: http.StatusUnprocessableEntity, diagnostics: result.Diagnostics})
	}
	f.remark(c.std, local, result.Diagnostics)
	if c.data {
		return c.std.result(ctx, plan)
	}
	return printPlan(c.std, plan, "this factory does not exist yet: apply creates it")
}

// read reads the folder and checks it without a server. It prints and returns findings that are not
// errors.
func (f *folderOfFactory) read(std *stdio) (map[string][]byte, *definition.Definition, []definition.Diagnostic, error) {
	if info, err := os.Stat(f.Folder); err != nil || !info.IsDir() {
		return nil, nil, nil, exitf(exitUsage, "%s is not a folder", f.Folder)
	}
	tree, found, err := definition.ReadTree(os.DirFS(f.Folder))
	if err != nil {
		return nil, nil, nil, err
	}
	d, more := definition.Parse(tree, definition.Known{CheckCron: factory.CheckCron})
	if found = append(found, more...); definition.HasErrors(found) {
		return nil, nil, nil, f.report(std, found)
	}
	for _, d := range found {
		d.Path = path.Join(filepath.ToSlash(f.Folder), d.Path)
		std.notef("%s", d)
	}
	return tree, d, found, nil
}

// explain prints the server's findings as [folderOfFactory.read] prints its own. It returns other
// errors unchanged.
func (f *folderOfFactory) explain(std *stdio, err error) error {
	refused, ok := errors.AsType[*apiError](err)
	if !ok || len(refused.diagnostics) == 0 {
		return err
	}
	return f.report(std, findingsOf(refused.diagnostics))
}

// remark prints the server's warnings and notes that were not found locally.
func (f *folderOfFactory) remark(std *stdio, local []definition.Diagnostic, diagnostics []penstock.Diagnostic) {
	for _, d := range findingsOf(diagnostics) {
		same := func(other definition.Diagnostic) bool {
			return other.Path == d.Path && other.Line == d.Line && other.Column == d.Column && other.Code == d.Code
		}
		if slices.ContainsFunc(local, same) {
			continue
		}
		d.Path = path.Join(filepath.ToSlash(f.Folder), d.Path)
		std.notef("%s", d)
	}
}

// findingsOf converts the server's findings to the type of package definition.
func findingsOf(diagnostics []penstock.Diagnostic) []definition.Diagnostic {
	var found []definition.Diagnostic
	for _, d := range diagnostics {
		found = append(found, definition.Diagnostic{
			Code: definition.Code(d.Code), Message: d.Message, Path: d.Path, Line: d.Line, Column: d.Column,
			Severity: definition.Severity(d.Severity), Nearest: d.Nearest,
		})
	}
	return found
}

func (f *folderOfFactory) report(std *stdio, found []definition.Diagnostic) error {
	for _, d := range found {
		d.Path = path.Join(filepath.ToSlash(f.Folder), d.Path)
		if _, err := fmt.Fprintln(std.out, d); err != nil {
			return err
		}
	}
	return &exitError{code: exitFailed}
}

// printPlan shows a plan, one line for each resource, and the state of the factory.
func printPlan(std *stdio, plan definition.Plan, state string) error {
	var rows [][]string
	add := func(what string, list []definition.Change) {
		for _, c := range list {
			detail := strings.Join(c.Fields, " ")
			if c.Again {
				detail = "one with this name was deleted before; the new one gets a new UID"
			}
			rows = append(rows, []string{what, string(c.Kind), c.Name, detail})
		}
	}
	add("create", plan.Created)
	add("change", plan.Changed)
	add("remove", plan.Removed)
	if rows == nil {
		std.notef("nothing changes; %s", state)
		return nil
	}
	if err := std.table([]string{"PLAN", "KIND", "NAME", "FIELDS"}, rows); err != nil {
		return err
	}
	std.notef("%s", state)
	return nil
}
