package factory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// application makes the rows of a factory match its files, in one transaction that has raised
// the version of the team.
type application struct {
	s       *Factories
	tx      *store.Tx
	p       penstock.Principal
	factory store.FactoryRow
	known   definition.Known
	edit    *edit  // by the API, of one resource; nil: the files are another tree
	same    bool   // the files are those before
	commit  string // the files come from this commit
	byAgent bool   // the key of an agent has named the repository of the files

	was      *definition.Definition // what the files before say
	wasFound []definition.Diagnostic

	files   map[string][]byte
	parsed  *definition.Definition     // of files
	secrets map[string]store.SecretRow // those that the files name, locked
	found   []definition.Diagnostic
	health  []store.HealthOf // of the automations that change
}

// apply replaces the files of the factory. If a finding is an error, it stops, and the caller
// rolls the transaction back.
func (a *application) apply(ctx context.Context, before, files map[string][]byte) (Applied, error) {
	plan := definition.Plan{Created: []definition.Change{}, Changed: []definition.Change{}, Removed: []definition.Change{}}
	unchanged := Applied{plan, a.factory.Definition.Revision, []penstock.Diagnostic{}}
	if a.same = len(before) > 0 && sameFiles(before, files); a.same && a.edit == nil {
		return unchanged, nil
	}
	d, err := a.read(ctx, before, files)
	if err != nil {
		return Applied{}, err
	}
	a.parsed = d
	if plan, err = a.compare(ctx, before, d); err != nil {
		return Applied{}, err
	}
	for _, step := range []func(context.Context, *definition.Definition) error{
		a.agents, a.config, a.webhooks, a.automations,
	} {
		if err := step(ctx, d); err != nil {
			return Applied{}, err
		}
	}
	if definition.HasErrors(a.found) {
		return Applied{}, invalidDefinition(a.found)
	}
	if a.edits(definition.KindAgent) {
		if err := a.s.catalog.RoomInList(ctx, a.tx, store.ListOfAgents, a.factory.Team); err != nil {
			return Applied{}, err
		}
	}
	if a.same {
		return unchanged, a.storeHealth(ctx)
	}
	revision, err := a.revise(ctx, before, files, plan)
	if err == nil {
		err = a.storeHealth(ctx)
	}
	return Applied{plan, revision, diagnostics(a.found)}, err
}

// read parses the files and checks their references.
func (a *application) read(ctx context.Context, before, files map[string][]byte) (*definition.Definition, error) {
	if a.files = files; a.edit != nil {
		return a.readEdited(before, files)
	}
	webhooks, err := a.tx.Webhooks().List(ctx, a.factory.Team, a.factory.UID)
	if err != nil {
		return nil, err
	}
	a.known.WebhookUIDs = []string{}
	for _, w := range webhooks {
		a.known.WebhookUIDs = append(a.known.WebhookUIDs, w.UID)
	}
	secrets := fileSecrets{
		manages: a.p.May(penstock.ScopeSecretsManage), repository: a.factory.Source == store.FactoryRepository,
		webhooks: webhooks,
	}
	if secrets.all, err = a.tx.Secrets().Names(ctx, a.factory.Team); err != nil {
		return nil, err
	}
	secrets.into(&a.known)
	others := taken(func(name, alias string) ([]store.FactoryName, error) {
		return a.tx.Factories().Named(ctx, a.factory.Team, name, alias)
	}, func(f store.FactoryName, _ string) bool { return f.UID == a.factory.UID })
	a.known.Taken = func(name, alias string) (nameTaken, aliasTaken bool) {
		nameTaken, aliasTaken = others(name, alias)
		if nameTaken && a.factory.Definition.Revision == 0 {
			return false, false // a new factory with a used name is a conflict, reported when it is stored
		}
		return nameTaken, aliasTaken
	}
	secrets.values(a.s, &a.known, func(name string) ([]store.SecretRow, error) {
		return a.tx.Secrets().Use(ctx, a.factory.Team, []string{name})
	})
	d, found := definition.Parse(files, a.known)
	if a.found = found; d == nil {
		return nil, invalidDefinition(found)
	}
	return d, a.use(ctx, d)
}

// taken reports which of a factory's names another factory has. It ignores errors, because storing
// the factory fails with the same error.
func taken(
	list func(name, alias string) ([]store.FactoryName, error), own func(f store.FactoryName, name string) bool,
) func(name, alias string) (nameTaken, aliasTaken bool) {
	return func(name, alias string) (nameTaken, aliasTaken bool) {
		factories, err := list(name, alias)
		for _, f := range factories {
			if err == nil && !own(f, name) {
				nameTaken, aliasTaken = nameTaken || f.Called(name), aliasTaken || f.Called(alias)
			}
		}
		return nameTaken, aliasTaken
	}
}

