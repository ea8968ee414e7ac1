package penstock_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
)

func TestImageOf(t *testing.T) {
	t.Parallel()
	environment := func(image, secret string) *penstock.EnvironmentSpec {
		return &penstock.EnvironmentSpec{Config: penstock.EnvironmentConfig{DockerImage: image, DockerImageSecret: secret}}
	}
	for name, tt := range map[string]struct {
		runner      *penstock.RunnerSpec
		environment *penstock.EnvironmentSpec
		want        penstock.RunImage
	}{
		"none":                   {},
		"a runner without image": {&penstock.RunnerSpec{}, environment("app", ""), penstock.RunImage{Reference: "app"}},
		"a runner's": {
			&penstock.RunnerSpec{Image: "a.test/x", RegistrySecret: "OF_RUNNER"}, environment("b.test/x", "OF_ENVIRONMENT"),
			penstock.RunImage{Reference: "a.test/x", Secret: "OF_RUNNER", SecretHost: "a.test"},
		},
		"a runner's without secret": {
			&penstock.RunnerSpec{Image: "b.test/x"}, environment("b.test/x", "S"), penstock.RunImage{Reference: "b.test/x"},
		},
		"with a port": {nil, environment("B.test:5000/x:1", "S"), penstock.RunImage{"B.test:5000/x:1", "S", "b.test:5000"}},
		"a name":      {nil, environment("x:1", "S"), penstock.RunImage{"x:1", "S", "docker.io"}},
		"a team":      {nil, environment("team/x:1", "S"), penstock.RunImage{"team/x:1", "S", "docker.io"}},
		"the hub":     {nil, environment("index.docker.io/x", "S"), penstock.RunImage{"index.docker.io/x", "S", "docker.io"}},
		"this host":   {nil, environment("localhost/x", "S"), penstock.RunImage{"localhost/x", "S", "localhost"}},
	} {
		if got := penstock.ImageOf(tt.runner, tt.environment); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}
