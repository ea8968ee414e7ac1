package egress

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
)

// TestDocumentShowsPresets keeps the presets in docs/network.md current. With UPDATE=1 it
// writes them.
func TestDocumentShowsPresets(t *testing.T) {
	t.Parallel()
	const file, begin, end = "../../../docs/network.md", "<!-- presets -->\n", "<!-- /presets -->"
	document, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(document), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("the markers are missing")
	}
	want := "\nAll hosts of presets are inspected.\n\n```text\n"
	for _, p := range Presets() {
		want += fmt.Sprintln(p)
	}
	want = strings.TrimSuffix(want, "\n") + "```\n\n"
	if got == want {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatal("docs/network.md does not show the presets as they are: " +
			"run UPDATE=1 go test ./internal/wall/egress -run Document")
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The default layer of a server is the preset packages. Each client needs these in its first minute,
// also after redirects. Nothing can be sent, and of hosts that others use as well, only parts are open.
func TestPackagesOfCommonToolchains(t *testing.T) {
	t.Parallel()
	policy, err := Compile(penstock.NetworkPolicy{Layers: []penstock.NetworkLayer{{
		Source: "server", Network: penstock.Network{Allow: []penstock.NetworkRule{{Preset: "packages"}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	decide := func(method, address string) Decision {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		d, _ := policy.decideRequest(target{host: u.Hostname(), port: 443, secure: true}, method, u.EscapedPath())
		return d
	}
	for _, address := range []string{
		"https://services.gradle.org/distributions/gradle-9.6.1-bin.zip",
		"https://github.com/gradle/gradle-distributions/releases/download/v9.6.1/gradle-9.6.1-bin.zip",
		"https://release-assets.githubusercontent.com/github-production-release-asset/1/2",
		"https://plugins.gradle.org/m2/a/b/1/b-1.pom", "https://dl.google.com/dl/android/maven2/a/b/1/b-1.pom",
		"https://api.nuget.org/v3/index.json", "https://rubygems.org/gems/rack-3.0.0.gem",
		"https://index.rubygems.org/versions", "https://repo.packagist.org/packages.json",
		"https://api.github.com/repos/Seldaek/monolog/zipball/0123456789abcdef",
		"https://codeload.github.com/Seldaek/monolog/legacy.zip/0123456789abcdef",
		"https://cdn.playwright.dev/dbazure/download/playwright/builds/chromium/1200/chromium-linux.zip",
		"https://playwright.download.prss.microsoft.com/dbazure/download/playwright/builds/chromium/1200/chromium-linux.zip",
		"https://storage.googleapis.com/chrome-for-testing-public/153.0.8010.12/linux64/chrome-linux64.zip",
		"https://static.rust-lang.org/dist/channel-rust-stable.toml",
		"https://archive.ubuntu.com/ubuntu/dists/noble/InRelease",
		"https://dl-cdn.alpinelinux.org/alpine/v3.22/main/x86_64/APKINDEX.tar.gz",
	} {
		if d := decide("GET", address); !d.Allowed {
			t.Errorf("%s: %s", address, d.Reason)
		}
		if decide("POST", address).Allowed || decide("PUT", address).Allowed {
			t.Errorf("%s takes uploads", address)
		}
	}
	for _, address := range []string{
		"https://github.com/thief/repo", "https://github.com/gradle/gradle", "https://api.github.com/user",
		"https://api.github.com/gists", "https://storage.googleapis.com/thief/x", "https://dl.google.com/linux/x",
		"https://github.com/gradle/gradle-distributions/releases/download/../../../../thief/repo",
	} {
		if decide("GET", address).Allowed {
			t.Errorf("%s is open", address)
		}
	}
	for _, host := range []string{"github.com", "api.github.com", "storage.googleapis.com", "dl.google.com"} {
		if policy.DecideSource(host, 443).Allowed {
			t.Errorf("a provider may read everything of %s", host)
		}
	}
	if !policy.DecideSource("pypi.org", 443).Allowed {
		t.Error("a provider may not read pypi.org")
	}
}
