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

// registries are the parts of the preset packages. Each is also a preset.
var registries = []struct {
	name, summary string
	hosts         []string
}{
	{"npm", "Node packages (npm, pnpm, yarn), and the headers of Node", []string{
		"registry.npmjs.org", "registry.yarnpkg.com", "nodejs.org",
	}},
	{"pypi", "Python packages (pip, uv, Poetry)", []string{"pypi.org", "files.pythonhosted.org"}},
	{"go", "Go modules and their checksum database", []string{"proxy.golang.org", "sum.golang.org"}},
	{"cargo", "Rust crates", []string{"index.crates.io", "static.crates.io", "crates.io"}},
	{"maven", "Maven Central", []string{"repo.maven.apache.org", "repo1.maven.org"}},
	{"debian", "Debian packages", []string{"deb.debian.org", "security.debian.org"}},
}

var presets = definePresets()

func definePresets() []Preset {
	packages := Preset{Name: "packages", Summary: "All package registries below, for reading"}
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
		rules = append(rules, penstock.NetworkRule{Host: host, Methods: methods})
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
		fmt.Fprintf(&b, "  %s: %s\n", r.Host, strings.Join(r.Methods, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		fmt.Fprintf(&b, "  sets %s=%s\n", name, p.Variables[name])
	}
	return b.String()
}
