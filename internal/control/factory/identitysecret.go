package factory

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// SecretsAppend adds secrets to an agent. It is a complete request.
type SecretsAppend struct {
	Secrets []penstock.NamedSecret `json:"secrets_append"`
}

// AppendIdentitySecrets adds secrets to an agent. Inherited secrets of its factory become its own.
// It skips secrets that the agent already has. A request without new secrets changes nothing.
func (s *Resources) AppendIdentitySecrets(
	ctx context.Context, p penstock.Principal, uid string, req SecretsAppend,
) (penstock.Identity, error) {
	return s.editIdentity(ctx, p, uid, func(tx *store.Tx, agent *penstock.Identity) (changed bool, err error) {
		if err := s.checkAppended(ctx, tx, p, agent.Harness, req.Secrets); err != nil {
			return false, err
		}
		secrets, err := ownOrInherited(ctx, tx, p.Team, *agent)
		if err != nil {
			return false, err
		}
		had := len(secrets)
		for _, secret := range req.Secrets {
			if !slices.Contains(secrets, secret) {
				secrets = append(secrets, secret)
			}
		}
		if len(secrets) == had {
			return false, nil
		}
		agent.Secrets = secrets
		return true, nil
	})
}

// ownOrInherited copies the secrets of an agent, or of its factory's defaults if it names none
// itself.
func ownOrInherited(
	ctx context.Context, tx *store.Tx, team string, agent penstock.Identity,
) ([]penstock.NamedSecret, error) {
	if agent.Secrets != nil || agent.FactoryUID == "" {
		return slices.Clone(agent.Secrets), nil
	}
	factory, err := tx.Factories().Find(ctx, team, agent.FactoryUID)
	if err != nil {
		return nil, err
	}
	var inherited []penstock.NamedSecret
	for _, name := range factory.Defaults.Config().Secrets {
		inherited = append(inherited, penstock.NamedSecret{Name: name})
	}
	return inherited, nil
}

// checkAppended returns all errors of the new secrets, with pointers into the request.
func (s *Resources) checkAppended(
	ctx context.Context, tx *store.Tx, p penstock.Principal, harness *penstock.Harness, secrets []penstock.NamedSecret,
) error {
	config := penstock.Config{Harness: harness}
	for _, secret := range secrets {
		config.Secrets = append(config.Secrets, secret.Name)
	}
	if errs := append(config.Check("", s.harnesses), s.catalog.Reserved(&config)...); errs != nil {
		return penstock.InvalidFields(appended(errs)...)
	}
	err := access.UseSecrets(ctx, tx, p, "", &config)
	if known, ok := errors.AsType[*penstock.Error](err); ok {
		known.Fields = appended(known.Fields)
	}
	return err
}

// appended converts pointers to secrets into pointers to secrets_append.
func appended(errs []penstock.FieldError) []penstock.FieldError {
	for i := range errs {
		if rest, ok := strings.CutPrefix(errs[i].Pointer, "/secrets"); ok {
			errs[i].Pointer = "/secrets_append" + rest
			if rest != "" {
				errs[i].Pointer += "/name"
			}
		}
	}
	return errs
}
