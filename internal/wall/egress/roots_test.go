package egress

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

// The certificates of a machine change while its worker runs.
func TestRootsThatHaveChangedAreTrusted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "roots.pem")
	for range 2 {
		authority, err := newAuthorityKey([]string{"example.com"}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, authority.pem(), 0o600); err != nil {
			t.Fatal(err)
		}
		root := certificates(authority.pem())[0]
		for range 2 { // the second proxy shares what the first one has read
			p, err := New(Options{Policy: new(Policy), SystemRoots: file})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.WriteBundle(dir, "/inside"); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(filepath.Join(dir, bundlePEM))
			store, err2 := os.ReadFile(filepath.Join(dir, bundleJava))
			trusted, err3 := pkcs12.DecodeTrustStore(store, trustPassword)
			if err != nil || err2 != nil || err3 != nil || !bytes.Contains(content, bytes.TrimSpace(authority.pem())) {
				t.Fatal(err, err2, err3)
			}
			if len(trusted) != 2 || !trusted[0].Equal(root) && !trusted[1].Equal(root) {
				t.Errorf("Java trusts %d certificates", len(trusted))
			}
			if _, err := root.Verify(x509.VerifyOptions{Roots: p.dialer.roots}); err != nil {
				t.Error(err)
			}
		}
	}
}
