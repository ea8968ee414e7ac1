package catalog

import (
	"github.com/penstock-dev/penstock"
)

// Reserved reports the variables of a configuration that its harness must not be given.
// Without a harness it is not known yet which they are.
func (s *Catalog) Reserved(c *penstock.Config) []penstock.FieldError {
	own, holds := s.keyHolders[c.Harness.Kind()]
	if c.Harness == nil || !holds {
		return nil
	}
	return c.CheckVariables(own)
}
