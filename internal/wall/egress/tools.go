package egress

import (
	"slices"

	"github.com/penstock-dev/penstock"
)

// ProviderTools returns the tools of model providers that a run may use, sorted: the tools of any
// layer, as far as the run's ceiling and request, if they exist, also name them.
func ProviderTools(p penstock.NetworkPolicy) []string {
	var tools []string
	for _, layer := range p.Layers {
		tools = append(tools, layer.Network.ProviderTools...)
	}
	slices.Sort(tools)
	return slices.DeleteFunc(slices.Compact(tools), func(tool string) bool {
		for _, within := range []*penstock.Network{p.Ceiling, p.Request} {
			if within != nil && !slices.Contains(within.ProviderTools, tool) {
				return true
			}
		}
		return false
	})
}
