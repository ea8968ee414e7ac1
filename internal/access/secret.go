package access

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/field"
	"github.com/penstock-dev/penstock/internal/store"
)

// List lists the team's secrets by name, without their values.
func (s *Secrets) List(ctx context.Context, p penstock.Principal) ([]penstock.ManagedSecret, error) {
	if err := Require(p, penstock.ScopeSecretsManage); err != nil {
		return nil, err
	}
	rows, err := s.store.Secrets(ctx, p.Team)
	if err != nil {
		return nil, err
	}
	users, err := s.store.SecretUsers(ctx, p.Team, "")
	if err != nil {
		return nil, err
	}
	of := map[string][]store.SecretUser{}
	for _, u := range users {
		of[u.Secret] = append(of[u.Secret], u)
	}
	out := make([]penstock.ManagedSecret, len(rows))
	for i, r := range rows {
		out[i] = presentSecret(p, r, of[r.Name])
	}
	return out, nil
}

// Read answers one secret, without its value.
func (s *Secrets) Read(ctx context.Context, p penstock.Principal, name string) (penstock.ManagedSecret, error) {
	if err := Require(p, penstock.ScopeSecretsManage); err != nil {
		return penstock.ManagedSecret{}, err
	}
	row, err := s.store.Secret(ctx, p.Team, name)
	if err != nil {
		return penstock.ManagedSecret{}, err
	}
	users, err := s.store.SecretUsers(ctx, p.Team, name)
	return presentSecret(p, row, users), err
}

// presentSecret adds those who use the secret. A personal schedule of somebody
// else has no name for the caller.
func presentSecret(p penstock.Principal, r store.SecretRow, users []store.SecretUser) penstock.ManagedSecret {
	out := r.ManagedSecret
	out.UsedBy = shownUsers(p, users)
	return out
}

func shownUsers(p penstock.Principal, users []store.SecretUser) []penstock.SecretUser {
	out := make([]penstock.SecretUser, len(users))
	for i, u := range users {
		if out[i] = u.SecretUser; u.Personal && u.Creator != p.Actor.UID && !p.May(penstock.ScopeAdmin) {
			out[i] = penstock.SecretUser{Type: u.Type}
		}
	}
	return out
}

// Create makes a secret with its first value, or, without one, declares
// it: it can be named from then on, and is pending until it is given a value.
func (s *Secrets) Create(
	ctx context.Context, p penstock.Principal, req penstock.SecretRequest,
) (penstock.ManagedSecret, error) {
	if err := Require(p, penstock.ScopeSecretsManage); err != nil {
		return penstock.ManagedSecret{}, err
	}
	var errs []penstock.FieldError
	if !penstock.ValidSecretName(req.Name) {
		errs = append(
			errs,
			penstock.FieldError{
				Pointer: "/name",
				Detail: "must be at most 128 letters, digits and _, and not begin with a digit: runs see the secret as an " +
					"environment variable",
			},
		)
	}
	if req.Value != nil {
		errs = append(errs, CheckSecretValue("/value", *req.Value)...)
	}
	errs = append(errs, penstock.CheckSecretHosts("/hosts", req.Hosts)...)
	if errs != nil {
		return penstock.ManagedSecret{}, penstock.InvalidFields(errs...)
	}
	return Edit(ctx, s.answers, p, func(tx *store.Tx) (penstock.ManagedSecret, error) {
		row, err := s.Add(ctx, tx, p, penstock.ManagedSecret{Name: req.Name, Hosts: req.Hosts}, req.Value)
		if err != nil {
			return penstock.ManagedSecret{}, err
		}
		return readSecret(ctx, tx, p, row.Name)
	})
}

// Add stores a new secret in the caller's transaction, with its name and
// the webhook that it is made for, if any; a nil value declares it. Name and
// value have been checked.
func (s *Secrets) Add(
	ctx context.Context, tx *store.Tx, p penstock.Principal, made penstock.ManagedSecret, value *string,
) (store.SecretRow, error) {
	row := store.SecretRow{Team: p.Team, ManagedSecret: made}
	row.CreatedAt, row.CreatedBy = penstock.Now(), &p.Actor
	row.UpdatedAt, row.UpdatedBy = row.CreatedAt, row.CreatedBy
	if most := s.maxSecrets; most > 0 {
		n, err := tx.CountSecrets(ctx, p.Team)
		if err != nil {
			return row, err
		}
		if n >= most {
			return row, penstock.Errorf(
				penstock.CodeConflict, "the team has %d secrets, which is as many as this server allows (secrets_per_team)", n,
			)
		}
	}
	if value != nil {
		if err := s.seal(&row, *value); err != nil {
			return row, err
		}
	}
	return row, tx.AddSecret(ctx, row)
}

