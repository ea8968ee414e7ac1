package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
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
	// SystemRoots is a file of CA certificates in PEM in the place of this system's; "" is
	// the system's.
	SystemRoots string
	// CA has further CA certificates in PEM, for the proxy and for the programs of runs.
	CA []byte
}

// networkPolicy compiles what the control plane says about the network of the run.
func (o *outlet) networkPolicy() (*egress.Policy, error) {
	policy, err := egress.Compile(o.network())
	if err != nil {
		return nil, setupFailed("The network of the run cannot be set up: %s.", err)
	}
	for _, warning := range policy.Warnings() {
		o.e.log.Warn("a network rule has no effect", "reason", warning)
	}
	return policy, nil
}

// network is the assignment's policy. An older server says nothing: nothing is allowed.
func (o *outlet) network() penstock.NetworkPolicy {
	if o.e.Network == nil {
		return penstock.NetworkPolicy{}
	}
	return *o.e.Network
}

// newProxy creates the forward proxy of a sealed sandbox.
func (o *outlet) newProxy() (*egress.Proxy, error) {
	return egress.New(egress.Options{
		Policy: o.policy, Local: http.HandlerFunc(o.serveLocal), LocalAddress: sandbox.RelayAddress,
		Networks: o.e.w.Network.Open, Upstream: o.e.w.Network.Upstream,
		SystemRoots: o.e.w.Network.SystemRoots, CA: o.e.w.Network.CA,
		Secret: func(name string) (string, bool) {
			value, granted := o.e.NetworkSecrets[name]
			return value, granted
		},
		Denied: o.denied, PullRequest: o.observed, Log: o.e.log,
	})
}

// modelSession opens the gateway for the execution.
func (o *outlet) modelSession() *gateway.Session {
	network := o.network()
	return o.e.w.Gateway.Session(gateway.SessionOptions{
		Models: network.Models, ProviderTools: egress.ProviderTools(network),
		AllowSource: func(host string, port int) (reason string) {
			if d := o.policy.Decide(host, port); !d.Allowed {
				return d.Reason
			}
			return ""
		},
		Keys: o.ownKeys(), Received: o.received(), Refused: o.traffic.refused, Settled: o.traffic.settled,
	})
}

// receivedFile has the ids that the run received from its providers, beside its workspace.
const receivedFile = "received.json"

// received are the ids that earlier executions of the run received here, so that a follow-up
// may refer to them.
func (o *outlet) received() []string {
	var ids []string
	data, err := os.ReadFile(filepath.Join(o.e.space.dir, receivedFile))
	if err == nil {
		err = json.Unmarshal(data, &ids)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.e.log.Warn("cannot read the ids that the run received from its providers", "error", err)
	}
	return ids
}

// keepReceived stores the ids for the next execution.
func (o *outlet) keepReceived() {
	ids := o.models.Received()
	if len(ids) == 0 {
		return
	}
	data, err := json.Marshal(ids)
	if err == nil {
		err = os.WriteFile(filepath.Join(o.e.space.dir, receivedFile), data, 0o600)
	}
	if err != nil {
		o.e.log.Warn("cannot keep the ids that the run received from its providers", "error", err)
	}
}

// ownKey is the key of a vendor that the run brings for its harness. In a sealed run it
// stays in the gateway.
func (o *outlet) ownKey() (vendor gateway.Vendor, key penstock.HarnessSecret, ok bool) {
	key, ok = o.e.HarnessSecrets[o.e.config.Harness.Kind()]
	if !ok || !o.e.sealed() {
		return vendor, key, false
	}
	vendor, ok = gateway.VendorOfKey(key.Name)
	return vendor, key, ok
}

// ownKeys are the keys that the run brings, by their providers.
func (o *outlet) ownKeys() map[string]string {
	vendor, key, ok := o.ownKey()
	if !ok {
		return nil
	}
	return map[string]string{vendor.Name: key.Value}
}

// ownKeyEnvironment leads the harness to the gateway in the place of its key.
func (o *outlet) ownKeyEnvironment() []string {
	vendor, key, ok := o.ownKey()
	if !ok || slices.Contains(o.e.config.Secrets, key.Name) {
		return nil
	}
	address := gateway.Provider{Name: vendor.Name, API: vendor.API}.AgentURL(o.origin)
	return []string{key.Name + "=" + egress.Placeholder, vendor.URL + "=" + address}
}

// entersSandbox reports whether a secret becomes a variable of the run. In a sealed one, the
// keys of harnesses do not, unless the configuration names them in secrets as well, nor does
// what belongs to the wall.
func (o *outlet) entersSandbox(name string) bool {
	if !o.e.sealed() {
		return true
	}
	if egress.Owns(name) {
		return false
	}
	if slices.Contains(o.e.config.Secrets, name) {
		return true
	}
	for _, key := range o.e.HarnessSecrets {
		if _, known := gateway.VendorOfKey(key.Name); known && key.Name == name {
			return false
		}
	}
	return true
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
