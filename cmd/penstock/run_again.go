package main

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// omission is what a repeated run lacks, and the flag that adds it; "" if no flag does.
type omission struct{ what, flag string }

// again returns the request that repeats a run, with the configuration that the API shows, and what it leaves
// out. Of the configuration, it keeps also fields that this version does not know.
func (c *client) again(ctx context.Context, id string) (request map[string]any, omitted []omission, err error) {
	var run penstock.Run
	raw, err := c.call(ctx, http.MethodGet, runPath(id), nil, &run)
	if err != nil {
		return nil, nil, err
	}
	sent, err := objectOf(raw)
	if err != nil {
		return nil, nil, c.unlikeServer(err)
	}
	request = map[string]any{}
	for _, field := range []string{"prompt", "title", "mode", "interactive", "metadata"} {
		if value, ok := sent[field]; ok && value != "" {
			request[field] = value
		}
	}
	if run.Scope != nil && run.Scope.Type == "User" {
		request["team"] = false // it stays personal
	}
	if labels, ok := request["metadata"].(map[string]any); ok {
		for _, label := range []string{"automation_id", "webhook_uid", "delivery_id"} { // only the server sets them
			delete(labels, label)
		}
	}
	config, _ := sent["agent_config"].(map[string]any)
	if run.Config == nil {
		run.Config = &penstock.Config{}
	}
	if slices.Equal(run.Config.Skills, []string{run.Config.SkillSpec}) {
		delete(config, "skill_spec") // the API shows the only skill in both fields
	}
	omitted = withoutSecrets(config, run.Config)
	if len(config) > 0 {
		request["config"] = config
	}
	files, err := c.attachmentNames(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if len(files) > 0 {
		omitted = append(omitted, omission{"the attachments " + strings.Join(files, ", "), "--attach"})
	}
	for _, link := range []struct{ name, value, flag string }{
		{"the subject", run.Subject, "--subject"},
		{"the parent run", run.ParentID, "--parent"},
		{"the factory", run.FactoryUID, ""},
	} {
		if link.value != "" {
			omitted = append(omitted, omission{link.name + " " + link.value, link.flag})
		}
	}
	return request, omitted, nil
}

// withoutSecrets removes what names secrets from a configuration, because the caller may have no right to name
// them. It returns the names of what it removed.
func withoutSecrets(config map[string]any, known *penstock.Config) (omitted []omission) {
	for _, use := range known.SecretUses() {
		field, rest, _ := strings.Cut(strings.TrimPrefix(use.Pointer, "/"), "/")
		switch field {
		case "mcp_servers":
			name, _, _ := strings.Cut(rest, "/")
			name = unescapePointer(name)
			if servers, ok := config[field].(map[string]any); ok {
				delete(servers, name)
			}
			omitted = append(omitted, omission{"the MCP server " + name + ", which uses the secret " + use.Name, "--file"})
		case "secrets":
			delete(config, field)
			omitted = append(omitted, omission{"the secret " + use.Name, "--secret"})
		default:
			delete(config, field)
			omitted = append(omitted, omission{"the secret " + use.Name + " of " + field, "--file"})
		}
	}
	return slices.Compact(omitted)
}

// attachmentNames returns the names of the files that were sent with a run.
func (c *client) attachmentNames(ctx context.Context, id string) (names []string, err error) {
	raw, err := c.call(ctx, http.MethodGet, runPath(id, "handoff", "attachments"), nil, nil)
	if err != nil {
		return nil, err
	}
	list, err := listOf[struct {
		Filename string `json:"filename"`
	}](c, raw, "attachments")
	for _, file := range list {
		names = append(names, cmp.Or(file.Filename, "without a name"))
	}
	return names, err
}

// repeat adds what the flags and --file do not say to the request, from the run that --again names.
func (cmd *runCreateCmd) repeat(ctx context.Context, c *client, request map[string]any) (map[string]any, error) {
	if cmd.Again == nil {
		return request, nil
	}
	if *cmd.Again == "" { // an unset variable of a script
		return nil, exitf(exitUsage, "--again needs the ID of a run")
	}
	base, omitted, err := c.again(ctx, *cmd.Again)
	if err != nil {
		return nil, err
	}
	if request["prompt"] != nil {
		delete(base, "title") // of the other prompt
	}
	merge(base, request)
	given := map[string]bool{
		"--attach": cmd.Attach != nil, "--subject": cmd.Subject != "", "--parent": cmd.Parent != "",
		"--secret": cmd.Secret != nil, "--file": cmd.File != "",
	}
	for _, o := range omitted {
		if given[o.flag] {
			continue
		}
		text := "not repeated: " + cleanLine(o.what)
		if o.flag != "" {
			text += "; to add it: " + o.flag
		}
		c.std.notef("%s", text)
	}
	return base, nil
}
