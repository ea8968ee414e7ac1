package definition

import "cmp"

// Scorer is scorers/SLUG/scorer.md: a judge of finished runs.
type Scorer struct {
	Slug            string   `json:"-"` // of its folder
	Name            string   `json:"name,omitzero" rule:"name" about:"The scorer's name; that of its folder where absent."`
	Description     string   `json:"description,omitzero" rule:"about" about:"What it checks."`
	Agents          []string `json:"agents" rule:"name" about:"The agents whose runs it judges."`
	Labels          []Label  `json:"labels" about:"What it may find; at least one passes and one does not."`
	PassingScore    float64  `json:"passingScore" rule:"share" about:"The score from which a run passes."`
	SamplingRate    *float64 `json:"samplingRate,omitzero" rule:"percent" about:"How many of the runs it judges, in percent." default:"25"`
	Model           string   `json:"model" rule:"name" about:"The model that judges."`
	Output          string   `json:"output,omitzero" rule:"output" about:"The form of what it finds." default:"\"classification\""`
	SelfImprovement Tree     `json:"selfImprovement,omitzero" about:"Whether failures may lead to proposed changes of this tree." default:"false"`
	Enabled         *bool    `json:"enabled,omitzero" about:"Whether it judges runs." default:"true"`
	Rubric          string   `json:"-" body:"rubric"`
}

// Label is one possible finding of a scorer.
type Label struct {
	Value       string  `json:"value" rule:"name" about:"The label."`
	Score       float64 `json:"score" rule:"share" about:"What it counts, from 0 to 1."`
	Description string  `json:"description,omitzero" rule:"about" about:"When it applies."`
}

// scorers reads all scorers.
func (p *parser) scorers() []Scorer {
	names := map[string]string{}
	return each(p, KindScorer, func(at place, d *document) Scorer {
		s := Scorer{Slug: at.name}
		before := p.count
		if d.readMarkdown(p.files[at.path], true); p.count > before {
			return s
		}
		d.decode(&s)
		s.check(p, d)
		s.Name = cmp.Or(s.Name, at.name)
		if other := names[s.Name]; other != "" {
			d.badf(d.find("name"), InvalidValue, "%s already has the name %s", quote(other), quote(s.Name))
		}
		names[s.Name] = at.path
		return s
	})
}

func (s Scorer) check(p *parser, d *document) {
	if s.Agents != nil && len(s.Agents) == 0 {
		d.badf(d.find("agents"), InvalidValue, "a scorer needs at least one agent")
	}
	for i, name := range s.Agents {
		p.refers(d, KindAgent, name, "agents", i)
	}
	passes, fails := 0, 0
	seen := map[string]bool{}
	for i, label := range s.Labels {
		if label.Score >= s.PassingScore {
			passes++
		} else {
			fails++
		}
		if label.Value != "" && seen[label.Value] {
			d.badf(d.find("labels", i, "value"), InvalidValue, "the label %s is listed twice", quote(label.Value))
		}
		seen[label.Value] = true
	}
	if labels := d.find("labels"); s.Labels != nil && d.find("passingScore") != nil && (passes == 0 || fails == 0) {
		d.badf(labels, InvalidValue, "at least one label must reach passingScore, and at least one must be below it")
	}
	if s.Rubric == "" {
		d.badLinef(d.last, 1, InvalidDocument, "the rubric is missing: write it below the front matter")
	}
}
