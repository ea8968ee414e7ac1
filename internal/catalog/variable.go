package catalog

import (
	"github.com/penstock-dev/penstock"
)

// Reserved returns the variables of a configuration that its harness must not get. Without a
// harness, they are not known yet.
func (s *Catalog) Reserved(c *penstock.Config) []penstock.FieldError {
	own, holds := s.keyHolders[c.Harness.Kind()]
	if c.Harness == nil || !holds {
		return nil
	}
	return c.CheckVariables(own)
}
