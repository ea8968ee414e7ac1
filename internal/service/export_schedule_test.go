package service

import (
	"context"

	"github.com/penstock-dev/penstock"
)

// FireDue does what is done every second, at another time than now.
func (s *Service) FireDue(ctx context.Context, now penstock.Time) error { return s.fireDue(ctx, now) }

// FireClocks does what is done every second, at another time than now.
func (s *Service) FireClocks(ctx context.Context, now penstock.Time) error {
	return s.fireClocks(ctx, now)
}

// TouchKeys does what is done every ten seconds.
func (s *Service) TouchKeys(ctx context.Context) error { return s.touchKeys(ctx) }
