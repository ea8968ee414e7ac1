package factory

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/definition"
	"github.com/penstock-dev/penstock/internal/delivery"
	"github.com/penstock-dev/penstock/internal/store"
)

// renamed says that a resource of a factory has another name now.
type renamed struct {
	kind     definition.Kind
	from, to string
}

// rewrite makes the files of a factory say what its rows say since they were
// changed in the transaction, as the next revision. Documents that say it already
// are left alone, and of the others what is not concerned. Files that come from
// a repository stay as they are, and the rows are what they say.
func (s *Factories) rewrite(
	ctx context.Context, tx *store.Tx, p penstock.Principal, factoryUID string, moves ...renamed,
) error {
	factory, err := tx.Factory(ctx, p.Team, factoryUID)
	if err != nil {
		return err
	}
	before, err := tx.DefinitionFiles(ctx, factoryUID)
	if err != nil {
		return err
	}
	if factory.Source == penstock.FactoryRepository {
		return followFiles(ctx, tx, factory, before)
	}
	files := maps.Clone(before)
	for _, m := range moves {
		if m.from != m.to {
			files = moved(files, m.kind, m.from, m.to)
		}
	}
	present, found := definition.Parse(files, definition.Known{})
	if present == nil {
		return unwritable(found)
	}
	w := writer{tx: tx, factory: factory, files: files}
	for _, step := range []func(context.Context, *definition.Definition) error{
		w.config, w.agents, w.automations, w.webhooks,
	} {
		if err := step(ctx, present); err != nil {
			return err
		}
	}
	if sameFiles(before, files) {
		return nil
	}
	after, found := definition.Parse(files, definition.Known{})
	if after == nil {
		return unwritable(found)
	}
	a := application{s: s, tx: tx, p: p, factory: factory}
	plan, err := a.compare(ctx, before, after)
	if err != nil {
		return err
	}
	if _, err := a.revise(ctx, before, files, plan); err != nil {
		return err
	}
	return s.readSecretsAgain(ctx, tx, factory)
}

// readSecretsAgain gives every webhook of a factory the value that its managed
// secret has now, as applying files does. One that is disabled reads it when it
// is switched on. A value that is none for a webhook is refused where the webhook
// itself is changed; an edit of something else goes on without it.
func (s *Factories) readSecretsAgain(ctx context.Context, tx *store.Tx, factory store.FactoryRow) error {
	webhooks, err := tx.Webhooks(ctx, factory.Team, factory.UID)
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		if !w.Enabled && !w.PendingSecret {
			continue
		}
		now, err := s.webhooks.ReadAgain(ctx, tx, w)
		switch {
		case penstock.CodeOf(err) == penstock.CodeConflict, penstock.CodeOf(err) == penstock.CodeNotFound:
			continue
		case err != nil:
			return err
		case now.PendingSecret == w.PendingSecret:
			continue
		}
		now.UpdatedAt = penstock.Now()
		if err := tx.SetWebhook(ctx, now); err != nil {
			return err
		}
	}
	return nil
}

