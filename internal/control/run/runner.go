package run

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
)

const (
	runnerFolder = "runners/"
	runnerSuffix = ".yaml"
)

// SetRunner looks up the run's runner in the files of its factory, and stores its current state
// on the run. A missing runner is an error.
func (s *Catalog) SetRunner(ctx context.Context, _ penstock.Principal, run *store.NewRun) error {
	name := run.Config.RunnerID
	if name == "" {
		return nil
	}
	files, err := s.filesOf(ctx, run.RunRow, runnerFolder)
	if err != nil {
		return err
	}
	content, there := files[runnerFolder+name+runnerSuffix]
	if !there {
		detail := "a runner belongs to the factory of an agent, and the run has no such agent"
		if run.FactoryUID != "" {
			var names []string
			for _, file := range slices.Sorted(maps.Keys(files)) {
				names = append(names, strings.TrimSuffix(strings.TrimPrefix(file, runnerFolder), runnerSuffix))
			}
			detail = request.Unknown("runner of the factory", name, names)
		}
		return penstock.InvalidFields(Misplaced(run, penstock.FieldError{Pointer: "/runner_id", Detail: detail}))
	}
	spec, err := definition.ReadRunner(name, content)
	if err != nil {
		return err // it was valid when it was applied
	}
	run.Runner, run.Image = &spec, run.Image || spec.Container()
	return nil
}

// filesOf reads the files of the run's factory, at the run's revision, whose paths have one of the
// prefixes.
func (s *Catalog) filesOf(ctx context.Context, run store.RunRow, beginnings ...string) (map[string][]byte, error) {
	if run.FactoryUID == "" || run.Revision == 0 {
		return map[string][]byte{}, nil
	}
	return s.store.Definitions.FilesAt(ctx, run.FactoryUID, run.Revision, beginnings...)
}

// Misplaced corrects the pointer of an error about a run's configuration: it points to the
// request's field, or to the source of the key.
func Misplaced(run *store.NewRun, e penstock.FieldError) penstock.FieldError {
	key, layer := run.CameFrom(e.Pointer)
	switch layer {
	case LayerAgent:
		e.Pointer, e.Detail = "/agent_identity_uid", "the agent's "+key+": "+e.Detail
	case LayerRequest:
		e.Pointer = "/config" + e.Pointer
	default:
		e.Pointer, e.Detail = "/config/"+key, "as the "+layer+" has it: "+e.Detail
	}
	return e
}
