package access

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// MissingSecret returns the error for a secret that does not exist.
func MissingSecret(name string) string { return fmt.Sprintf("the team has no managed secret %q", name) }

// SecretNames lists the names of secrets.
func SecretNames(all []store.SecretName) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return names
}

// RunSecretNames lists the names of the secrets that runs can use.
func RunSecretNames(all []store.SecretName) []string {
	var names []string
	for _, s := range all {
		if s.WebhookUID == "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// A run gets the secrets that its configuration names, and no others. They are
// checked when it is created, and read when it is claimed.

// MayName returns an error if the configuration names secrets and p may not use secrets. The worker's
// own ssh key and files count as secrets, so the same holds for a repository that it reads with them.
// It reads nothing, so the error does not depend on which secrets exist. at points to the
// configuration.
func MayName(p penstock.Principal, at string, config *penstock.Config) error {
	if config == nil || p.May(penstock.ScopeSecretsUse) {
		return nil
	}
	if i := slices.IndexFunc(config.Repositories, penstock.RunRepository.ReadByWorker); i >= 0 {
		return penstock.Errorf(penstock.CodeNotAuthorized, "naming a repository that workers read with their own ssh key "+
			"or files, as %s/repositories/%d/url does, needs the scope %s, which the key does not have. Use an https URL",
			at, i, penstock.ScopeSecretsUse)
	}
	uses := config.SecretUses()
	if len(uses) == 0 {
		return nil
	}
	return penstock.Errorf(penstock.CodeNotAuthorized, "naming managed secrets, as %s does, needs the scope %s, which "+
		"the key does not have",
		at+uses[0].Pointer, penstock.ScopeSecretsUse)
}

// SecretCheck checks the secrets that a configuration names.
type SecretCheck struct {
	P         penstock.Principal
	NeedValue bool // pending secrets are not enough
	Found     []store.SecretRow
	Names     func() ([]store.SecretName, error) // of the team
}

// Lacking reports each use of a secret that runs cannot use. Only a caller who manages secrets
// learns which secrets exist.
func (c SecretCheck) Lacking(uses []penstock.SecretUse) ([]penstock.FieldError, error) {
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

// problem returns why a run cannot use a secret, or "".
func (c SecretCheck) problem(name string) (string, error) {
	known, manages := RunSecret{needValue: c.NeedValue}, c.P.May(penstock.ScopeSecretsManage)
	if i := slices.IndexFunc(c.Found, func(r store.SecretRow) bool { return r.Name == name }); i >= 0 {
		known.Exists, known.pending, known.OfWebhook = true, c.Found[i].Pending, c.Found[i].WebhookUID != ""
	}
	problem := known.Problem(name, manages)
	if known.Exists || !manages {
		return problem, nil
	}
	all, err := c.Names()
	if near := penstock.Nearest(name, RunSecretNames(all)); near != "" {
		problem += fmt.Sprintf("; did you mean %q?", near)
	}
	return problem, err
}

// RunSecret describes a secret that a run needs.
type RunSecret struct {
	Exists, pending, OfWebhook bool
	needValue                  bool // a pending one is not enough
}

// Problem returns why a run cannot use a secret, or "". Only an author who manages secrets
// learns which secrets exist.
func (k RunSecret) Problem(name string, manages bool) string {
	pending := k.needValue && k.pending
	switch {
	case k.Exists && !pending && !k.OfWebhook:
		return ""
	case !manages && k.needValue:
		return fmt.Sprintf("runs cannot use the secret %q: it does not exist, has no value, or belongs to a webhook", name)
	case !manages:
		return fmt.Sprintf("runs cannot use the secret %q: it does not exist or belongs to a webhook", name)
	case k.OfWebhook:
		return fmt.Sprintf("the managed secret %q belongs to a webhook, and runs cannot use it", name)
	case pending:
		return fmt.Sprintf("the managed secret %q has no value yet", name)
	}
	return MissingSecret(name)
}

// UseSecrets ensures that every secret in a configuration exists when the transaction commits.
// A pending secret is enough. at is the pointer of the configuration.
func UseSecrets(ctx context.Context, tx *store.Tx, p penstock.Principal, at string, config *penstock.Config) error {
	if config == nil {
		return nil
	}
	uses := config.SecretUses()
	if len(uses) == 0 {
		return nil
	}
	found, err := tx.Secrets().Use(ctx, p.Team, config.SecretNames())
	if err != nil {
		return err
	}
	check := SecretCheck{p, false, found, func() ([]store.SecretName, error) { return tx.Secrets().Names(ctx, p.Team) }}
	errs, err := check.Lacking(uses)
	if err != nil || errs == nil {
		return err
	}
	for i := range errs {
		errs[i].Pointer = at + errs[i].Pointer
	}
	return penstock.InvalidFields(errs...)
}

// GrantError says why an execution cannot get a secret that its run names.
type GrantError struct {
	State   penstock.State
	Message penstock.StatusMessage
	Cause   error // an internal error
}

func (e *GrantError) Error() string { return e.Message.Message }

func (e *GrantError) Unwrap() error { return e.Cause }

// Grant reads the secrets that a run names, for a new execution. It returns a *GrantError if
// the run cannot use one of them.
func (s *Secrets) Grant(ctx context.Context, run store.RunRow) (map[string]string, error) {
	return s.grantNamed(ctx, run.Team, run.Config.SecretNames())
}

// GrantRegistry reads the credentials for the registry of an image, "" if it names none, and the hosts
// that may get them. It returns a *GrantError if the run cannot use them.
func (s *Secrets) GrantRegistry(
	ctx context.Context, team string, image penstock.RunImage,
) (login string, hosts []string, err error) {
	if image.Secret == "" {
		return "", nil, nil
	}
	found, err := s.store.Secrets.Named(ctx, team, []string{image.Secret})
	if err != nil {
		return "", nil, err
	}
	values, err := s.grantNames(team, []string{image.Secret}, found)
	if denied, ok := errors.AsType[*GrantError](err); ok {
		denied.Message.Message += fmt.Sprintf(" It is for the image %s of the registry %s.",
			image.Reference, penstock.ImageRegistry(image.Reference))
	}
	if err != nil {
		return "", nil, err
	}
	if hosts = SecretHosts(found)[image.Secret]; !slices.Contains(hosts, image.SecretHost) {
		return "", nil, NotGranted(
			"The run sends the secret %s to the registry %s of its image, but the secret does not list the host %s.",
			image.Secret, penstock.ImageRegistry(image.Reference), image.SecretHost,
		)
	}
	return values[image.Secret], hosts, nil
}

func (s *Secrets) grantNamed(ctx context.Context, team string, names []string) (map[string]string, error) {
	if len(names) == 0 {
		return map[string]string{}, nil
	}
	found, err := s.store.Secrets.Named(ctx, team, names)
	if err != nil {
		return nil, err
	}
	return s.grantNames(team, names, found)
}

// grantNames decrypts the secrets with these names. found has those that exist.
func (s *Secrets) grantNames(team string, names []string, found []store.SecretRow) (map[string]string, error) {
	values := map[string]string{}
	var marks []store.SecretKey
	for _, name := range names {
		i := slices.IndexFunc(found, func(r store.SecretRow) bool { return r.Name == name })
		if i < 0 {
			return nil, NotGranted("The run needs the secret %s, which has been deleted.", name)
		}
		if found[i].WebhookUID != "" {
			return nil, NotGranted("The run names the secret %s, which belongs to a webhook. Runs cannot use it.", name)
		}
		value, err := s.Open(found[i])
		switch {
		case errors.Is(err, ErrPending):
			return nil, NotGranted("The run needs the secret %s, which has no value.", name)
		case err != nil:
			return nil, NotOpened(err, "the secret %s", name)
		}
		values[name] = value
		marks = append(marks, store.SecretKey{Team: team, Name: name})
	}
	s.MarkGranted(marks...)
	return values, nil
}

// MaskOf returns a masker for the current values of the run's secrets.
func (s *Secrets) MaskOf(ctx context.Context, run store.RunRow) (*secret.Masker, error) {
	names := run.Config.SecretNames()
	if run.Network != nil {
		names = append(names, run.Network.SecretNames()...)
	}
	if run.Runner != nil && run.Runner.RegistrySecret != "" {
		names = append(names, run.Runner.RegistrySecret)
	}
	if uid := run.Config.EnvironmentID; uid != "" {
		environment, err := s.store.Environments.KeptSpec(ctx, run.Team, uid)
		if err != nil {
			return nil, err
		}
		names = append(names, environment.Config.SecretNames()...)
	}
	if len(names) == 0 {
		return secret.NewMasker(), nil
	}
	found, err := s.store.Secrets.Named(ctx, run.Team, names)
	if err != nil {
		return nil, err
	}
	var values []string
	for _, row := range found {
		value, err := s.Open(row)
		if err != nil && !errors.Is(err, ErrPending) {
			return nil, err
		}
		values = append(values, value)
	}
	return secret.NewMasker(values...), nil
}

// NotGranted returns a *GrantError that ends a run in FAILED.
func NotGranted(format string, args ...any) error {
	return &GrantError{penstock.StateFailed, penstock.StatusMessage{
		Message: fmt.Sprintf(format, args...), ErrorCode: penstock.CodeEnvironmentSetupFailed,
	}, nil}
}

// NotOpened returns a *GrantError for what the server cannot decrypt, which ends a run in ERROR.
func NotOpened(cause error, format string, args ...any) error {
	return &GrantError{penstock.StateError, penstock.StatusMessage{
		Message: "The server cannot open " + fmt.Sprintf(format, args...) + ".", ErrorCode: penstock.CodeInternal,
	}, cause}
}
