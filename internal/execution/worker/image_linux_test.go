package worker_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// inImages makes a worker use the images of a store in dir, in bubblewrap.
func inImages(box sandbox.Sandbox, store *image.Store) func(*worker.Options) {
	return func(o *worker.Options) { o.Sandbox, o.Images, o.StrictImage = box, store, true }
}

func imageText(name, content string) testkit.ImageFile {
	return testkit.ImageFile{Header: tar.Header{Name: name}, Content: content}
}

// pushShell stores an image with a shell and further files, and returns its digest.
func pushShell(t *testing.T, registry *testkit.Registry, repository string, files ...testkit.ImageFile) string {
	t.Helper()
	env := []string{"PATH=/opt/tools:/bin", "GREETING=hello", "HOME=/root", "OWN=image", "=broken", "broken"}
	return registry.Push(t, repository, env, testkit.HostImage(t, "sh", "cat", "ls"), files)
}

func TestARunLivesInItsImage(t *testing.T) {
	w := newWorld(t)
	registry := testkit.NewRegistry(t)
	digest := pushShell(t, registry, "team/app:1",
		imageText("opt/only-here", "one"), imageText("opt/tools/greet", "#!/bin/sh\necho \"$GREETING $HOME $OWN\"\n"))
	name := registry.Host + "/team/app:1"
	images := image.Open(t.TempDir(), image.Options{})
	w.start(inImages(newSandbox(t, sandbox.Bubblewrap), images))
	config := w.environment(penstock.EnvironmentConfig{
		DockerImage: name, SetupCommands: []string{"cat /opt/only-here > /opt/made; greet >> /opt/made"},
	})
	config.Env = map[string]string{"OWN": "run"}
	look := "demo: run cat /opt/only-here /opt/made; greet; ls /usr /home; echo changed >> /opt/made"
	id := w.create(penstock.RunRequest{Config: config}, look)
	w.becomes(id, penstock.StateSucceeded)
	want := `oneonehello /home/agent run\nhello /home/agent run\n`
	if got := strings.Join(w.outputs(id, "run_command"), "\n"); !strings.Contains(got, want) {
		t.Errorf("the run prints %s, want %s", got, want)
	}
	ready := w.payloads(id, "image_ready")
	if len(ready) != 1 || ready[0]["image"] != name || ready[0]["digest"] != digest || ready[0]["pulled"] != true {
		t.Errorf("image_ready: %v", ready)
	}
	if n := len(w.payloads(id, "image_not_used")); n != 0 {
		t.Error("the timeline says that the image is not used")
	}

	// A follow-up finds its changes of the image. Neither it nor another run pulls the image again,
	// and another run sees nothing of this one.
	pulled := registry.Blobs.Load()
	w.followUp(id, look)
	w.reaches(id, 2)
	if got := strings.Join(w.outputs(id, "run_command"), "\n"); !strings.Contains(got, `run\nchanged\n`) {
		t.Errorf("the follow-up prints %s", got)
	}
	other := w.create(penstock.RunRequest{Config: config}, look)
	w.becomes(other, penstock.StateSucceeded)
	if got := strings.Join(w.outputs(other, "run_command"), "\n"); !strings.Contains(got, want) {
		t.Errorf("another run prints %s", got)
	}
	if n := len(w.payloads(id, "setup_step")); n != 1 {
		t.Errorf("the setup command ran %d times in one image", n)
	}
	for _, of := range []string{id, other} {
		ready := w.payloads(of, "image_ready")
		if last := ready[len(ready)-1]; last["pulled"] != false || last["digest"] != digest {
			t.Errorf("image_ready: %v", ready)
		}
	}
	if n := registry.Blobs.Load(); n != pulled {
		t.Errorf("%d more downloads for an image that is in the cache", n-pulled)
	}

	// The tag leads to another image. The setup in the old one does not count there.
	next := pushShell(t, registry, "team/app:1", imageText("opt/only-here", "two"),
		imageText("opt/tools/greet", "#!/bin/sh\necho next\n"))
	w.followUp(id, look)
	w.reaches(id, 3)
	outputs := w.outputs(id, "run_command")
	if got := outputs[len(outputs)-1]; !strings.Contains(got, `twotwonext\nnext\n`) {
		t.Errorf("in the next image, the run prints %s", got)
	}
	if ready := w.payloads(id, "image_ready"); ready[len(ready)-1]["digest"] != next {
		t.Errorf("image_ready: %v", ready)
	}

	// No run holds the images any more.
	for _, held := range []string{digest, next} {
		testkit.Eventually(t, timeout, func() error { return images.Remove(held) })
	}
}

