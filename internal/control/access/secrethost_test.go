package access

import "testing"

func TestHostsOfSecrets(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"github.com", "registry.example.com:5000", "127.0.0.1", "127.0.0.1:5000", "::1", "localhost:1", "docker.io",
	} {
		if errs := checkSecretHosts([]string{host}); len(errs) > 0 {
			t.Errorf("%s: %v", host, errs)
		}
	}
	for _, host := range []string{
		"a.test:443", "a.test:", "a.test:0", "a.test:05", "a.test:65536", "a.test:x", "*.a.test:5000", ":5000", "A.test:5000",
		"https://a.test", "a.test:5000/x", "a.test:1:2", "u@a.test:5000", "a.test:+1",
	} {
		if errs := checkSecretHosts([]string{host}); len(errs) != 1 || errs[0].Pointer != "/hosts/0" {
			t.Errorf("%s: got %v", host, errs)
		}
	}
}
