package service

import "context"

// ExpireAttachments does at once what is done every ten minutes.
func (s *Service) ExpireAttachments(ctx context.Context) error { return s.expireAttachments(ctx) }

// RemoveOldRuns does at once what is done every minute.
func (s *Service) RemoveOldRuns(ctx context.Context) error { return s.removeOldRuns(ctx) }