// reaches waits until an execution of the run has succeeded.
func (w *world) reaches(id string, execution int) {
	w.t.Helper()
	testkit.Eventually(w.t, timeout, func() error {
		if run := w.get(id); run.ExecutionID != execution || run.State != penstock.StateSucceeded {
			return fmt.Errorf("execution %d is %s (%+v)", run.ExecutionID, run.State, run.StatusMessage)
		}
		return nil
	})
}

func TestAnImageThatCannotBePulledFailsItsRun(t *testing.T) {
	w := newWorld(t)
	registry, private, away := testkit.NewRegistry(t), testkit.NewRegistry(t), testkit.NewRegistry(t)
	private.Username, private.Password = "bot", "registry-password"
	pushShell(t, registry, "team/app:1")
	pushShell(t, private, "team/app:1")
	away.Status.Store(503)
	registry.Push(t, "hostile", nil, []testkit.ImageFile{imageText("../../escaped", "x")})
	images := image.Open(t.TempDir(), image.Options{})
	w.start(inImages(newSandbox(t, sandbox.Bubblewrap), images))
	number := 0
	for ref, want := range map[string]struct {
		reason    string
		retryable bool
	}{
		registry.Host + "/team/app:2":                                 {registry.Host + " does not have it", false},
		registry.Host + "/team/app@sha256:" + strings.Repeat("0", 64): {registry.Host + " does not have it", false},
		private.Host + "/team/app:1":                                  {private.Host + " denies it (HTTP 401)", false},
		away.Host + "/team/app:1":                                     {away.Host + " responded with HTTP 503", true},
		"127.0.0.1:1/team/app:1":                                      {"cannot reach 127.0.0.1:1: ", true},
		registry.Host + "/hostile":                                    {"the path leads out of the image", false},
		registry.Host + "/Team/App:1":                                 {"use a lower-case name, such as ", false},
	} {
		number++
		config := w.environment(penstock.EnvironmentConfig{Name: fmt.Sprint("env-", number), DockerImage: ref})
		id := w.create(penstock.RunRequest{Prompt: "hello", Config: config})
		m := w.becomes(id, penstock.StateFailed).StatusMessage
		if m.ErrorCode != penstock.CodeEnvironmentSetupFailed || m.Retryable != want.retryable ||
			!strings.HasPrefix(m.Message, "The worker cannot pull the image "+ref+": ") ||
			!strings.Contains(m.Message, want.reason) || strings.Contains(m.Message, "password") {
			t.Errorf("%s: got %+v, want %q", ref, m, want.reason)
		}
		if types := w.timelineTypes(id); count(types, "image_ready")+count(types, "agent_started") != 0 {
			t.Errorf("%s: the timeline has %v", ref, types)
		}
	}
}

// An agent of the worker's machine may need what the image lacks.
func TestAnAgentThatDoesNotRunInItsImage(t *testing.T) {
	w := newWorld(t)
	registry := testkit.NewRegistry(t)
	pushShell(t, registry, "app")
	name := registry.Host + "/app"
	installed := t.TempDir()
	program, err := os.ReadFile("/bin/cat")
	if err != nil {
		t.Fatal(err)
	}
	foreign := bytes.Replace(program, []byte("/ld-linux"), []byte("/ld-other"), 1)
	for file, content := range map[string][]byte{"foreign": foreign, "script": []byte("#!/usr/bin/other-node\n")} {
		if err := os.WriteFile(filepath.Join(installed, file), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.start(func(o *worker.Options) {
		inImages(newSandbox(t, sandbox.Bubblewrap), image.Open(t.TempDir(), image.Options{}))(o)
		o.Harnesses["misbehaving"] = harness.Program{Argv: []string{"{agent}/foreign"}, Installed: installed}
		o.Harnesses["command"] = harness.Program{
			Protocol: harness.ProtocolCommand, Argv: []string{"{agent}/script"}, Installed: installed,
		}
	})
	for kind, want := range map[string][]string{
		"misbehaving": {
			"The agent did not start in the image " + name + ". ",
			"cannot execute " + harness.InstalledDir + "/foreign: its loader ", "/ld-other", " does not exist here",
		},
		"command": {
			"cannot execute " + harness.InstalledDir + "/script: its interpreter /usr/bin/other-node does not exist here",
		},
	} {
		config := w.environment(penstock.EnvironmentConfig{Name: kind, DockerImage: name})
		config.Harness = &penstock.Harness{Type: kind}
		m := w.becomes(w.create(penstock.RunRequest{Prompt: "hello", Config: config}), penstock.StateFailed).StatusMessage
		for _, part := range want {
			if !strings.Contains(m.Message, part) {
				t.Errorf("%s: got %+v, want %q", kind, m, part)
			}
		}
	}
}
