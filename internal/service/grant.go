package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/secret"
	"github.com/penstock-dev/penstock/internal/store"
)

// A run gets the secrets that its configuration names, and no others. They are
// checked when it is created, and read when it is claimed.

// lacking reports the uses of secrets that cannot be served: of one that does
// not exist, with the name that may have been meant, or, where a value is
// needed, of one that has none. names lists all secrets of the team.
func lacking(uses []penstock.SecretUse, found []store.SecretRow, needValue bool, names func() ([]string, error)) ([]penstock.FieldError, error) {
	var errs []penstock.FieldError
	var all []string
	for _, use := range uses {
		i := slices.IndexFunc(found, func(r store.SecretRow) bool { return r.Name == use.Name })
		switch {
		case i < 0:
			if all == nil {
				var err error
				if all, err = names(); err != nil {
					return nil, err
				}
			}
			detail := fmt.Sprintf("there is no managed secret %q", use.Name)
			if near := penstock.Nearest(use.Name, all); near != "" {
				detail += fmt.Sprintf("; did you mean %q?", near)
			}
			errs = append(errs, penstock.FieldError{Pointer: use.Pointer, Detail: detail})
		case needValue && found[i].Pending:
			errs = append(errs, penstock.FieldError{Pointer: use.Pointer, Detail: fmt.Sprintf("the managed secret %q has no value yet", use.Name)})
		}
	}
	return errs, nil
}

// checkGrants refuses a run that names secrets which it could not be given.
func (s *Service) checkGrants(ctx context.Context, p penstock.Principal, run *store.NewRun) error {
	uses := run.Config.SecretUses()
	if len(uses) == 0 {
		return nil
	}
	found, err := s.store.SecretsNamed(ctx, p.Team, run.Config.SecretNames())
	if err != nil {
		return err
	}
	errs, err := lacking(uses, found, true, func() ([]string, error) { return s.store.SecretNames(ctx, p.Team) })
	if err != nil || errs == nil {
		return err
	}
	for i := range errs {
		errs[i] = misplaced(run, errs[i])
	}
	return penstock.InvalidFields(errs...)
}

// useSecrets makes sure that every secret that a configuration names, below a
// pointer, is there when the transaction is committed, though it be pending.
func useSecrets(ctx context.Context, tx *store.Tx, p penstock.Principal, at string, config *penstock.Config) error {
	if config == nil {
		return nil
	}
	uses := config.SecretUses()
	if len(uses) == 0 {
		return nil
	}
	found, err := tx.UseSecrets(ctx, p.Team, config.SecretNames())
	if err != nil {
		return err
	}
	errs, err := lacking(uses, found, false, func() ([]string, error) { return tx.SecretNames(ctx, p.Team) })
	if err != nil || errs == nil {
		return err
	}
	for i := range errs {
		errs[i].Pointer = at + errs[i].Pointer
	}
	return penstock.InvalidFields(errs...)
}

// grantError says why an execution cannot have a secret that its run names.
type grantError struct {
	state   penstock.State
	message penstock.StatusMessage
	cause   error // of ours
}

func (e *grantError) Error() string { return e.message.Message }
func (e *grantError) Unwrap() error { return e.cause }

// grant reads the secrets that a run names, for the execution that begins.
// Something it cannot have is a *grantError.
func (s *Service) grant(ctx context.Context, run store.RunRow) (map[string]string, error) {
	values, names := map[string]string{}, run.Config.SecretNames()
	if len(names) == 0 {
		return values, nil
	}
	found, err := s.store.SecretsNamed(ctx, run.Team, names)
	if err != nil {
		return nil, err
	}
	var marks []store.SecretKey
	for _, name := range names {
		i := slices.IndexFunc(found, func(r store.SecretRow) bool { return r.Name == name })
		if i < 0 {
			return nil, refused("The run needs the secret %s, which has been deleted.", name)
		}
		value, err := s.openSecret(found[i])
		switch {
		case errors.Is(err, errPending):
			return nil, refused("The run needs the secret %s, which has no value.", name)
		case err != nil:
			return nil, &grantError{penstock.StateError, penstock.StatusMessage{
				Message: fmt.Sprintf("The server cannot open the secret %s.", name), ErrorCode: penstock.CodeInternal,
			}, err}
		}
		values[name] = value
		marks = append(marks, store.SecretKey{Team: run.Team, Name: name})
	}
	s.granted.mark(marks...)
	return values, nil
}

// maskOf masks the values that the secrets of a run have now.
func (s *Service) maskOf(ctx context.Context, run store.RunRow) (*secret.Masker, error) {
	names := run.Config.SecretNames()
	if len(names) == 0 {
		return secret.NewMasker(), nil
	}
	found, err := s.store.SecretsNamed(ctx, run.Team, names)
	if err != nil {
		return nil, err
	}
	var values []string
	for _, row := range found {
		value, err := s.openSecret(row)
		if err != nil && !errors.Is(err, errPending) {
			return nil, err
		}
		values = append(values, value)
	}
	return secret.NewMasker(values...), nil
}

func refused(format, name string) error {
	return &grantError{penstock.StateFailed, penstock.StatusMessage{
		Message: fmt.Sprintf(format, name), ErrorCode: penstock.CodeEnvironmentSetupFailed,
	}, nil}
}

// endNotGranted ends a run that was claimed and cannot have its secrets.
func (s *Service) endNotGranted(ctx context.Context, l penstock.Lease, why *grantError) error {
	if why.cause != nil {
		s.log.Error("a run's secret cannot be opened", "run_id", l.RunID, "error", why.cause)
	}
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		run, err := tx.Held(ctx, l)
		if err != nil {
			return err
		}
		if err := delivered(ctx, tx, &run); err != nil {
			return err
		}
		return s.end(ctx, tx, run, penstock.Result{State: why.state, Message: &why.message})
	})
	if err == nil {
		s.seen.finished(why.state)
	}
	return cmp.Or(err, penstock.ErrNoWork)
}
