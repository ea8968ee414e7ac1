package service

import (
	"context"
	"errors"
)

// ClearLogs does at once what is done every few minutes.
func (s *Service) ClearLogs(ctx context.Context) error {
	return errors.Join(s.clearLogs(ctx), s.clearTallies(ctx))
}
