package factory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// The secret of an environment's image goes only to workers, and only for a registry that it lists.
func TestTheSecretOfAnEnvironmentsImage(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("REGISTRY", "bot:password")
		w.CreateSecret("UNUSED", "bot:password")
		manager := w.As("manager", penstock.ScopeFactoriesManage, penstock.ScopeRunsWrite)
		config := func(image, secret string) penstock.EnvironmentConfig {
			return penstock.EnvironmentConfig{Name: "app", DockerImage: image, DockerImageSecret: secret}
		}
		const pointer, ours = "/docker_image_secret", "registry.test:5000/team/app:1"
		w.setHosts("REGISTRY", "registry.test:5000")
		for name, wrong := range map[string]penstock.EnvironmentConfig{
			"a secret that does not exist": config(ours, "NONE"),
			"an invalid name":              config(ours, "not a name"),
			"a secret without the host":    config(ours, "UNUSED"),
			"another registry":             config("thief.test/team/app:1", "REGISTRY"),
			"another port":                 config("registry.test:5001/team/app:1", "REGISTRY"),
			"the usual port":               config("registry.test/team/app:1", "REGISTRY"),
			"no image":                     config("", "REGISTRY"),
		} {
			for _, p := range []penstock.Principal{w.Admin, manager} {
				if _, err := w.Catalog.CreateEnvironment(ctx, p, wrong); err == nil {
					w.T.Errorf("%s is accepted", name)
				} else {
					testworld.WantField(w.T, err, pointer)
				}
			}
		}
		e, err := w.Catalog.CreateEnvironment(ctx, manager, config(ours, "REGISTRY"))
		if err != nil {
			w.T.Fatal(err)
		}
		user := penstock.SecretUser{Type: store.SecretOfEnvironment, UID: e.UID, Name: "app"}
		if s, err := w.Secrets.Read(ctx, w.Admin, "REGISTRY"); err != nil ||
			cmp.Diff([]penstock.SecretUser{user}, s.UsedBy) != "" {
			w.T.Errorf("the secret is used by %+v, %v", s.UsedBy, err)
		}
		testworld.WantCode(w.T, w.Secrets.Delete(ctx, w.Admin, "REGISTRY"), penstock.CodeConflict, `the environment "app"`)

		request := penstock.RunRequest{Prompt: "go", Config: &penstock.Config{EnvironmentID: e.UID}}
		id := w.Create(request).ID
		a := w.Claim()
		if a.Lease.RunID != id || a.RegistryLogin != "bot:password" || len(a.Secrets)+len(a.NetworkSecrets) != 0 {
			w.T.Errorf("got the credentials %q and the secrets %v, %v", a.RegistryLogin, a.Secrets, a.NetworkSecrets)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed})

		// The secret no longer lists the registry: its next execution does not get the value.
		w.setHosts("REGISTRY", "other.test")
		id = w.Create(request).ID
		if a, err := w.Executions.Control().Claim(ctx, testworld.AnyWorker); err == nil {
			w.T.Errorf("a worker got %q", a.RegistryLogin)
		}
		const want = "The run sends the secret REGISTRY to the registry registry.test:5000 of its image, but the " +
			"secret does not list the host registry.test:5000."
		if run := w.Get(id); run.State != penstock.StateFailed || run.StatusMessage.Message != want ||
			run.StatusMessage.ErrorCode != penstock.CodeEnvironmentSetupFailed {
			w.T.Errorf("the run is %s: %+v", run.State, run.StatusMessage)
		}

		if _, err = w.Catalog.ReplaceEnvironment(ctx, manager, e.UID, config("app", "")); err != nil {
			w.T.Fatal(err)
		}
		if err := w.Secrets.Delete(ctx, w.Admin, "REGISTRY"); err != nil {
			w.T.Errorf("a secret that nothing names any more: %v", err)
		}
	})
}

// A runner's file names a secret for the registry of its image only if the secret lists that registry.
// If it no longer does, the next execution does not get the value.
func TestTheSecretOfARunnersImage(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("REGISTRY", "bot:password")
		w.CreateSecret("UNUSED", "bot:password")
		w.setHosts("REGISTRY", "registry.test:5000")
		files := func(image, secret string) map[string]string {
			return map[string]string{
				"factory.yaml":         "schemaVersion: v1alpha1\nname: acme\nagentDefaults: {model: demo/offline, runner: r}\n",
				"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
				"runners/r.yaml": "platform: {linux: {dockerImage: '" + image + "', registryCredentialSecretName: " +
					secret + "}}\n",
			}
		}
		manager := w.As("manager", penstock.ScopeFactoriesManage, penstock.ScopeSecretsUse, penstock.ScopeRunsWrite)
		for name, wrong := range map[string]map[string]string{
			"a secret without hosts": files("registry.test:5000/app", "UNUSED"),
			"another registry":       files("thief.test/app", "REGISTRY"),
			"another port":           files("registry.test:5001/app", "REGISTRY"),
			"the usual port":         files("registry.test/app", "REGISTRY"),
			"no registry":            files("app", "REGISTRY"),
			"the host as a path":     files("thief.test/registry.test:5000/app", "REGISTRY"),
			"Docker Hub":             files("index.docker.io/app", "REGISTRY"),
		} {
			for _, p := range []penstock.Principal{w.Admin, manager} {
				_, err := w.Factories.Create(ctx, p, factory.FactoryRequest{Files: wrong})
				found := testworld.Findings(err)
				if len(found) != 1 || found[0].Path != "runners/r.yaml" || !strings.Contains(found[0].Message, "host") {
					w.T.Errorf("%s: got %v", name, err)
				}
			}
		}
		f := w.DefineFactory(files("registry.test:5000/app", "REGISTRY"))
		id := w.Create(penstock.RunRequest{Prompt: "go", AgentIdentityUID: f.ForemanUID}).ID
		claim := testworld.AnyWorker
		claim.Platform = "linux/x86_64"
		a, err := w.Executions.Control().Claim(ctx, claim)
		if err != nil {
			w.T.Fatal(err)
		}
		if a.Lease.RunID != id || a.RegistryLogin != "bot:password" ||
			cmp.Diff([]string{"registry.test:5000"}, a.RegistryHosts) != "" {
			w.T.Errorf("got %q for %v", a.RegistryLogin, a.RegistryHosts)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed})
		w.setHosts("REGISTRY")
		id = w.Create(penstock.RunRequest{Prompt: "go", AgentIdentityUID: f.ForemanUID}).ID
		if a, err := w.Executions.Control().Claim(ctx, claim); err == nil {
			w.T.Errorf("a worker got %q", a.RegistryLogin)
		}
		if run := w.Get(id); run.State != penstock.StateFailed ||
			!strings.Contains(run.StatusMessage.Message, "does not list the host registry.test:5000") {
			w.T.Errorf("the run is %s: %+v", run.State, run.StatusMessage)
		}
	})
}
