package definition

import (
	"cmp"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
)

// Runner is runners/NAME.yaml: the machine or container for runs.
type Runner struct {
	Name          string         `json:"-"`
	Description   string         `json:"description,omitzero" rule:"about" about:"What the runner is for."`
	SetupCommands []string       `json:"setupCommands,omitzero" rule:"text" about:"Commands of a shell that prepare the sandbox, in their order."`
	InstanceShape *InstanceShape `json:"instanceShape,omitzero" about:"The size of the machine."`
	Platform      Platform       `json:"platform" about:"The system of the sandbox."`
	Network       *Network       `json:"network,omitzero" about:"What runs on it may reach, in addition to the other layers."`
}

// InstanceShape is the size of a machine.
type InstanceShape struct {
	VCPUs    int     `json:"vcpus" rule:"count" about:"Processors."`
	MemoryGB float64 `json:"memoryGb" rule:"gigabytes" about:"Memory in gigabytes."`
}

// Platform is the system of a sandbox.
type Platform struct {
	OS    string         `json:"os,omitzero" rule:"os" about:"The operating system." default:"\"linux\""`
	Arch  string         `json:"arch,omitzero" rule:"arch" about:"The processor: x86_64 unless the system is macos, which has aarch64 only."`
	Linux *LinuxPlatform `json:"linux,omitzero" about:"Of Linux; required there."`
	Mac   *MacPlatform   `json:"mac,omitzero" about:"Of macOS."`
}

// LinuxPlatform is a container image.
type LinuxPlatform struct {
	DockerImage                  string `json:"dockerImage" rule:"text" about:"The container image."`
	RegistryCredentialSecretName string `json:"registryCredentialSecretName,omitzero" rule:"secret" about:"The managed secret with the credentials of the image's registry."`
}

// MacPlatform is a version of macOS.
type MacPlatform struct {
	Version string `json:"version,omitzero" rule:"macVersion" about:"The version, in quotes." default:"\"26\""`
}

// ReadRunner reads one runners/NAME.yaml of a valid tree.
func ReadRunner(name string, content []byte) (penstock.RunnerSpec, error) {
	path := "runners/" + name + ".yaml"
	p := parser{
		files: map[string][]byte{path: content}, paths: map[Kind]map[string][]place{}, written: map[Kind][]string{},
		doubtful: map[Kind]bool{},
	}
	p.layout()
	runners := p.runners()
	if found := p.sorted(); HasErrors(found) || len(runners) != 1 {
		return penstock.RunnerSpec{}, fmt.Errorf("read %s: %v", path, found)
	}
	return runners[0].Spec(), nil
}

// Spec returns r in the vocabulary of the server.
func (r Runner) Spec() penstock.RunnerSpec {
	spec := penstock.RunnerSpec{
		Name: r.Name, SetupCommands: r.SetupCommands, OS: cmp.Or(r.Platform.OS, "linux"), Arch: r.Platform.Arch,
		Network: r.Network.Network(),
	}
	if spec.Arch == "" {
		spec.Arch = map[string]string{"linux": "x86_64", "macos": "aarch64"}[spec.OS]
	}
	if linux := r.Platform.Linux; linux != nil {
		spec.Image, spec.RegistrySecret = linux.DockerImage, linux.RegistryCredentialSecretName
	}
	if shape := r.InstanceShape; shape != nil {
		spec.VCPUs, spec.MemoryGB = shape.VCPUs, shape.MemoryGB
	}
	return spec
}

// registrySecret returns the check of the secret that a runner sends to the registry of its image.
func (p *parser) registrySecret(spec penstock.RunnerSpec) func(name string) (problem, nearest string) {
	if p.known.NetworkSecret == nil {
		return p.known.RunSecret
	}
	return func(name string) (problem, nearest string) {
		return p.known.NetworkSecret(name, penstock.ImageOf(&spec, nil).SecretHost)
	}
}

// runners reads all runners.
func (p *parser) runners() []Runner {
	return each(p, KindRunner, func(at place, d *document) Runner {
		r := Runner{Name: at.name}
		if d.readYAML(p.files[at.path]); d.root == nil {
			return r
		}
		d.decode(&r)
		p.network(d, r.Network)
		if spec, err := json.Marshal(r.Spec()); err != nil || len(spec) > penstock.MaxConfigBytes {
			d.badLinef(
				1, 1, InvalidDocument, "the runner has %d bytes as JSON; at most %d are allowed", len(spec),
				penstock.MaxConfigBytes,
			)
		}
		if platform := d.find("platform"); platform != nil && platform.Kind == yaml.MappingNode {
			d.checkPlatform(r, platform)
			p.secretFor(d, p.registrySecret(r.Spec()), "platform", "linux", "registryCredentialSecretName")
		}
		return r
	})
}

// checkPlatform checks what a runner says of its operating system.
func (d *document) checkPlatform(r Runner, platform *yaml.Node) {
	linux, mac := child(platform, "linux"), child(platform, "mac")
	switch r.Platform.OS {
	case "", "linux":
		if os := child(platform, "os"); os != nil && r.Platform.OS == "" {
			return
		}
		if linux == nil {
			d.badf(platform, MissingRequired, "a Linux runner needs linux: {dockerImage: …}")
		}
		if mac != nil {
			d.badf(mac, InvalidValue, "mac is allowed only with os: macos")
		}
	case "macos":
		if linux != nil {
			d.badf(linux, InvalidValue, "linux is allowed only with os: linux")
		}
		if r.Platform.Arch == "x86_64" {
			d.badf(child(platform, "arch"), InvalidValue, "macos supports only the arch aarch64")
		}
	}
}
