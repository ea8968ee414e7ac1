package penstock

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// IsZero reports whether n sets nothing. Such a layer adds nothing to the others. Such a run
// request allows no network at all.
func (n *Network) IsZero() bool {
	return n == nil || len(n.Allow) == 0 && len(n.ProviderTools) == 0 && n.MaxUploadBytes == 0
}

// CheckRequest returns the errors of n as the network of a run request, with pointers below at. A
// request can only narrow the layers, so it cannot have credentials.
func (n *Network) CheckRequest(at string) []FieldError {
	errs := n.Check(at)
	for i, rule := range n.Allow {
		if rule.Credential != nil {
			errs = append(errs, FieldError{
				fmt.Sprintf("%s/allow/%d/credential", at, i),
				"must not be set here: a run request can only narrow what its layers allow; put the credential into the " +
					"network of the environment, the runner, the factory or the agent",
			})
		}
	}
	return errs
}

// CheckPresets returns an error for each preset that does not exist, with pointers below at.
func (n *Network) CheckPresets(at string, presets []string) []FieldError {
	if n == nil {
		return nil
	}
	var errs []FieldError
	for i, rule := range n.Allow {
		if rule.Preset == "" || slices.Contains(presets, rule.Preset) {
			continue
		}
		detail := fmt.Sprintf("%q is not a preset; use one of %s", rule.Preset, strings.Join(presets, ", "))
		if near := Nearest(rule.Preset, presets); near != "" {
			detail += fmt.Sprintf("; did you mean %q?", near)
		}
		errs = append(errs, FieldError{fmt.Sprintf("%s/allow/%d/preset", at, i), detail})
	}
	return errs
}

// Presets lists the presets that n names, each once.
func (n *Network) Presets() []string {
	var names []string
	if n == nil {
		return nil
	}
	for _, rule := range n.Allow {
		if rule.Preset != "" && !slices.Contains(names, rule.Preset) {
			names = append(names, rule.Preset)
		}
	}
	return names
}

// CredentialUse is one rule that puts a managed secret into requests to a host.
type CredentialUse struct {
	SecretUse
	Host string
}

// Credentials lists the rules of n with a credential, with pointers below at.
func (n *Network) Credentials(at string) []CredentialUse {
	var uses []CredentialUse
	if n == nil {
		return nil
	}
	for i, rule := range n.Allow {
		if rule.Credential != nil {
			pointer := fmt.Sprintf("%s/allow/%d/credential/secret", at, i)
			uses = append(uses, CredentialUse{SecretUse{pointer, rule.Credential.Secret}, rule.Host})
		}
	}
	return uses
}

