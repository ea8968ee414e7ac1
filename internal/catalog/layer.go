package catalog

// The layers of a run's configuration, the strongest first.
const (
	LayerRequest    = "request"
	LayerAutomation = "automation"
	LayerAgent      = "agent"
	LayerFactory    = "factory"
	LayerServer     = "server"
	LayerParent     = "parent" // values that a run inherits from its parent
)
