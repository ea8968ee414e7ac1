package definition

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// place is a path of the tree that belongs to a resource.
type place struct {
	path string
	kind Kind
	name string // of the resource; AGENT/SKILL for an agent's skill
	part string // of a benchmark: the name of a task; of a skill: the path of another file
}

var (
	resourceNames = penstock.LazyRegexp(`^[a-z0-9][a-z0-9-]{0,62}$`)
	otherNames    = penstock.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
)

// layout finds the resource of each file.
func (p *parser) layout() {
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		d := p.open(name)
		if problem := checkPath(name); problem != "" {
			d.badLinef(1, 1, UnsupportedPath, "%s", problem)
			continue
		}
		if file := p.above(name); file != "" {
			d.badLinef(1, 1, UnsupportedPath, "%s is a file, so it cannot contain other files", file)
			continue
		}
		at, ok := p.locate(d, name)
		if !ok {
			continue
		}
		if p.paths[at.kind] == nil {
			p.paths[at.kind] = map[string][]place{}
		}
		p.paths[at.kind][strings.ToLower(at.name)] = append(p.paths[at.kind][strings.ToLower(at.name)], at)
	}
	for kind, names := range p.paths {
		for _, key := range slices.Sorted(maps.Keys(names)) {
			names[key] = p.unique(kind, names[key])
			if len(names[key]) == 0 {
				delete(names, key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(names)) {
			p.written[kind] = append(p.written[kind], names[key][0].name)
		}
	}
}

// above returns a file of the tree that is also a folder in the path name, or "".
func (p *parser) above(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, file := p.files[dir]; file {
			return dir
		}
	}
	return ""
}

// unique reports places with the same name, ignoring case, because a case-insensitive file system
// would keep only one of them. It puts the document of the resource first. It reports and drops
// places without a document.
func (p *parser) unique(kind Kind, places []place) []place {
	seen := map[string]place{}
	var documents, parts []place
	for _, at := range places {
		key := strings.ToLower(at.part)
		if other, twice := seen[key]; twice {
			p.open(at.path).badLinef(
				1, 1, DuplicatePath, "%s already defines this %s; names must differ in more than case", quote(other.path), kind,
			)
			p.doubtful[kind] = true
			continue
		}
		seen[key] = at
		if at.part == "" {
			documents = append(documents, at)
		} else {
			parts = append(parts, at)
		}
	}
	if len(documents) == 0 && len(parts) > 0 {
		main := map[Kind]string{KindSkill: "SKILL.md", KindBenchmark: "suite.yaml"}[kind]
		d := p.open(parts[0].path)
		if kind == KindSkill {
			d.warnf(nil, MissingRequired, "", "the skill %s has no SKILL.md, so agents do not get it", quote(parts[0].name))
		} else {
			d.badLinef(1, 1, MissingRequired, "the %s %s has no %s", kind, quote(parts[0].name), main)
		}
		return nil
	}
	return append(documents, parts...)
}

