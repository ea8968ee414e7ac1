package service

import (
	"context"

	"github.com/penstock-dev/penstock"
)

// FireDue does what is done every second, at another time than now.
func (s *Service) FireDue(ctx context.Context, now penstock.Time) error { return s.fireDue(ctx, now) }

// NextOf is the first time of a cron expression after t.
func NextOf(text string, t penstock.Time) (penstock.Time, error) {
	c, err := parseCron(text)
	if err != nil {
		return 0, err
	}
	return c.next(t), nil
}

// FireClocks does what is done every second, at another time than now.
func (s *Service) FireClocks(ctx context.Context, now penstock.Time) error {
	return s.fireClocks(ctx, now)
}

// NextOfTrigger is the first time of a trigger's schedule after t.
func NextOfTrigger(c penstock.CronTrigger, t penstock.Time) (penstock.Time, error) {
	times, err := parseClock(c)
	if err != nil {
		return 0, err
	}
	return times.next(t), nil
}

// TouchKeys does what is done every ten seconds.
func (s *Service) TouchKeys(ctx context.Context) error { return s.touchKeys(ctx) }
