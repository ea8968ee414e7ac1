package main_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// certificateFor creates a certificate for 127.0.0.1.
func certificateFor(t *testing.T, serial int64, certFile, keyFile string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "penstock test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// shownSerial returns the serial number of the certificate that a server presents.
func shownSerial(ctx context.Context, address string) (int64, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	conn := tls.Client(
		raw, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
	) // only the serial is checked
	defer conn.Close()
	if err := conn.HandshakeContext(ctx); err != nil {
		return 0, err
	}
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

func TestTLSIsServedAndRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certificateFor(t, 1, certFile, keyFile)
	s := serve(t, []string{"SSL_CERT_FILE=" + certFile}, "--tls-cert", certFile, "--tls-key", keyFile)
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("got %s, want https", s.url)
	}
	env := []string{"PENSTOCK_BASE_URL=" + s.url, "PENSTOCK_KEY_FILE=" + s.keyFile()}
	call(t, append(env, "SSL_CERT_FILE="+certFile), "run", "list").want(t, 0)
	call(t, env, "run", "list").want(t, 69, "certificate")

	address := strings.TrimPrefix(s.url, "https://")
	shows := func(want int64) func() error {
		return func() error {
			got, err := shownSerial(t.Context(), address)
			if err == nil && got != want {
				err = fmt.Errorf("got the certificate %d, want %d", got, want)
			}
			return err
		}
	}
	testkit.Eventually(t, timeout, shows(1))
	certificateFor(t, 2, certFile, keyFile)
	testkit.Eventually(t, timeout, shows(2)) // by itself
	certificateFor(t, 3, certFile, keyFile)
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, timeout, func() error { // without a handshake, which checks the files by itself
		if strings.Count(s.logs(), "TLS certificate reloaded") < 2 {
			return errors.New("the signal has reloaded nothing")
		}
		return nil
	})
	if err := shows(3)(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(certFile, []byte("half a certif"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, timeout, func() error {
		if !strings.Contains(s.logs(), "cannot reload the TLS certificate") {
			return errors.New("nobody said that the certificate is broken")
		}
		return shows(3)()
	})
	call(t, nil, "serve", "--tls-cert", certFile, "--tls-key", keyFile, "--listen", "127.0.0.1:0").want(t, 78, certFile)
}

// Without TLS, the reload signal does nothing.
func TestDisconnectWithoutTLS(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.client("run", "list").want(t, 0)
}