// followFiles switches webhooks off that got their secret, and are switched off in
// files which cannot be changed here.
func followFiles(ctx context.Context, tx *store.Tx, factory store.FactoryRow, files map[string][]byte) error {
	present, _ := definition.Parse(files, definition.Known{})
	rows, err := tx.Webhooks(ctx, factory.Team, factory.UID)
	if err != nil || present == nil {
		return err
	}
	for _, row := range rows {
		if !row.Enabled || delivery.EnabledIn(present, row.Name) {
			continue
		}
		row.Enabled = false
		if err := tx.SetWebhook(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// unwritable says why a change cannot be: the files would be invalid by it.
func unwritable(found []definition.Diagnostic) error {
	for _, d := range found {
		switch {
		case d.Severity != definition.SeverityError:
		case d.Code == definition.InvalidReference:
			return penstock.Errorf(penstock.CodeConflict, "the factory's files would be invalid: %s", d)
		default:
			return penstock.Invalid("", "cannot be written into the factory's files: %s", d)
		}
	}
	return errors.New("write the files of a factory: they cannot be read again")
}

// writer puts the rows of a factory into its files.
type writer struct {
	tx      *store.Tx
	factory store.FactoryRow
	files   map[string][]byte
}

// put writes one document.
func put[T any](w *writer, kind definition.Kind, name string, doc T, write func([]byte, T) ([]byte, error)) error {
	path := definition.DocumentPath(w.files, kind, name)
	text, err := write(w.files[path], doc)
	if err != nil {
		return penstock.Invalid("", "cannot be written into %s: %s", path, err)
	}
	w.files[path] = text
	return nil
}

func (w *writer) remove(kind definition.Kind, name string) {
	for _, path := range definition.Paths(w.files, kind, name) {
		delete(w.files, path)
	}
}

func (w *writer) config(_ context.Context, present *definition.Definition) error {
	f := present.Factory
	f.Name, f.Alias, f.Description = w.factory.Name, w.factory.Alias, w.factory.Description
	return put(w, definition.KindFactory, f.Name, f, definition.WriteFactory)
}

func (w *writer) agents(ctx context.Context, present *definition.Definition) error {
	rows, err := w.tx.FactoryAgents(ctx, w.factory.UID)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, row := range rows {
		there[row.Name] = true
		doc := definition.AgentOf(row)
		for _, was := range present.Agents {
			if was.Name != row.Name {
				continue
			}
			said := definition.AgentOf(was.Identity())
			doc.Settings = kept(was.Settings, said.Settings, doc.Settings)
		}
		if err := put(w, definition.KindAgent, row.Name, doc, definition.WriteAgent); err != nil {
			return err
		}
	}
	for _, was := range present.Agents {
		if !there[was.Name] {
			w.remove(definition.KindAgent, was.Name)
		}
	}
	return nil
}

func (w *writer) automations(ctx context.Context, present *definition.Definition) error {
	rows, err := w.tx.Automations(ctx, w.factory.UID)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, row := range rows {
		there[row.Name] = true
		doc := definition.AutomationOf(row.Automation)
		for _, agent := range w.factory.Agents { // files are stricter about case
			if strings.EqualFold(agent.Name, doc.Agent) {
				doc.Agent = agent.Name
			}
		}
		for _, was := range present.Automations {
			if was.Name != row.Name {
				continue
			}
			said := definition.AutomationOf(was.Automation())
			doc.Settings = kept(was.Settings, said.Settings, doc.Settings)
			if same(said.Triggers, doc.Triggers) {
				doc.Triggers = was.Triggers
			}
		}
		if err := put(w, definition.KindAutomation, row.Name, doc, definition.WriteAutomation); err != nil {
			return err
		}
	}
	for _, was := range present.Automations {
		if !there[was.Name] {
			w.remove(definition.KindAutomation, was.Name)
		}
	}
	return nil
}

func (w *writer) webhooks(ctx context.Context, present *definition.Definition) error {
	rows, err := w.tx.Webhooks(ctx, w.factory.Team, w.factory.UID)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, row := range rows {
		there[row.Name] = true
		if row.PendingSecret {
			row.Enabled = delivery.EnabledIn(present, row.Name)
		}
		if err := put(
			w, definition.KindWebhook, row.Name, definition.WebhookOf(row.Webhook), definition.WriteWebhook,
		); err != nil {
			return err
		}
	}
	for _, was := range present.Webhooks {
		if !there[was.Name] {
			w.remove(definition.KindWebhook, was.Name)
		}
	}
	return nil
}

// kept are settings as a document has them where they say what the row does:
// one thing can be spelled in several ways. said is what the document says in
// the spelling of wanted.
func kept(was, said, wanted definition.Settings) definition.Settings {
	switch {
	case reflect.DeepEqual(said, wanted):
		return was
	case said.Model == wanted.Model && reflect.DeepEqual(said.Harness, wanted.Harness):
		wanted.Model, wanted.Harness = was.Model, was.Harness
		return wanted
	case was.Harness != nil && said.Harness == nil && wanted.Harness == nil &&
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
