package worker

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/egress"
	"github.com/penstock-dev/penstock/internal/gateway"
	"github.com/penstock-dev/penstock/internal/sandbox"
)

// Network says how a worker connects sealed runs.
type Network struct {
	// Open are private and other special networks that runs may reach if a rule allows the
	// host. None by default.
	Open []netip.Prefix
	// Upstream is a proxy for everything that runs send; nil: none.
	Upstream *url.URL
	// CA has further CA certificates in PEM, for the proxy and for the programs of runs.
	CA []byte
}

// networkPolicy compiles what the control plane says about the network of the run.
func (e *execution) networkPolicy() (*egress.Policy, error) {
	policy, err := egress.Compile(e.network())
	if err != nil {
		return nil, setupFailed("The network of the run cannot be set up: %s.", err)
	}
	for _, warning := range policy.Warnings() {
		e.log.Warn("a network rule has no effect", "reason", warning)
	}
	return policy, nil
}

// network is the assignment's policy. An older server says nothing: nothing is allowed.
func (e *execution) network() penstock.NetworkPolicy {
	if e.Network == nil {
		return penstock.NetworkPolicy{}
	}
	return *e.Network
}

// newProxy creates the forward proxy of a sealed sandbox.
func (e *execution) newProxy(policy *egress.Policy) (*egress.Proxy, error) {
	return egress.New(egress.Options{
		Policy: policy, Local: http.HandlerFunc(e.serveLocal), LocalAddress: sandbox.RelayAddress,
		Networks: e.w.Network.Open, Upstream: e.w.Network.Upstream, CA: e.w.Network.CA,
		Secret: func(name string) (string, bool) {
			value, granted := e.NetworkSecrets[name]
			return value, granted
		},
		Denied: e.denied, PullRequest: e.observed, Log: e.log,
	})
}

// modelSession opens the gateway for the execution.
func (e *execution) modelSession(policy *egress.Policy) *gateway.Session {
	network := e.network()
	return e.w.Gateway.Session(gateway.SessionOptions{
		Models: network.Models, ProviderTools: egress.ProviderTools(network),
		AllowSource: func(host string, port int) (reason string) {
			if d := policy.Decide(host, port); !d.Allowed {
				return d.Reason
			}
			return ""
		},
		Keys: e.ownKeys(), Refused: e.outlet.traffic.refused, Settled: e.outlet.traffic.settled,
	})
}

// ownKeys are the keys that the run brings for its harness, by their providers.
func (e *execution) ownKeys() map[string]string {
	keys := map[string]string{}
	if own, brought := e.HarnessSecrets[e.config.Harness.Kind()]; brought {
		if provider := gateway.ProviderOfKey(own.Name); provider != "" {
			keys[provider] = own.Value
		}
	}
	return keys
}

// writeTrust writes the certificates that programs of a sealed run trust. It returns the
// variables that lead them to these and to the proxy.
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
