package penstock

import "strings"

// RunImage is the container image that a run names.
type RunImage struct {
	Reference string
	// Secret is the managed secret with the credentials for its registry, USER:PASSWORD, or "".
	Secret string
	// SecretHost is where the credentials go, as the hosts of Secret must list it, or "" without a
	// Secret. It ends with the port of the registry unless that is 443.
	SecretHost string
}

// ImageOf returns the image of a run, whose zero value is none. A runner's image takes precedence
// over the environment's. Both arguments may be nil.
func ImageOf(runner *RunnerSpec, environment *EnvironmentSpec) RunImage {
	var image RunImage
	if runner != nil && runner.Image != "" {
		image = RunImage{Reference: runner.Image, Secret: runner.RegistrySecret}
	} else if environment != nil {
		image = RunImage{Reference: environment.Config.DockerImage, Secret: environment.Config.DockerImageSecret}
	}
	if image.Secret != "" {
		image.SecretHost = registryHost(image.Reference)
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

// registryHost returns where the credentials for an image's registry go, in the form that the hosts of
// a secret have.
func registryHost(reference string) string {
	host, port, found := strings.Cut(ImageRegistry(reference), ":")
	if !found || port == "443" {
		return CanonicalHost(host)
	}
	return CanonicalHost(host) + ":" + port
}
