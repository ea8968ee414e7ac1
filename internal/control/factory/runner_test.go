package factory_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// assignedRunner defines a factory with a runner of each kind.
func assignedRunner() map[string]string {
	return map[string]string{
		"factory.yaml": "schemaVersion: v1alpha1\nname: acme\nagentDefaults: {model: demo/offline, runner: here}\n",
		"runners/here.yaml": "description: ours\nsetupCommands: [make deps, make tools]\ninstanceShape: {vcpus: 4, " +
			"memoryGb: 7.5}\n" +
			"platform: {linux: {dockerImage: 'debian:13'}}\n",
		"runners/arm.yaml": "platform: {os: linux, arch: aarch64, linux: {dockerImage: debian, " +
			"registryCredentialSecretName: REGISTRY}}\n",
		"runners/mac.yaml":       "platform: {os: macos, mac: {version: '26'}}\n",
		"agents/lead/agent.md":   "---\nagentType: FOREMAN\n---\nLead.\n",
		"agents/arm/agent.md":    "---\nrunner: arm\n---\nLift.\n",
		"agents/apples/agent.md": "---\nrunner: mac\n---\nPick.\n",
	}
}

func TestRunKeepsItsRunner(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.CreateSecret("REGISTRY", "value")
		w.setHosts("REGISTRY", "docker.io")
		f := w.DefineFactory(assignedRunner())
		id := w.Create(penstock.RunRequest{Prompt: "go", AgentIdentityUID: f.ForemanUID}).ID
		claim := testworld.AnyWorker
		claim.Platform = "linux/x86_64"
		a, err := w.Executions.Control().Claim(w.T.Context(), claim)
		if err != nil {
			w.T.Fatal(err)
		}
		want := &penstock.RunnerSpec{
			Name: "here", SetupCommands: []string{"make deps", "make tools"}, Image: "debian:13", VCPUs: 4, MemoryGB: 7.5,
			OS: "linux", Arch: "x86_64",
		}
		if diff := cmp.Diff(want, a.Runner); diff != "" || a.Lease.RunID != id {
			w.T.Errorf("run %s (-want +got):\n%s", a.Lease.RunID, diff)
		}
		if len(a.Secrets) != 0 {
			w.T.Errorf("got the secrets %v, which only an image's registry needs", a.Secrets)
		}
		if a.RegistryLogin != "" {
			w.T.Error("got the credentials of a registry, which this runner does not name")
		}

		// Only the worker gets the credentials that a runner names, and not the run.
		w.Create(penstock.RunRequest{Prompt: "go", AgentIdentityUID: f.ForemanUID, Config: &penstock.Config{RunnerID: "arm"}})
		claim.Platform = "linux/aarch64"
		a, err = w.Executions.Control().Claim(w.T.Context(), claim)
		if err != nil {
			w.T.Fatal(err)
		}
		if a.RegistryLogin != "value" || len(a.Secrets) != 0 {
			w.T.Errorf("got the credentials %q and the secrets %v", a.RegistryLogin, a.Secrets)
		}
	})
}

func TestUnknownRunnerIsRefused(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.CreateSecret("REGISTRY", "value")
		w.setHosts("REGISTRY", "docker.io")
		f := w.DefineFactory(assignedRunner())
		alone := w.CreateAgent(factory.IdentityRequest{Name: new("alone"), DefaultRunnerUID: new("here")})
		for name, tt := range map[string]struct {
			req           penstock.RunRequest
			pointer, want string
		}{
			"misspelled": {
				penstock.RunRequest{Prompt: "go", AgentIdentityUID: f.ForemanUID, Config: &penstock.Config{RunnerID: "hera"}},
				"/config/runner_id", `there is no runner of the factory named "hera"; did you mean "here"?`,
			},
			"a way out": {
				penstock.RunRequest{Prompt: "go", AgentIdentityUID: f.ForemanUID, Config: &penstock.Config{RunnerID: "../factory"}},
				"/config/runner_id", "no runner",
			},
			"without a factory": {
				penstock.RunRequest{Prompt: "go", Config: &penstock.Config{RunnerID: "here"}},
				"/config/runner_id",
				"the run has no such agent",
			},
			"an agent's": {
				penstock.RunRequest{Prompt: "go", AgentIdentityUID: alone.UID}, "/agent_identity_uid", "the agent's runner_id: ",
			},
		} {
			_, err := w.Runs.Create(w.T.Context(), w.Admin, tt.req, run.SourceAPI)
			testworld.WantField(w.T, err, tt.pointer)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				w.T.Errorf("%s: got %v, want %q", name, err, tt.want)
			}
		}
	})
}

