package worker

import (
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/image"
)

// resolveMCP inserts the secrets into the MCP servers of the configuration. It omits managed
// servers; the timeline reported that when the run was created. It also omits a server that lacks a
// secret, and reports it, unless the run needs the server.
func (p *preparation) resolveMCP() (map[string]penstock.MCPServer, error) {
	servers := map[string]penstock.MCPServer{}
	for _, name := range slices.Sorted(maps.Keys(p.config.MCPServers)) {
		s := p.config.MCPServers[name]
		if s.ID != "" {
			continue
		}
		if missing := p.missingSecret(s); missing != "" && s.Required {
			return nil, setupFailed("The MCP server %s needs the secret %s, which the run does not have.", name, missing)
		} else if missing != "" {
			reason := "It needs the secret " + missing + ", which the run does not have."
			p.timeline(penstock.TimelineMCPFailed, map[string]any{"name": name, "reason": reason})
			p.notices = append(p.notices, "The MCP server "+name+" is not available. "+reason)
			continue
		}
		if s.URL != "" && p.box.sealed() {
			s.Headers = ownHeaders(s)
		}
		for _, values := range []*map[string]string{&s.Env, &s.Headers} {
			resolved := map[string]string{}
			for key, value := range *values {
				resolved[key], _ = p.fillSecrets(value)
			}
			*values = resolved
		}
		servers[name] = s
	}
	return servers, nil
}

// missingSecret returns a secret that an MCP server needs and the run does not have, or "".
func (t *task) missingSecret(s penstock.MCPServer) string {
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if _, missing := t.fillSecrets(values[key]); missing != "" {
				return missing
			}
		}
	}
	return ""
}

// ownHeaders returns the headers of an HTTP MCP server that a sealed agent sends itself. The proxy
// adds all headers of an https server. Over http, no secret is sent.
func ownHeaders(s penstock.MCPServer) map[string]string {
	headers := map[string]string{}
	for name, value := range s.Headers {
		if refs, _ := penstock.SecretRefs(value); len(refs) == 0 && !strings.HasPrefix(s.URL, "https://") {
			headers[name] = value
		}
	}
	return headers
}

var secretRef = penstock.LazyRegexp(`\$\{\{\s*secrets\.([A-Za-z0-9_]+)\s*\}\}`)

// fillSecrets replaces ${{ secrets.NAME }}; missing names one that the run does
// not have.
func (t *task) fillSecrets(value string) (text, missing string) {
	text = secretRef().ReplaceAllStringFunc(value, func(ref string) string {
		name := secretRef().FindStringSubmatch(ref)[1]
		secret, ok := t.Secrets[name]
		if !ok {
			secret, ok = t.NetworkSecrets[name]
		}
		if !ok {
			missing = name
		}
		return secret
	})
	return text, missing
}

// secrets lists every value that must not be recorded.
func (t *task) secrets() []string {
	list := []string{t.APIKey, t.Lease.Token}
	for _, secrets := range []map[string]string{t.Secrets, t.NetworkSecrets} {
		for _, value := range secrets {
			list = append(list, value)
		}
	}
	if t.RegistryLogin != "" {
		list = append(list, t.RegistryLogin)
	}
	if login, err := image.ParseLogin(t.RegistryLogin); err == nil {
		list = append(list, login.Password)
	}
	for _, own := range t.HarnessSecrets {
		list = append(list, own.Value)
	}
	for name, value := range t.program.Env {
		if secretName().MatchString(name) {
			list = append(list, value)
		}
	}
	for _, server := range t.config.MCPServers {
		for _, values := range []map[string]string{server.Env, server.Headers} {
			for _, value := range values {
				text, _ := t.fillSecrets(value)
				list = append(list, longEnough(text)...)
			}
		}
	}
	return list
}

// secretName matches names of variables and headers that hold a key and not a setting.
var secretName = penstock.LazyRegexp(`(?i)KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH|COOKIE|(^|_)PAT($|_)`)

// longEnough lists a configured value and its words as secrets if they are too long for an ordinary
// setting. A header often is "Bearer" and a token.
func longEnough(value string) []string {
	const least = 8
	var list []string
	for _, part := range append(strings.Fields(value), value) {
		if len(part) >= least {
			list = append(list, part)
		}
	}
	return list
}
