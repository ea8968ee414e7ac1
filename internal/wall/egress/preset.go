package egress

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Placeholder is the value of a variable that a program insists on, such as GH_TOKEN of gh,
// where the proxy has the credential. The proxy removes it from requests.
const Placeholder = "penstock-placeholder"

// Preset is a named list of rules. Requests to its hosts are inspected, because each of its
// rules has methods.
type Preset struct {
	Name    string
	Summary string
	Rules   []penstock.NetworkRule
	// Variables are set in the sandbox: programs of the preset insist on them.
	Variables map[string]string
}

var (
	read  = []string{http.MethodGet, http.MethodHead}
	fetch = []string{http.MethodGet, http.MethodHead, http.MethodPost}
	all   = []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions,
	}
)

// registries are the parts of the preset packages: what common toolchains need at first. Each is also a
// preset.
var registries = []struct {
	name, summary string
	// hosts are HOST, or HOST/PATH for a host that others use as well.
	hosts []string
}{
	{"npm", "Node packages (npm, pnpm, yarn), and the headers of Node", []string{
		"registry.npmjs.org", "registry.yarnpkg.com", "nodejs.org",
	}},
	{"pypi", "Python packages (pip, uv, Poetry)", []string{"pypi.org", "files.pythonhosted.org"}},
	{"go", "Go modules and their checksum database", []string{
		"proxy.golang.org", "sum.golang.org", "storage.googleapis.com/proxy-golang-org-prod/*",
	}},
	{"cargo", "Rust crates, and the toolchains of rustup", []string{
		"index.crates.io", "static.crates.io", "crates.io", "static.rust-lang.org",
	}},
	{"maven", "Maven Central", []string{"repo.maven.apache.org", "repo1.maven.org"}},
	{"gradle", "Gradle with its wrapper and plugins, and Google's Maven repository", []string{
		"services.gradle.org", "downloads.gradle.org", "plugins.gradle.org", "plugins-artifacts.gradle.org",
		"repo.gradle.org", "repo.maven.apache.org", "maven.google.com", "dl.google.com/dl/android/maven2/*",
		"dl.google.com/android/maven2/*", "github.com/gradle/gradle-distributions/releases/download/*",
		"release-assets.githubusercontent.com", "objects.githubusercontent.com",
	}},
	{"nuget", "NuGet packages (.NET)", []string{"api.nuget.org", "www.nuget.org", "globalcdn.nuget.org"}},
	{"rubygems", "Ruby gems (gem, Bundler)", []string{"rubygems.org", "index.rubygems.org"}},
	{"packagist", "PHP packages (Composer), whose archives are at GitHub", []string{
		"repo.packagist.org", "packagist.org", "getcomposer.org", "api.github.com/repos/*", "codeload.github.com",
	}},
	{"debian", "Debian packages", []string{"deb.debian.org", "security.debian.org"}},
	{"ubuntu", "Ubuntu packages", []string{"archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"}},
	{"alpine", "Alpine packages", []string{"dl-cdn.alpinelinux.org"}},
	{"playwright", "The browsers of Playwright and Puppeteer", []string{
		"cdn.playwright.dev", "playwright.download.prss.microsoft.com", "playwright.azureedge.net",
		"storage.googleapis.com/chrome-for-testing-public/*",
	}},
}

var presets = definePresets()

func definePresets() []Preset {
	packages := Preset{Name: "packages", Summary: "All registries below, for reading"}
	list := []Preset{packages}
	for _, r := range registries {
		part := Preset{Name: r.name, Summary: r.summary, Rules: hostRules(read, r.hosts...)}
		list[0].Rules = append(list[0].Rules, part.Rules...)
		list = append(list, part)
	}
	github := Preset{
		Name: "github", Summary: "git and gh with github.com",
		Variables: map[string]string{"GH_TOKEN": Placeholder},
	}
	github.Rules = append(github.Rules, hostRules(fetch, "github.com")...)
	github.Rules = append(github.Rules, hostRules(all, "api.github.com")...)
	github.Rules = append(github.Rules, hostRules(fetch, "uploads.github.com")...)
	github.Rules = append(github.Rules, hostRules(read, "codeload.github.com", "raw.githubusercontent.com",
		"objects.githubusercontent.com", "release-assets.githubusercontent.com", "media.githubusercontent.com")...)
	return append(list, github)
}

func hostRules(methods []string, hosts ...string) []penstock.NetworkRule {
	var rules []penstock.NetworkRule
	for _, host := range hosts {
		name, path, limited := strings.Cut(host, "/")
		rule := penstock.NetworkRule{Host: name, Methods: methods}
		if limited {
			rule.Paths = []string{"/" + path}
		}
		rules = append(rules, rule)
	}
	return rules
}

// Presets returns a copy of all presets, in the order of the documents.
func Presets() []Preset {
	list := slices.Clone(presets)
	for i, p := range list {
		list[i].Rules = slices.Clone(p.Rules)
		list[i].Variables = maps.Clone(p.Variables)
	}
	return list
}

// FindPreset returns the preset of a name. The error of an unknown name lists the known ones.
func FindPreset(name string) (Preset, error) {
	var known []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		known = append(known, p.Name)
	}
	return Preset{}, fmt.Errorf("the preset %q does not exist; the presets are %s", name, strings.Join(known, ", "))
}

// String prints a preset in full, one rule a line.
func (p Preset) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", p.Name, p.Summary)
	for _, r := range p.Rules {
		fmt.Fprintf(&b, "  %s%s: %s\n", r.Host, strings.Join(r.Paths, ", "), strings.Join(r.Methods, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		fmt.Fprintf(&b, "  sets %s=%s\n", name, p.Variables[name])
	}
	return b.String()
}
