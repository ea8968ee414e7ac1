package egress

import (
	"net/url"
	"testing"

	"github.com/penstock-dev/penstock"
)

// Git reads a repository with two requests, and a credential is for both or for neither.
func TestDecisionsAboutClones(t *testing.T) {
	t.Parallel()
	key := func(name string) *penstock.NetworkCredential {
		return &penstock.NetworkCredential{Secret: name, As: penstock.CredentialBasic}
	}
	policy, err := Compile(penstock.NetworkPolicy{
		Layers: []penstock.NetworkLayer{{Source: "environment", Network: penstock.Network{Allow: []penstock.NetworkRule{
			{Preset: "github"},
			{Host: "git.example.com", Paths: []string{"/acme/*"}, Credential: key("ACME")},
			{Host: "git.example.com", Paths: []string{"/public/*"}},
			{Host: "read.example.com", Methods: []string{"GET"}},
			{Host: "half.example.com", Methods: []string{"GET"}, Credential: key("READ")},
			{Host: "half.example.com", Methods: []string{"POST"}, Credential: key("WRITE")},
		}}}},
		SecretHosts: map[string][]string{
			"ACME": {"git.example.com"}, "READ": {"half.example.com"}, "WRITE": {"half.example.com"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{
		"https://github.com/acme/shop.git":                "allowed",
		"https://git.example.com/acme/shop":               "allowed with ACME",
		"https://GIT.example.com:443/acme/shop.git/":      "allowed with ACME",
		"https://git.example.com/public/shop":             "allowed",
		"https://git.example.com/other/shop":              "refused",
		"https://git.example.com/acme/../other/shop":      "refused",
		"https://git.example.com/acme/%2e%2e/other/shop":  "refused",
		"https://git.example.com/acme%2f..%2fother/shop":  "refused",
		"https://git.example.com:8443/acme/shop":          "refused",
		"https://read.example.com/acme/shop":              "refused",
		"https://half.example.com/acme/shop":              "allowed",
		"https://ada@git.example.com/acme/shop":           "refused",
		"https://git.example.com.evil.example/acme/shop":  "refused",
		"ssh://git@git.example.com/acme/shop":             "refused",
		"https://github.com.evil.example.com/acme/shop":   "refused",
		"http://git.example.com/acme/shop":                "refused",
		"https://xn--github-.com/acme/shop":               "refused",
		"https://git.example.com/acme/shop?service=other": "allowed with ACME",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		d, credential := policy.DecideClone(u)
		got := "refused"
		if d.Allowed {
			got = "allowed"
		}
		if credential != nil {
			got += " with " + credential.Secret
		}
		if got != want {
			t.Errorf("%s is %s, want %s: %s", raw, got, want, d.Reason)
		}
	}
}
