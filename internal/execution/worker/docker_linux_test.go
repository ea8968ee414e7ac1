package worker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// inDocker makes a worker use a daemon, with an image for runs that name none.
func inDocker(t *testing.T, daemon *testkit.Docker, name string) func(*worker.Options) {
	t.Helper()
	images, err := image.NewDaemon(daemon.Host)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *worker.Options) {
		box, err := sandbox.New(sandbox.Options{
			Kind: sandbox.Docker, Exe: self(t), Dir: t.TempDir(), DockerHost: daemon.Host, DockerImage: name,
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Sandbox, o.Images, o.DefaultImage, o.StrictImage = box, images, name, true
		o.Limits.Processes, o.Limits.CPUs = 200, 1.5
	}
}

func TestARunLivesInAContainer(t *testing.T) {
	w := newWorld(t)
	daemon := testkit.SharedDocker(t)
	daemon.ImportImage(t)
	registry := testkit.NewRegistry(t)
	digest := registry.Push(t, "team/app:1", []string{"PATH=/opt/tools:/bin", "GREETING=hello", "HOME=/root", "OWN=image"},
		testkit.HostImage(t, "sh", "cat", "ls"), []testkit.ImageFile{
			imageText("opt/only-here", "one"), imageText("opt/tools/greet", "#!/bin/sh\necho \"$GREETING $HOME $OWN\"\n"),
		})
	name := registry.Host + "/team/app:1"
	w.start(inDocker(t, daemon, daemon.Image))
	config := w.environment(penstock.EnvironmentConfig{
		DockerImage: name, SetupCommands: []string{"cat /opt/only-here > made; greet >> made"},
	})
	config.Env = map[string]string{"OWN": "run"}
	const look = "demo: run cat /opt/only-here /workspace/made; greet; ls /usr /home"
	id := w.create(penstock.RunRequest{Config: config}, look)
	w.becomes(id, penstock.StateSucceeded)
	if got := strings.Join(w.outputs(id, "run_command"), "\n"); !strings.Contains(
		got, `oneonehello /home/agent run\nhello /home/agent run\n`,
	) {
		t.Errorf("the run prints %s", got)
	}
	ready := w.payloads(id, "image_ready")
	if len(ready) != 1 || ready[0]["image"] != name || ready[0]["digest"] != digest || ready[0]["pulled"] != true {
		t.Errorf("image_ready: %v", ready)
	}
	verified, box := w.payloads(id, "sandbox_verified"), w.payloads(id, "worker_container_ready")
	if len(verified) == 0 || verified[0]["sandbox"] != sandbox.Docker ||
		len(box) == 0 || box[0]["limits"] != "Docker: 200 processes, 1.5 CPUs" {
		t.Errorf("sandbox_verified %v, sandbox_ready %v", verified, box)
	}

	// Without an image of its own, a run gets the worker's.
	plain := w.create(penstock.RunRequest{}, "demo: run [ ! -e /opt/only-here ] && seq 3")
	w.becomes(plain, penstock.StateSucceeded)
	if got := strings.Join(w.outputs(plain, "run_command"), "\n"); !strings.Contains(got, `1\n2\n3\n`) {
		t.Errorf("in the default image, the run prints %s", got)
	}
	if n := daemon.Containers(t); n != 0 {
		t.Errorf("%d containers are left", n)
	}
}

func TestAnImageThatTheDaemonCannotPull(t *testing.T) {
	w := newWorld(t)
	daemon := testkit.SharedDocker(t)
	registry, private, away := testkit.NewRegistry(t), testkit.NewRegistry(t), testkit.NewRegistry(t)
	private.Username, private.Password = "bot", "registry-password"
	pushShell(t, registry, "team/app:1")
	pushShell(t, private, "team/app:1")
	away.Status.Store(503)
	w.start(inDocker(t, daemon, ""))
	for ref, want := range map[string]struct {
		reason    string
		retryable bool
	}{
		registry.Host + "/team/app:2": {"", false},
		private.Host + "/team/app:1":  {"no basic auth credentials", true},
		away.Host + "/team/app:1":     {"", true},
		registry.Host + "/Team/App:1": {"invalid image reference: use a lower-case name", false},
		"":                            {"start the worker with --docker-image", false},
	} {
		config := w.environment(penstock.EnvironmentConfig{Name: "env" + strings.ReplaceAll(ref, "/", "-"), DockerImage: ref})
		id := w.create(penstock.RunRequest{Prompt: "hello", Config: config})
		m := w.becomes(id, penstock.StateFailed).StatusMessage
		if m.ErrorCode != penstock.CodeEnvironmentSetupFailed || m.Retryable != want.retryable ||
			!strings.Contains(m.Message, ref) || !strings.Contains(m.Message, want.reason) ||
			strings.Contains(m.Message, "registry-password") {
			t.Errorf("%q: got %+v, want %q", ref, m, want.reason)
		}
	}
}

// The daemon of a run can be killed at any time.
func TestARunWhoseDaemonIsKilled(t *testing.T) {
	w := newWorld(t)
	daemon := testkit.StartDocker(t)
	daemon.ImportImage(t)
	w.start(inDocker(t, daemon, daemon.Image))
	id := w.create(penstock.RunRequest{}, "demo: run sleep 600")
	testkit.Eventually(t, timeout, func() error {
		if types := w.timelineTypes(id); count(types, "worker_container_ready") == 0 {
			return fmt.Errorf("the timeline has %v", types)
		}
		return nil
	})
	daemon.Kill(t)
	m := w.becomes(id, penstock.StateError).StatusMessage
	if m.ErrorCode != penstock.CodeUnavailable || !m.Retryable ||
		!strings.HasPrefix(m.Message, "The sandbox of the run was lost: the Docker daemon ended while the program ran") {
		t.Errorf("got %+v", m)
	}
	next := w.create(penstock.RunRequest{}, "demo: run true")
	if m := w.becomes(next, penstock.StateFailed).StatusMessage; !m.Retryable ||
		!strings.Contains(m.Message, "does not respond: start it") {
		t.Errorf("without the daemon: %+v", m)
	}
	if err := daemon.Restart(); err != nil {
		t.Fatal(err)
	}
	last := w.create(penstock.RunRequest{}, "demo: run true")
	w.becomes(last, penstock.StateSucceeded)
	if n := daemon.Containers(t); n != 0 {
		t.Errorf("%d containers are left", n)
	}
}
