package penstock

import "fmt"

// RunnerSpec is what a run executes on: a runner of its factory's files as it
// was when the run was created.
type RunnerSpec struct {
	Name          string   `json:"name"`
	SetupCommands []string `json:"setup_commands,omitempty"`
	// Image is a container image, VCPUs and MemoryGB are the size of a machine;
	// a sandbox that is no container cannot give either.
	Image    string  `json:"image,omitempty"`
	VCPUs    int     `json:"vcpus,omitzero"`
	MemoryGB float64 `json:"memory_gb,omitzero"`
	OS       string  `json:"os"`   // linux or macos
	Arch     string  `json:"arch"` // x86_64 or aarch64

	Network *Network `json:"network,omitempty"`
}

// Platform is the system that a worker has to have, such as linux/x86_64; "" for
// any, which a run without a runner takes.
func (r *RunnerSpec) Platform() string {
	if r == nil {
		return ""
	}
	return r.OS + "/" + r.Arch
}

// Container reports whether r asks for what only a container or a machine of its
// own can give.
func (r *RunnerSpec) Container() bool {
	return r != nil && (r.Image != "" || r.VCPUs != 0)
}

// Shape is the size of the machine in words, "" where r gives none.
func (r *RunnerSpec) Shape() string {
	if r == nil || r.VCPUs == 0 {
		return ""
	}
	return fmt.Sprintf("%d vCPUs, %g GB", r.VCPUs, r.MemoryGB)
}

// Platform is a system as workers and runners name it, made of the names that Go
// has for it: linux/amd64 is linux/x86_64.
func Platform(os, arch string) string {
	rename := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "darwin": "macos"}
	for _, part := range []*string{&os, &arch} {
		if name, ok := rename[*part]; ok {
			*part = name
		}
	}
	return os + "/" + arch
}
