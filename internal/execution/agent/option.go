package agent

import (
	"context"
	"encoding/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

const optionModel = "model"

// options lists the models to choose from: the usable ones in the catalog, and the current one. A
// client may also set any other model of these providers.
func (a *agent) options(current string) []acp.ConfigOption {
	values := []acp.ConfigValue{}
	listed := false
	for _, m := range penstock.Models() {
		if a.usable(m.ID) != nil {
			continue
		}
		values = append(values, acp.ConfigValue{Value: m.ID, Name: m.DisplayName, Description: m.Description})
		listed = listed || m.ID == current
	}
	if !listed {
		values = append(values, acp.ConfigValue{Value: current, Name: current})
	}
	return []acp.ConfigOption{{
		ID: optionModel, Name: "Model", Category: "model", Type: "select",
		CurrentValue: mustJSON(current), Options: mustJSON(values),
	}}
}

func (a *agent) setConfigOption(_ context.Context, r acp.SetConfigOptionRequest) (acp.ConfigOptions, error) {
	s, err := a.session(r.SessionID)
	if err != nil {
		return acp.ConfigOptions{}, err
	}
	model, isString := r.Value.(string)
	if r.ConfigID != optionModel || !isString {
		return acp.ConfigOptions{}, &acp.Error{
			Code: acp.CodeInvalidParams, Message: "the only option is " + optionModel + ", a string",
		}
	}
	if err := a.usable(model); err != nil {
		return acp.ConfigOptions{}, err
	}
	model, _ = penstock.CanonicalModelID(model)
	if err := s.setModel(model); err != nil {
		return acp.ConfigOptions{}, err
	}
	return acp.ConfigOptions{Options: a.options(model)}, nil
}

// mustJSON encodes values that cannot fail: strings, numbers and structs of them.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
