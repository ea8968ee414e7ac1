package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

type runDiffCmd struct {
	ID         string `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
	Stat       bool   `help:"List the changed files with their numbers of lines instead of the patch."`
	Repository string `placeholder:"NAME" help:"Only this repository, by the name of its directory."`
}

func (cmd *runDiffCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodGet, runPath(cmd.ID, "changes"), nil, func(changes run.Changes) error {
		found := slices.DeleteFunc(changes.Repositories, func(r penstock.RepositoryChanges) bool {
			return cmd.Repository != "" && r.Name != cmd.Repository
		})
		switch {
		case len(found) == 0 && cmd.Repository != "":
			return exitf(exitUsage, "the run has no changes of a repository %q", cmd.Repository)
		case len(found) == 0:
			std.notef("the run has no repository, or has not ended a turn yet")
		}
		if cmd.Stat {
			if err := printStat(std, found); err != nil {
				return err
			}
		}
		if patches := patchesOf(found); !cmd.Stat && len(patches) > 1 {
			std.notef("the patch of each repository has its own paths; to apply one, add --repository with one of: %s",
				cleanLine(strings.Join(patches, ", ")))
		}
		return cmd.print(ctx, std, c, found)
	})
}

// print prints the patches, and reports what they do not show.
func (cmd *runDiffCmd) print(ctx context.Context, std *stdio, c *client, found []penstock.RepositoryChanges) error {
	var failed error
	for _, r := range found {
		if !cmd.Stat && r.PatchURL != "" {
			if err := c.printPatch(ctx, cmd.ID, r.Name); err != nil {
				return err
			}
		}
		failed = errors.Join(failed, noteChanges(std, r))
	}
	return failed
}

// patchesOf returns the names of the repositories that have a patch.
func patchesOf(repositories []penstock.RepositoryChanges) (names []string) {
	for _, r := range repositories {
		if r.PatchURL != "" {
			names = append(names, r.Name)
		}
	}
	return names
}

// noteChanges reports what the patch does not show. It returns an error if the changes are unknown.
func noteChanges(std *stdio, r penstock.RepositoryChanges) error {
	switch {
	case r.Error != "":
		return exitf(exitFailed, "the changes of %s are unknown: %s", cleanLine(r.Name), cleanLine(r.Error))
	case len(r.Files) == 0 && r.FilesOmitted == 0:
		std.notef("no changes in %s", cleanLine(r.Name))
	}
	for _, f := range r.Files {
		if f.Truncated {
			std.notef(
				"not in the patch, because it is too large, or git could not apply it: %s", cleanLine(r.Name+"/"+f.Path),
			)
		}
	}
	if r.FilesOmitted > 0 {
		std.notef("%d more files of %s have changed, and are not in the patch", r.FilesOmitted, cleanLine(r.Name))
	}
	return nil
}

func printStat(std *stdio, repositories []penstock.RepositoryChanges) error {
	var rows [][]string
	for _, r := range repositories {
		for _, f := range r.Files {
			path, added, deleted := r.Name+"/"+f.Path, fmt.Sprintf("+%d", f.Additions), fmt.Sprintf("-%d", f.Deletions)
			if f.PreviousPath != "" {
				path = r.Name + "/" + f.PreviousPath + " → " + f.Path
			}
			if f.Binary {
				added, deleted = "binary", ""
			}
			rows = append(rows, []string{path, string(f.Status), added, deleted})
		}
	}
	if rows == nil {
		return nil
	}
	return std.table([]string{"FILE", "STATUS", "ADDED", "DELETED"}, rows)
}

// printPatch copies a patch unchanged, so that git can apply it. On a terminal, it cleans and
// colors the text.
func (c *client) printPatch(ctx context.Context, id, repository string) error {
	path := runPath(id, "changes", url.PathEscape(repository), "patch")
	out := c.std.out
	if !isTerminal(out) || os.Getenv("NO_COLOR") != "" {
		return c.download(ctx, path, out)
	}
	response, err := c.send(ctx, http.MethodGet, path, http.Header{}, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	inHunk, inData := false, false
	for {
		line, err := lines.ReadString('\n')
		text := strings.TrimSuffix(cleanText(line), "\n")
		inData = inData && !strings.HasPrefix(line, "diff --git ")
		if line != "" && !inData {
			var color string
			color, inHunk = diffColor(text, inHunk)
			if color != "" {
				text = color + text + "\x1b[0m"
			}
			if _, err := fmt.Fprintln(out, text); err != nil {
				return err
			}
		}
		inData = inData || text == "GIT binary patch" // its lines are only for git
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return &transportError{c.base, err}
		}
	}
}

// diffColor returns the color of a line of a patch, and whether the next line is in a hunk.
func diffColor(line string, inHunk bool) (color string, hunk bool) {
	switch {
	case strings.HasPrefix(line, "diff --git "):
		return "\x1b[1m", false
	case strings.HasPrefix(line, "@@"):
		return "\x1b[36m", true
	case !inHunk:
		return "\x1b[1m", false
	case strings.HasPrefix(line, "+"):
		return "\x1b[32m", true
	case strings.HasPrefix(line, "-"):
		return "\x1b[31m", true
	}
	return "", true
}
