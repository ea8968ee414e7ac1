package forge

import "github.com/penstock-dev/penstock"

// Push returns what a run with this configuration may push. It was decided when the run was created.
func Push(config *penstock.Config) penstock.PushPolicy {
	if config == nil || config.Forge == nil || config.Forge.Policy == nil {
		return penstock.DefaultPushPolicy()
	}
	return *config.Forge.Policy
}

// Outputs returns which outputs a run with this configuration may declare, and what happens to them. It was decided
// when the run was created.
func Outputs(config *penstock.Config) penstock.OutputPolicy {
	if config == nil || config.Forge == nil || config.Forge.OutputPolicy == nil {
		return penstock.DefaultOutputPolicy()
	}
	return *config.Forge.OutputPolicy
}
