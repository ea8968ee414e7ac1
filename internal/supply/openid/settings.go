// Package openid signs persons in at identity providers, by OpenID Connect's code flow with PKCE. It knows providers
// by their settings and asks nobody else. What it returns is checked: see [Provider.Redeem].
package openid

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Settings are the settings of one provider.
type Settings struct {
	Name string // for people, and in addresses
	// Issuer is the provider's identity, as its discovery document writes it, byte for byte.
	Issuer   string
	ClientID string
	// ClientSecretFile is read with every sign-in, so that a new secret needs no restart; "" is a public client.
	ClientSecretFile string
	Scopes           []string // openid is always there; nil: also profile and email
	// GroupsClaim is the claim with the groups of a person, or dots between the names of nested claims; "": groups.
	GroupsClaim string
	// Groups are roles of groups by their names. A name may be a pattern of [path.Match].
	Groups map[string]penstock.Role
	CAFile string // more certificate authorities in PEM
}

// MaxProviders is how many providers a server can have.
const MaxProviders = 10

// providerName matches the names of providers.
var providerName = penstock.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// Check returns the first fault of the settings, which names the key.
func (s Settings) Check() error {
	switch {
	case !providerName().MatchString(s.Name):
		return fmt.Errorf("name: %q must be 1 to 32 letters, digits, dots, - and _", s.Name)
	case s.ClientID == "":
		return fmt.Errorf("client_id: is required: the provider gives it to an application")
	}
	if err := checkURL(s.Issuer); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	for _, scope := range s.Scopes {
		if scope == "" || strings.ContainsAny(scope, " \"\\") {
			return fmt.Errorf("scopes: %q is not a scope", scope)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(s.Groups)) {
		if _, err := path.Match(group, ""); err != nil || group == "" {
			return fmt.Errorf("groups: %q is not a name or pattern", group)
		}
		if role := s.Groups[group]; !slices.Contains(penstock.Roles(), role) {
			return fmt.Errorf("groups: %s: %q is not a role; use one of %s", group, role, roleNames())
		}
	}
	return nil
}

func roleNames() string {
	var names []string
	for _, role := range penstock.Roles() {
		names = append(names, string(role))
	}
	return strings.Join(names, ", ")
}

// checkURL accepts addresses that nobody on the way can read or change.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q must be a URL without user and query, such as https://login.example.com", text)
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("%q must begin with https://", text)
	}
	return nil
}

// RolesOf returns the roles of groups, from the least to the most.
func (s Settings) RolesOf(groups []string) []penstock.Role {
	var roles []penstock.Role
	for _, role := range penstock.Roles() {
		for pattern, granted := range s.Groups {
			if granted == role && slices.ContainsFunc(groups, func(name string) bool { return matches(pattern, name) }) {
				roles = append(roles, role)
				break
			}
		}
	}
	return roles
}

// matches reports whether a group has the name, or matches it as a pattern. Names with brackets exist.
func matches(pattern, name string) bool {
	matched, err := path.Match(pattern, name)
	return pattern == name || err == nil && matched
}

func (s Settings) groupsClaim() string {
	if s.GroupsClaim == "" {
		return "groups"
	}
	return s.GroupsClaim
}

// needsGroups reports whether the settings say something about groups: then nobody signs in without them.
func (s Settings) needsGroups() bool { return s.GroupsClaim != "" || len(s.Groups) > 0 }
