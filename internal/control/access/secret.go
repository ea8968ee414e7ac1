package access

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// MaxSecretBytes limits the value of a managed secret. On Linux, an environment variable has up to
// 128 KB, including its name.
const MaxSecretBytes = 64 << 10

// SecretRequest creates a managed secret. Without a value, the secret is pending.
type SecretRequest struct {
	Name  string   `json:"name"`
	Value *string  `json:"value,omitempty"`
	Hosts []string `json:"hosts,omitempty"`
}

// SecretChange changes a managed secret. An absent field stays unchanged.
type SecretChange struct {
	Value *string   `json:"value,omitempty"`
	Hosts *[]string `json:"hosts,omitempty"` // replaces the hosts; empty removes them
}

// List lists the team's secrets by name, without their values.
func (s *Secrets) List(ctx context.Context, p penstock.Principal) ([]penstock.ManagedSecret, error) {
	if err := Require(p, penstock.ScopeSecretsManage); err != nil {
		return nil, err
	}
	rows, err := s.store.Secrets.List(ctx, p.Team)
	if err != nil {
		return nil, err
	}
	users, err := s.store.Secrets.Users(ctx, p.Team, "")
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

// Read returns one secret without its value.
func (s *Secrets) Read(ctx context.Context, p penstock.Principal, name string) (penstock.ManagedSecret, error) {
	if err := Require(p, penstock.ScopeSecretsManage); err != nil {
		return penstock.ManagedSecret{}, err
	}
	row, err := s.store.Secrets.Find(ctx, p.Team, name)
	if err != nil {
		return penstock.ManagedSecret{}, err
	}
	users, err := s.store.Secrets.Users(ctx, p.Team, name)
	return presentSecret(p, row, users), err
}

// presentSecret adds the users of the secret. It hides the names of other people's personal
// schedules.
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

// Create creates a secret. Without a value the secret is pending: configurations can name it,
// and its value is set later.
func (s *Secrets) Create(
	ctx context.Context, p penstock.Principal, req SecretRequest,
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
				Detail: "must be at most 128 letters, digits and _, and must not begin with a digit: runs get the secret as an " +
					"environment variable",
			},
		)
	}
	if req.Value != nil {
		errs = append(errs, CheckSecretValue("/value", *req.Value)...)
	}
	errs = append(errs, checkSecretHosts(req.Hosts)...)
	if errs != nil {
		return penstock.ManagedSecret{}, penstock.InvalidFields(errs...)
	}
	return Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.ManagedSecret, error) {
		row, err := s.Add(ctx, tx, p, penstock.ManagedSecret{Name: req.Name, Hosts: req.Hosts}, req.Value)
		if err != nil {
			return penstock.ManagedSecret{}, err
		}
		return readSecret(ctx, tx, p, row.Name)
	})
}

// Add stores a new secret in the caller's transaction. If it belongs to a webhook, the row
// names it. A nil value makes it pending. The caller has checked name and value.
func (s *Secrets) Add(
	ctx context.Context, tx *store.Tx, p penstock.Principal, made penstock.ManagedSecret, value *string,
) (store.SecretRow, error) {
	row := store.SecretRow{Team: p.Team, ManagedSecret: made}
	row.CreatedAt, row.CreatedBy = penstock.Now(), &p.Actor
	row.UpdatedAt, row.UpdatedBy = row.CreatedAt, row.CreatedBy
	if most := s.maxSecrets; most > 0 {
		n, err := tx.Secrets().Count(ctx, p.Team)
		if err != nil {
			return row, err
		}
		if n >= most {
			return row, penstock.Errorf(
				penstock.CodeConflict, "the team has %d secrets, the maximum on this server (secrets_per_team)", n,
			)
		}
	}
	if value != nil {
		if err := s.seal(&row, *value); err != nil {
			return row, err
		}
	}
	return row, tx.Secrets().Add(ctx, row)
}

