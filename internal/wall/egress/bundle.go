package egress

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"software.sslmate.com/src/go-pkcs12"
)

// The files of a bundle.
const (
	bundlePEM   = "ca.pem"    // system roots, the operator's CAs and the CA of the execution
	bundleExtra = "extra.pem" // the same without the system roots
	bundleJava  = "ca.p12"    // the same as ca.pem, for Java
	bundleApt   = "apt.conf"
	// trustPassword protects nothing: a Java trust store has to have one.
	trustPassword = "changeit"
)

// systemRoots are where the distributions keep their CA certificates.
var systemRoots = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Alpine, Arch
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora, RHEL
	"/etc/ssl/ca-bundle.pem",                            // openSUSE
	"/etc/pki/tls/certs/ca-bundle.crt",                  // older RHEL
	"/etc/ssl/cert.pem",                                 // Alpine, BSD
}

// loadRoots returns the CA certificates of a file, or of the system, and of the operator.
func loadRoots(file string, operator []byte) ([]byte, error) {
	files := systemRoots
	if file != "" {
		files = []string{file}
	}
	for _, file := range files {
		system, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read CA certificates: %w", err)
		}
		if len(operator) > 0 && len(certificates(operator)) == 0 {
			return nil, errors.New("the operator's CA file has no certificate in PEM")
		}
		return bytes.Join([][]byte{bytes.TrimSpace(system), operator}, []byte("\n")), nil
	}
	return nil, fmt.Errorf("no CA certificates in %v: install the package ca-certificates", files)
}

// parsedRoots are CA certificates in PEM, and as this program uses them.
type parsedRoots struct {
	pem          []byte
	certificates []*x509.Certificate
	pool         *x509.CertPool
}

// lastRoots are the roots of the latest proxy. To parse the certificates of a system takes more
// processor time than the rest of a proxy's start, and they rarely change.
var lastRoots atomic.Pointer[parsedRoots]

// parseRoots parses certificates in PEM. Proxies share the result, which nobody changes.
func parseRoots(data []byte) *parsedRoots {
	if last := lastRoots.Load(); last != nil && bytes.Equal(last.pem, data) {
		return last
	}
	r := &parsedRoots{pem: data, certificates: certificates(data), pool: x509.NewCertPool()}
	r.pool.AppendCertsFromPEM(data)
	lastRoots.Store(r)
	return r
}

// certificates returns the certificates in PEM that this program can read. Some systems have a
// few that it cannot.
func certificates(data []byte) []*x509.Certificate {
	var list []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return list
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			list = append(list, certificate)
		}
	}
}

// WriteBundle writes the CA certificates that programs in the sandbox must trust into a folder,
// which exists: in PEM, as a Java trust store, and as settings of apt that point at them from
// inside, the folder as the sandbox sees it. The folder should lie outside HOME, so that no
// saved session keeps an old bundle. It contains no key.
func (p *Proxy) WriteBundle(dir, inside string) error {
	own := p.ca.pem()
	all := bytes.Join([][]byte{bytes.TrimSpace(p.roots.pem), own}, []byte("\n"))
	extra := bytes.Join([][]byte{bytes.TrimSpace(p.CA), own}, []byte("\n"))
	store, err := pkcs12.Modern.EncodeTrustStore(slices.Concat(p.roots.certificates, certificates(own)), trustPassword)
	if err != nil {
		return fmt.Errorf("create a Java trust store: %w", err)
	}
	apt := fmt.Sprintf("Acquire::https::CAInfo %q;\n", filepath.Join(inside, bundlePEM))
	for name, content := range map[string][]byte{
		bundlePEM: all, bundleExtra: extra, bundleJava: store, bundleApt: []byte(apt),
	} {
		//nolint:gosec // every user of the sandbox reads them, and they hold no secret
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("write the CA bundle: %w", err)
		}
	}
	return nil
}
