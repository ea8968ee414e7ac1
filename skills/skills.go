// Package skills contains the skills that come with Penstock, each a folder with a SKILL.md, and the catalog of all ids
// that such skills have or had. A run uses a skill by its id. An id never changes its purpose, even if this release has
// no skill for it, so that usage can be grouped by id.
package skills

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/penstock-dev/penstock"
)

//go:embed add-mcp-server create-skill factory-files factory-mcp pr-comments svc-platform vendor-api
var files embed.FS

// Reasons why this release does not have a skill.
const (
	noTerminal = "The skill is for a terminal app, which Penstock does not have. The dashboard and the command line " +
		"show runs."
	noSettings = "The skill is for a desktop app, which Penstock does not have. The operator configures the server."
)

// catalog lists every id, in order. An entry with a reason has no skill.
var catalog = []penstock.BundledSkill{
	{ID: "add-mcp-server", Purpose: "Give agents the tools of an MCP server."},
	{ID: "change-keybinding", Purpose: "Change keyboard shortcuts of a terminal app.", Reason: noTerminal},
	{ID: "create-skill", Purpose: "Write a new skill, or improve one."},
	{ID: "create-tab-config", Purpose: "Create a tab configuration of a terminal app.", Reason: noTerminal},
	{ID: "factory-files", Purpose: "Write the files that define a factory."},
	{ID: "factory-mcp", Purpose: "Work with a factory through its MCP endpoint."},
	{ID: "modify-settings", Purpose: "Change settings of a desktop app.", Reason: noSettings},
	{ID: "pr-comments", Purpose: "Work through the review comments of a pull request."},
	{ID: "svc-platform", Purpose: "Use the platform's own API from inside a run."},
	{ID: "svcctrl", Purpose: "Control a running desktop app from the command line.", Reason: noSettings},
	{ID: "tab-configs", Purpose: "Explain tab configurations of a terminal app.", Reason: noTerminal},
	{ID: "tui-migrate-setup", Purpose: "Move a terminal setup over to a terminal app.", Reason: noTerminal},
	{ID: "update-tab-config", Purpose: "Change a tab configuration of a terminal app.", Reason: noTerminal},
	{ID: "vendor-api", Purpose: "Write programs that call a model vendor's API."},
}

var read = sync.OnceValue(func() []penstock.BundledSkill {
	list := slices.Clone(catalog)
	for i := range list {
		if list[i].Reason != "" {
			continue
		}
		content, err := files.ReadFile(list[i].ID + "/SKILL.md")
		if err != nil {
			panic(fmt.Sprintf("skills: %s: %s", list[i].ID, err))
		}
		file, err := Parse(content)
		if err != nil {
			panic(fmt.Sprintf("skills: %s: %s", list[i].ID, err))
		}
		list[i].Shipped, list[i].Description, list[i].BasePrompt = true, file.Description, file.Body
	}
	return list
})

// Catalog returns the entries of all ids, in order, with the skill if this release has it.
func Catalog() []penstock.BundledSkill { return slices.Clone(read()) }

// Find returns the entry of an id. ok is false if the catalog does not have the id.
func Find(id string) (skill penstock.BundledSkill, ok bool) {
	i := slices.IndexFunc(read(), func(s penstock.BundledSkill) bool { return s.ID == id })
	if i < 0 {
		return skill, false
	}
	return read()[i], true
}

// Files returns the files of a skill of this release, by their paths below its folder. It returns nil for any other id.
func Files(id string) map[string]string {
	if skill, ok := Find(id); !ok || !skill.Shipped {
		return nil
	}
	found := map[string]string{}
	err := fs.WalkDir(files, id, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := files.ReadFile(path)
		found[strings.TrimPrefix(path, id+"/")] = string(content)
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("skills: %s: %s", id, err)) // the files are part of this program
	}
	return found
}
