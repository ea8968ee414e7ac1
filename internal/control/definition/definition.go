// Package definition reads the files that define a factory. Parse reports every error of a tree at
// once, each with its line and column. Schemas describes the documents to editors. Compare shows
// what applying another tree would change. Write and SetKeys change one document without touching
// the rest.
//
// The package is pure: Known has the facts of the server. Trees are hostile. Their size is limited
// before anything is parsed, YAML aliases are rejected and never followed, and a terminal never
// gets their text unquoted.
package definition

import (
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// SchemaVersion is the one version of documents that this release reads.
const SchemaVersion = "v1alpha1"

// The limits of a tree.
const (
	MaxFiles = 1000
	MaxBytes = 4 << 20
	// maxMarks limits the characters in a tree's YAML that separate nodes, because few bytes of
	// YAML can make many nodes.
	maxMarks = 150_000
)

// Kind is a kind of resource that a tree defines.
type Kind string

// The kinds.
const (
	KindFactory    Kind = "factory"
	KindAgent      Kind = "agent"
	KindAutomation Kind = "automation"
	KindWebhook    Kind = "webhook"
	KindRunner     Kind = "runner"
	KindSkill      Kind = "skill"
	KindScorer     Kind = "scorer"
	KindBenchmark  Kind = "benchmark"
)

// Definition is a tree without errors. Its lists are sorted by name. Do not modify it; modify and
// write copies of its resources.
type Definition struct {
	Factory     Factory
	Agents      []Agent
	Automations []Automation
	Webhooks    []Webhook
	Runners     []Runner
	Skills      []Skill
	Scorers     []Scorer
	Benchmarks  []Benchmark
}

// Foreman returns the agent that is the factory's entry point.
func (d *Definition) Foreman() Agent {
	i := slices.IndexFunc(d.Agents, func(a Agent) bool { return a.Type == foreman })
	return d.Agents[i]
}

// Names lists the names of the agents, automations or webhooks.
func (d *Definition) Names(kind Kind) []string {
	var names []string
	switch kind {
	case KindAgent:
		for _, a := range d.Agents {
			names = append(names, a.Name)
		}
	case KindAutomation:
		for _, a := range d.Automations {
			names = append(names, a.Name)
		}
	case KindWebhook:
		for _, w := range d.Webhooks {
			names = append(names, w.Name)
		}
	}
	return names
}

// Known holds facts of the server that are not in the files. A nil field is not checked.
type Known struct {
	Harnesses    []string // by canonical name, such as builtin or claude
	Environments []string // ids
	MCPServers   []string // ids of managed ones
	Runners      []string // ids of runners outside of the tree
	WebhookUIDs  []string // of the factory
	ScheduleIDs  []string // of the team
	// RunSecret returns why a run cannot use a managed secret, or "", and the most similar name.
	// WebhookSecret does the same for a webhook.
	RunSecret     func(secret string) (problem, nearest string)
	WebhookSecret func(webhook, secret string) (problem, nearest string)
	Presets       []string // of networks
	// NetworkSecret returns why a run cannot send a managed secret to a host, or "", and the most
	// similar name.
	NetworkSecret func(secret, host string) (problem, nearest string)
	// NotURLSafe reports whether the value of a secret cannot be part of a URL.
	NotURLSafe func(secret string) bool
	// ShortSecret reports whether the value of a secret is too short for a webhook, and whether the
	// webhook keeps it because it has it already.
	ShortSecret func(webhook, secret string) (short, kept bool)
	// Taken reports whether another factory of the team has the name, or the alias unless it is "",
	// as its name or alias.
	Taken func(name, alias string) (nameTaken, aliasTaken bool)
	// Model returns why the name of a built-in agent's model is doubtful, or "", and the most
	// similar name. The finding is a warning.
	Model func(name string) (problem, nearest string)
	// Repositories returns the errors of repositories of runs, with pointers into the list. Without it, URLs and refs
	// are not checked.
	Repositories func(list []penstock.RunRepository) []penstock.FieldError
	// Connection returns why runs cannot have a repository of a connection by now, or "", and the key of the
	// repository at fault. The finding is a warning.
	Connection func(r penstock.RunRepository) (key, problem string)
	// CheckCron returns an error for an invalid cron expression.
	CheckCron func(expression string) error
}

// parser reads one tree.
type parser struct {
	findings

	files   map[string][]byte
	known   Known
	paths   map[Kind]map[string][]place // by name in lower case
	written map[Kind][]string           // names as they are written, sorted
	// doubtful lists the kinds with files that were not read.
	doubtful map[Kind]bool
	strays   Strays
}

// Parse reads a tree: the content of each file by its path, which has / between its parts. Findings
// are sorted by place. If one of them is an error, the definition is nil. The result does not
// depend on the order in which files are read.
func Parse(files map[string][]byte, known Known) (*Definition, []Diagnostic) {
	definition, all := Read(files, known)
	if HasErrors(all) {
		return nil, all
	}
	return definition, all
}

// Read is [Parse] for a tree whose documents may have errors. The result has everything that could
// be read. It is nil only if the tree is too large.
func Read(files map[string][]byte, known Known) (*Definition, []Diagnostic) {
	p := parser{
		files: files, known: known, paths: map[Kind]map[string][]place{}, written: map[Kind][]string{},
		doubtful: map[Kind]bool{},
	}
	if !p.limits() {
		return nil, p.sorted()
	}
	p.layout()
	definition := p.definition()
	return definition, p.sorted()
}

// limits rejects a tree that is too large, before it is read.
func (p *parser) limits() bool {
	paths := slices.Sorted(maps.Keys(p.files))
	if len(paths) > MaxFiles {
		p.treef(paths[MaxFiles], "the factory has %d files; at most %d are allowed", len(paths), MaxFiles)
		return false
	}
	size, marks := 0, 0
	largest := ""
	for _, path := range paths {
		content := p.files[path]
		size += len(content)
		marks += countMarks(path, content)
		if len(content) > len(p.files[largest]) || largest == "" {
			largest = path
		}
	}
	switch {
	case size > MaxBytes:
		p.treef(largest, "the factory has %d bytes; at most %d (4 MB) are allowed: this is its largest file", size, MaxBytes)
		return false
	case marks > maxMarks:
		p.treef(largest, "the YAML of the factory has more than %d values: this is its largest file", maxMarks)
		return false
	}
	return true
}

func (p *parser) treef(path, format string, args ...any) {
	d := document{findings: &p.findings, path: path}
	d.badLinef(1, 1, InvalidDocument, format, args...)
}

// countMarks counts the characters that separate nodes in the YAML of a file.
func countMarks(path string, content []byte) int {
	text := string(content)
	if strings.HasSuffix(path, ".md") {
		parts, problem := splitMarkdown(strings.TrimPrefix(text, "\ufeff"))
		if problem != "" || !parts.fenced {
			return 0
		}
		text = text[:min(parts.fence+len("\ufeff"), len(text))]
	}
	marks := 0
	for i := range len(text) {
		switch text[i] {
		case ',', ':', '-', '?', '[', '{', '\n', '&', '*', '!':
			marks++
		}
	}
	return marks
}

// names returns the names of a kind, sorted.
func (p *parser) names(kind Kind) []string { return p.written[kind] }

// open starts reading a file.
func (p *parser) open(path string) *document { return &document{findings: &p.findings, path: path} }

// definition reads all documents, and then checks the references between them.
func (p *parser) definition() *Definition {
	definition := &Definition{
		Webhooks: p.webhooks(), Runners: p.runners(), Skills: p.skills(), Scorers: p.scorers(), Benchmarks: p.benchmarks(),
	}
	factory := p.factory(&definition.Factory)
	definition.Agents = p.agents(factory)
	definition.Automations = p.automations(factory, definition.Agents)
	return definition
}

// each reads the places of a kind in the order of their names.
func each[T any](p *parser, kind Kind, read func(place, *document) T) []T {
	items := []T{}
	for _, key := range slices.Sorted(maps.Keys(p.paths[kind])) {
		at := p.paths[kind][key][0]
		items = append(items, read(at, p.open(at.path)))
	}
	return items
}

// secret checks the name of a secret for runs.
func (p *parser) secret(d *document, path ...any) { p.secretFor(d, p.known.RunSecret, path...) }

func (p *parser) secretFor(d *document, judge func(string) (problem, nearest string), path ...any) {
	at := d.find(path...)
	if at == nil || judge == nil || !patterns()["secret"].MatchString(at.Value) {
		return
	}
	if problem, near := judge(at.Value); problem != "" {
		d.nearf(at, InvalidReference, near, "%s", problem)
	}
}

func (p *parser) secrets(d *document, names []string, path ...any) {
	for i, name := range names {
		at := append(slices.Clone(path), i)
		if first := slices.Index(names, name); name != "" && first < i {
			d.badf(d.find(at...), DuplicateKey, "the secret %s is listed twice", quote(name))
			continue
		}
		p.secret(d, at...)
	}
}

// refers checks a reference to another file of the tree.
func (p *parser) refers(d *document, kind Kind, name string, path ...any) {
	if name == "" || slices.Contains(p.names(kind), name) {
		return
	}
	if kind == KindRunner && slices.Contains(p.known.Runners, name) {
		return
	}
	names := p.names(kind)
	has := "it has none"
	if len(names) > 0 && len(names) <= 12 {
		has = "it has " + list(names)
	} else if len(names) > 0 {
		has = "it has others"
	}
	d.nearf(
		d.find(path...), InvalidReference, nearest(name, names), "the factory has no %s %s; %s", kind, quote(name), has,
	)
}

// value returns the value of a pointer, or the fallback for nil.
func value[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}

// pointer is the inverse of value: it returns nil for the fallback.
func pointer[T comparable](v, fallback T) *T {
	if v == fallback {
		return nil
	}
	return &v
}

const foreman = penstock.AgentType("FOREMAN")
