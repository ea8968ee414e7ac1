package egress

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	leafLifetime = 24 * time.Hour
	backdate     = time.Hour // for clocks in the sandbox that are late
	maxLeaves    = 1000
)

// authorityKey is the CA of one execution. Its key exists only in memory, and name constraints
// (RFC 5280 §4.2.1.10) limit it to the hosts that the policy has inspected.
type authorityKey struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	leafKey     *ecdsa.PrivateKey

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

// inspectable lists the hosts whose requests the proxy may have to read, wildcards by the name
// that follows the star.
func (c *Policy) inspectable() []string {
	narrowed := false
	for _, b := range c.bounds()[1:] {
		for _, r := range b.rules {
			narrowed = narrowed || r.Inspected()
		}
	}
	seen := map[string]bool{}
	var hosts []string
	for _, r := range c.layers {
		host := strings.TrimPrefix(r.Host, "*.")
		if (narrowed || r.Inspected()) && !seen[host] {
			seen[host] = true
			hosts = append(hosts, host)
		}
	}
	for _, server := range c.mcp {
		if host := server.target.host; !seen[host] {
			seen[host] = true
			hosts = append(hosts, host)
		}
	}
	return hosts
}

func newAuthorityKey(hosts []string, lifetime time.Duration) (*authorityKey, error) {
	a := &authorityKey{leaves: map[string]*tls.Certificate{}}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("create the CA of an execution: %w", err)
	}
	if a.leafKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("create the CA of an execution: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{Organization: []string{"Penstock"}, CommonName: "Penstock execution CA"},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(lifetime), IsCA: true, BasicConstraintsValid: true,
		MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, PermittedDNSDomainsCritical: true,
	}
	constrain(template, hosts)
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("create the CA of an execution: %w", err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("create the CA of an execution: %w", err)
	}
	return a, nil
}

// constrain permits hosts only. A kind of name without a permitted one is excluded as a whole.
func constrain(template *x509.Certificate, hosts []string) {
	for _, host := range hosts {
		if addr, err := netip.ParseAddr(host); err == nil {
			template.PermittedIPRanges = append(template.PermittedIPRanges, &net.IPNet{
				IP: addr.AsSlice(), Mask: net.CIDRMask(addr.BitLen(), addr.BitLen()),
			})
			continue
		}
		template.PermittedDNSDomains = append(template.PermittedDNSDomains, host)
	}
	if len(template.PermittedDNSDomains) == 0 {
		template.PermittedDNSDomains = []string{"penstock.invalid"}
	}
	if len(template.PermittedIPRanges) == 0 {
		template.ExcludedIPRanges = []*net.IPNet{
			{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)},
		}
	}
}

func serial() *big.Int {
	bytes := make([]byte, 16)
	_, _ = rand.Read(bytes) // it never fails
	bytes[0] &= 0x7f
	return new(big.Int).SetBytes(bytes)
}

// pem returns the certificate, without the key.
func (a *authorityKey) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// config returns the server side of an inspected connection to host. check gets the server name
// of the client.
func (a *authorityKey) config(host string, check func(name string) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		// A ticket would outlive the check of the server name.
		SessionTicketsDisabled: true,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if err := check(strings.ToLower(hello.ServerName)); err != nil {
				return nil, err
			}
			return a.leaf(host)
		},
	}
}

func (a *authorityKey) leaf(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if leaf, ok := a.leaves[host]; ok && now.Before(leaf.Leaf.NotAfter.Add(-backdate)) {
		return leaf, nil
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{Organization: []string{"Penstock"}},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(leafLifetime), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		template.IPAddresses = []net.IP{addr.AsSlice()}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, a.leafKey.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("create a certificate for %s: %w", host, err)
	}
	leaf := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.leafKey}
	if leaf.Leaf, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("create a certificate for %s: %w", host, err)
	}
	if len(a.leaves) >= maxLeaves {
		clear(a.leaves)
	}
	a.leaves[host] = leaf
	return leaf, nil
}

// clientConfig is the proxy's own side toward a host.
func clientConfig(host string, roots *x509.CertPool) *tls.Config {
	return &tls.Config{ServerName: host, RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
}
