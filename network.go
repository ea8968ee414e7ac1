package penstock

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Network says what a run may reach besides its models: the contract's Network. The zero
// value allows nothing. Layers are joined; see internal/wall/egress.
type Network struct {
	// Allow are the rules. A request is allowed if one of them allows it.
	Allow []NetworkRule `json:"allow,omitempty"`
	// ProviderTools are the tools of model providers that reach the network themselves, such as
	// web_search; all others are rejected.
	ProviderTools []string `json:"provider_tools,omitempty"`
	// MaxUploadBytes limits the bytes that the run sends to all hosts together; 0 disables the
	// limit.
	MaxUploadBytes int64 `json:"max_upload_bytes,omitzero"`
}

// NetworkRule allows a preset or a host: exactly one of Preset and Host is set, and
// everything else goes with Host.
type NetworkRule struct {
	Preset string `json:"preset,omitempty"` // such as packages
	// Host is a name in ASCII, *.example.com for all names below example.com (not itself),
	// or an IP address.
	Host  string `json:"host,omitempty"`
	Ports []int  `json:"ports,omitempty"` // 80 and 443 by default
	// Methods, Paths and Credential make the proxy read the requests. It terminates TLS for that.
	Methods []string `json:"methods,omitempty"` // empty: all
	// Paths begin with a slash; a final * stands for the rest. None: all.
	Paths      []string           `json:"paths,omitempty"`
	Credential *NetworkCredential `json:"credential,omitempty"`
}

// NetworkCredential names a managed secret that the proxy puts into each request to the
// host of its rule. The secret itself must list that host.
type NetworkCredential struct {
	Secret string `json:"secret"`
	As     string `json:"as"`               // basic, bearer or header
	User   string `json:"user,omitempty"`   // for basic; x-access-token by default
	Header string `json:"header,omitempty"` // for header: the name of the header
}

// The ways to put a credential into a request.
const (
	CredentialBasic  = "basic"
	CredentialBearer = "bearer"
	CredentialHeader = "header"
)

// Inspected reports whether the proxy must read the requests that r allows.
func (r NetworkRule) Inspected() bool {
	return len(r.Methods) > 0 || len(r.Paths) > 0 || r.Credential != nil
}

// ModelPolicy limits the models of a run.
type ModelPolicy struct {
	// Allow lists models by id (anthropic/claude-x), or by name at any provider (claude-x). A
	// final * stands for the rest. None: all.
	Allow []string `json:"allow,omitempty"`
}

// Limits of one Network.
const (
	maxNetworkRules  = 200
	maxNetworkValues = 100 // ports, methods and paths of a rule, each
	maxHostName      = 253
)

// Check returns the errors that n alone shows, with JSON pointers below at. It does not check
// whether presets and secrets exist.
func (n *Network) Check(at string) []FieldError { return n.check(at, ValidSecretName) }

// CheckForge is [Network.Check] for a layer of [NetworkForge].
func (n *Network) CheckForge(at string) []FieldError {
	return n.check(at, func(name string) bool { return strings.HasPrefix(name, ForgeCredential) })
}

func (n *Network) check(at string, validSecret func(name string) bool) []FieldError {
	var errs []FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, FieldError{at + pointer, fmt.Sprintf(format, args...)})
	}
	if len(n.Allow) > maxNetworkRules {
		bad("/allow", "must have at most %d rules", maxNetworkRules)
		return errs
	}
	for i, rule := range n.Allow {
		pointer := fmt.Sprintf("/allow/%d", i)
		rule.check(validSecret, func(key, format string, args ...any) { bad(pointer+key, format, args...) })
	}
	for i, tool := range n.ProviderTools {
		if tool == "" || len(tool) > 100 {
			bad(fmt.Sprintf("/provider_tools/%d", i), "must be the name of a tool, such as web_search")
		}
	}
	if n.MaxUploadBytes < 0 {
		bad("/max_upload_bytes", "must not be negative")
	}
	return errs
}

func (r NetworkRule) check(validSecret func(string) bool, bad func(key, format string, args ...any)) {
	if (r.Preset == "") == (r.Host == "") {
		bad("", "must have exactly one of preset and host")
		return
	}
	if r.Preset != "" {
		if r.Inspected() || len(r.Ports) > 0 {
			bad("", "a preset has its own ports, methods, paths and credential: a rule with these names a host")
		}
		return
	}
	if reason := r.CheckHost(); reason != "" {
		bad("/host", "%s", reason)
	}
	if len(r.Ports) > maxNetworkValues || len(r.Methods) > maxNetworkValues || len(r.Paths) > maxNetworkValues {
		bad("", "must have at most %d ports, methods and paths each", maxNetworkValues)
		return
	}
	for i, port := range r.Ports {
		if port < 1 || port > 65535 {
			bad(fmt.Sprintf("/ports/%d", i), "must be from 1 to 65535")
		}
	}
	for i, method := range r.Methods {
		if !isToken(method) || method != strings.ToUpper(method) || method == "CONNECT" {
			bad(fmt.Sprintf("/methods/%d", i), "must be a method of HTTP in capital letters, such as GET")
		}
	}
	for i, path := range r.Paths {
		if !strings.HasPrefix(path, "/") || strings.Contains(strings.TrimSuffix(path, "*"), "*") ||
			strings.ContainsAny(path, "?#\\") || strings.ContainsFunc(path, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
			bad(fmt.Sprintf("/paths/%d", i), "must begin with / and may end with *, such as /api/*")
		}
	}
	if r.Credential != nil {
		if !validSecret(r.Credential.Secret) {
			bad("/credential/secret", "must be the name of a managed secret")
		}
		r.Credential.check(r.Host, func(key, format string, args ...any) { bad("/credential"+key, format, args...) })
	}
}