// Set gives a secret its next value, its hosts, or both. Runs get them from their next
// execution on: one that has begun keeps those that it began with. Nothing keeps the
// value before. A change of nothing is an invalid request.
func (s *Secrets) Set(
	ctx context.Context, p penstock.Principal, name string, change penstock.SecretChange,
) (penstock.ManagedSecret, error) {
	if err := Require(p, penstock.ScopeSecretsManage); err != nil {
		return penstock.ManagedSecret{}, err
	}
	var errs []penstock.FieldError
	if change.Value == nil && change.Hosts == nil {
		errs = append(errs, penstock.FieldError{Pointer: "/value", Detail: "is required unless hosts is given"})
	}
	if change.Value != nil {
		errs = append(errs, CheckSecretValue("/value", *change.Value)...)
	}
	if change.Hosts != nil {
		errs = append(errs, penstock.CheckSecretHosts("/hosts", *change.Hosts)...)
	}
	if errs != nil {
		return penstock.ManagedSecret{}, penstock.InvalidFields(errs...)
	}
	return Edit(ctx, s.answers, p, func(tx *store.Tx) (penstock.ManagedSecret, error) {
		row, err := tx.Secret(ctx, p.Team, name)
		if err != nil {
			return penstock.ManagedSecret{}, err
		}
		if change.Hosts != nil {
			row.Hosts = *change.Hosts
		}
		if change.Value == nil {
			row.UpdatedAt, row.UpdatedBy = penstock.Now(), &p.Actor
			if err := tx.SetSecret(ctx, row); err != nil {
				return penstock.ManagedSecret{}, err
			}
			return readSecret(ctx, tx, p, name)
		}
		if err := s.GiveValue(ctx, tx, p, &row, *change.Value); err != nil {
			return penstock.ManagedSecret{}, err
		}
		if err := s.changed(ctx, tx, p, name, *change.Value); err != nil {
			return penstock.ManagedSecret{}, err
		}
		return readSecret(ctx, tx, p, name)
	})
}

// GiveValue stores the next value of a secret that was read in the transaction.
// The value has been checked.
func (s *Secrets) GiveValue(
	ctx context.Context, tx *store.Tx, p penstock.Principal, row *store.SecretRow, value string,
) error {
	if err := s.seal(row, value); err != nil {
		return err
	}
	row.UpdatedAt, row.UpdatedBy = penstock.Now(), &p.Actor
	return tx.SetSecret(ctx, *row)
}

// Delete removes a secret and its value. It is a conflict as long as
// something names it. A run that waits with it fails when its turn comes.
func (s *Secrets) Delete(ctx context.Context, p penstock.Principal, name string) error {
	if err := Require(p, penstock.ScopeSecretsManage); err != nil {
		return err
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteSecret(ctx, p.Team, name); err != nil {
			return err
		}
		users, err := tx.SecretUsers(ctx, p.Team, name)
		if err != nil || len(users) == 0 {
			return err
		}
		return penstock.Errorf(
			penstock.CodeConflict, "the secret is used by %s: change, pause or delete what uses it first",
			NameSecretUsers(p, users),
		)
	})
}

// NameSecretUsers names the first few of a secret's users.
func NameSecretUsers(p penstock.Principal, users []store.SecretUser) string {
	const most = 5
	var names []string
	for i, u := range shownUsers(p, users) {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(users)-most))
			break
		}
		names = append(names, u.String())
	}
	return strings.Join(names, ", ")
}

// readSecret answers a secret as it is in the transaction.
func readSecret(ctx context.Context, tx *store.Tx, p penstock.Principal, name string) (penstock.ManagedSecret, error) {
	row, err := tx.Secret(ctx, p.Team, name)
	if err != nil {
		return penstock.ManagedSecret{}, err
	}
	users, err := tx.SecretUsers(ctx, p.Team, name)
	return presentSecret(p, row, users), err
}

// CheckSecretValue reports what is wrong with a value, without repeating it.
func CheckSecretValue(pointer, value string) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if value == "" {
		bad(pointer, "must not be empty; a secret that is to have its value later is created without the field")
	}
	field.Text(bad, pointer, value, penstock.MaxSecretBytes)
	return errs
}

// secretContext is the place of a secret's value: sealed for it, the value is
// of no use to another team, name or version.
func secretContext(team, name string, version int64) string {
	return fmt.Sprintf("secret\x00%s\x00%s\x00%d", team, name, version)
}

// WebhookSecretContext is the place of a webhook's own copy of a value, its
// n-th.
func WebhookSecretContext(uid string, n int64) string {
	return fmt.Sprintf("webhook\x00%s\x00%d", uid, n)
}

// seal makes value the next version of a secret.
func (s *Secrets) seal(r *store.SecretRow, value string) error {
	r.Version++
	r.Pending = false
	var err error
	if r.Sealed, err = s.keyset.Seal([]byte(value), secretContext(r.Team, r.Name, r.Version)); err != nil {
		return fmt.Errorf("seal secret %s: %w", r.Name, err)
	}
	return nil
}

// ErrPending is a secret that has been declared only.
var ErrPending = errors.New("the secret has no value yet")

// Open is the value of a secret; ErrPending where it has none.
func (s *Secrets) Open(r store.SecretRow) (string, error) {
	if r.Pending {
		return "", ErrPending
	}
	value, err := s.keyset.Open(r.Sealed, secretContext(r.Team, r.Name, r.Version))
	if err != nil {
		return "", fmt.Errorf("open secret %s: %w", r.Name, err)
	}
	return string(value), nil
}

// MarkGranted notes that somebody was given the values of secrets.
func (s *Secrets) MarkGranted(secrets ...store.SecretKey) { s.granted.Mark(secrets...) }

// Touch records when secrets were used.
func (s *Secrets) Touch(ctx context.Context) error {
	return s.granted.Flush(func(at map[store.SecretKey]penstock.Time) error { return s.store.TouchSecrets(ctx, at) })
}