// use locks the resources outside of the factory that the files name, so that they exist when
// the transaction commits.
func (a *application) use(ctx context.Context, d *definition.Definition) error {
	var names, environments []string
	add := func(c *penstock.Config) {
		names = append(names, c.SecretNames()...)
		if c.EnvironmentID != "" {
			environments = append(environments, c.EnvironmentID)
		}
	}
	add(d.Factory.AgentDefaults.Overrides().Config())
	add(alwaysOf(d.Factory).config())
	for _, agent := range d.Agents {
		add(agent.Identity().Config())
	}
	for _, automation := range d.Automations {
		add(automation.Automation().Config())
	}
	for _, w := range d.Webhooks {
		names = append(names, w.SecretName)
	}
	for _, agent := range d.Agents {
		names = append(names, agent.Network.Network().SecretNames()...)
	}
	names = append(names, d.Factory.Network.Network().SecretNames()...)
	names = append(append(names, imageSecrets(d)...), runnerSecrets(d)...)
	gone := func(kind, name string) error {
		return &penstock.Error{
			Code: penstock.CodeConflict, Retryable: true,
			Detail: fmt.Sprintf("the %s %q was just deleted", kind, name),
		}
	}
	slices.Sort(environments)
	for _, uid := range slices.Compact(environments) {
		if err := a.tx.Environments().Use(ctx, a.factory.Team, uid); penstock.CodeOf(err) == penstock.CodeNotFound {
			return gone("environment", uid)
		} else if err != nil {
			return err
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	rows, err := a.tx.Secrets().Use(ctx, a.factory.Team, names)
	a.secrets = map[string]store.SecretRow{}
	for _, row := range rows {
		a.secrets[row.Name] = row
	}
	for _, name := range names {
		if _, there := a.secrets[name]; !there && err == nil {
			err = gone("secret", name)
		}
	}
	return err
}

// badf adds a finding that the parser cannot make, at a key of the document or, with "", at its
// beginning.
func (a *application) badf(kind definition.Kind, name, key, format string, args ...any) {
	path := definition.DocumentPath(a.files, kind, name)
	line := 1
	if key != "" {
		for n, text := range bytes.Split(a.files[path], []byte("\n")) {
			if bytes.HasPrefix(text, []byte(key)) {
				line = n + 1
				break
			}
		}
	}
	a.found = append(a.found, definition.Diagnostic{
		Code: definition.InvalidValue, Message: fmt.Sprintf(format, args...), Path: path, Line: line, Column: 1,
		Severity: definition.SeverityError,
	})
}

func (a *application) badFields(kind definition.Kind, name string, errs []penstock.FieldError) {
	for _, e := range errs {
		a.badf(kind, name, "", "%s", strings.TrimPrefix(e.String(), "/"))
	}
}

// imageSecrets returns the secrets that fetch the images of runners.
func imageSecrets(d *definition.Definition) []string {
	var names []string
	for _, r := range d.Runners {
		if linux := r.Platform.Linux; linux != nil && linux.RegistryCredentialSecretName != "" {
			names = append(names, linux.RegistryCredentialSecretName)
		}
	}
	return names
}

// runnerSecrets returns the credentials in the networks of runners.
func runnerSecrets(d *definition.Definition) []string {
	var names []string
	for _, r := range d.Runners {
		names = append(names, r.Network.Network().SecretNames()...)
	}
	return names
}

// always returns the configuration of every run of a factory.
type always struct {
	secrets []string
	servers map[string]penstock.MCPServer
}

func alwaysOf(f definition.Factory) always {
	o := definition.Settings{Secrets: f.Secrets, MCPServers: f.MCPServers}.Overrides()
	return always{o.Secrets, o.MCPServers}
}

func (a always) config() *penstock.Config {
	return &penstock.Config{Secrets: a.secrets, MCPServers: a.servers}
}

// config stores what factory.yaml says.
func (a *application) config(ctx context.Context, d *definition.Definition) error {
	if !a.edits(definition.KindFactory) {
		return nil
	}
	f, row := d.Factory, a.factory
	before := row.FactoryConfig
	row.Name, row.Alias, row.Description = f.Name, f.Alias, f.Description
	all := alwaysOf(f)
	row.FactoryConfig = store.FactoryConfig{
		Defaults: f.AgentDefaults.Overrides(), Secrets: all.secrets, MCPServers: all.servers, ImageSecrets: imageSecrets(d),
		Network: f.Network.Network(), Models: f.Models.Policy(), RunnerSecrets: runnerSecrets(d),
		Forge: f.Forge.Settings(),
	}
	row.Defaults.CredentialStrategy = f.CredentialStrategy
	a.refuseAdded(definition.KindFactory, "", "agentDefaults", a.factory.Defaults.Repositories, row.Defaults.Repositories)
	for _, r := range f.Repositories {
		one := penstock.WorkRepository{Owner: r.Owner, Repo: r.Name}
		row.WorksOn = append(row.WorksOn, one)
		path := strings.ToLower(r.Owner + "/" + r.Name)
		known := slices.Contains(before.WorksOn, one) && !slices.Contains(before.ByAgent, path)
		if (a.byAgent || a.p.IsAgent()) && !known {
			row.ByAgent = append(row.ByAgent, path)
		}
	}
	for _, name := range f.CodeForges {
		if forge := penstock.CodeForge(name); forge == penstock.ForgeGitHub || forge == penstock.ForgeGitLab {
			row.CodeForges = append(row.CodeForges, forge)
		}
	}
	row.UpdatedAt = penstock.Now()
	a.factory = row
	return a.tx.Factories().Set(ctx, row)
}

// agents stores the agents and the foreman. An agent keeps its UID, and the values that files
// cannot set, while the files have its name.
func (a *application) agents(ctx context.Context, d *definition.Definition) error {
	if !a.edits(definition.KindAgent) {
		return nil
	}
	rows, err := a.tx.Identities().OfFactory(ctx, a.factory.UID)
	if err != nil {
		return err
	}
	present := map[string]penstock.Identity{}
	for _, row := range rows {
		name := a.nameAfter(definition.KindAgent, row.Name)
		present[name] = row
		if a.deleted(d, definition.KindAgent, name) {
			if err := a.tx.Identities().Delete(ctx, a.factory.Team, row.UID); err != nil {
				return err
			}
		}
	}
	a.factory.Agents = []penstock.FactoryAgent{}
	for _, doc := range d.Agents {
		before, there := present[doc.Name]
		agent, err := a.agent(ctx, doc, before, there)
		if err != nil {
			return err
		}
		if agent.Type == AgentForeman {
			a.factory.ForemanUID = agent.UID
		}
		a.factory.Agents = append(a.factory.Agents, penstock.FactoryAgent{UID: agent.UID, Name: agent.Name, Type: agent.Type})
	}
	return nil
}

// agent stores what the document of an agent says.
func (a *application) agent(
	ctx context.Context, doc definition.Agent, before penstock.Identity, there bool,
) (penstock.Identity, error) {
	if a.editsResource(definition.KindAgent, doc.Name) {
		agent := doc.ApplyTo(a.edit.agent)
		return agent, a.storeAgent(ctx, agent, there)
	}
	if a.edit != nil {
		return before, nil
	}
	now := penstock.Now()
	agent := doc.ApplyTo(before)
	if agent.FactoryUID = a.factory.UID; !there {
		agent.UID, agent.CreatedAt = penstock.NewID(), now
	}
	if errs, _ := request.FieldErrors(a.s.resources.checkIdentity(a.p, agent, agent.OnBehalfOfEnabled)); errs != nil {
		a.badFields(definition.KindAgent, doc.Name, errs)
	}
	a.refuseAdded(definition.KindAgent, doc.Name, "repositories", before.Repositories, agent.Repositories)
	was, is := definition.AgentOf(before), definition.AgentOf(agent)
	if there && was.Prompt == is.Prompt && same(was, is) {
		return agent, nil
	}
	agent.UpdatedAt = now
	return agent, a.storeAgent(ctx, agent, there)
}

func (a *application) storeAgent(ctx context.Context, agent penstock.Identity, there bool) error {
	if err := a.tx.Keys().AddPrincipal(ctx, a.factory.Team, access.AgentActor(agent)); err != nil {
		return err
	}
	if there {
		return a.tx.Identities().Set(ctx, a.factory.Team, agent)
	}
	return a.tx.Identities().Add(ctx, a.factory.Team, agent)
}

// same reports whether two values are equal as JSON. Callers compare documents and not rows,
// because a row can spell an equal value in another way.
func same(x, y any) bool {
	a, errA := json.Marshal(x)
	b, errB := json.Marshal(y)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// rendered returns the files of a factory that is created by its name.
func rendered(f definition.Factory) (map[string][]byte, error) {
	f.SchemaVersion, f.AgentDefaults.Model = definition.SchemaVersion, run.ModelAuto
	yaml, err := definition.WriteFactory(nil, f)
	if err != nil {
		return nil, fmt.Errorf("write the file of a factory: %w", err)
	}
	agent, err := definition.WriteAgent(nil, definition.Agent{Type: AgentForeman, Prompt: foremanPrompt})
	if err != nil {
		return nil, fmt.Errorf("write the file of a foreman: %w", err)
	}
	files := map[string][]byte{}
	files[definition.DocumentPath(files, definition.KindFactory, f.Name)] = yaml
	files[definition.DocumentPath(files, definition.KindAgent, foremanName)] = agent
	return files, nil
}