// SecretNames lists the secrets that the rules of n name, each once, sorted.
func (n *Network) SecretNames() []string {
	var names []string
	for _, use := range n.Credentials("") {
		names = append(names, use.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Within reports whether outer includes n: outer has each of its rules and tools, and n's upload
// limit is not higher. nil allows everything.
func (n *Network) Within(outer *Network) bool {
	if outer == nil {
		return true
	}
	if n == nil {
		return false
	}
	for _, rule := range n.Allow {
		if !slices.ContainsFunc(outer.Allow, func(o NetworkRule) bool { return reflect.DeepEqual(o, rule) }) {
			return false
		}
	}
	for _, tool := range n.ProviderTools {
		if !slices.Contains(outer.ProviderTools, tool) {
			return false
		}
	}
	return outer.MaxUploadBytes == 0 || n.MaxUploadBytes > 0 && n.MaxUploadBytes <= outer.MaxUploadBytes
}

// Limits of a ModelPolicy.
const maxPolicyModels = 200

// IsZero reports whether p allows every model.
func (p *ModelPolicy) IsZero() bool { return p == nil || len(p.Allow) == 0 }

// Check returns the errors of p, with JSON pointers below at.
func (p *ModelPolicy) Check(at string) []FieldError {
	if len(p.Allow) > maxPolicyModels {
		return []FieldError{{at + "/allow", fmt.Sprintf("must have at most %d models", maxPolicyModels)}}
	}
	var errs []FieldError
	for i, id := range p.Allow {
		if id == "" || len(id) > maxModelID || strings.Contains(strings.TrimSuffix(id, "*"), "*") ||
			strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			errs = append(errs, FieldError{
				fmt.Sprintf("%s/allow/%d", at, i), "must be the id of a model, and may end with *, such as anthropic/*",
			})
		}
	}
	return errs
}

// Allows reports whether a run may use a model. An entry with a slash is compared with the
// model's canonical id, any other entry with its name at whichever provider has it.
func (p *ModelPolicy) Allows(id string) bool {
	if p.IsZero() {
		return true
	}
	full, _ := CanonicalModelID(id)
	_, name, found := strings.Cut(full, "/")
	if !found {
		name = full
	}
	return slices.ContainsFunc(p.Allow, func(entry string) bool {
		if strings.Contains(entry, "/") {
			return matchesModel(entry, full)
		}
		return matchesModel(entry, name)
	})
}

func matchesModel(pattern, id string) bool {
	if beginning, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(id, beginning)
	}
	return pattern == id
}

// MCPHeaders are headers that the proxy adds to requests to an HTTP MCP server of a run. Values may
// name secrets as ${{ secrets.NAME }}; see [Assignment.NetworkSecrets].
type MCPHeaders struct {
	Name    string            `json:"name"` // of the server in the run's configuration
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// SecretNames lists the managed secrets that a policy needs, each once, sorted: for the credentials of its
// layers and for the headers of its MCP servers.
func (p *NetworkPolicy) SecretNames() []string {
	var names []string
	for _, layer := range p.Layers {
		for _, use := range layer.Credentials() {
			names = append(names, use.Name)
		}
	}
	for _, server := range p.MCP {
		for _, value := range server.Headers {
			refs, _ := SecretRefs(value)
			names = append(names, refs...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// The modes of a host's traffic.
const (
	TrafficTunnel  = "tunnel"
	trafficInspect = "inspect"
	trafficHTTP    = "http"
	TrafficModel   = "model"
	TrafficRefused = "refused"
)

// Limits of a report about traffic.
const (
	maxTrafficReason = 500 // bytes
)

// Check returns an error if a row of a worker's report is invalid.
func (t HostTraffic) Check() error {
	switch {
	case t.Host == "" || len(t.Host) > maxHostName:
		return Invalid("/data/hosts", "a host has 1 to %d bytes", maxHostName)
	case t.Port < 0 || t.Port > 65535:
		return Invalid("/data/hosts", "a port is from 0 to 65535")
	case !slices.Contains([]string{TrafficTunnel, trafficInspect, trafficHTTP, TrafficModel, TrafficRefused}, t.Mode):
		return Invalid("/data/hosts", "%q is not a mode", t.Mode)
	case min(t.Requests, t.BytesIn, t.BytesOut, t.Refused) < 0:
		return Invalid("/data/hosts", "counts must not be negative")
	case len(t.Reason) > maxTrafficReason:
		return Invalid("/data/hosts", "a reason has at most %d bytes", maxTrafficReason)
	}
	return nil
}

// NetworkReport is the data of a draft of type network: the traffic of an execution since its
// start. A later report of the execution replaces an earlier one.
type NetworkReport struct {
	// Sealed says whether a check proved that the execution's sandbox is sealed; nil: unknown.
	Sealed *bool         `json:"sealed,omitempty"`
	Hosts  []HostTraffic `json:"hosts,omitempty"`
}

// CanonicalHost returns a host name as rules write it: in lower case and without a dot at its end.
func CanonicalHost(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// Names reports whether a rule of a layer names a host by itself, without a preset.
func (p *NetworkPolicy) Names(host string, port int) bool {
	return slices.ContainsFunc(p.Layers, func(layer NetworkLayer) bool {
		return slices.ContainsFunc(layer.Network.Allow, func(r NetworkRule) bool {
			ports := r.Ports
			if len(ports) == 0 {
				ports = []int{80, 443}
			}
			below, wildcard := strings.CutPrefix(r.Host, "*")
			return slices.Contains(ports, port) && (r.Host == host || wildcard && strings.HasSuffix(host, below))
		})
	})
}
