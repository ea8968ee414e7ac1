package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

const (
	defaultMatches = 200
	maxMatches     = 1000
	maxMatchLine   = 300
	maxSearched    = 4 << 20 // larger files are not searched
)

type searchInput struct {
	Pattern    string `json:"pattern"`
	Glob       string `json:"glob"`
	Path       string `json:"path"`
	IgnoreCase bool   `json:"ignore_case"`
	Max        int    `json:"max_results"`
}

type searchOutput struct {
	Matches int  `json:"matches"`
	More    bool `json:"more"` // there are more matches
}

var searchFilesTool = define(toolSearchFiles, acp.ToolSearch,
	"Search the workspace for lines that match a regular expression (RE2), in all files or those that match a glob. "+
		"Without pattern, list the files. "+
		"Binary files, files over 4 MiB and .git are left out.",
	`{"type":"object","properties":{
		"pattern":{"type":"string","description":"A regular expression in RE2 syntax. Default: list files only."},
		"glob":{"type":"string",
			"description":"For example *.go or src/**/*.py. Without a slash, it matches file names. Default: all files."},
		"path":{"type":"string","description":"The directory to search. Default: the workspace."},
		"ignore_case":{"type":"boolean"},
		"max_results":{"type":"integer","minimum":1,"maximum":1000,"description":"Default: 200."}}}`,
	func(in searchInput) string {
		switch {
		case in.Pattern != "":
			return "Search for " + firstLine(in.Pattern, 80)
		case in.Glob != "":
			return "List " + firstLine(in.Glob, 80)
		}
		return "List files"
	},
	func(ctx context.Context, c *call, in searchInput) (result, error) {
		se, err := newSearch(in)
		if err != nil {
			return result{}, err
		}
		d, rel, err := c.session.files.locate(in.Path)
		if err != nil {
			return result{}, err
		}
		se.dir, se.prefix = d, ""
		if d.path != c.session.files.cwd() {
			se.prefix = d.path + "/"
		}
		err = fs.WalkDir(d.root.FS(), filepath.ToSlash(rel), func(path string, entry fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return se.visit(path, entry, err)
		})
		if err != nil && !errors.Is(err, fs.SkipAll) {
			return result{}, plain(err)
		}
		return se.result(), nil
	})

// search is one walk over a directory.
type search struct {
	pattern *regexp.Regexp // nil lists files
	glob    *regexp.Regexp // nil: every file
	byName  bool           // the glob matches only the file's name
	most    int
	dir     workDir
	prefix  string // of the reported paths

	found int
	more  bool
	text  strings.Builder
}

func newSearch(in searchInput) (*search, error) {
	se := &search{most: defaultMatches, byName: !strings.Contains(in.Glob, "/")}
	if in.Max > 0 {
		se.most = min(in.Max, maxMatches)
	}
	if in.Glob != "" {
		glob, err := regexp.Compile(globPattern(in.Glob))
		if err != nil {
			return nil, fmt.Errorf("glob: %w", err)
		}
		se.glob = glob
	}
	if in.Pattern != "" {
		expr := in.Pattern
		if in.IgnoreCase {
			expr = "(?i)" + expr
		}
		pattern, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("pattern: %w", err)
		}
		se.pattern = pattern
	}
	return se, nil
}

// globPattern converts a glob to a regular expression. * and ? stop at a slash, and ** does not.
func globPattern(glob string) string {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(glob); i++ {
		switch {
		case strings.HasPrefix(glob[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(glob[i:], "**"):
			b.WriteString(".*")
			i++
		case glob[i] == '*':
			b.WriteString("[^/]*")
		case glob[i] == '?':
			b.WriteString("[^/]")
		default:
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	return b.String() + "$"
}

func (se *search) visit(path string, entry fs.DirEntry, err error) error {
	if err != nil {
		if path == "." || entry == nil {
			return err
		}
		return nil // skip a directory that cannot be read
	}
	if entry.IsDir() {
		if entry.Name() == ".git" {
			return fs.SkipDir
		}
		return nil
	}
	name := path
	if se.byName {
		name = entry.Name()
	}
	if !entry.Type().IsRegular() || se.glob != nil && !se.glob.MatchString(name) {
		return nil
	}
	if se.pattern == nil {
		return se.add(se.prefix + path)
	}
	text, ok := se.searchable(path, entry)
	if !ok {
		return nil
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimRight(line, "\r\n"); se.pattern.MatchString(line) {
			if err := se.add(fmt.Sprintf("%s%s:%d: %s", se.prefix, path, number, cut(line, maxMatchLine))); err != nil {
				return err
			}
		}
	}
	return nil
}

// searchable returns a file's text. It returns false if the file is too large, is not text or
// cannot be read.
func (se *search) searchable(path string, entry fs.DirEntry) (string, bool) {
	info, err := entry.Info()
	if err != nil || info.Size() > maxSearched {
		return "", false
	}
	data, err := readRegular(se.dir.root, filepath.FromSlash(path))
	return string(data), err == nil && !isBinary(data)
}

// add records a match, and ends the walk if there are enough.
func (se *search) add(line string) error {
	if se.found == se.most {
		se.more = true
		return fs.SkipAll
	}
	se.found++
	se.text.WriteString(line + "\n")
	return nil
}

func (se *search) result() result {
	text := se.text.String()
	switch {
	case se.found == 0:
		text = "No matches."
	case se.more:
		text += fmt.Sprintf("[only the first %d results; there are more]", se.found)
	}
	return result{text: text, raw: searchOutput{Matches: se.found, More: se.more}}
}
