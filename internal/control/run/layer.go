package run

import "github.com/penstock-dev/penstock"

// The layers of a run's configuration, the strongest first.
const (
	LayerRequest    = penstock.LayerRequest
	LayerAutomation = "automation"
	LayerAgent      = "agent"
	LayerFactory    = "factory"
	LayerForked     = "forked_run" // values of the run from which a run was forked
	LayerServer     = "server"
	LayerParent     = "parent" // values that a run inherits from its parent
)