// Set sets the next value of a secret, its hosts, or both. Runs get them with their next
// execution; an active execution keeps the old ones. The old value is deleted. An empty change
// is an invalid request.
func (s *Secrets) Set(
	ctx context.Context, p penstock.Principal, name string, change SecretChange,
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
		errs = append(errs, checkSecretHosts(*change.Hosts)...)
	}
	if errs != nil {
		return penstock.ManagedSecret{}, penstock.InvalidFields(errs...)
	}
	return Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.ManagedSecret, error) {
		row, err := tx.Secrets().Lock(ctx, p.Team, name)
		if err != nil {
			return penstock.ManagedSecret{}, err
		}
		if change.Hosts != nil {
			row.Hosts = *change.Hosts
		}
		if change.Value == nil {
			row.UpdatedAt, row.UpdatedBy = penstock.Now(), &p.Actor
			if err := tx.Secrets().Set(ctx, row); err != nil {
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

// GiveValue stores the next value of a secret that the transaction has read. The caller has
// checked the value.
func (s *Secrets) GiveValue(
	ctx context.Context, tx *store.Tx, p penstock.Principal, row *store.SecretRow, value string,
) error {
	if err := s.seal(row, value); err != nil {
		return err
	}
	row.UpdatedAt, row.UpdatedBy = penstock.Now(), &p.Actor
	return tx.Secrets().Set(ctx, *row)
}

// Delete removes a secret and its value. It is a conflict while something names it. A waiting
// run that needs it fails when a worker claims it.
func (s *Secrets) Delete(ctx context.Context, p penstock.Principal, name string) error {
	if err := Require(p, penstock.ScopeSecretsManage); err != nil {
		return err
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Secrets().Delete(ctx, p.Team, name); err != nil {
			return err
		}
		users, err := tx.Secrets().Users(ctx, p.Team, name)
		if err != nil || len(users) == 0 {
			return err
		}
		return penstock.Errorf(
			penstock.CodeConflict, "the secret is used by %s: change, pause or delete these first",
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

// readSecret returns a secret as the transaction sees it.
func readSecret(ctx context.Context, tx *store.Tx, p penstock.Principal, name string) (penstock.ManagedSecret, error) {
	row, err := tx.Secrets().Lock(ctx, p.Team, name)
	if err != nil {
		return penstock.ManagedSecret{}, err
	}
	users, err := tx.Secrets().Users(ctx, p.Team, name)
	return presentSecret(p, row, users), err
}

// CheckSecretValue returns what is wrong with a value. The message does not contain the value.
func CheckSecretValue(pointer, value string) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if value == "" {
		bad(pointer, "must not be empty; to set the value later, omit the field")
	}
	request.Text(bad, pointer, value, MaxSecretBytes)
	return errs
}

// secretContext is the encryption context of a secret's value. The value cannot be used for
// another team, name or version.
func secretContext(team, name string, version int64) string {
	return fmt.Sprintf("secret\x00%s\x00%s\x00%d", team, name, version)
}

// WebhookSecretContext is the encryption context of the n-th secret of a webhook.
func WebhookSecretContext(uid string, n int64) string {
	return fmt.Sprintf("webhook\x00%s\x00%d", uid, n)
}

// GiveWebhookSecret makes value the current secret of a webhook. The previous one expires at once, or at until.
func GiveWebhookSecret(
	ctx context.Context, tx *store.Tx, keyset *secret.Keyset, uid, value string, until penstock.Time,
) error {
	n, err := tx.Webhooks().NextSecret(ctx, uid)
	if err != nil {
		return err
	}
	sealed, err := keyset.Seal([]byte(value), WebhookSecretContext(uid, n))
	if err != nil {
		return fmt.Errorf("seal a secret of webhook %s: %w", uid, err)
	}
	return tx.Webhooks().SetSecret(ctx, uid, store.SealedSecret{N: n, Sealed: sealed}, until)
}

// Limits of the secrets of webhooks, and of connections to forges.
const (
	MaxOverlapSeconds = 7 * 24 * 3600 // the longest time that an old one may stay valid
	MaxWebhookSecrets = 5             // valid at once: each is tried on every delivery
)

// seal encrypts value as the next version of a secret.
func (s *Secrets) seal(r *store.SecretRow, value string) error {
	r.Version++
	r.Pending = false
	var err error
	if r.Sealed, err = s.keyset.Seal([]byte(value), secretContext(r.Team, r.Name, r.Version)); err != nil {
		return fmt.Errorf("seal secret %s: %w", r.Name, err)
	}
	return nil
}

// ErrPending is returned if a secret has no value yet.
var ErrPending = errors.New("the secret has no value yet")

// Open returns the value of a secret, or ErrPending if it has none.
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

// MarkGranted records that the values of secrets were used.
func (s *Secrets) MarkGranted(secrets ...store.SecretKey) { s.granted.Mark(secrets...) }

// Touch records when secrets were used.
func (s *Secrets) Touch(ctx context.Context) error {
	return s.granted.Flush(func(at map[store.SecretKey]penstock.Time) error { return s.store.Secrets.Touch(ctx, at) })
}
