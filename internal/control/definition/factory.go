package definition

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// ValidAlias reports whether a factory may have this alias: 1 to 60 letters and digits of any
// script, spaces and . _ -, without a space at either end.
func ValidAlias(alias string) bool {
	n := utf8.RuneCountInString(alias)
	return n >= 1 && n <= maxAlias && strings.TrimSpace(alias) == alias && !strings.ContainsFunc(alias, notOfAlias)
}

const maxAlias = 60 // characters

func notOfAlias(r rune) bool {
	if r == utf8.RuneError {
		return true
	}
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ._-", r)
}

// Factory is factory.yaml.
type Factory struct {
	SchemaVersion      string               `json:"schemaVersion" rule:"version" about:"The version of the documents of this tree."`
	Name               string               `json:"name" rule:"name" about:"The factory's name."`
	Description        string               `json:"description,omitzero" rule:"about" about:"What the factory is for."`
	Alias              string               `json:"alias,omitzero" rule:"alias" about:"What the foreman is called elsewhere; unique in the team, in whatever case."`
	CredentialStrategy string               `json:"credentialStrategy,omitzero" unset:"null" rule:"strategy" about:"Whose credentials runs work with: the executor's or the creator's." default:"\"EXECUTOR\""`
	Repositories       []Repository         `json:"repositories,omitzero" about:"What the factory works on."`
	Secrets            []string             `json:"secrets,omitzero" rule:"secret" about:"Managed secrets that every agent gets."`
	MCPServers         map[string]MCPServer `json:"mcpServers,omitzero" about:"MCP servers that every agent gets, by the name that it sees."`
	CloudProviders     *CloudProviders      `json:"cloudProviders,omitzero" alias:"providers" about:"Identities of runs at cloud providers."`
	Integrations       []Integration        `json:"integrations,omitzero" about:"Services that are attached to the factory; linear and jira exclude each other."`
	Network            *Network             `json:"network,omitzero" about:"What all runs of the factory may reach."`
	Models             *Models              `json:"models,omitzero" about:"The models that all runs of the factory may use."`
	Forge              *Forge               `json:"forge,omitzero" about:"What agents inherit unless agentDefaults say otherwise: what runs may do on the forges of their repositories."`
	AgentDefaults      Settings             `json:"agentDefaults" about:"How agents work unless they say otherwise; exactly one of model and harness."`
	CodeForges         []string             `json:"codeForges,omitzero" unused:"not used yet" about:"The hosts of its repositories: GITHUB, GITLAB. Shown, and not used yet."`
	Later
}

// Named holds a key that people copy from other tools into documents whose path names them.
type Named struct {
	Label Tree `json:"name,omitzero" unused:"has no effect: the name comes from the path of the file" about:"No effect; the path names it."`
}

// Later holds keys of the public schema that are kept, and not used yet.
type Later struct {
	Scoring         Tree `json:"scoring,omitzero" unused:"not used yet" about:"Kept, and not used yet."`
	ScorerDefaults  Tree `json:"scorerDefaults,omitzero" unused:"not used yet" about:"Kept, and not used yet."`
	SelfImprovement Tree `json:"selfImprovement,omitzero" unused:"not used yet" about:"Kept, and not used yet."`
}

// Repository is a repository that the factory works on.
type Repository struct {
	Owner string `json:"owner" rule:"owner" about:"A user, organization or group."`
	Name  string `json:"name" rule:"repository" about:"The repository's name."`
}

// CloudProviders are identities of runs.
type CloudProviders struct {
	GCP *GCP `json:"gcp,omitzero" about:"Workload identity federation of Google Cloud."`
	AWS *AWS `json:"aws,omitzero" about:"A role of Amazon Web Services."`
}

// GCP is a workload identity of Google Cloud.
type GCP struct {
	ProjectNumber       string `json:"projectNumber" rule:"projectNumber" about:"The project's number, in quotes."`
	PoolID              string `json:"workloadIdentityFederationPoolId" rule:"text" about:"The pool's id."`
	ProviderID          string `json:"workloadIdentityFederationProviderId" rule:"text" about:"The provider's id in the pool."`
	ServiceAccountEmail string `json:"serviceAccountEmail,omitzero" rule:"text" about:"The service account to act as."`
}

