package access

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// UseCredentials ensures that the secrets in the rules of a network exist when the transaction
// commits, and that each lists the host of its rule. A pending secret is enough. Errors are an
// invalid request with the pointers of uses.
func UseCredentials(
	ctx context.Context, tx *store.Tx, p penstock.Principal, uses []penstock.CredentialUse,
) error {
	if len(uses) == 0 {
		return nil
	}
	var names []string
	for _, use := range uses {
		names = append(names, use.Name)
	}
	slices.Sort(names)
	found, err := tx.Secrets().Use(ctx, p.Team, slices.Compact(names))
	if err != nil {
		return err
	}
	check := SecretCheck{p, false, found, func() ([]store.SecretName, error) { return tx.Secrets().Names(ctx, p.Team) }}
	errs, err := check.LackingHosts(uses)
	if err != nil || errs == nil {
		return err
	}
	return penstock.InvalidFields(errs...)
}

// LackingHosts reports the credentials that no run could use. Only a caller who manages secrets
// learns which secrets exist, and which hosts they list.
func (c SecretCheck) LackingHosts(uses []penstock.CredentialUse) ([]penstock.FieldError, error) {
	var errs []penstock.FieldError
	for _, use := range uses {
		problem, err := c.problem(use.Name)
		if err != nil {
			return nil, err
		}
		if problem == "" && !c.lists(use) {
			problem = NotForHost(use.Name, use.Host, c.P.May(penstock.ScopeSecretsManage))
		}
		if problem != "" {
			errs = append(errs, penstock.FieldError{Pointer: use.Pointer, Detail: problem})
		}
	}
	return errs, nil
}

func (c SecretCheck) lists(use penstock.CredentialUse) bool {
	return slices.ContainsFunc(c.Found, func(r store.SecretRow) bool {
		return r.Name == use.Name && slices.Contains(r.Hosts, use.Host)
	})
}

// NotForHost returns the message that a secret may not be sent to a host.
func NotForHost(secret, host string, manages bool) string {
	if !manages {
		return fmt.Sprintf(
			"no run can send the secret %q to %s: a key with the scope secrets:manage must add the host to the secret",
			secret, host,
		)
	}
	return fmt.Sprintf("the managed secret %q does not list the host %s: add it to the hosts of the secret", secret, host)
}

// SecretHosts returns the hosts that each secret lists, by name.
func SecretHosts(found []store.SecretRow) map[string][]string {
	hosts := map[string][]string{}
	for _, row := range found {
		if len(row.Hosts) > 0 {
			hosts[row.Name] = row.Hosts
		}
	}
	return hosts
}

// AddSecretHosts adds the hosts that managed secrets list to a policy.
func AddSecretHosts(policy *penstock.NetworkPolicy, found []store.SecretRow) {
	if hosts := SecretHosts(found); policy.SecretHosts == nil {
		policy.SecretHosts = hosts
	} else {
		maps.Copy(policy.SecretHosts, hosts)
	}
}

// GrantNetwork reads the secrets that the policy of an execution names, and adds the hosts that
// each lists to the policy. The values are for the worker and never for the sandbox. If the
// execution cannot have a secret, the error is a *GrantError.
func (s *Secrets) GrantNetwork(
	ctx context.Context, team string, policy *penstock.NetworkPolicy,
) (map[string]string, error) {
	names := policy.SecretNames()
	if len(names) == 0 {
		return map[string]string{}, nil
	}
	found, err := s.store.Secrets.Named(ctx, team, names)
	if err != nil {
		return nil, err
	}
	values, err := s.grantNames(team, names, found)
	if err != nil {
		return nil, err
	}
	AddSecretHosts(policy, found)
	for _, layer := range policy.Layers {
		for _, use := range layer.Credentials() {
			if !slices.Contains(policy.SecretHosts[use.Name], use.Host) {
				return nil, NotGranted(
					"The network of the %s sends the secret %s to %s, which the secret does not list.", layer.Source, use.Name,
					use.Host,
				)
			}
		}
	}
	return values, nil
}
