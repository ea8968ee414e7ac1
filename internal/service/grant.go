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

// mayName refuses a configuration of a request that names secrets unless p may
// use them. Nothing is looked up: the refusal does not depend on what exists. at
// points to the configuration.
func mayName(p penstock.Principal, at string, config *penstock.Config) error {
	if config == nil || p.May(penstock.ScopeSecretsUse) {
		return nil
	}
	uses := config.SecretUses()
	if len(uses) == 0 {
		return nil
	}
	return penstock.Errorf(penstock.CodeNotAuthorized, "naming managed secrets, as %s does, needs the scope %s, which the key does not have",
		at+uses[0].Pointer, penstock.ScopeSecretsUse)
}

// mayInstruct refuses a message to the agent of a run whose own request named secrets,
// unless p may name them: the message could have the agent tell them.
func mayInstruct(p penstock.Principal, run *penstock.Run) error {
	if p.May(penstock.ScopeSecretsUse) || run.Config == nil {
		return nil
	}
	for _, use := range run.Config.SecretUses() {
		if _, layer := cameFrom(run, use.Pointer); layer == layerRequest {
			return penstock.Errorf(penstock.CodeNotAuthorized,
				"the request for this run named managed secrets; a follow-up to its agent needs the scope %s, which the key does not have",
				penstock.ScopeSecretsUse)
		}
	}
	return nil
}

// secretCheck judges the secrets that a configuration names.
type secretCheck struct {
	p         penstock.Principal
	needValue bool // a secret that was only declared will not do
	found     []store.SecretRow
	names     func() ([]store.SecretName, error) // of the team
}

// lacking reports the uses of secrets that a run cannot have. Only those who
// manage secrets learn which secrets exist.
func (c secretCheck) lacking(uses []penstock.SecretUse) ([]penstock.FieldError, error) {
	var errs []penstock.FieldError
	for _, use := range uses {
		problem, err := c.problem(use.Name)
		if err != nil {
			return nil, err
		}
		if problem != "" {
			errs = append(errs, penstock.FieldError{Pointer: use.Pointer, Detail: problem})
		}
	}
	return errs, nil
}

// problem says why a run cannot have a secret; "" where it can.
func (c secretCheck) problem(name string) (string, error) {
	known, manages := runSecret{needValue: c.needValue}, c.p.May(penstock.ScopeSecretsManage)
	if i := slices.IndexFunc(c.found, func(r store.SecretRow) bool { return r.Name == name }); i >= 0 {
		known.exists, known.pending, known.ofWebhook = true, c.found[i].Pending, c.found[i].WebhookUID != ""
	}
	problem := known.problem(name, manages)
	if known.exists || !manages {
		return problem, nil
	}
	all, err := c.names()
	if near := penstock.Nearest(name, runSecretNames(all)); near != "" {
		problem += fmt.Sprintf("; did you mean %q?", near)
	}
	return problem, err
}

// runSecret is what is known of a secret that a run is to get.
type runSecret struct {
	exists, pending, ofWebhook bool
	needValue                  bool // a pending one will not do
}

// problem says why a run cannot have a secret; "" where it can. Only an author who
// manages secrets learns which secrets exist.
func (k runSecret) problem(name string, manages bool) string {
	pending := k.needValue && k.pending
	switch {
	case k.exists && !pending && !k.ofWebhook:
		return ""
	case !manages && k.needValue:
		return fmt.Sprintf("no run can have the secret %q: it does not exist, has no value, or belongs to a webhook", name)
	case !manages:
		return fmt.Sprintf("no run can have the secret %q: it does not exist or belongs to a webhook", name)
	case k.ofWebhook:
		return fmt.Sprintf("the managed secret %q was made for a webhook, and runs never get it", name)
	case pending:
		return fmt.Sprintf("the managed secret %q has no value yet", name)
	}
	return missingSecret(name)
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
	check := secretCheck{
		p: p, needValue: true, found: found,
		names: func() ([]store.SecretName, error) { return s.store.SecretNames(ctx, p.Team) },
	}
	errs, err := check.lacking(uses)
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
	check := secretCheck{p, false, found, func() ([]store.SecretName, error) { return tx.SecretNames(ctx, p.Team) }}
	errs, err := check.lacking(uses)
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
		if found[i].WebhookUID != "" {
			return nil, refused("The run names the secret %s, which was made for a webhook: runs never get it.", name)
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
	s.markGranted(marks...)
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
		if err := tx.MarkDelivered(ctx, &run); err != nil {
			return err
		}
		return s.end(ctx, tx, run, penstock.Result{State: why.state, Message: &why.message})
	})
	if err == nil {
		s.seen.finished(why.state)
	}
	return cmp.Or(err, penstock.ErrNoWork)
}
