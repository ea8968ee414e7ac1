package service_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

// The secret of an environment's image goes only to workers, and only for a registry that it lists.
func TestTheSecretOfAnEnvironmentsImage(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		w.secret("REGISTRY", "bot:password")
		w.secret("UNUSED", "bot:password")
		manager := w.as("manager", penstock.ScopeFactoriesManage, penstock.ScopeRunsWrite)
		config := func(image, secret string) penstock.EnvironmentConfig {
			return penstock.EnvironmentConfig{Name: "app", DockerImage: image, DockerImageSecret: secret}
		}
		const pointer, ours = "/docker_image_secret", "registry.test:5000/team/app:1"
		w.setHosts("REGISTRY", "registry.test")
		for name, wrong := range map[string]penstock.EnvironmentConfig{
			"a secret that does not exist": config(ours, "NONE"),
			"an invalid name":              config(ours, "not a name"),
			"a secret without the host":    config(ours, "UNUSED"),
			"another registry":             config("thief.test/team/app:1", "REGISTRY"),
			"no image":                     config("", "REGISTRY"),
		} {
			for _, p := range []penstock.Principal{w.admin, manager} {
				if _, err := w.Catalog.CreateEnvironment(ctx, p, wrong); err == nil {
					w.t.Errorf("%s is accepted", name)
				} else {
					wantField(w.t, err, pointer)
				}
			}
		}
		e, err := w.Catalog.CreateEnvironment(ctx, manager, config(ours, "REGISTRY"))
		if err != nil {
			w.t.Fatal(err)
		}
		user := penstock.SecretUser{Type: penstock.SecretOfEnvironment, UID: e.UID, Name: "app"}
		if s, err := w.Secrets.Read(ctx, w.admin, "REGISTRY"); err != nil ||
			cmp.Diff([]penstock.SecretUser{user}, s.UsedBy) != "" {
			w.t.Errorf("the secret is used by %+v, %v", s.UsedBy, err)
		}
		wantCode(w.t, w.Secrets.Delete(ctx, w.admin, "REGISTRY"), penstock.CodeConflict, `the environment "app"`)

		request := penstock.RunRequest{Prompt: "go", Config: &penstock.Config{EnvironmentID: e.UID}}
		id := w.create(request).ID
		a := w.claim()
		if a.Lease.RunID != id || a.RegistryLogin != "bot:password" || len(a.Secrets)+len(a.NetworkSecrets) != 0 {
			w.t.Errorf("got the credentials %q and the secrets %v, %v", a.RegistryLogin, a.Secrets, a.NetworkSecrets)
		}
		w.finish(a.Lease, penstock.Result{State: penstock.StateFailed})

		// The secret no longer lists the registry: its next execution does not get the value.
		w.setHosts("REGISTRY", "other.test")
		id = w.create(request).ID
		if a, err := w.Executions.Control().Claim(ctx, anyWorker); err == nil {
			w.t.Errorf("a worker got %q", a.RegistryLogin)
		}
		const want = "The environment sends the secret REGISTRY to the registry registry.test:5000 of its image, but the " +
			"secret does not list the host registry.test."
		if run := w.get(id); run.State != penstock.StateFailed || run.StatusMessage.Message != want ||
			run.StatusMessage.ErrorCode != penstock.CodeEnvironmentSetupFailed {
			w.t.Errorf("the run is %s: %+v", run.State, run.StatusMessage)
		}

		if _, err = w.Catalog.ReplaceEnvironment(ctx, manager, e.UID, config("app", "")); err != nil {
			w.t.Fatal(err)
		}
		if err := w.Secrets.Delete(ctx, w.admin, "REGISTRY"); err != nil {
			w.t.Errorf("a secret that nothing names any more: %v", err)
		}
	})
}
