package automation

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/field"
	"github.com/penstock-dev/penstock/internal/store"
)

// settableField is a field of an automation that a request gives, clears or leaves
// alone.
type settableField struct {
	name  string
	given func(*penstock.AutomationRequest) bool
	set   func(*penstock.AutomationRequest, *store.AutomationRow) // where it is given
	clear func(*store.AutomationRow)
}

// settable are all of them. A further one needs a line here.
var settable = []settableField{
	fieldOf("name",
		func(r *penstock.AutomationRequest) *string { return r.Name },
		func(row *store.AutomationRow) *string { return &row.Name }),
	{
		name:  "enabled",
		given: func(r *penstock.AutomationRequest) bool { return r.Enabled != nil },
		set:   func(r *penstock.AutomationRequest, row *store.AutomationRow) { field.Set(&row.Enabled, r.Enabled) },
		clear: func(*store.AutomationRow) {}, // Change.Check refuses it
	},
	fieldOf("agent",
		func(r *penstock.AutomationRequest) *string { return r.Agent },
		func(row *store.AutomationRow) *string { return &row.Agent }),
	fieldOf("prompt",
		func(r *penstock.AutomationRequest) *string { return r.Prompt },
		func(row *store.AutomationRow) *string { return &row.Prompt }),
	fieldOf("triggers",
		func(r *penstock.AutomationRequest) *[]penstock.Trigger {
			if r.Triggers == nil {
				return nil
			}
			return new(givenTriggers(*r.Triggers))
		},
		func(row *store.AutomationRow) *[]penstock.Trigger { return &row.Triggers }),
	fieldOf("model",
		func(r *penstock.AutomationRequest) *string { return r.Model },
		func(row *store.AutomationRow) *string { return &row.Model }),
	fieldOf("harness",
		func(r *penstock.AutomationRequest) **penstock.Harness {
			if r.Harness == nil {
				return nil
			}
			return &r.Harness
		},
		func(row *store.AutomationRow) **penstock.Harness { return &row.Harness }),
	fieldOf("runner",
		func(r *penstock.AutomationRequest) *string { return r.RunnerID },
		func(row *store.AutomationRow) *string { return &row.RunnerID }),
	fieldOf("environment_id",
		func(r *penstock.AutomationRequest) *string { return r.EnvironmentID },
		func(row *store.AutomationRow) *string { return &row.EnvironmentID }),
	fieldOf("secrets",
		func(r *penstock.AutomationRequest) *[]string { return r.Secrets },
		func(row *store.AutomationRow) *[]string { return &row.Secrets }),
	fieldOf("mcp_servers",
		func(r *penstock.AutomationRequest) *map[string]penstock.MCPServer { return r.MCPServers },
		func(row *store.AutomationRow) *map[string]penstock.MCPServer { return &row.MCPServers }),
	fieldOf("worker_host",
		func(r *penstock.AutomationRequest) *string { return r.WorkerHost },
		func(row *store.AutomationRow) *string { return &row.WorkerHost }),
	fieldOf("credential_strategy",
		func(r *penstock.AutomationRequest) *string { return r.CredentialStrategy },
		func(row *store.AutomationRow) *string { return &row.CredentialStrategy }),
}

func fieldOf[T any](
	name string, from func(*penstock.AutomationRequest) *T, to func(*store.AutomationRow) *T,
) settableField {
	return settableField{
		name:  name,
		given: func(r *penstock.AutomationRequest) bool { return from(r) != nil },
		set:   func(r *penstock.AutomationRequest, row *store.AutomationRow) { field.Set(to(row), from(r)) },
		clear: func(row *store.AutomationRow) {
			var none T
			*to(row) = none
		},
	}
}
