package egress

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// The ways in which the proxy carries a request, as in penstock.HostTraffic.
const (
	ModeTunnel  = "tunnel"  // TLS passes through untouched
	ModeInspect = "inspect" // TLS ends in the proxy
	ModeHTTP    = "http"    // no TLS, so the proxy reads it anyway
	ModeRefused = "refused"
)

// Policy is a compiled penstock.NetworkPolicy. It is immutable.
type Policy struct {
	layers    []rule
	ceiling   []rule // used if hasCeiling
	request   []rule // used if hasRequest
	maxUpload int64
	warnings  []string
	mcp       []mcpServer

	hasCeiling, hasRequest bool
}

// rule is one rule of a host, from a layer itself or from a preset that it names.
type rule struct {
	penstock.NetworkRule
	origin origin
	inert  string // why its credential does not work: the rule allows nothing then
}

// origin says where a rule was written.
type origin struct {
	source, name, preset string
}

func (o origin) String() string {
	s := "the " + o.source
	if o.name != "" {
		s += " " + o.name
	}
	if o.preset != "" {
		s = "the preset " + o.preset + " of " + s
	}
	return s
}

// Compile checks p and resolves its presets. The error names the layer and the rule.
func Compile(p penstock.NetworkPolicy) (*Policy, error) {
	c := &Policy{hasCeiling: p.Ceiling != nil, hasRequest: p.Request != nil}
	for _, layer := range p.Layers {
		rules, err := compileRules(layer.Network, origin{source: layer.Source, name: layer.Name})
		if err != nil {
			return nil, err
		}
		for i := range rules {
			rules[i].inert = unusable(rules[i].NetworkRule, p.SecretHosts)
			if rules[i].inert != "" {
				c.warnings = append(c.warnings, rules[i].inert)
			}
		}
		c.layers = append(c.layers, rules...)
		c.limitUpload(layer.Network.MaxUploadBytes)
	}
	for _, bound := range []struct {
		network *penstock.Network
		rules   *[]rule
		source  string
	}{{p.Ceiling, &c.ceiling, "ceiling of the server"}, {p.Request, &c.request, "request of the run"}} {
		if bound.network == nil {
			continue
		}
		rules, err := compileRules(*bound.network, origin{source: bound.source})
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(rules, func(r rule) bool { return r.Credential != nil }) {
			return nil, fmt.Errorf("the %s has a credential: it can only narrow what the layers allow", bound.source)
		}
		*bound.rules = rules
		c.limitUpload(bound.network.MaxUploadBytes)
	}
	for _, server := range p.MCP {
		if err := c.compileMCP(server); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// unusable says why the credential of a rule must not be used, "" if it may be.
func unusable(r penstock.NetworkRule, hosts map[string][]string) string {
	if r.Credential == nil || slices.Contains(hosts[r.Credential.Secret], r.Host) {
		return ""
	}
	return fmt.Sprintf("the rule for %s has no effect, because the secret %s does not list that host in its hosts",
		r.Host, r.Credential.Secret)
}

func (c *Policy) limitUpload(limit int64) {
	if limit > 0 && (c.maxUpload == 0 || limit < c.maxUpload) {
		c.maxUpload = limit
	}
}

func compileRules(n penstock.Network, from origin) ([]rule, error) {
	check := n.Check
	if from.source == penstock.NetworkForge {
		check = n.CheckForge
	}
	if errs := check(""); len(errs) > 0 {
		return nil, fmt.Errorf("network of %s: %s", from, errs[0])
	}
	var rules []rule
	for _, r := range n.Allow {
		if r.Preset == "" {
			host, err := ruleHost(r.Host)
			if err != nil {
				return nil, fmt.Errorf("network of %s: %s: %w", from, r.Host, err)
			}
			r.Host = host
			rules = append(rules, rule{NetworkRule: r, origin: from})
			continue
		}
		preset, err := FindPreset(r.Preset)
		if err != nil {
			return nil, fmt.Errorf("network of %s: %w", from, err)
		}
		origin := from
		origin.preset = preset.Name
		for _, part := range preset.Rules {
			rules = append(rules, rule{NetworkRule: part, origin: origin})
		}
	}
	return rules, nil
}

func ruleHost(host string) (string, error) {
	base, wild := strings.CutPrefix(host, "*.")
	name, err := canonical(base)
	if err != nil {
		return "", err
	}
	if !wild {
		return name, nil
	}
	if isAddress(name) {
		return "", errors.New("an IP address has no names below it")
	}
	return "*." + name, nil
}

// covers reports whether r applies to a host and a port. secure means that TLS protects the
// requests; without TLS, no credential is used.
func (r rule) covers(host string, port int, secure bool) bool {
	if r.inert != "" || r.Credential != nil && !secure {
		return false
	}
	if suffix, wild := strings.CutPrefix(r.Host, "*"); wild {
		if !strings.HasSuffix(host, suffix) {
			return false
		}
	} else if r.Host != host {
		return false
	}
	if len(r.Ports) == 0 {
		return port == 443 || port == 80
	}
	return slices.Contains(r.Ports, port)
}

// allows reports whether r allows a request, and why not.
func (r rule) allows(method, path string) (bool, string) {
	if len(r.Methods) > 0 && !slices.Contains(r.Methods, method) {
		return false, fmt.Sprintf("%s is not among its methods (%s)", method, strings.Join(r.Methods, ", "))
	}
	if len(r.Paths) == 0 {
		return true, ""
	}
	if reason := ambiguousPath(path); reason != "" {
		return false, "the path is ambiguous: " + reason
	}
	if !matchPath(r.Paths, path) {
		return false, fmt.Sprintf("the path is not among its paths (%s)", strings.Join(r.Paths, ", "))
	}
	return true, ""
}

// bound is a set of rules, one of which must allow each request.
type bound struct {
	rules []rule
	// missing completes "HOST is refused: " for a host that no rule names.
	missing string
	// fixed means that only the operator can change the rules.
	fixed bool
}

const onlyOperator = "Only the operator of the server can change that"

const whereToAdd = "network.allow of the run's agent, factory, environment or runner, or of the server"

func (c *Policy) bounds() []bound {
	list := []bound{{
		rules: c.layers, missing: "no rule of the run's network policy allows it. To allow it, add it to " + whereToAdd,
	}}
	if c.hasCeiling {
		list = append(list, bound{
			rules: c.ceiling, missing: "it is outside the ceiling of the server. " + onlyOperator, fixed: true,
		})
	}
	if c.hasRequest {
		list = append(list, bound{
			rules: c.request, missing: "the network of the run's own request leaves it out. Add it to that request",
		})
	}
	return list
}

// Decision is what a policy says about a host or a request.
type Decision struct {
	Host    string // in its canonical form, or as it was given if it has none
	Port    int
	Allowed bool
	Mode    string // tunnel, inspect, http or refused
	// Rule is the rule that decided, nil if none did. Preset is the preset that it is from.
	Rule   *penstock.NetworkRule
	Preset string
	Source string // the layer of the rule: server, environment, runner, factory or agent
	Name   string // the name of that layer
	Reason string // one sentence, also if allowed
}

// Decide says whether TLS connections to a host may be opened, and in which mode. It is pure:
// it looks nothing up. The addresses of the host are checked when it is dialled.
func (c *Policy) Decide(host string, port int) Decision {
	name, err := canonical(host)
	if err != nil {
		return Decision{Host: host, Port: port, Mode: ModeRefused, Reason: "The host is refused: " + err.Error() + "."}
	}
	return c.decideTarget(target{host: name, port: port, secure: true})
}

// DecideSource says whether somebody else, such as a model provider, may read any address of a host. A
// host of which the rules allow only some paths is no such source.
func (c *Policy) DecideSource(host string, port int) Decision {
	d := c.Decide(host, port)
	if !d.Allowed {
		return d
	}
	t := target{host: d.Host, port: port, secure: true}
	for _, b := range c.bounds() {
		if !slices.ContainsFunc(b.covering(t), func(r rule) bool {
			return len(r.Paths) == 0 && (len(r.Methods) == 0 || slices.Contains(r.Methods, http.MethodGet))
		}) {
			d.Allowed, d.Mode = false, ModeRefused
			d.Reason = fmt.Sprintf("%s is refused as a source: the rules for this host limit what may be read. To allow it, "+
				"add a rule for the host without paths.", t)
			return d
		}
	}
	return d
}

func (c *Policy) decideTarget(t target) Decision {
	d := Decision{Host: t.host, Port: t.port, Mode: ModeTunnel}
	for i, b := range c.bounds() {
		covering := b.covering(t)
		if len(covering) == 0 {
			d.Mode, d.Rule = ModeRefused, nil
			d.Reason = fmt.Sprintf("%s is refused: %s.", t, b.hint(t))
			return d
		}
		plain := slices.IndexFunc(covering, func(r rule) bool { return !r.Inspected() })
		credential := slices.IndexFunc(covering, func(r rule) bool { return r.Credential != nil })
		if plain < 0 || credential >= 0 || c.hasHeaders(t) {
			d.Mode = ModeInspect
		}
		if i == 0 {
			d.decidedBy(covering[max(plain, credential, 0)])
		}
	}
	d.Allowed = true
	if !t.secure {
		d.Mode = ModeHTTP
	}
	d.Reason = fmt.Sprintf("%s is allowed by the rule for %s of %s.", t, d.Rule.Host, origin{d.Source, d.Name, d.Preset})
	return d
}

func (d *Decision) decidedBy(r rule) {
	d.Rule, d.Preset, d.Source, d.Name = &r.NetworkRule, r.origin.preset, r.origin.source, r.origin.name
}

func (b bound) covering(t target) []rule {
	var list []rule
	for _, r := range b.rules {
		if r.covers(t.host, t.port, t.secure) {
			list = append(list, r)
		}
	}
	return list
}

// hint explains why no rule covers t: a near miss if there is one.
func (b bound) hint(t target) string {
	for _, r := range b.rules {
		near := r
		near.Ports, near.inert = []int{t.port}, ""
		switch {
		case !near.covers(t.host, t.port, true):
		case r.inert != "":
			return r.inert
		case !r.covers(t.host, t.port, true):
			return fmt.Sprintf("the rule for %s of %s does not have the port %d. %s",
				r.Host, r.origin, t.port, b.remedy(r, "Add it to the ports of that rule"))
		case !t.secure:
			return fmt.Sprintf("the rule for %s of %s has a credential, which needs https", r.Host, r.origin)
		}
	}
	return b.missing
}

// remedy says how a refusal by r ends: as change says, if the reader can change r.
func (b bound) remedy(r rule, change string) string {
	switch {
	case b.fixed:
		return onlyOperator
	case r.origin.source == penstock.NetworkForge:
		return "A connection lets a run only read its repositories. A pull request is declared instead, with " +
			"\"$PENSTOCK_CLI\" output pr; to allow more, add a rule for " + r.Host + " to " + whereToAdd
	case r.origin.preset != "":
		return "To allow it, add a rule for " + r.Host + " to " + whereToAdd
	}
	return change
}

// decideRequest says whether one request may be sent, and with which credential, nil for none.
// path is as it will be sent, without the query.
func (c *Policy) decideRequest(t target, method, path string) (Decision, *penstock.NetworkCredential) {
	d := c.decideTarget(t)
	if !d.Allowed {
		return d, nil
	}
	refuse := func(reason string) (Decision, *penstock.NetworkCredential) {
		d.Allowed, d.Mode = false, ModeRefused
		d.Reason = fmt.Sprintf("%s %s on %s is refused: %s.", method, path, t, reason)
		return d, nil
	}
	// The response of TRACE repeats the request, and so the credential (RFC 9110 §9.3.8).
	if method == http.MethodTrace || method == "TRACK" {
		return refuse("the proxy does not forward this method")
	}
	var credential *penstock.NetworkCredential
	for i, b := range c.bounds() {
		found, reason := false, ""
		for _, r := range b.covering(t) {
			ok, why := r.allows(method, path)
			if !ok {
				reason = fmt.Sprintf("the rule for %s of %s does not allow it: %s. %s",
					r.Host, r.origin, why, b.remedy(r, "To allow it, change that rule"))
				continue
			}
			if !found && i == 0 || credential == nil && r.Credential != nil {
				d.decidedBy(r)
			}
			found = true
			if credential == nil {
				credential = r.Credential
			}
		}
		if !found {
			return refuse(reason)
		}
	}
	return d, credential
}

// unlimitedMethods reports whether the rules that cover t name no methods. Data of a WebSocket
// has no method, so that a rule with methods cannot allow it.
func (c *Policy) unlimitedMethods(t target, path string) bool {
	for _, b := range c.bounds() {
		if !slices.ContainsFunc(b.covering(t), func(r rule) bool {
			ok, _ := r.allows(http.MethodGet, path)
			return ok && len(r.Methods) == 0
		}) {
			return false
		}
	}
	return true
}

// MaxUploadBytes is the smallest limit of all layers, of the ceiling and of the request; 0 is
// no limit.
func (c *Policy) MaxUploadBytes() int64 { return c.maxUpload }

// Warnings lists the rules that have no effect, with the reason.
func (c *Policy) Warnings() []string { return slices.Clone(c.warnings) }

// Variables returns the variables that the presets of the layers set in the sandbox.
func (c *Policy) Variables() map[string]string {
	variables := map[string]string{}
	for _, r := range c.layers {
		if preset, err := FindPreset(r.origin.preset); err == nil {
			maps.Copy(variables, preset.Variables)
		}
	}
	return variables
}
