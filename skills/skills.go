// Package skills holds the skills that come with Penstock, each a folder with a SKILL.md, and the catalog of all ids
// that such skills have or had. A run uses one by naming its id; an id stays what it is for, so that usage can be
// grouped by it, even where this release has no skill for it.
package skills

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/skillfile"
)

//go:embed add-mcp-server create-skill factory-files pr-comments svc-platform vendor-api
var files embed.FS

// Why this release does not have a skill.
const (
	noTerminal = "It is about a terminal app, and Penstock has none: runs are seen in the dashboard and on the command " +
		"line."
	noSettings = "It is about the settings of an app on a desktop, and Penstock has none: a server is configured by its " +
		"operator."
	noFactory = "This release has no MCP endpoint for factories. What it would offer is in the HTTP API, which " +
		"svc-platform tells of."
)

// catalog has every id, in order. Where there is a reason, there is no skill.
var catalog = []penstock.BundledSkill{
	{ID: "add-mcp-server", Purpose: "Give agents the tools of an MCP server."},
	{ID: "change-keybinding", Purpose: "Change keyboard shortcuts of a terminal app.", Reason: noTerminal},
	{ID: "create-skill", Purpose: "Write a new skill, or improve one."},
	{ID: "create-tab-config", Purpose: "Create a tab configuration of a terminal app.", Reason: noTerminal},
	{ID: "factory-files", Purpose: "Write the files that define a factory."},
	{ID: "factory-mcp", Purpose: "Work with a factory through its MCP endpoint.", Reason: noFactory},
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
		file, err := skillfile.Parse(content)
		if err != nil {
			panic(fmt.Sprintf("skills: %s: %s", list[i].ID, err))
		}
		list[i].Shipped, list[i].Description, list[i].BasePrompt = true, file.Description, file.Body
	}
	return list
})

// Catalog lists every id, in order, with the skill where there is one.
func Catalog() []penstock.BundledSkill { return slices.Clone(read()) }

// Find is the entry of an id; ok is false for what is none.
func Find(id string) (skill penstock.BundledSkill, ok bool) {
	i := slices.IndexFunc(read(), func(s penstock.BundledSkill) bool { return s.ID == id })
	if i < 0 {
		return skill, false
	}
	return read()[i], true
}

// Files are the files of a skill that is shipped, by their path below its
// folder; nil for any other id.
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
		panic(fmt.Sprintf("skills: %s: %s", id, err)) // it is part of this program
	}
	return found
}
