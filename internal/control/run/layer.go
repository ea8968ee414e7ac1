package run

import "github.com/penstock-dev/penstock"

// The layers of a run's configuration, the strongest first.
const (
	LayerRequest    = penstock.LayerRequest
	LayerAutomation = "automation"
	LayerAgent      = "agent"
	LayerFactory    = "factory"
	LayerServer     = "server"
	LayerParent     = "parent" // values that a run inherits from its parent
)

// layerForked is the layer of the run from which a run is forked, until its keys get the sources that they
// have there.
const layerForked = "forked"
