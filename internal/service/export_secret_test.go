package service

import "context"

// TouchSecrets does what is done every ten seconds.
func (s *Service) TouchSecrets(ctx context.Context) error { return s.touchSecrets(ctx) }
