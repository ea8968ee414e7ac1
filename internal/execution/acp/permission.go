package acp

import "slices"

// PermissionRequest asks whether the agent may continue a tool call. It may come before the
// tool_call itself.
type PermissionRequest struct {
	SessionID string             `json:"sessionId"`
	ToolCall  ToolCall           `json:"toolCall"`
	Options   []PermissionOption `json:"options"`
	Meta      Meta               `json:"_meta,omitempty"`
}

// PermissionOption is one of the answers that the agent offers. Only its kind has the same meaning
// for all agents.
type PermissionOption struct {
	ID   string         `json:"optionId"`
	Name string         `json:"name"`
	Kind PermissionKind `json:"kind"`
}

// PermissionKind says what an option means.
type PermissionKind string

// The kinds of options.
const (
	AllowOnce    PermissionKind = "allow_once"
	AllowAlways  PermissionKind = "allow_always"
	RejectOnce   PermissionKind = "reject_once"
	RejectAlways PermissionKind = "reject_always"
)

// PermissionOutcome is the answer: the id of an option, or "" if the turn was cancelled.
type PermissionOutcome struct {
	OptionID string
}

// Choose selects the first option of the first offered kind. If no kind is offered, it returns the
// cancelled outcome.
func Choose(options []PermissionOption, kinds ...PermissionKind) PermissionOutcome {
	for _, kind := range kinds {
		i := slices.IndexFunc(options, func(o PermissionOption) bool { return o.Kind == kind })
		if i >= 0 {
			return PermissionOutcome{OptionID: options[i].ID}
		}
	}
	return PermissionOutcome{}
}

// Allow allows the tool call: once if that is offered, or otherwise always. If the agent offers
// neither, it rejects.
func Allow(options []PermissionOption) PermissionOutcome {
	return Choose(options, AllowOnce, AllowAlways, RejectOnce, RejectAlways)
}

type permissionResponse struct {
	Outcome struct {
		Outcome  string `json:"outcome"` // selected or cancelled
		OptionID string `json:"optionId,omitempty"`
	} `json:"outcome"`
}

func (o PermissionOutcome) response() permissionResponse {
	var r permissionResponse
	r.Outcome.Outcome = "cancelled"
	if o.OptionID != "" {
		r.Outcome.Outcome = "selected"
		r.Outcome.OptionID = o.OptionID
	}
	return r
}
