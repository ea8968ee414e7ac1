package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// certificate is the server's certificate. It is read again when its files change, so a renewal
// needs no restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	stamp   string    // of the last read files
	checked time.Time // when the files were last checked
}

// certificateCheck is the interval for checking the files.
const certificateCheck = 2 * time.Second

// loadCertificate reads the files, which must be valid at the start.
func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	return c, c.read()
}

// tlsConfig uses the current certificate for each handshake. It returns nil without a certificate,
// for plain HTTP.
func (c *certificate) tlsConfig() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: c.get}
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) > certificateCheck {
		c.refresh()
	}
	return c.loaded, nil
}

// reload reads the files now, on SIGHUP.
func (c *certificate) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stamp = ""
	c.refresh()
}

// refresh reads changed files. If they are incomplete or invalid, it keeps the previous
// certificate.
func (c *certificate) refresh() {
	if c.checked = time.Now(); c.stampNow() == c.stamp {
		return
	}
	if err := c.read(); err != nil {
		c.log.Error("cannot reload the TLS certificate; the previous one stays in use", "error", err)
		return
	}
	c.log.Info("TLS certificate reloaded", "expires", c.loaded.Leaf.NotAfter)
}

func (c *certificate) read() error {
	stamp := c.stampNow()
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read --tls-cert %s with --tls-key %s: %w", c.certFile, c.keyFile, err)
	}
	c.loaded, c.stamp = &pair, stamp
	return nil
}

func (c *certificate) stampNow() string {
	var stamp strings.Builder
	for _, path := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(path)
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&stamp, "%s %d %s\n", path, info.Size(), info.ModTime())
	}
	return stamp.String()
}