// A run whose runner no worker offers waits, names the runner, and finally ends.
func TestRunWaitsForItsPlatform(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("REGISTRY", "value")
		w.setHosts("REGISTRY", "docker.io")
		f := w.DefineFactory(assignedRunner())
		apples := w.Create(penstock.RunRequest{Prompt: "1", AgentIdentityUID: agentUID(w.T, f, "apples")}).ID
		arm := w.Create(penstock.RunRequest{Prompt: "2", AgentIdentityUID: agentUID(w.T, f, "arm")}).ID
		here := w.Create(penstock.RunRequest{Prompt: "3", AgentIdentityUID: f.ForemanUID}).ID
		intel := testworld.AnyWorker
		intel.Platform, intel.Wait = "linux/x86_64", time.Millisecond
		a, err := w.Executions.Control().Claim(ctx, intel)
		if err != nil || a.Lease.RunID != here {
			w.T.Fatalf("got run %q, %v, want %s, which is the only one for the worker", a.Lease.RunID, err, here)
		}
		if _, err := w.Executions.Control().Claim(ctx, intel); !errors.Is(err, penstock.ErrNoWork) {
			w.T.Errorf("got %v, want no work", err)
		}
		for id, want := range map[string]string{
			apples: `Waiting: no connected worker has the platform macos/aarch64 of the runner "mac".`,
			arm:    `Waiting: no connected worker has the platform linux/aarch64 of the runner "arm".`,
		} {
			if run := w.Get(id); run.StatusMessage == nil || run.StatusMessage.Message != want {
				w.T.Errorf("got %+v, want %s", run.StatusMessage, want)
			}
		}
		strong := intel
		strong.WorkerID, strong.Platform = "w2", "linux/aarch64"
		b, err := w.Executions.Control().Claim(ctx, strong)
		if err != nil || b.Lease.RunID != arm {
			w.T.Fatalf("got run %q, %v, want %s", b.Lease.RunID, err, arm)
		}
		// After a requeue, the run waits for the same image and platform.
		w.Finish(b.Lease, penstock.Result{State: penstock.StateQueued})
		if _, err := w.Executions.Control().Claim(ctx, intel); !errors.Is(err, penstock.ErrNoWork) {
			w.T.Errorf("a worker of another platform got what was handed back: %v", err)
		}
		strict := strong
		strict.StrictImage = true
		if _, err := w.Executions.Control().Claim(ctx, strict); !errors.Is(err, penstock.ErrNoWork) {
			w.T.Errorf("a worker that cannot use its image got what was handed back: %v", err)
		}
		if b, err = w.Executions.Control().Claim(ctx, strong); err != nil || b.Lease.ExecutionID != 2 {
			w.T.Errorf("got %+v, %v, want the second execution", b.Lease, err)
		}
	})
}