// checkPath describes what is wrong with an invalid path, or returns "".
func checkPath(name string) string {
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "a path must be printable UTF-8 text"
	case strings.Contains(name, `\`):
		return `a path has / between its parts, not \`
	case !fs.ValidPath(name) || name == ".":
		return "a path must be relative, without .., . or an empty part"
	case len(name) > 512:
		return "a path must have at most 512 bytes"
	}
	return ""
}

// locate finds the resource of a path.
func (p *parser) locate(d *document, name string) (place, bool) {
	parts := strings.Split(name, "/")
	at, rest, ok := match(parts)
	at.path = name
	switch {
	case ok:
		return at, p.named(d, at, rest)
	case ignored(parts):
		return at, false
	}
	if note, stray := p.strays.Note(name, true); stray {
		if note != nil {
			d.add(*note)
		}
		return at, false
	}
	wrong := misplaced(name, parts)
	if ofSkill(name) {
		wrong.Severity = SeverityWarning
	}
	d.add(wrong)
	return at, false
}

// Concerns reports how [Parse] treats a path in a tree without hidden files. documented means that
// the file belongs to the factory, or is an error because it is in the wrong place. read means that
// Parse reads its content. [Strays] handles all other files.
func Concerns(name string) (documented, read bool) {
	if checkPath(name) != "" {
		return true, false
	}
	parts := strings.Split(name, "/")
	if slices.ContainsFunc(parts, func(part string) bool { return part[0] == '.' }) {
		return false, false
	}
	if _, _, ok := match(parts); ok {
		return true, true
	}
	return !ignored(parts) && meant(parts), false
}

// match compares a path with the layout. names are the parts that the author chose.
func match(parts []string) (at place, names []string, ok bool) {
	n := len(parts)
	last := parts[n-1]
	flat, isYAML := strings.CutSuffix(last, ".yaml")
	switch {
	case n == 1:
		return place{kind: KindFactory}, nil, last == "factory.yaml"
	case parts[0] == "agents" && n == 3 && last == "agent.md":
		return place{kind: KindAgent, name: parts[1]}, parts[1:2], true
	case parts[0] == "agents" && n >= 5 && parts[2] == "skills":
		at = place{kind: KindSkill, name: parts[1] + "/" + parts[3], part: strings.Join(parts[4:], "/")}
		return skillPart(at), []string{parts[1], parts[3]}, true
	case parts[0] == "skills" && n >= 3:
		return skillPart(place{kind: KindSkill, name: parts[1], part: strings.Join(parts[2:], "/")}), parts[1:2], true
	case parts[0] == "automations" && n == 3 && last == "automation.md":
		return place{kind: KindAutomation, name: parts[1]}, parts[1:2], true
	case parts[0] == "automations" && n == 2 && strings.HasSuffix(last, ".md") && !strings.EqualFold(last, "README.md"):
		flat = strings.TrimSuffix(last, ".md")
		return place{kind: KindAutomation, name: flat}, []string{flat}, true
	case parts[0] == "runners" && n == 2 && isYAML:
		return place{kind: KindRunner, name: flat}, []string{flat}, true
	case parts[0] == "webhooks" && n == 2 && isYAML:
		return place{kind: KindWebhook, name: flat}, []string{flat}, true
	case parts[0] == "scorers" && n == 3 && last == "scorer.md":
		return place{kind: KindScorer, name: parts[1]}, parts[1:2], true
	case parts[0] == "benchmarks" && n == 3 && last == "suite.yaml":
		return place{kind: KindBenchmark, name: parts[1]}, parts[1:2], true
	case parts[0] == "benchmarks" && n == 4 && parts[2] == "tasks" && isYAML:
		return place{kind: KindBenchmark, name: parts[1], part: flat}, []string{parts[1], flat}, true
	}
	return place{}, nil, false
}

func skillPart(at place) place {
	if at.part == "SKILL.md" {
		at.part = ""
	}
	return at
}

// named checks the names in a path.
func (p *parser) named(d *document, at place, names []string) bool {
	ok := true
	for _, name := range names {
		valid, rule := otherNames(), "must be 1 to 63 letters, digits, . _ and -, the first one a letter or digit"
		if at.kind == KindAutomation || at.kind == KindWebhook {
			valid, rule = resourceNames(), "must be 1 to 63 lower-case letters, digits and -, the first one a letter or digit"
		}
		if valid.MatchString(name) {
			continue
		}
		ok = false
		severity := SeverityError
		if at.kind == KindSkill {
			severity = SeverityWarning
		}
		hint := strings.Join(
			strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '_' || r == '.' }), "-",
		)
		if !valid.MatchString(hint) {
			hint = ""
		}
		d.add(Diagnostic{
			Code: UnsupportedPath, Path: at.path, Line: 1, Column: 1, Nearest: hint, Severity: severity,
			Message: fmt.Sprintf("%s cannot be a name of the kind %s: it %s", quote(name), at.kind, rule),
		})
	}
	return ok
}

// ReadTree reads the files of a folder for [Parse]. It skips hidden files, and stray files with a
// note. It does not follow symbolic links: a link in place of a factory's file is an error, like
// everything else that is not a plain file. It stops if the tree becomes too large for Parse.
func ReadTree(folder fs.FS) (map[string][]byte, []Diagnostic, error) {
	files := map[string][]byte{}
	var found findings
	var strays Strays
	size := 0
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && entry.Name()[0] == '.':
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		if note, stray := strays.Note(name, entry.Type().IsRegular()); stray {
			if note != nil {
				found.add(*note)
			}
			return nil
		}
		switch {
		case entry.Type().IsRegular():
		case ignored(strings.Split(name, "/")):
			return nil
		default:
			found.add(
				Diagnostic{
					Code: UnsupportedPath, Message: "must be a plain file, not a link or device", Path: name, Line: 1, Column: 1,
				},
			)
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if size += int(min(info.Size(), MaxBytes+1)); len(files) > MaxFiles || size > MaxBytes+1 {
			files[name] = make([]byte, min(info.Size(), MaxBytes+1)) // enough to be rejected as too large
			return errTooLarge
		}
		files[name], err = fs.ReadFile(folder, name)
		return err
	})
	if err != nil && !errors.Is(err, errTooLarge) {
		return nil, nil, fmt.Errorf("read the files of the factory: %w", err)
	}
	return files, found.sorted(), nil
}

var errTooLarge = errors.New("too large")
