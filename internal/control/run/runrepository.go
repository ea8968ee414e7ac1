package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// CheckRepositories returns the errors of repositories that the list alone shows, with pointers below at. No error
// repeats a URL, which may hold a password.
func (s *Catalog) CheckRepositories(at string, list []penstock.RunRepository) []penstock.FieldError {
	return penstock.CheckRepositories(
		at, list, func(url string) error { return CheckRemote(s.skillCache, url) }, git.CheckRef,
	)
}

// Connections returns a function that says why runs of a factory cannot have a repository by now, or "", and which
// key of it is at fault.
func (s *Catalog) Connections(
	ctx context.Context, team string,
) (func(factory string, r penstock.RunRepository) (key, problem string), error) {
	return s.forges.Finder(ctx, team)
}

// setConnections gives the repositories of a run the connections that they use. What an agent names does not use
// any. Lists of definitions do, because the key of an agent cannot write them.
func (s *Catalog) setConnections(
	ctx context.Context, p penstock.Principal, run *store.NewRun, from RunLayers,
) error {
	if len(run.Config.Repositories) == 0 {
		return nil
	}
	use := forgeUse(run.RunRow)
	use.Agent = namedByAgent(p, run, from)
	list, err := s.forges.Resolve(ctx, use, run.Config.Repositories)
	if known, ok := errors.AsType[*penstock.Error](err); ok && len(known.Fields) > 0 {
		return penstock.InvalidFields(misplacedRepositories(run, known.Fields)...)
	}
	run.Config.Repositories = list
	return err
}

// namedByAgent reports whether the key of an agent is why a run has its repositories: it names them, or forks a run
// that has them.
func namedByAgent(p penstock.Principal, run *store.NewRun, from RunLayers) bool {
	return p.IsAgent() && (from.Forked || run.ConfigSources["repositories"] == LayerRequest)
}

// misplacedRepositories corrects the pointers of errors about repositories that come from a layer below the request.
// Their sentences have the place in the list.
func misplacedRepositories(run *store.NewRun, errs []penstock.FieldError) []penstock.FieldError {
	if run.ConfigSources["repositories"] == LayerRequest {
		return errs
	}
	out := make([]penstock.FieldError, len(errs))
	for i, e := range errs {
		e.Pointer = strings.TrimPrefix(e.Pointer, "/config")
		e.Detail = strings.TrimPrefix(e.Pointer, "/repositories/") + ": " + e.Detail
		out[i] = Misplaced(run, e)
	}
	return out
}

// keepRepositories keeps the repositories of a run that is forked: if it has none, the fork has none either, whatever
// its agent has by now.
func keepRepositories(forked *penstock.Config) *penstock.Config {
	if forked == nil || forked.Repositories != nil {
		return forked
	}
	kept := *forked
	kept.Repositories = []penstock.RunRepository{}
	return &kept
}

func forgeUse(run store.RunRow) forge.Use { return forge.Use{Team: run.Team, Factory: run.FactoryUID} }

// checkReach rejects repositories that the run must not reach. The ceiling of the operator
// holds for every caller. An agent can name only what the network of the run allows: the address of a
// repository can carry data out of a sandbox.
func checkReach(
	p penstock.Principal, run *store.NewRun, policy penstock.NetworkPolicy, from RunLayers,
) error {
	if len(run.Config.Repositories) == 0 {
		return nil
	}
	byAgent := namedByAgent(p, run, from)
	layers, err := egress.Compile(policy)
	if err != nil {
		return fmt.Errorf("compile the network of a run: %w", err)
	}
	var errs []penstock.FieldError
	for i, r := range run.Config.Repositories {
		bad := func(detail string) {
			errs = append(errs, penstock.FieldError{Pointer: fmt.Sprintf("/config/repositories/%d/url", i), Detail: detail})
		}
		u, err := url.Parse(r.URL)
		https := err == nil && !r.ReadByWorker()
		switch {
		case byAgent && !https:
			bad("must be an https URL, because an agent names it")
		case byAgent:
			if d, _ := layers.DecideClone(u); !d.Allowed {
				bad("an agent can name only what its run may reach. " + d.Reason)
			}
		case https && !egress.WithinCeiling(policy.Ceiling, u):
			bad("its host is outside the ceiling of the server. Only the operator of the server can change that")
		}
	}
	if errs != nil {
		return penstock.InvalidFields(misplacedRepositories(run, errs)...)
	}
	return nil
}

// WorkOn gives a run the repository that the event is about which starts it, unless its configuration says on what
// it works.
func (s *Catalog) WorkOn(ctx context.Context, run *store.NewRun, r penstock.RunRepository) error {
	if run.Config.Repositories != nil {
		return nil
	}
	config := *run.Config
	config.Repositories = []penstock.RunRepository{r}
	run.Config, run.ConfigSources = &config, maps.Clone(run.ConfigSources)
	run.ConfigSources["repositories"] = LayerEvent
	p := penstock.Principal{Team: run.Team}
	if err := s.setConnections(ctx, p, run, RunLayers{}); err != nil {
		return err
	}
	policy, err := s.Policy(ctx, run.RunRow)
	if err != nil {
		return err
	}
	return checkReach(p, run, policy, RunLayers{})
}
