package service

import "context"

// RemoveLostFiles does at once what is done every day.
func (s *Service) RemoveLostFiles(ctx context.Context) error { return s.removeLostFiles(ctx) }
