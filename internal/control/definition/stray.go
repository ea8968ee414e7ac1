package definition

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// folders are the names below the root that have a meaning.
var folders = []string{
	"agents", "automations", "runners", "webhooks", "skills", "scorers", "benchmarks", "factory.yaml",
}

var expectations = map[string]string{
	"agents":      "the folder agents may contain only <name>/agent.md and <name>/skills/<skill>/SKILL.md",
	"automations": "the folder automations may contain only <name>/automation.md or <name>.md",
	"runners":     "the folder runners may contain only <name>.yaml",
	"webhooks":    "the folder webhooks may contain only <name>.yaml",
	"skills":      "the folder skills may contain only <skill>/SKILL.md and other files of the skill",
	"scorers":     "the folder scorers may contain only <name>/scorer.md",
	"benchmarks":  "the folder benchmarks may contain only <suite>/suite.yaml and <suite>/tasks/<task>.yaml",
}

// Strays finds files in a tree that are not part of the factory. Each of them gets a note, and a
// folder that is not part of the factory gets one note for all its files. A folder with a
// misspelled name gets a warning. The zero value is ready.
type Strays struct{ noted map[string]string } // path by what the note is about

// Note reports whether a file is stray, and returns its note, or nil if another file of its folder
// had the note. The same path gets the same result again. In a folder of the factory, something
// that is not a plain file is never stray, because it may stand for files below it.
func (s *Strays) Note(name string, plain bool) (note *Diagnostic, stray bool) {
	parts := strings.Split(name, "/")
	known := expectations[parts[0]] != ""
	if _, _, ok := match(parts); ok || ignored(parts) || meant(parts) || known && !plain {
		return nil, false
	}
	if checkPath(name) != "" { // the path cannot be shown
		return nil, !known && len(parts) > 1
	}
	about, found := strayNote(name, parts)
	if first, noted := s.noted[about]; noted && first != name {
		return nil, true
	}
	if s.noted == nil {
		s.noted = map[string]string{}
	}
	s.noted[about] = name
	return &found, true
}

// strayNote returns the note for a stray file, and the file or folder that it is about.
func strayNote(name string, parts []string) (about string, note Diagnostic) {
	note = Diagnostic{Code: UnsupportedPath, Path: name, Line: 1, Column: 1, Severity: SeverityNote}
	top := parts[0]
	if expected := expectations[top]; expected != "" {
		note.Message = "this file is not part of a factory and is ignored: " + expected
		return name, note
	}
	const has = "a factory has factory.yaml and the folders agents, automations, runners, webhooks, skills, scorers and " +
		"benchmarks"
	if near := nearest(top, folders); near != "" {
		corrected := append([]string{near}, parts[1:]...)
		if _, _, ok := match(corrected); ok || meant(corrected) {
			note.Severity, note.Nearest = SeverityWarning, strings.Join(corrected, "/")
			if len(parts) == 1 {
				note.Message = "this file is not part of a factory and is ignored: " + has
				return name, note
			}
			note.Message = fmt.Sprintf("the folder %s is not part of a factory and is ignored: %s", quote(top), has)
			return top + "/ misspelled", note
		}
	}
	if len(parts) == 1 {
		note.Message = "this file is not part of a factory and is ignored: " + has
		return name, note
	}
	note.Message = fmt.Sprintf("the folder %s is not part of a factory and is ignored: %s", quote(top), has)
	return top + "/", note
}

// ignored reports whether a file needs no note: hidden files, files that explain a folder, and
// other documents at the root, such as LICENSE and CHANGELOG.md.
func ignored(parts []string) bool {
	if slices.ContainsFunc(parts, func(part string) bool { return part != "" && part[0] == '.' }) {
		return true
	}
	last := parts[len(parts)-1]
	if strings.EqualFold(last, "README.md") {
		return true
	}
	ext := path.Ext(last)
	base := strings.ToLower(strings.TrimSuffix(last, ext))
	return len(parts) == 1 && (ext == "" || ext == ".md") && base != "factory" && (ext != "" ||
		!slices.Contains(folders, base))
}

// meant reports whether an unknown path is similar to the path of a resource, with a wrong place or
// name. Without an error, the resource would be missing silently.
func meant(parts []string) bool {
	top, last := parts[0], parts[len(parts)-1]
	ext := strings.ToLower(path.Ext(last))
	stem := strings.ToLower(strings.TrimSuffix(last, path.Ext(last)))
	yaml := ext == ".yaml" || ext == ".yml"
	text := yaml || ext == ".md" || ext == ".markdown"
	called := func(document string) bool { return text && nearest(stem, []string{document}) != "" }
	switch {
	case len(parts) == 1: // a file or link in place of a folder, or another factory.yaml
		return slices.Contains(folders, strings.ToLower(last)) || stem == "factory" && yaml
	case top == "agents":
		return text && (len(parts) == 2 || parts[2] == "skills") || called("agent") || called("skill")
	case top == "automations":
		return text && len(parts) == 2 || called("automation")
	case top == "runners", top == "webhooks", top == "benchmarks":
		return yaml
	case top == "skills":
		return text
	case top == "scorers":
		return text && len(parts) == 2 || called("scorer")
	}
	return false
}

// misplaced returns the error for a file in the wrong place or with a wrong name.
func misplaced(name string, parts []string) Diagnostic {
	hint, expected := "", expectations[parts[0]]
	switch {
	case expected != "" && strings.HasSuffix(name, ".yml"):
		hint = strings.TrimSuffix(name, ".yml") + ".yaml"
		expected = "YAML files must end in .yaml: " + expected
	case expected == "":
		if hint = nearest(parts[0], folders); hint != "" {
			hint = strings.Join(append([]string{hint}, parts[1:]...), "/")
		}
		expected = "a factory has factory.yaml and the folders " + list(folders[:len(folders)-1])
	}
	return Diagnostic{
		Code: UnsupportedPath, Message: "this file is not part of a factory: " + expected, Path: name, Line: 1, Column: 1,
		Nearest: hint,
	}
}
