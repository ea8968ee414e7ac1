package httpapi

import (
	"cmp"
	"maps"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// sourceAliases are the names of sources on other servers with this API.
var sourceAliases = map[penstock.Source]penstock.Source{"CUSTOM_WEBHOOK": run.SourceWebhook}

// sourceNames lists every name that [lookupSource] knows: the sources of the contract, and others that
// no run on this server has.
func sourceNames() []penstock.Source {
	names := []penstock.Source{
		run.SourceAPI, run.SourceCLI, run.SourceWebApp, run.SourceSchedule, run.SourceWebhook,
		"ORCHESTRATION", run.SourceGitHubAction, "GITHUB_WEBHOOK", "GITLAB_WEBHOOK", "LOCAL", "CLOUD_MODE", "SLACK",
		"LINEAR", "JIRA", "SELF_IMPROVEMENT", "AUTOFIX", "RUN_SCORER", "MCP", "TEAMS", "AZURE_DEVOPS_WEBHOOK",
		"BENCHMARK_TRIAL", "CREATE_BENCHMARK_TASK",
	}
	return append(names, slices.Sorted(maps.Keys(sourceAliases))...)
}

// lookupSource returns the source that a filter names, or false for an unknown name.
func lookupSource(name string) (penstock.Source, bool) {
	s := penstock.Source(name)
	if !slices.Contains(sourceNames(), s) {
		return "", false
	}
	return cmp.Or(sourceAliases[s], s), true
}
