package factory

import (
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// fileSecrets checks the secrets that a factory's files name. A secret that does not exist or
// may not be named is a finding.
type fileSecrets struct {
	manages    bool // the author manages secrets
	repository bool // the files come from a repository: its findings suggest no names
	all        []store.SecretName
	webhooks   []store.WebhookRow // of the factory, before the files are applied
	factory    string             // its UID, "" for a new one; of files that are validated
}

// into sets the checks of secrets in known.
func (f fileSecrets) into(known *definition.Known) {
	known.RunSecret, known.WebhookSecret, known.NetworkSecret = f.run, f.webhook, f.network
}

// run returns why a run cannot use a secret, and a similar name.
func (f fileSecrets) run(name string) (problem, nearest string) {
	madeFor, exists := f.find(name)
	problem = access.RunSecret{Exists: exists, OfWebhook: madeFor != ""}.Problem(name, f.manages)
	if f.manages && !exists {
		nearest = f.nearest(name, access.RunSecretNames(f.all))
	}
	return problem, nearest
}

// network returns why a run cannot send a secret to a host, and a similar name.
func (f fileSecrets) network(name, host string) (problem, nearest string) {
	if problem, nearest = f.run(name); problem != "" {
		return problem, nearest
	}
	for _, s := range f.all {
		if s.Name == name && !slices.Contains(s.Hosts, host) {
			return access.NotForHost(name, host, f.manages), ""
		}
	}
	return "", ""
}

// webhook returns why a webhook cannot use a secret. Its current secret, and a secret that the
// server created for it, need no right.
func (f fileSecrets) webhook(webhook, name string) (problem, nearest string) {
	madeFor, exists := f.find(name)
	for _, w := range f.webhooks {
		if exists && w.Name == webhook && (w.SecretName == name || w.UID == madeFor) {
			return "", ""
		}
	}
	switch {
	case f.manages && exists:
		return "", ""
	case f.manages:
		return access.MissingSecret(name), f.nearest(name, access.SecretNames(f.all))
	case f.repository:
		return fmt.Sprintf("naming the secret %q needs the scope secrets:manage, which the key that connected the "+
			"repository did not have: "+
			"a key with it allows this by naming the same repository again (PATCH /factory/{uid})", name), ""
	}
	return fmt.Sprintf("to name the secret %q, the key needs the scope secrets:manage: "+
		"without it, the file of a webhook may name only "+
		"the secret "+
		"that the webhook has, or that the server made for it", name), ""
}

// values sets the checks of secret values in known, for secrets that webhooks may name. It ignores
// a secret without a value.
func (f fileSecrets) values(s *Factories, known *definition.Known, read func(name string) ([]store.SecretRow, error)) {
	value := func(name string) (string, bool) {
		rows, err := read(name)
		if err != nil || len(rows) == 0 || rows[0].Pending {
			return "", false
		}
		value, err := s.secrets.Open(rows[0])
		return value, err == nil
	}
	known.NotURLSafe = func(name string) bool {
		value, found := value(name)
		return found &&
			Unfit(store.WebhookRow{Webhook: penstock.Webhook{AuthMode: penstock.AuthURLToken}}, value) != ""
	}
	known.ShortSecret = func(webhook, name string) (short, kept bool) {
		value, found := value(name)
		if problem, _ := f.webhook(webhook, name); problem != "" || !found || !IsShort(value) {
			return false, false
		}
		for _, w := range f.webhooks {
			if same, err := s.webhooks.Has(w, value); err == nil && w.Name == webhook && w.SecretName == name && same {
				return true, true
			}
		}
		return true, false
	}
}

func (f fileSecrets) find(name string) (madeFor string, exists bool) {
	for _, s := range f.all {
		if s.Name == name {
			return s.WebhookUID, true
		}
	}
	return "", false
}

func (f fileSecrets) nearest(name string, names []string) string {
	if f.repository { // everybody who reads factories sees its findings
		return ""
	}
	return penstock.Nearest(name, names)
}
