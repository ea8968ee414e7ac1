package factory

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
)

// agentNamesRepository is why the key of an agent cannot change a list of repositories.
const agentNamesRepository = "the key of an agent can only remove repositories from a list: a person has to add " +
	"them, or to remove the key"

// addsRepositories reports whether a change of the repositories of an agent, an automation or agentDefaults can give
// runs more of them. It does if it has a new one, and if it removes the key, because runs then have the ones of the
// layer below.
func addsRepositories(before, after []penstock.RunRepository) bool {
	if after == nil {
		return before != nil
	}
	return slices.ContainsFunc(after, func(r penstock.RunRepository) bool { return !slices.Contains(before, r) })
}

// refuseAdded rejects repositories that the key of an agent adds to a definition. Each run of a definition has
// its connections.
func refuseAdded(p penstock.Principal, before, after []penstock.RunRepository) error {
	if p.IsAgent() && addsRepositories(before, after) {
		return penstock.Invalid("/repositories", "%s", agentNamesRepository)
	}
	return nil
}

// checkConnections rejects the repositories of a request that runs of the factory cannot have: their connection does
// not exist, or is not for them. nil is no request. What an agent may name is in the definition already.
func (s *Resources) checkConnections(
	ctx context.Context, p penstock.Principal, factory string, list *[]penstock.RunRepository,
) error {
	if list == nil || len(*list) == 0 || p.IsAgent() {
		return nil
	}
	find, err := s.catalog.Connections(ctx, p.Team)
	if err != nil {
		return err
	}
	errs := s.catalog.CheckRepositories("/repositories", *list)
	for i, r := range *list {
		if key, problem := find(factory, r); problem != "" && errs == nil {
			errs = append(errs, penstock.FieldError{Pointer: fmt.Sprintf("/repositories/%d/%s", i, key), Detail: problem})
		}
	}
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	return nil
}

// checkConnectionsOf is checkConnections for the repositories of an agent.
func (s *Resources) checkConnectionsOf(
	ctx context.Context, p penstock.Principal, uid string, list *[]penstock.RunRepository,
) error {
	if list == nil || !p.May(penstock.ScopeFactoriesManage) { // editIdentity refuses it
		return nil
	}
	agent, err := s.store.Identities.Find(ctx, p.Team, uid)
	if err != nil {
		return err
	}
	return s.checkConnections(ctx, p, agent.FactoryUID, list)
}

// refuseAdded is the function of this name for the files of a factory.
func (a *application) refuseAdded(
	kind definition.Kind, name, key string, before, after []penstock.RunRepository,
) {
	if (a.byAgent || a.p.IsAgent()) && addsRepositories(before, after) {
		a.badf(kind, name, key, "repositories: %s", agentNamesRepository)
	}
}