func (c *NetworkCredential) check(host string, bad func(key, format string, args ...any)) {
	if strings.HasPrefix(host, "*.") {
		bad("", "needs an exact host: a wildcard would give the secret to hosts that nobody named")
	}
	if !slices.Contains([]string{CredentialBasic, CredentialBearer, CredentialHeader}, c.As) {
		bad("/as", "must be basic, bearer or header")
		return
	}
	if c.User != "" && c.As != CredentialBasic {
		bad("/user", "is allowed only with as: basic")
	}
	if strings.ContainsFunc(c.User, func(r rune) bool { return r < ' ' || r == 0x7f || r == ':' }) {
		bad("/user", "must not contain a colon or control characters")
	}
	if c.As == CredentialHeader {
		if reason := CheckCredentialHeader(c.Header); reason != "" {
			bad("/header", "%s", reason)
		}
	}
	if c.As != CredentialHeader && c.Header != "" {
		bad("/header", "is allowed only with as: header")
	}
}

// reservedHeaders route or frame a request, or belong to one connection (RFC 9110 §7.6.1), or are also
// the agent's own. The proxy writes or removes most of them.
var reservedHeaders = []string{
	"accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie", "cookie2", "expect",
	"forwarded", "host", "http2-settings", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
	"set-cookie", "te", "trailer", "transfer-encoding", "upgrade", "via",
}

// CheckCredentialHeader describes what is wrong with a header for a credential. It returns "" for a
// valid one. Servers behind CGI or WSGI read an underscore as a hyphen.
func CheckCredentialHeader(name string) string {
	plain := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch {
	case !isToken(name):
		return "must be the name of an HTTP header"
	case slices.Contains(reservedHeaders, plain) || strings.HasPrefix(plain, "x-forwarded-"):
		return "must not be " + name + ": this header frames or routes requests, or belongs to the connection or to the " +
			"agent; use a header such as X-API-Key"
	}
	return ""
}

// CheckHost describes what is wrong with the host of the rule. It returns "" for a valid one.
func (r NetworkRule) CheckHost() string {
	host := r.Host
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" || addr.Is4In6() {
			return "must be an IP address without a zone, and an IPv4 address in its own form"
		}
		return ""
	}
	name := strings.TrimPrefix(host, "*.")
	if len(name) > maxHostName {
		return fmt.Sprintf("must have at most %d characters", maxHostName)
	}
	labels := strings.Split(name, ".")
	if len(labels) < 2 && name != host {
		return "must not be a wildcard for a whole top-level domain"
	}
	for _, label := range labels {
		if !validLabel(label) {
			return "must be a host name such as api.example.com, *.example.com, or an IP address, without scheme, port and " +
				"path; a name with other letters is written as xn--…"
		}
	}
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' {
		return "looks like an IP address but is not a valid one"
	}
	return ""
}

// validLabel reports whether s is one label of a host name in lower case (RFC 1123 §2.1).
// Underscores are valid, because some hosts have them.
func validLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// isToken reports whether s is a token (RFC 9110 §5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

// NetworkLayer is what one source says about the network of a run.
type NetworkLayer struct {
	Source  string  `json:"source"` // server, environment, runner, factory, agent or forge
	Name    string  `json:"name,omitempty"`
	Network Network `json:"network"`
}

// Credentials lists the rules of l that send a managed secret. A connection's token is none.
func (l NetworkLayer) Credentials() []CredentialUse {
	if l.Source == NetworkForge {
		return nil
	}
	return l.Network.Credentials("")
}

// NetworkForge is the source of a layer that the connection of a run's repository implies. Its rules name
// credentials that begin with ForgeCredential, and are no managed secrets.
const (
	NetworkForge    = "forge"
	ForgeCredential = "forge:"
)

// NetworkPolicy is everything that decides what a run may reach: the union of Layers,
// within Ceiling and, for a run that asks for less, within Request.
type NetworkPolicy struct {
	Layers []NetworkLayer `json:"layers"`
	// Ceiling is the maximum that the operator of the server allows; nil allows every public host.
	Ceiling *Network `json:"ceiling,omitempty"`
	// Request is the network of the run request. It can only narrow the layers; nil changes nothing.
	Request *Network `json:"request,omitempty"`
	// Models are the policies of server, factory and agent. Each of them must allow a model.
	Models []ModelPolicy `json:"models,omitempty"`
	// MCP are the headers of the run's HTTP MCP servers, which the proxy adds to requests.
	MCP []MCPHeaders `json:"mcp,omitempty"`
	// SecretHosts lists the hosts that may get a managed secret, by its name.
	SecretHosts map[string][]string `json:"secret_hosts,omitempty"`
}

// HostTraffic is what a run exchanged with one host: the contract's NetworkHost.
type HostTraffic struct {
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Mode     string `json:"mode"` // tunnel, inspect, http, model or refused
	Requests int64  `json:"requests"`
	BytesIn  int64  `json:"bytes_in"` // to the run
	BytesOut int64  `json:"bytes_out"`
	Refused  int64  `json:"refused"`
	Reason   string `json:"reason,omitempty"` // of the latest refusal
}
