package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

type artifactInput struct {
	Type          penstock.ArtifactType `json:"type"`
	Path          string                `json:"path"`
	Title         string                `json:"title"`
	Description   string                `json:"description"`
	Content       string                `json:"content"`
	Branch        string                `json:"branch"`
	URL           string                `json:"url"`
	ReferenceType string                `json:"reference_type"`
	Metadata      json.RawMessage       `json:"metadata"`
}

func (in artifactInput) paths() []string {
	if in.Path == "" {
		return nil
	}
	return []string{in.Path}
}

var createArtifactTool = define(toolCreateArtifact, acp.ToolOther,
	"Save a result of this run, so that people can find it. FILE and SCREENSHOT need the path of a file in the "+
		"workspace. PLAN needs content in Markdown. PULL_REQUEST needs branch and url. EXTERNAL_REFERENCE needs url and "+
		"reference_type. The artifact is a copy of the file. Create it again after a change.",
	`{"type":"object","properties":{
		"type":{"type":"string","enum":["FILE","SCREENSHOT","PLAN","PULL_REQUEST","EXTERNAL_REFERENCE"]},
		"path":{"type":"string","description":"Relative to the workspace, or absolute within it."},
		"title":{"type":"string"},"description":{"type":"string"},
		"content":{"type":"string"},"branch":{"type":"string"},"url":{"type":"string"},
		"reference_type":{"type":"string","description":"For example issue, document or deployment."},
		"metadata":{"type":"object","description":"More facts about an EXTERNAL_REFERENCE."}},
		"required":["type"]}`,
	func(in artifactInput) string {
		what := cmp.Or(in.Title, in.Path+in.URL)
		return fmt.Sprintf("Save %s %s", in.Type, firstLine(what, 80))
	},
	func(ctx context.Context, c *call, in artifactInput) (result, error) {
		if err := in.check(c.session); err != nil {
			return result{}, err
		}
		request := acp.ArtifactRequest{
			SessionID: c.session.saved.ID, Type: in.Type, Title: in.Title, Description: in.Description, Content: in.Content,
			Branch: in.Branch, URL: in.URL, ReferenceType: in.ReferenceType, Metadata: in.Metadata,
		}
		if in.Path != "" {
			request.Path = c.session.files.absolute(in.Path)
		}
		var kept acp.ArtifactResponse
		if err := c.session.agent.client.Call(ctx, acp.MethodArtifact, request, &kept); err != nil {
			if refused, ok := errors.AsType[*acp.Error](err); ok {
				return result{}, fmt.Errorf("the artifact was not saved: %s", refused.Message)
			}
			return result{}, err
		}
		return result{text: "Saved as artifact " + kept.ArtifactUID, raw: kept}, nil
	})

// check returns an error for a missing field of the type. It helps the model; the client decides
// what is stored.
func (in artifactInput) check(s *session) error {
	switch in.Type {
	case penstock.ArtifactFile, penstock.ArtifactScreenshot:
		info, err := s.files.stat(in.Path)
		switch {
		case in.Path == "":
			return fmt.Errorf("%s needs path", in.Type)
		case err != nil:
			return fmt.Errorf("%s: %w", in.Path, err)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file", in.Path)
		}
	case penstock.ArtifactPlan:
		if in.Content == "" {
			return errors.New("PLAN needs content")
		}
	case penstock.ArtifactPullRequest:
		if in.Branch == "" || !webURL(in.URL) {
			return errors.New("PULL_REQUEST needs branch and an http or https url")
		}
	case penstock.ArtifactReference:
		if in.ReferenceType == "" || !webURL(in.URL) {
			return errors.New("EXTERNAL_REFERENCE needs reference_type and an http or https url")
		}
	default:
		return fmt.Errorf("type must be one of %v", penstock.ArtifactTypes())
	}
	return nil
}

func webURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

type askInput struct {
	Question string `json:"question"`
}

var askUserTool = define(toolAskUser, acp.ToolOther,
	"Ask the person who gave you the task, and stop until they answer. Ask only if you cannot find out or decide "+
		"yourself. Ask everything at once.",
	`{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}`,
	func(in askInput) string { return "Ask: " + firstLine(in.Question, 100) },
	func(_ context.Context, _ *call, in askInput) (result, error) {
		if in.Question == "" {
			return result{}, errors.New("question is empty")
		}
		return result{ask: in.Question, raw: map[string]string{"question": in.Question}}, nil
	})

type planInput struct {
	Entries []planEntry `json:"entries"`
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

var updatePlanTool = define(toolUpdatePlan, acp.ToolThink,
	"Show your plan to the people who watch, and keep it up to date. Use it for tasks with several steps. Each call "+
		"replaces the whole plan.",
	`{"type":"object","properties":{"entries":{"type":"array","items":{"type":"object","properties":{
		"content":{"type":"string"},
		"status":{"type":"string","enum":["pending","in_progress","completed"]},
		"priority":{"type":"string","enum":["high","medium","low"],"description":"Default: medium."}},
		"required":["content","status"]}}},"required":["entries"]}`,
	func(planInput) string { return "Update the plan" },
	func(ctx context.Context, c *call, in planInput) (result, error) {
		plan := acp.Plan{Entries: []acp.PlanEntry{}}
		for _, e := range in.Entries {
			e.Priority = cmp.Or(e.Priority, "medium")
			known := slices.Contains([]string{"pending", "in_progress", "completed"}, e.Status) &&
				slices.Contains([]string{"high", "medium", "low"}, e.Priority)
			if !known || e.Content == "" {
				return result{}, errors.New("an entry needs content, a valid status and a valid priority")
			}
			plan.Entries = append(plan.Entries, acp.PlanEntry(e))
		}
		c.session.update(ctx, acp.Update{Kind: acp.UpdatePlan, Plan: &plan})
		return result{text: "The plan is shown."}, nil
	})
