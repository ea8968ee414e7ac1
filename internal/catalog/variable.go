package catalog

import (
	"maps"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/egress"
)

// Reserved returns the variables of a configuration that belong to the sandbox, and those
// that its harness must not get. Without a harness, the latter are not known yet.
func (s *Catalog) Reserved(c *penstock.Config) []penstock.FieldError {
	var errs []penstock.FieldError
	if own, holds := s.keyHolders[c.Harness.Kind()]; c.Harness != nil && holds {
		errs = c.CheckVariables(own)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		pointer := "/env/" + penstock.EscapePointer(name)
		known := slices.ContainsFunc(errs, func(e penstock.FieldError) bool { return e.Pointer == pointer })
		if egress.Owns(name) && !known {
			errs = append(errs, penstock.FieldError{
				Pointer: pointer,
				Detail:  "must not be set by a run: the sandbox sets it, so that programs use its proxy",
			})
		}
	}
	return errs
}

// ofPresets are the variables that some presets set.
func ofPresets(names []string) map[string]string {
	variables := map[string]string{}
	for _, name := range names {
		if preset, err := egress.FindPreset(name); err == nil {
			maps.Copy(variables, preset.Variables)
		}
	}
	return variables
}
