package run

import (
	"context"
	"fmt"
	"maps"
	"net/url"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// checkRepositories returns the errors of the repositories that a request names, each at its field. No
// error repeats a URL, which may hold a password.
func checkRepositories(cache *git.Cache, list []penstock.RunRepository) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{
			Pointer: "/config/repositories" + pointer, Detail: fmt.Sprintf(format, args...),
		})
	}
	if n := len(list); n > MaxRunRepositories {
		bad("", "has %d repositories; at most %d are allowed", n, MaxRunRepositories)
		return errs
	}
	for i, r := range list {
		at := fmt.Sprintf("/%d", i)
		switch {
		case r.Connection == "" && r.Path == "":
			if err := CheckRemote(cache, r.URL); err != nil {
				bad(at+"/url", "%s", err)
			}
		case r.Connection == "":
			bad(at+"/connection", "is required with a path: it names a connection to a forge")
		default:
			if wrong := penstock.CheckForgePath(r.Path); wrong != "" {
				bad(at+"/path", "%s", wrong)
			}
		}
		if err := git.CheckRef(r.Ref); err != nil {
			bad(at+"/ref", "%s", err)
		}
	}
	return errs
}

// setConnections gives the repositories of a run the connections that they use.
func (s *Catalog) setConnections(ctx context.Context, p penstock.Principal, run *store.NewRun) (err error) {
	if len(run.Config.Repositories) == 0 {
		return nil
	}
	use := forgeUse(run.RunRow)
	use.Agent = p.IsAgent()
	run.Config.Repositories, err = s.forges.Resolve(ctx, use, run.Config.Repositories)
	return err
}

func forgeUse(run store.RunRow) forge.Use { return forge.Use{Team: run.Team, Factory: run.FactoryUID} }

// checkReach rejects repositories of a request that the run must not reach. The ceiling of the operator
// holds for every caller. An agent can name only what the network of the run allows: the address of a
// repository can carry data out of a sandbox.
func checkReach(p penstock.Principal, run *store.NewRun, policy penstock.NetworkPolicy) error {
	if len(run.Config.Repositories) == 0 {
		return nil
	}
	byAgent := p.IsAgent()
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
		return penstock.InvalidFields(errs...)
	}
	return nil
}

// MaxRunRepositories is how many repositories one configuration may name.
const MaxRunRepositories = 20

// WorkOn gives a run the repository that the event is about which starts it, unless its configuration says on what
// it works.
func (s *Runs) WorkOn(ctx context.Context, run *store.NewRun, r penstock.RunRepository) error {
	if run.Config.Repositories != nil {
		return nil
	}
	config := *run.Config
	config.Repositories = []penstock.RunRepository{r}
	run.Config, run.ConfigSources = &config, maps.Clone(run.ConfigSources)
	run.ConfigSources["repositories"] = LayerAutomation
	p := penstock.Principal{Team: run.Team}
	if err := s.catalog.setConnections(ctx, p, run); err != nil {
		return err
	}
	policy, err := s.catalog.Policy(ctx, run.RunRow)
	if err != nil {
		return err
	}
	return checkReach(p, run, policy)
}
