package agent

import (
	"path"
	"strings"
)

// repositoriesLine begins the line of the first prompt that names the repositories of the workspace.
const repositoriesLine = "Repositories in the workspace: "

// demoRepository returns the folder of the first repository in the workspace, or "".
func demoRepository(prompt string) string {
	for line := range strings.Lines(prompt) {
		if names, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), repositoriesLine); ok {
			first, _, _ := strings.Cut(names, ", ")
			return first
		}
	}
	return ""
}

// changing returns the step that edits a file of a repository: its README, or a new file without one.
func changing(repository, listing string) reply {
	const about = "`demo/offline` was here. This is the edit of a demonstration: undo it."
	content := "\n" + about + "\n"
	change := edit{Path: path.Join(repository, "penstock-demo.md"), Content: &content}
	for line := range strings.Lines(listing) {
		name := strings.TrimRight(line, "\n")
		if dir, file := path.Split(name); dir == repository+"/" && strings.EqualFold(file, "README.md") {
			change.Path, change.Append = name, true
			break
		}
	}
	if !change.Append {
		content = about + "\n"
	}
	return calling(toolEditFiles, map[string]any{"edits": []edit{change}},
		text("I edit one file of the repository "+repository+", so that there is a diff.\n"))
}

// endOfChange says what became of that edit.
func endOfChange(repository string, edited part) string {
	if edited.Failed {
		return "I could not edit a file of the repository " + repository + ". "
	}
	return "I edited one file of the repository " + repository + ": see the run's changes. "
}
