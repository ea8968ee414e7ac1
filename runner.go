package penstock

import "fmt"

// RunnerSpec is the runner of a run, as it was in the factory's files when the run was created.
type RunnerSpec struct {
	Name          string   `json:"name"`
	SetupCommands []string `json:"setup_commands,omitempty"`
	// Image is a container image, VCPUs and MemoryGB are the size of a machine; a sandbox that
	// is not a container ignores both.
	Image    string  `json:"image,omitempty"`
	VCPUs    int     `json:"vcpus,omitzero"`
	MemoryGB float64 `json:"memory_gb,omitzero"`
	OS       string  `json:"os"`   // linux or macos
	Arch     string  `json:"arch"` // x86_64 or aarch64
	// RegistrySecret names the managed secret with the credentials for Image, USER:PASSWORD.
	RegistrySecret string `json:"registry_secret,omitempty"`

	Network *Network `json:"network,omitempty"`
}

// Platform is the required platform of the worker, such as linux/x86_64. "" means any; a run
// without a runner requires none.
func (r *RunnerSpec) Platform() string {
	if r == nil {
		return ""
	}
	return r.OS + "/" + r.Arch
}

// Container reports whether r requires a container or its own machine.
func (r *RunnerSpec) Container() bool {
	return r != nil && (r.Image != "" || r.VCPUs != 0)
}

// Shape returns the size of the machine in words, or "".
func (r *RunnerSpec) Shape() string {
	if r == nil || r.VCPUs == 0 {
		return ""
	}
	return fmt.Sprintf("%d vCPUs, %g GB", r.VCPUs, r.MemoryGB)
}
