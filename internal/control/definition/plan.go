package definition

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Plan is what applying a tree changes.
type Plan struct {
	Created []Change `json:"created"`
	Changed []Change `json:"changed"`
	Removed []Change `json:"removed"`
}

// Change is one resource of a [Plan].
type Change struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"` // AGENT/SKILL for an agent's skill; the folder's name for a scorer or benchmark
	// Fields lists the keys of a changed resource that differ. Nested keys have dots between them.
	// prompt, rubric and files stand for parts that are not keys.
	Fields []string `json:"fields,omitempty"`
	// Again is true for a created resource if one with this name was removed before. The new one
	// has another UID.
	Again bool `json:"again,omitempty"`
}

// Empty reports whether nothing changes.
func (p Plan) Empty() bool { return len(p.Created)+len(p.Changed)+len(p.Removed) == 0 }

// Compare returns the plan for replacing one definition by another. before is nil for a new
// factory. removed reports whether a removed resource had a name; it may be nil. The plan is sorted
// by kind and name.
func Compare(before, after *Definition, removed func(Kind, string) bool) Plan {
	plan := Plan{Created: []Change{}, Changed: []Change{}, Removed: []Change{}}
	if before == nil {
		before = &Definition{}
		plan.Created = append(plan.Created, Change{Kind: KindFactory, Name: after.Factory.Name})
	} else if fields := differences(before.Factory, after.Factory); len(fields) > 0 {
		plan.Changed = append(plan.Changed, Change{Kind: KindFactory, Name: after.Factory.Name, Fields: fields})
	}
	c := comparison{&plan, removed}
	compare(c, KindAgent, before.Agents, after.Agents, func(a Agent) string { return a.Name })
	compare(c, KindAutomation, before.Automations, after.Automations, func(a Automation) string { return a.Name })
	compare(c, KindWebhook, before.Webhooks, after.Webhooks, func(w Webhook) string { return w.Name })
	compare(c, KindRunner, before.Runners, after.Runners, func(r Runner) string { return r.Name })
	compare(
		c, KindSkill, before.Skills, after.Skills,
		func(s Skill) string { return strings.TrimPrefix(s.Agent+"/"+s.Name, "/") },
	)
	compare(c, KindScorer, before.Scorers, after.Scorers, func(s Scorer) string { return s.Slug })
	compare(c, KindBenchmark, before.Benchmarks, after.Benchmarks, func(b Benchmark) string { return b.Slug })
	return plan
}

type comparison struct {
	*Plan

	removed func(Kind, string) bool
}

// compare adds the differences between two lists, which are sorted by name in lower case.
func compare[T any](c comparison, kind Kind, before, after []T, name func(T) string) {
	index := func(list []T, wanted string) int {
		return slices.IndexFunc(list, func(item T) bool { return name(item) == wanted })
	}
	for _, item := range after {
		change := Change{Kind: kind, Name: name(item)}
		i := index(before, change.Name)
		if i < 0 {
			change.Again = c.removed != nil && c.removed(kind, change.Name)
			c.Created = append(c.Created, change)
			continue
		}
		if change.Fields = differences(before[i], item); len(change.Fields) > 0 {
			c.Changed = append(c.Changed, change)
		}
	}
	for _, item := range before {
		if index(after, name(item)) < 0 {
			c.Removed = append(c.Removed, Change{Kind: kind, Name: name(item)})
		}
	}
}

// differences lists the keys in which two structs differ. An absent key equals its default.
func differences[T any](before, after T) []string {
	names := differ(reflect.ValueOf(before), reflect.ValueOf(after), "")
	old, isBenchmark := any(before).(Benchmark)
	if now, _ := any(after).(Benchmark); isBenchmark && !slices.Contains(names, "tasks") &&
		!reflect.DeepEqual(old.Tasks, now.Tasks) {
		names = append(names, "tasks")
	}
	return names
}

func differ(before, after reflect.Value, prefix string) []string {
	var names []string
	for _, f := range fieldsOf(before.Type()) {
		old, now := before.FieldByIndex(f.index), after.FieldByIndex(f.index)
		switch {
		case f.kind.Kind() == reflect.Struct:
			names = append(names, differ(old, now, prefix+f.key+".")...)
		case f.text(old) != f.text(now):
			names = append(names, prefix+f.key)
		}
	}
	return names
}

// text returns a value of the field as JSON, or the default if it is absent.
func (f field) text(v reflect.Value) string {
	if v.IsZero() {
		return f.value
	}
	text, _ := json.Marshal(v.Interface()) // never fails for types of documents
	return string(text)
}
