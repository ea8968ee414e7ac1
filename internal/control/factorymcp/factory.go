package factorymcp

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// schemaVersion is the version of factory files whose schemas are shown.
const schemaVersion = "v1alpha1"

// factoryTools are the tools about factories and their files.
func (s *Server) factoryTools() []tool {
	return []tool{
		run(s, tool{
			name: "list_factories", title: "List factories",
			description: "Lists the factories that can take work, each with its agents. The foreman takes tasks by default.",
			inputs: []input{
				text("search", "Part of a name or alias."),
				number("limit", "At most so many, 1 to 50; default 20."), text("cursor", "next_cursor of the page before."),
			},
		}, (*session).listFactories),
		run(s, tool{
			name: "get_factory_file_schema", title: "Get the schema of factory files",
			description: "Returns the JSON Schema of one kind of factory file, a large one in parts, or the list of the kinds.",
			inputs: []input{
				text("document", "Kind of file, such as factory, agent or automation. Without it: the list."),
				number("offset", "next_offset of the part before."),
			},
		}, (*session).fileSchema),
		run(s, tool{
			name: "validate_factory_files", title: "Validate factory files",
			description: "Checks the files of a factory and saves nothing. Returns each finding with file and line.",
			inputs: []input{{
				name: "files", kind: "array", about: "All files of the factory.",
				items: `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},` +
					`"required":["path","content"],"additionalProperties":false}`,
			}},
			required: []string{"files"},
		}, (*session).validate),
	}
}

type page struct {
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

// query returns the parameters of a page of at most 50 items.
func (p page) query() url.Values {
	limit := p.Limit
	if limit == 0 {
		limit = 20
	}
	q := url.Values{"limit": {strconv.Itoa(min(limit, 50))}}
	if p.Cursor != "" {
		q.Set("cursor", p.Cursor)
	}
	return q
}

// pageInfo is where the next page begins.
type pageInfo struct {
	HasNext    bool   `json:"has_next_page"`
	NextCursor string `json:"next_cursor"`
}

func (p pageInfo) add(f facts) facts {
	if p.HasNext {
		f["next_cursor"] = p.NextCursor
	}
	return f
}

type factoriesArgs struct {
	page

	Search string `json:"search"`
}

type factoryItem struct {
	UID         string `json:"uid"`
	Name        string `json:"name"`
	Alias       string `json:"alias"`
	Description string `json:"description"`
	Foreman     string `json:"foreman_agent_uid"`
	Agents      []struct {
		UID  string `json:"uid"`
		Name string `json:"name"`
		Type string `json:"agent_type"`
	} `json:"agents"`
}

func (s *session) listFactories(ctx context.Context, _ *mcp.CallToolRequest, args factoriesArgs) (result, error) {
	q := args.query()
	if args.Search != "" {
		q.Set("search", args.Search)
	}
	var list struct {
		Factories []factoryItem `json:"factories"`
		PageInfo  pageInfo      `json:"page_info"`
	}
	if err := s.do(ctx, request{path: "factory", query: q}, &list); err != nil {
		return result{}, err
	}
	known, named := make([]facts, 0, len(list.Factories)), make([]any, 0, len(list.Factories))
	for _, f := range list.Factories {
		agents := make([]any, 0, len(f.Agents))
		for _, a := range f.Agents {
			agents = append(agents, map[string]any{"agent_uid": a.UID, "name": a.Name, "foreman": a.UID == f.Foreman})
		}
		known = append(known, facts{"factory_uid": f.UID, "can_take_tasks": f.Foreman != ""})
		named = append(named, map[string]any{
			"factory_uid": f.UID, "name": f.Name, "alias": f.Alias, "description": f.Description, "agents": agents,
		})
	}
	r := result{facts: list.PageInfo.add(facts{"factories": known})}
	if len(named) > 0 {
		r.foreign = []foreign{{"factories", "the files of the factories", named}}
	}
	return r, nil
}

type schemaArgs struct {
	Document string `json:"document"`
	Offset   int    `json:"offset"`
}

func (s *session) fileSchema(ctx context.Context, _ *mcp.CallToolRequest, args schemaArgs) (result, error) {
	path := join("factory-files", "schemas")
	if args.Document != "" {
		path = join("factory-files", "schemas", schemaVersion, args.Document)
	}
	var schema any
	if err := s.do(ctx, request{path: path}, &schema); err != nil {
		return result{}, err
	}
	if args.Document == "" {
		return result{facts: facts{"schemas": schema}}, nil
	}
	f := facts{"schema_version": schemaVersion, "schema_url": s.publicURL + "/api/v1/" + path}
	whole := asText(schema)
	if len(whole) <= maxText && args.Offset == 0 {
		f["schema"] = schema
		return result{facts: f}, nil
	}
	rest := whole[min(max(0, args.Offset), len(whole)):]
	part := beginning(rest, maxPart)
	f["offset"], f["schema_part"] = len(whole)-len(rest), part
	if len(part) < len(rest) {
		f["next_offset"] = len(whole) - len(rest) + len(part)
	}
	return result{facts: f}, nil
}

type validateArgs struct {
	Files []struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	} `json:"files"`
}

func (s *session) validate(ctx context.Context, _ *mcp.CallToolRequest, args validateArgs) (result, error) {
	var found struct {
		Valid       bool   `json:"valid"`
		Version     string `json:"schema_version"`
		Scope       any    `json:"validation_scope"`
		NotRun      any    `json:"state_dependent_checks_not_run"`
		Diagnostics []any  `json:"diagnostics"`
	}
	body := map[string]any{"files": args.Files}
	q := request{method: http.MethodPost, path: "factory-files/validate", body: body}
	if err := s.do(ctx, q, &found); err != nil {
		return result{}, err
	}
	r := result{facts: facts{
		"valid": found.Valid, "schema_version": found.Version, "findings": len(found.Diagnostics),
		"validation_scope": found.Scope, "checks_not_run": found.NotRun,
	}}
	if len(found.Diagnostics) > 0 {
		r.foreign = []foreign{{"diagnostics", "the check of the files, which quotes them", found.Diagnostics}}
	}
	return r, nil
}
