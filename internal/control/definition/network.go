package definition

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
)

// Network is a layer of the network of runs.
type Network struct {
	Allow          []NetworkRule `json:"allow,omitzero" about:"What runs may reach, in addition to the other layers."`
	ProviderTools  []string      `json:"providerTools,omitzero" rule:"name" about:"Tools of model providers that reach the network themselves, such as web_search."`
	MaxUploadBytes int           `json:"maxUploadBytes,omitzero" rule:"size" about:"How much a run may send to all hosts together; 0 is no limit."`
}

// NetworkRule allows a preset or a host: exactly one of the two.
type NetworkRule struct {
	Preset     string             `json:"preset,omitzero" rule:"name" about:"Hosts that belong together, such as packages. Not together with other keys."`
	Host       string             `json:"host,omitzero" rule:"name" about:"A name, *.example.com for all names below one, or an IP address."`
	Ports      []int              `json:"ports,omitzero" rule:"port" about:"80 and 443 by default."`
	Methods    []string           `json:"methods,omitzero" rule:"name" about:"Methods of HTTP; all by default. The proxy reads the requests."`
	Paths      []string           `json:"paths,omitzero" rule:"name" about:"Paths, with * at the end for the rest; all by default. The proxy reads the requests."`
	Credential *NetworkCredential `json:"credential,omitzero" about:"What the proxy puts into each request. The secret must list the host."`
}

// NetworkCredential is a managed secret that never enters the sandbox.
type NetworkCredential struct {
	Secret string `json:"secret" rule:"secret" about:"The managed secret."`
	As     string `json:"as" rule:"credential" about:"How the request has it."`
	User   string `json:"user,omitzero" rule:"name" about:"The user, with basic only." default:"\"x-access-token\""`
	Header string `json:"header,omitzero" rule:"name" about:"The header, with header and only then."`
}

// Models limits the models of runs.
type Models struct {
	Allow []string `json:"allow,omitzero" rule:"name" about:"Ids of models, with * at the end for the rest; all by default."`
}

// Network returns n in the vocabulary of the server, or nil if n is empty.
func (n *Network) Network() *penstock.Network {
	if n == nil {
		return nil
	}
	network := penstock.Network{ProviderTools: n.ProviderTools, MaxUploadBytes: int64(n.MaxUploadBytes)}
	for _, r := range n.Allow {
		network.Allow = append(network.Allow, penstock.NetworkRule{
			Preset: r.Preset, Host: r.Host, Ports: r.Ports, Methods: r.Methods, Paths: r.Paths,
			Credential: (*penstock.NetworkCredential)(r.Credential),
		})
	}
	if network.IsZero() {
		return nil
	}
	return &network
}

// NetworkOf returns a network as it is in a file.
func NetworkOf(n *penstock.Network) *Network {
	if n.IsZero() {
		return nil
	}
	network := Network{ProviderTools: n.ProviderTools, MaxUploadBytes: int(n.MaxUploadBytes)}
	for _, r := range n.Allow {
		network.Allow = append(network.Allow, NetworkRule{
			Preset: r.Preset, Host: r.Host, Ports: r.Ports, Methods: r.Methods, Paths: r.Paths,
			Credential: (*NetworkCredential)(r.Credential),
		})
	}
	return &network
}

// Policy returns m in the vocabulary of the server, or nil if m is empty.
func (m *Models) Policy() *penstock.ModelPolicy {
	if m == nil || len(m.Allow) == 0 {
		return nil
	}
	return &penstock.ModelPolicy{Allow: m.Allow}
}

// ModelsOf returns a policy as it is in a file.
func ModelsOf(p *penstock.ModelPolicy) *Models {
	if p.IsZero() {
		return nil
	}
	return &Models{Allow: p.Allow}
}

// fileKeys converts pointers of the API to pointers of files, whose keys are different.
var fileKeys = strings.NewReplacer("/provider_tools", "/providerTools", "/max_upload_bytes", "/maxUploadBytes",
	"/protected_paths", "/protectedPaths", "/pull_request", "/pullRequest", "/open_limit", "/openLimit")

// network checks a network with the rules of the API.
func (p *parser) network(d *document, n *Network) {
	at := d.find("network")
	if at == nil || at.Kind != yaml.MappingNode {
		return
	}
	network := n.Network()
	if network == nil {
		return
	}
	problems := network.Check("")
	if p.known.Presets != nil {
		problems = append(problems, network.CheckPresets("", p.known.Presets)...)
	}
	for _, problem := range problems {
		pointer := fileKeys.Replace(problem.Pointer)
		if node := pointed(at, pointer); !p.reported(d, node) {
			d.badf(node, InvalidValue, "network: %s%s", spaced(lastKey(pointer)), problem.Detail)
		}
	}
	if p.known.NetworkSecret == nil {
		return
	}
	for _, use := range network.Credentials("") {
		if problem, near := p.known.NetworkSecret(use.Name, use.Host); problem != "" {
			d.nearf(pointed(at, use.Pointer), InvalidReference, near, "%s", problem)
		}
	}
}

// models checks a policy of models with the rules of the API.
func (p *parser) models(d *document, m *Models) {
	at := d.find("models")
	policy := m.Policy()
	if at == nil || at.Kind != yaml.MappingNode || policy == nil {
		return
	}
	for _, problem := range policy.Check("") {
		if node := pointed(at, problem.Pointer); !p.reported(d, node) {
			d.badf(node, InvalidValue, "models: %s", problem.Detail)
		}
	}
}

// reported reports whether a node already has a finding, because one is enough.
func (p *parser) reported(d *document, at *yaml.Node) bool {
	for _, found := range p.all {
		if at != nil && found.Path == d.path && found.Line == d.first+at.Line && found.Column == at.Column {
			return true
		}
	}
	return false
}

// lastKey returns the last key of a pointer that is not a number.
func lastKey(pointer string) string {
	parts := strings.Split(pointer, "/")
	for _, part := range slices.Backward(parts) {
		if strings.ContainsFunc(part, func(r rune) bool { return r < '0' || r > '9' }) {
			return part
		}
	}
	return ""
}
