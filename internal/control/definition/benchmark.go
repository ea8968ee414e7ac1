package definition

import (
	"slices"
	"strings"
)

// Benchmark is benchmarks/SLUG/suite.yaml with its tasks.
type Benchmark struct {
	Slug        string   `json:"-"` // of its folder
	Name        string   `json:"name" rule:"name" about:"The suite's name, unique in the factory."`
	Description string   `json:"description,omitzero" rule:"about" about:"What the suite measures."`
	Agent       string   `json:"agent" rule:"name" about:"The agent that its tasks run as."`
	Order       []string `json:"tasks,omitzero" rule:"text" about:"The names of its task files, each once, in their order."`

	Tasks []Task `json:"-"` // in that order
}

// Task is benchmarks/SLUG/tasks/TASK.yaml.
type Task struct {
	Slug             string   `json:"-"`
	Title            string   `json:"title" rule:"name" about:"The task's name."`
	Prompt           string   `json:"prompt" rule:"text" about:"What the agent is told."`
	SuccessCriteria  string   `json:"successCriteria" rule:"text" about:"What a trial must have done."`
	SourceRunID      string   `json:"sourceRunId,omitzero" rule:"name" about:"The run that the task came from."`
	StartingRepoRefs []string `json:"startingRepoRefs,omitzero" rule:"repoRef" about:"Repositories at the commits that the task starts from."`
}

// benchmarks reads all suites.
func (p *parser) benchmarks() []Benchmark {
	names := map[string]string{}
	return each(p, KindBenchmark, func(at place, d *document) Benchmark {
		b := Benchmark{Slug: at.name}
		tasks := p.tasks(at)
		if d.readYAML(p.files[at.path]); d.root == nil {
			return b
		}
		d.decode(&b)
		p.refers(d, KindAgent, b.Agent, "agent")
		if other := names[b.Name]; other != "" && b.Name != "" {
			d.badf(d.find("name"), InvalidValue, "%s already has the name %s", quote(other), quote(b.Name))
		}
		names[b.Name] = at.path
		b.order(d, tasks)
		return b
	})
}

// tasks reads the tasks of a suite.
func (p *parser) tasks(suite place) []Task {
	var tasks []Task
	for _, at := range p.paths[KindBenchmark][strings.ToLower(suite.name)][1:] {
		t := Task{Slug: at.part}
		d := p.open(at.path)
		if d.readYAML(p.files[at.path]); d.root != nil {
			d.decode(&t)
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// order sorts the tasks in the order of the suite, and reports tasks that are missing on one side.
func (b *Benchmark) order(d *document, tasks []Task) {
	var slugs []string
	for _, t := range tasks {
		slugs = append(slugs, t.Slug)
	}
	for i, slug := range b.Order {
		at := d.find("tasks", i)
		index := slices.Index(slugs, slug)
		switch {
		case slug == "":
		case slices.Contains(b.Order[:i], slug):
			d.badf(at, InvalidValue, "the task %s is listed twice", quote(slug))
		case index < 0:
			d.nearf(at, InvalidReference, nearest(slug, slugs), "the suite has no file tasks/%s.yaml", quoteless(slug))
		default:
			b.Tasks = append(b.Tasks, tasks[index])
		}
	}
	for _, slug := range slugs {
		if !slices.Contains(b.Order, slug) {
			d.badf(d.key("tasks"), InvalidReference, "the list tasks lacks %s, which has a file", quote(slug))
		}
	}
}
