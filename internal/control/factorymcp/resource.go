package factorymcp

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock/skills"
)

const (
	skillID  = "factory-mcp" // of the bundled skill
	skillURI = "skill://penstock/factory-mcp/SKILL.md"
	taskURI  = "penstock://task/"
)

// addResources adds the skill about this endpoint, and tasks by their id.
func (s *Server) addResources(server *mcp.Server) {
	text := skills.Files(skillID)["SKILL.md"]
	server.AddResource(&mcp.Resource{
		URI: skillURI, Name: skillID, Title: "How to work with factories", MIMEType: "text/markdown",
		Description: "The skill that explains these tools.",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: skillURI, MIMEType: "text/markdown", Text: text},
		}}, nil
	})
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: taskURI + "{id}", Name: "task", Title: "A task", MIMEType: "application/json",
		Description: "What get_task returns.",
	}, s.readTask)
}

// readTask returns what get_task returns, each block as a content of its own.
func (s *Server) readTask(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	from, ok := ctx.Value(callerKey{}).(*caller)
	if !ok {
		return nil, errNoCaller
	}
	uri := req.Params.URI
	r, err := (&session{s, from}).task(ctx, strings.TrimPrefix(uri, taskURI))
	if err != nil {
		if e, ok := errors.AsType[*apiError](err); ok {
			return nil, e
		}
		s.log.ErrorContext(ctx, "a resource failed", "error", err)
		return nil, errInternal
	}
	var contents []*mcp.ResourceContents
	for i, block := range r.content().Content {
		kind := "text/plain"
		if i == 0 {
			kind = "application/json"
		}
		if text, ok := block.(*mcp.TextContent); ok {
			contents = append(contents, &mcp.ResourceContents{URI: uri, MIMEType: kind, Text: text.Text})
		}
	}
	return &mcp.ReadResourceResult{Contents: contents}, nil
}

var errInternal = errors.New("internal error")
