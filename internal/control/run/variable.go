package run

import (
	"maps"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// Reserved returns the variables of a configuration that belong to the sandbox or to the preset
// of its harness, and those that its harness must not get. Without a harness, the latter are not known yet.
func (s *Catalog) Reserved(c *penstock.Config) []penstock.FieldError {
	var errs []penstock.FieldError
	if own, holds := s.keyHolders[c.Harness.Kind()]; c.Harness != nil && holds {
		errs = c.CheckVariables(own)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		pointer := "/env/" + penstock.EscapePointer(name)
		known := slices.ContainsFunc(errs, func(e penstock.FieldError) bool { return e.Pointer == pointer })
		switch {
		case known:
		case egress.Owns(name):
			errs = append(errs, penstock.FieldError{
				Pointer: pointer,
				Detail:  "must not be set by a run: the sandbox sets it, so that programs use its proxy",
			})
		case c.Harness != nil && slices.Contains(s.programs[c.Harness.Kind()].Variables, name):
			errs = append(errs, penstock.FieldError{
				Pointer: pointer,
				Detail: "must not be set for the harness " + c.Harness.Kind() + ": Penstock sets it, so that the agent uses " +
					"the run's model through the gateway",
			})
		}
	}
	return errs
}

// ofPresets returns the variables that presets set.
func ofPresets(names []string) map[string]string {
	variables := map[string]string{}
	for _, name := range names {
		if preset, err := egress.FindPreset(name); err == nil {
			maps.Copy(variables, preset.Variables)
		}
	}
	return variables
}
