package main

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/openid"
)

// signInPage is the page of the dashboard to which identity providers send browsers back.
const signInPage = "/sign-in/callback"

func (s *fileSettings) readAuth(node *yaml.Node) error {
	var document map[string]yaml.Node
	if err := node.Load(&document); err != nil {
		return err
	}
	var list []map[string]yaml.Node
	if err := loadFields(document, map[string]any{"providers": &list}); err != nil {
		return err
	}
	if len(list) > openid.MaxProviders {
		return fmt.Errorf("providers: at most %d are possible", openid.MaxProviders)
	}
	names, issuers := map[string]bool{}, map[string]bool{}
	for i, fields := range list {
		p, err := readSignIn(fields)
		if err == nil && (names[p.Name] || issuers[p.Issuer]) {
			err = errors.New("another provider has the same name or issuer")
		}
		if err != nil {
			return fmt.Errorf("providers: number %d: %w", i+1, err)
		}
		names[p.Name], issuers[p.Issuer] = true, true
		s.SignIn = append(s.SignIn, p)
	}
	return nil
}

// readSignIn reads one identity provider.
func readSignIn(fields map[string]yaml.Node) (p openid.Settings, err error) {
	var groups map[string]yaml.Node
	err = loadFields(fields, map[string]any{
		"name": &p.Name, "issuer": &p.Issuer, "client_id": &p.ClientID, "client_secret_file": &p.ClientSecretFile,
		"scopes": &p.Scopes, "groups_claim": &p.GroupsClaim, "groups": &groups, "ca_file": &p.CAFile,
	})
	if err != nil {
		return p, err
	}
	p.Groups = map[string]penstock.Role{}
	for group, node := range groups {
		var role penstock.Role
		if node.Kind == yaml.MappingNode { // {role, factory}
			var document map[string]yaml.Node
			if err := node.Load(&document); err != nil {
				return p, fmt.Errorf("groups: %s: %w", group, err)
			}
			if _, ok := document["factory"]; ok {
				return p, fmt.Errorf("groups: %s: roles in one factory are not possible yet: omit factory", group)
			}
			err = loadFields(document, map[string]any{"role": &role})
		} else {
			err = node.Load(&role)
		}
		if err != nil {
			return p, fmt.Errorf("groups: %s: %w", group, err)
		}
		p.Groups[group] = role
	}
	return p, p.Check()
}

// signIn makes the identity providers. Nothing is asked of them yet: they may be away when the server starts.
func (s *fileSettings) signIn(origin string) ([]*openid.Provider, error) {
	var list []*openid.Provider
	for _, settings := range s.SignIn {
		p, err := openid.New(settings, origin+signInPage)
		if err != nil {
			return nil, exitf(exitConfig, "auth.providers: %s: %w", settings.Name, err)
		}
		list = append(list, p)
	}
	return list, nil
}