// A secret that only factory.yaml or a runner names cannot be deleted.
func TestFactoryUsesSecrets(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		names := []string{"EVERY", "SHARED", "TRACKER", "WIKI", "CLAUDE", "REGISTRY"}
		for _, name := range append(names, "UNUSED") {
			w.CreateSecret(name, "value of "+name)
		}
		w.setHosts("REGISTRY", "docker.io")
		files := assignedRunner()
		files["factory.yaml"] = "schemaVersion: v1alpha1\nname: acme\nsecrets: [EVERY]\n" +
			"mcpServers: {wiki: {url: 'https://wiki.example', headers: {Authorization: 'Bearer ${{ secrets.WIKI }}'}}}\n" +
			"agentDefaults:\n  runner: here\n  secrets: [SHARED]\n" +
			"  mcpServers: {tracker: {command: tracker, env: {T: '${{ secrets.TRACKER }}'}}}\n  harness: {type: command, " +
			"model: m, auth: {source: managedSecret, secretName: CLAUDE}}\n"
		f := w.DefineFactory(files)
		user := penstock.SecretUser{Type: store.SecretOfFactory, UID: f.UID, Name: "acme"}
		for _, name := range names {
			err := w.Secrets.Delete(ctx, w.Admin, name)
			testworld.WantCode(w.T, err, penstock.CodeConflict, `the factory "acme"`)
			s, err := w.Secrets.Read(ctx, w.Admin, name)
			if err != nil {
				w.T.Fatal(err)
			}
			if diff := cmp.Diff([]penstock.SecretUser{user}, s.UsedBy); diff != "" {
				w.T.Errorf("users of %s (-want +got):\n%s", name, diff)
			}
		}
		if err := w.Secrets.Delete(ctx, w.Admin, "UNUSED"); err != nil {
			w.T.Errorf("one that nothing names: %v", err)
		}
		if err := w.Factories.Delete(ctx, w.Admin, f.UID); err != nil {
			w.T.Fatal(err)
		}
		for _, name := range names {
			if err := w.Secrets.Delete(ctx, w.Admin, name); err != nil {
				w.T.Errorf("%s, when its factory is gone: %v", name, err)
			}
		}
	})
}

// Every server knows the contract's harnesses: a run for a missing one waits for a worker that has
// it, and an agent shows that this server lacks it.
func TestRunWaitsForItsHarness(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		claude := &penstock.Harness{Type: "claude", ModelID: "m"}
		agent, err := w.Resources.CreateIdentity(
			ctx, w.Admin, factory.IdentityRequest{Name: new("reviewer"), Harness: claude},
		)
		if err != nil || agent.Available {
			w.T.Fatalf("got %+v, %v, want an agent that is not available", agent, err)
		}
		id := w.Create(penstock.RunRequest{Prompt: "1", AgentIdentityUID: agent.UID}).ID
		other := testworld.AnyWorker
		other.Wait = time.Millisecond
		if _, err := w.Executions.Control().Claim(ctx, other); !errors.Is(err, penstock.ErrNoWork) {
			w.T.Fatalf("got %v, want no work", err)
		}
		waits := func(reason string) {
			w.T.Helper()
			want := `Waiting: no connected worker can run the harness "claude". ` + reason
			if run := w.Get(id); run.StatusMessage == nil || run.StatusMessage.Message != want {
				w.T.Errorf("got %+v, want %q", run.StatusMessage, want)
			}
		}
		waits("No connected worker has it: install it with penstock harness install claude.")
		failed := "Its check failed: it never called the model. The next check is at 12:00:00 UTC."
		other.WorkerID = "w2"
		other.Agents = []penstock.AgentState{{Name: "claude", Version: "1.0.0", Reason: failed}}
		if _, err := w.Executions.Control().Claim(ctx, other); !errors.Is(err, penstock.ErrNoWork) {
			w.T.Fatalf("got %v, want no work", err)
		}
		waits(failed)
		list, err := w.Catalog.Harnesses(ctx, w.Admin)
		if i := slices.IndexFunc(list, func(h run.HarnessInfo) bool { return h.Name == "claude" }); err != nil ||
			list[i].Usable || list[i].Reason != failed || list[i].Version != "1.0.0" {
			w.T.Errorf("got %+v, %v, want why it cannot be used", list[i], err)
		}
		other.Harnesses = []string{"claude"}
		if a, err := w.Executions.Control().Claim(ctx, other); err != nil || a.Lease.RunID != id {
			w.T.Errorf("got run %q, %v, want %s", a.Lease.RunID, err, id)
		}
	})
}
