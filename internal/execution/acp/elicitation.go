package acp

import (
	"context"
	"encoding/json"
	"errors"
)

// ElicitationCapabilities says how a client asks its user.
type ElicitationCapabilities struct {
	Form *struct{} `json:"form,omitempty"`
}

// ElicitationRequest asks the user for values. ToolCallID is the call that asks, if the agent names
// it. The properties of the schema are the fields of a form.
type ElicitationRequest struct {
	SessionID  string            `json:"sessionId"`
	ToolCallID string            `json:"toolCallId,omitempty"`
	Mode       string            `json:"mode"`
	Message    string            `json:"message"`
	Schema     ElicitationSchema `json:"requestedSchema"`
	Meta       Meta              `json:"_meta,omitempty"`
}

// ElicitationSchema holds the fields of a form by name. They stay as received, because agents use
// different parts of JSON Schema.
type ElicitationSchema struct {
	Properties map[string]json.RawMessage `json:"properties"`
}

// ElicitationResponse is the answer. Action is accept, decline or cancel.
type ElicitationResponse struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

// elicit asks the handler until the turn is cancelled.
func (c *Client) elicit() func(context.Context, ElicitationRequest) (ElicitationResponse, error) {
	if c.handler.Elicit == nil {
		return nil
	}
	return func(ctx context.Context, r ElicitationRequest) (ElicitationResponse, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		forget := c.asks(r.SessionID, cancel)
		defer forget()
		response, err := ElicitationResponse{}, error(nil)
		if ctx.Err() == nil {
			response, err = c.handler.Elicit(ctx, r)
		}
		if errors.Is(context.Cause(ctx), errTurnCancelled) {
			return ElicitationResponse{Action: "cancel"}, nil
		}
		return response, err
	}
}
