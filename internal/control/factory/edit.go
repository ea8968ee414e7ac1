package factory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// edit is a change of one resource of a factory through the API. It changes the resource's
// document, and applying the document changes the row. The request has been checked before, so
// findings here concern only rules that are stricter for files.
type edit struct {
	kind     definition.Kind
	from, to string // the resource's name; from is "" for a new one, and to for a deleted one
	// write changes the document, which is empty for a new resource. present is the current
	// definition.
	write func(document []byte, present *definition.Definition) ([]byte, error)

	// The requested row of the edit's kind. Values that no file can hold come from it.
	agent      penstock.Identity
	automation penstock.Automation
	webhook    store.WebhookRow
}

// edit changes the files of a factory and applies them, as the next revision if they differ. Files
// from a repository stay unchanged; then only values that no file can hold are stored.
func (s *Factories) edit(
	ctx context.Context, tx *store.Tx, p penstock.Principal, factoryUID string, e edit,
) error {
	factory, err := tx.Factories().Find(ctx, p.Team, factoryUID)
	if err != nil {
		return err
	}
	before, err := tx.Definitions().Files(ctx, factoryUID)
	if err != nil {
		return err
	}
	a := application{s: s, tx: tx, p: p, factory: factory, edit: &e}
	files, present := before, a.present(before)
	if present == nil {
		return fmt.Errorf("edit the files of factory %s: %v", factoryUID, a.wasFound)
	}
	if factory.Source != store.FactoryRepository {
		if files, err = e.files(before, present); err != nil {
			return err
		}
	}
	_, err = a.apply(ctx, before, files)
	return err
}

// files returns the files of a factory after the edit. The path of a document follows from the
// resource's name, and its other files move with it.
func (e *edit) files(before map[string][]byte, present *definition.Definition) (map[string][]byte, error) {
	if err := e.nameFree(present); err != nil {
		return nil, err
	}
	files := maps.Clone(before)
	switch {
	case e.to == "":
		for _, path := range definition.Paths(files, e.kind, e.from) {
			delete(files, path)
		}
		return files, nil
	case e.from != "" && e.from != e.to:
		files = moved(files, e.kind, e.from, e.to)
	}
	path := definition.DocumentPath(files, e.kind, e.to)
	document, err := e.write(files[path], present)
	if err != nil {
		return nil, penstock.Invalid("", "cannot be written into %s: %s", path, err)
	}
	files[path] = document
	return files, nil
}

// nameFree rejects a name that another resource of the kind has, ignoring case.
func (e *edit) nameFree(present *definition.Definition) error {
	for _, name := range present.Names(e.kind) {
		if name != e.from && strings.EqualFold(name, e.to) {
			article := map[bool]string{true: "a", false: "an"}[e.kind == definition.KindWebhook]
			return penstock.Errorf(penstock.CodeConflict, "%s %s named %q already exists", article, e.kind, e.to)
		}
	}
	return nil
}

// edits reports whether an edit concerns a kind. Applying a whole tree concerns all kinds.
func (a *application) edits(kind definition.Kind) bool { return a.edit == nil || a.edit.kind == kind }

// editsResource reports whether the edit is about the named resource.
func (a *application) editsResource(kind definition.Kind, name string) bool {
	return a.edit != nil && a.edit.kind == kind && a.edit.to == name
}

// nameAfter returns the new name of a row's resource. A renamed resource keeps its UID.
func (a *application) nameAfter(kind definition.Kind, name string) string {
	if a.edit != nil && a.edit.kind == kind && a.edit.from == name {
		return a.edit.to
	}
	return name
}

// deleted reports whether the files no longer have a resource that has a row. An edit deletes no
// resource except its own.
func (a *application) deleted(d *definition.Definition, kind definition.Kind, name string) bool {
	if a.edit != nil {
		return name == ""
	}
	return !slices.Contains(d.Names(kind), name)
}

// readEdited parses the files of an edit. Findings in documents that it neither changes nor breaks
// do not prevent it.
func (a *application) readEdited(before, files map[string][]byte) (*definition.Definition, error) {
	d, found := definition.Read(files, definition.Known{})
	var fields []penstock.FieldError
	var broken error
	for _, f := range found {
		old, there := before[f.Path]
		switch {
		case f.Severity != definition.SeverityError:
		case !there || !bytes.Equal(old, files[f.Path]):
			fields = append(fields, penstock.FieldError{Pointer: a.edit.pointer(files, f), Detail: f.Message})
		case !slices.ContainsFunc(a.wasFound, f.SameAs):
			broken = penstock.Errorf(
				penstock.CodeConflict, "the factory's files would be invalid: %s:%d: %s", f.Path, f.Line, f.Message,
			)
		}
	}
	if fields != nil {
		return nil, penstock.InvalidFields(fields...)
	}
	return d, broken
}

// pointer returns the field of a request for a finding in its document, or "" if it is unknown.
func (e *edit) pointer(files map[string][]byte, found definition.Diagnostic) string {
	if found.Code == definition.UnsupportedPath || found.Code == definition.DuplicatePath {
		return "/name"
	}
	if found.Path != definition.DocumentPath(files, e.kind, e.to) {
		return ""
	}
	key := definition.KeyAt(files[found.Path], strings.HasSuffix(found.Path, ".md"), found.Line)
	if name, differs := requestKeys[e.kind][key]; differs {
		return "/" + name
	}
	if key == "" {
		return ""
	}
	var name strings.Builder
	for _, c := range key {
		if c >= 'A' && c <= 'Z' {
			name.WriteString("_")
		}
		name.WriteString(strings.ToLower(string(c)))
	}
	return "/" + name.String()
}

// requestKeys maps keys of documents to keys of requests with another name.
var requestKeys = map[definition.Kind]map[string]string{
	definition.KindAgent: {"model": "base_model", "runner": "default_runner_uid"},
}

// moved returns files after renaming a resource.
func moved(files map[string][]byte, kind definition.Kind, from, to string) map[string][]byte {
	after := maps.Clone(files)
	for _, path := range definition.Paths(files, kind, from) {
		delete(after, path)
	}
	for _, path := range definition.Paths(files, kind, from) {
		parts := strings.SplitN(path, "/", 3)
		parts[1] = strings.Replace(parts[1], from, to, 1)
		next := strings.Join(parts, "/")
		if _, read := definition.Concerns(next); !read { // automations/readme.md explains the folder
			next = definition.DocumentPath(nil, kind, to)
		}
		after[next] = files[path]
	}
	return after
}

// kept returns wanted, but keeps the spelling of the document for equal values, because one value
// can be spelled in several ways. documented is the document in the spelling of wanted.
func kept(was, documented, wanted definition.Settings) definition.Settings {
	switch {
	case reflect.DeepEqual(documented, wanted):
		return was
	case documented.Model == wanted.Model && reflect.DeepEqual(documented.Harness, wanted.Harness):
		wanted.Model, wanted.Harness = was.Model, was.Harness
		return wanted
	case was.Harness != nil && documented.Harness == nil && wanted.Harness == nil &&
		wanted.Model != "": // another model of the built-in harness
		h := *was.Harness
		h.Model = wanted.Model
		wanted.Model, wanted.Harness = "", &h
		return wanted
	}
	if was.Harness != nil && wanted.Harness != nil && was.Harness.Type == wanted.Harness.Type &&
		wanted.Harness.Auth == nil {
		h := *wanted.Harness
		if auth := was.Harness.Auth; auth != nil && auth.Source == definition.AuthWorkerEnvironment {
			h.Auth = auth
		}
		wanted.Harness = &h
	}
	return wanted
}
