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
	"github.com/penstock-dev/penstock/internal/definition"
	"github.com/penstock-dev/penstock/internal/store"
)

// edit is a change of one resource of a factory that the API makes. It goes one way:
// the resource's document is changed, and the row follows when that is applied. The
// request was checked before, so only what files are stricter about is found here.
type edit struct {
	kind     definition.Kind
	from, to string // the resource's name; from is "" of a new one, to of one that is deleted
	// write changes the document, which is empty while there is none; present is what the
	// factory's files say.
	write func(document []byte, present *definition.Definition) ([]byte, error)

	// The row as the request wants it, of the edit's kind: what no file can hold is
	// taken from it.
	agent      penstock.Identity
	automation penstock.Automation
	webhook    store.WebhookRow
}

// edit changes the files of a factory and applies them, as the next revision where
// they differ. Files that come from a repository stay as they are, and what no file can
// hold is stored alone.
func (s *Factories) edit(
	ctx context.Context, tx *store.Tx, p penstock.Principal, factoryUID string, e edit,
) error {
	factory, err := tx.Factory(ctx, p.Team, factoryUID)
	if err != nil {
		return err
	}
	before, err := tx.DefinitionFiles(ctx, factoryUID)
	if err != nil {
		return err
	}
	a := application{s: s, tx: tx, p: p, factory: factory, edit: &e}
	files, present := before, a.present(before)
	if present == nil {
		return fmt.Errorf("edit the files of factory %s: %v", factoryUID, a.wasFound)
	}
	if factory.Source != penstock.FactoryRepository {
		if files, err = e.files(before, present); err != nil {
			return err
		}
	}
	_, err = a.apply(ctx, before, files)
	return err
}

// files are those of a factory after the edit. A document is written where the
// resource's name says, with what belongs to it.
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

// nameFree refuses a name that another resource of the kind has, in whatever case.
func (e *edit) nameFree(present *definition.Definition) error {
	for _, name := range present.Names(e.kind) {
		if name != e.from && strings.EqualFold(name, e.to) {
			article := map[bool]string{true: "a", false: "an"}[e.kind == definition.KindWebhook]
			return penstock.Errorf(penstock.CodeConflict, "there is %s %s named %q already", article, e.kind, e.to)
		}
	}
	return nil
}

// edits reports whether an edit concerns a kind; where whole trees are applied, all are
// concerned.
func (a *application) edits(kind definition.Kind) bool { return a.edit == nil || a.edit.kind == kind }

// editsResource reports whether the edit is about the named resource.
func (a *application) editsResource(kind definition.Kind, name string) bool {
	return a.edit != nil && a.edit.kind == kind && a.edit.to == name
}

// nameAfter is the name that a row's resource has by now. A resource that an edit
// renames keeps its UID.
func (a *application) nameAfter(kind definition.Kind, name string) string {
	if a.edit != nil && a.edit.kind == kind && a.edit.from == name {
		return a.edit.to
	}
	return name
}

// deleted reports whether the files say no more of a resource that there is a row of. An
// edit ends no other one than its own.
func (a *application) deleted(d *definition.Definition, kind definition.Kind, name string) bool {
	if a.edit != nil {
		return name == ""
	}
	return !slices.Contains(d.Names(kind), name)
}

// readEdited parses the files of an edit. Findings in documents that it neither
// changes nor breaks do not keep it from being applied.
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

// pointer is the field of a request that a finding in its document is about; "" where
// that cannot be said.
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

// requestKeys are the keys of documents that a request calls by another word.
var requestKeys = map[definition.Kind]map[string]string{
	definition.KindAgent: {"model": "base_model", "runner": "default_runner_uid"},
}

// moved are files with those of a resource below another name.
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

// kept are settings as a document has them where they say what the row does:
// one thing can be spelled in several ways. said is what the document says in
// the spelling of wanted.
func kept(was, documented, wanted definition.Settings) definition.Settings {
	switch {
	case reflect.DeepEqual(documented, wanted):
		return was
	case documented.Model == wanted.Model && reflect.DeepEqual(documented.Harness, wanted.Harness):
		wanted.Model, wanted.Harness = was.Model, was.Harness
		return wanted
	case was.Harness != nil && documented.Harness == nil && wanted.Harness == nil &&
		wanted.Model != "": // another model of the built-in one
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
