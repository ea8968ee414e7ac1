package worker

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/egress"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// Network configures how a worker connects sealed runs.
type Network struct {
	// Open lists private and other special networks that runs may reach if a rule allows the host.
	// Default: none.
	Open []netip.Prefix
	// Upstream is a proxy for all traffic of runs; nil: no proxy.
	Upstream *url.URL
	// SystemRoots is a PEM file of CA certificates; "": the system's own.
	SystemRoots string
	// CA holds further CA certificates in PEM, for the proxy and for the programs of runs.
	CA []byte
}

// networkPolicy compiles the network policy of the assignment.
func (o *outlet) networkPolicy() (*egress.Policy, error) {
	policy, err := egress.Compile(o.network())
	if err != nil {
		return nil, setupFailed("The network of the run cannot be set up: %s.", err)
	}
	for _, warning := range policy.Warnings() {
		o.task.log.Warn("a network rule has no effect", "reason", warning)
	}
	return policy, nil
}

// network returns the assignment's policy. An older server sends none, which allows nothing.
func (o *outlet) network() penstock.NetworkPolicy {
	if o.task.Network == nil {
		return penstock.NetworkPolicy{}
	}
	return *o.task.Network
}

// newProxy creates the forward proxy of a sealed sandbox.
func (o *outlet) newProxy() (*egress.Proxy, error) {
	return egress.New(egress.Options{
		Policy: o.policy, Local: http.HandlerFunc(o.serveLocal), LocalAddress: sandbox.RelayAddress,
		Networks: o.task.w.Network.Open, Upstream: o.task.w.Network.Upstream,
		SystemRoots: o.task.w.Network.SystemRoots, CA: o.task.w.Network.CA,
		Secret: func(name string) (string, bool) {
			value, granted := o.task.NetworkSecrets[name]
			return value, granted
		},
		Push: o.pushes.handler, Denied: o.denied, PullRequest: o.observed, Log: o.task.log,
	})
}

// modelSession opens the gateway for the execution.
func (o *outlet) modelSession() *gateway.Session {
	network := o.network()
	return o.task.w.Gateway.Session(gateway.SessionOptions{
		Models: network.Models, ProviderTools: egress.ProviderTools(network),
		AllowSource: func(host string, port int) (reason string) {
			if d := o.policy.DecideSource(host, port); !d.Allowed {
				return d.Reason
			}
			return ""
		},
		Keys: o.ownKeys(), Refused: o.refused, Responded: o.responded, Settled: o.settled,
		Spend: o.spend, Prices: o.task.w.Prices,
	})
}

// ownKey returns the run's own key of a vendor for its harness. In a sealed run, it stays in the
// gateway.
func (o *outlet) ownKey() (vendor gateway.Vendor, key penstock.HarnessSecret, ok bool) {
	key, ok = o.task.HarnessSecrets[o.task.config.Harness.Kind()]
	if !ok || !o.sealed {
		return vendor, key, false
	}
	vendor, ok = gateway.VendorOfKey(key.Name)
	return vendor, key, ok
}

// ownKeys returns the run's own keys, by provider.
func (o *outlet) ownKeys() map[string]string {
	vendor, key, ok := o.ownKey()
	if !ok {
		return nil
	}
	return map[string]string{vendor.Name: key.Value}
}

// ownKeyEnvironment returns variables that send the harness to the gateway, instead of its key.
func (o *outlet) ownKeyEnvironment() []string {
	vendor, key, ok := o.ownKey()
	if !ok || slices.Contains(o.task.config.Secrets, key.Name) {
		return nil
	}
	address := gateway.Provider{Name: vendor.Name, API: vendor.API}.AgentURL(o.origin)
	return []string{key.Name + "=" + egress.Placeholder, vendor.URL + "=" + address}
}

// entersSandbox reports whether a secret becomes a variable of the run. In a sealed run, the keys
// of harnesses do not, unless the configuration also names them in secrets. Variables that the seal
// sets do not either.
func (o *outlet) entersSandbox(name string) bool {
	if !o.sealed {
		return true
	}
	if egress.Owns(name) {
		return false
	}
	if slices.Contains(o.task.config.Secrets, name) {
		return true
	}
	for _, key := range o.task.HarnessSecrets {
		if _, known := gateway.VendorOfKey(key.Name); known && key.Name == name {
			return false
		}
	}
	return true
}

// writeTrust writes the certificates that programs of a sealed run trust. It returns the variables
// for these certificates and for the proxy.
func (o *outlet) writeTrust() ([]string, error) {
	if err := os.Mkdir(o.trust, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the certificates: %w", err)
	}
	if err := o.proxy.WriteBundle(o.trust, insideTrust); err != nil {
		return nil, err
	}
	var env []string
	for name, value := range o.proxy.Environment(insideTrust) {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}
