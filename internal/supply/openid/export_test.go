package openid

import "time"

// SetNow replaces the clock of a provider.
func (p *Provider) SetNow(now func() time.Time) { p.now = now }