// AWS is a role of Amazon Web Services.
type AWS struct {
	RoleARN string `json:"roleArn" rule:"roleARN" about:"The role's ARN."`
}

// Integration is a service that is attached to the factory.
type Integration struct {
	Type string `json:"type" rule:"integration" about:"The service."`
}

// DeclaredVersion returns the version in a tree. The default is the current version.
func DeclaredVersion(files map[string][]byte) string {
	d := document{findings: &findings{}, path: "factory.yaml"}
	if text, ok := d.fileText(files[d.path]); ok && len(text) <= MaxBytes &&
		countMarks(d.path, files[d.path]) <= maxMarks {
		d.load(text)
	}
	if version := d.find("schemaVersion"); version != nil && isText(version) {
		return version.Value
	}
	return SchemaVersion
}

// factory reads factory.yaml.
func (p *parser) factory(f *Factory) *Factory {
	content, there := p.files["factory.yaml"]
	if !there {
		p.add(
			Diagnostic{Code: MissingFactory, Message: "factory.yaml is missing", Path: "factory.yaml", Line: 1, Column: 1},
		)
		return f
	}
	d := p.open("factory.yaml")
	if d.readYAML(content); d.root == nil {
		return f
	}
	d.decode(f)
	if p.known.Taken != nil {
		name, alias := p.known.Taken(f.Name, f.Alias)
		if name {
			d.badf(d.find("name"), InvalidValue, "another factory of the team has the name or alias %s", quote(f.Name))
		}
		if alias {
			d.badf(d.find("alias"), InvalidValue, "another factory of the team has the name or alias %s", quote(f.Alias))
		}
	}
	seen := map[string]bool{}
	for i, r := range f.Repositories {
		full := strings.ToLower(r.Owner + "/" + r.Name)
		if seen[full] {
			d.badf(d.find("repositories", i), InvalidValue, "the repository %s is listed twice", quote(r.Owner+"/"+r.Name))
		}
		seen[full] = r.Owner != "" && r.Name != ""
	}
	f.integrations(d)
	p.secrets(d, f.Secrets, "secrets")
	p.mcpServers(d, f.MCPServers, "mcpServers")
	p.network(d, f.Network)
	p.models(d, f.Models)
	p.forge(d, f.Forge, "forge")
	d.size(f.AgentDefaults.Overrides().Config())
	if d.find("agentDefaults") != nil {
		p.settings(d, f.AgentDefaults, nil, "agentDefaults")
		if at := d.find("agentDefaults"); at.Kind == yaml.MappingNode && child(at, "model") == nil &&
			child(at, "harness") == nil {
			d.badf(at, MissingRequired, "agentDefaults needs exactly one of model and harness")
		}
	}
	return f
}

// FactoryName returns the name in factory.yaml, or "" if it cannot be read.
func FactoryName(files map[string][]byte) string {
	p := parser{files: files}
	d := p.open("factory.yaml")
	if d.readYAML(files["factory.yaml"]); d.root == nil {
		return ""
	}
	if at := d.find("name"); at != nil && at.Kind == yaml.ScalarNode {
		return at.Value
	}
	return ""
}

func (f *Factory) integrations(d *document) {
	var types []string
	for i, integration := range f.Integrations {
		at := d.find("integrations", i, "type")
		other := map[string]string{"linear": "jira", "jira": "linear"}[integration.Type]
		switch {
		case integration.Type == "":
		case slices.Contains(types, integration.Type):
			d.badf(at, InvalidValue, "the integration %s is listed twice", integration.Type)
		case other != "" && slices.Contains(types, other):
			d.badf(at, InvalidValue, "linear and jira exclude each other: a factory has one issue tracker")
		}
		types = append(types, integration.Type)
	}
}
