package service

import "context"

// ClearLogs does at once what is done every minute.
func (s *Service) ClearLogs(ctx context.Context) error { return s.clearLogs(ctx) }
