package penstock

import "strings"

// RunImage is the container image that a run names.
type RunImage struct {
	Reference string
	// Secret is the managed secret with the credentials for its registry, USER:PASSWORD, or "".
	Secret string
	// SecretHost is the host that must be among the hosts of Secret, or "": then none must.
	SecretHost string
}

// ImageOf returns the image of a run, whose zero value is none. A runner's image takes precedence
// over the environment's. Both arguments may be nil.
func ImageOf(runner *RunnerSpec, environment *EnvironmentSpec) RunImage {
	if runner != nil && runner.Image != "" {
		return RunImage{Reference: runner.Image, Secret: runner.RegistrySecret}
	}
	if environment == nil {
		return RunImage{}
	}
	c := environment.Config
	image := RunImage{Reference: c.DockerImage, Secret: c.DockerImageSecret}
	if image.Secret != "" {
		image.SecretHost = registryHost(c.DockerImage)
	}
	return image
}

// DockerHub is the registry of images whose reference names none.
const DockerHub = "docker.io"

// ImageRegistry returns the registry of a container image, with its port if the reference has one.
// It is the part before the first slash if this is localhost or has a dot or a colon.
func ImageRegistry(reference string) string {
	registry, _, ok := strings.Cut(reference, "/")
	if !ok || registry != "localhost" && !strings.ContainsAny(registry, ".:") || registry == "index."+DockerHub {
		return DockerHub
	}
	return registry
}

// registryHost returns the host of an image's registry, in the form that the hosts of a secret have.
func registryHost(reference string) string {
	host, _, _ := strings.Cut(ImageRegistry(reference), ":")
	return CanonicalHost(host)
}
