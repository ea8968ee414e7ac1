package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/image"
)

// dockerHost returns the daemon of this process, or the one that the tests of root have started for
// their tests as another user.
func dockerHost(t testing.TB) (host, image string) {
	t.Helper()
	if host, image = os.Getenv("SANDBOX_TEST_DOCKER"), os.Getenv("SANDBOX_TEST_IMAGE"); host != "" {
		return host, image
	}
	daemon := testkit.SharedDocker(t)
	daemon.ImportImage(t)
	return daemon.Host, daemon.Image
}

// openIf is open, or nil on a machine without Docker. With CI set, there must be one.
func openIf(t testing.TB, kind string) Sandbox {
	t.Helper()
	if kind == ownUser && os.Geteuid() != 0 {
		return nil
	}
	if kind != Docker || os.Getenv("SANDBOX_TEST_DOCKER") != "" || os.Geteuid() == 0 && testkit.HasDocker() {
		return open(t, kind)
	}
	if os.Getenv("CI") != "" && os.Geteuid() == 0 {
		t.Fatal("dockerd is not installed")
	}
	return nil
}

func openDocker(t testing.TB) *dockerKind {
	t.Helper()
	d, ok := open(t, Docker).(*dockerKind)
	if !ok {
		t.Fatal("another kind")
	}
	return d
}

func containersOf(t testing.TB, d *dockerKind) (ids []string) {
	t.Helper()
	found, err := d.List(t.Context(), folderLabel, d.dir)
	if err != nil {
		t.Fatal(err)
	}
	for id := range found {
		ids = append(ids, id)
	}
	return ids
}

func TestDockerShowsNothingElseOfTheHost(t *testing.T) {
	t.Parallel()
	s := open(t, Docker)
	outside := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(outside, []byte("host secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"files of the host": `[ ! -e "$1" ] && [ ! -e /var/lib ] && [ -z "$(ls -A /sys)" ]`,
		"empty places":      `[ -z "$(ls -A /tmp /var/tmp /run /dev/shm | grep -v : | tr -d '\n')" ]`,
		"the user":          `[ "$(id -un)" = agent ] && [ "$(grep -c . /etc/passwd)" = 3 ]`,
		"processes":         `for p in /proc/[0-9]*; do [ ${p#/proc/} -lt 100 ] || exit 1; done`,
		"capabilities": `[ "$(grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -vc ` +
			`0000000000000000)" = 0 ]`,
		"new privileges":         `grep -q 'NoNewPrivs:.1' /proc/self/status`,
		"devices":                `[ ! -e /dev/sda ] && [ ! -e /dev/mem ] && [ ! -e /dev/kmsg ] && echo x > /dev/null`,
		"kernel's memory":        `[ -z "$(cat /proc/kcore | head -c 1)" ]`,
		"temporary places":       `echo x > /tmp/a && echo x > /var/tmp/b && echo x > /run/c && echo x > /dev/shm/d`,
		"the workspace and home": `echo x > /workspace/a && echo x > /home/agent/b`,
		"no further user space":  `! unshare --user true 2>/dev/null`,
		"no swapping of programs": `! { echo x > /opt/penstock/penstock; } 2>/dev/null && ` +
			`! rm -f /opt/penstock/penstock 2>/dev/null && ! touch /bin/new /etc/new 2>/dev/null`,
		"the environment of the first process": `! cat /proc/1/environ 2>/dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output(t, s, spec(t, script, outside))
		})
	}
}

// dishonest is a daemon that changes each container that it is to create.
func dishonest(t *testing.T, change func(config, host map[string]any)) (host string) {
	t.Helper()
	honest, _ := dockerHost(t)
	socket := strings.TrimPrefix(honest, "unix://")
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "docker"})
	proxy.ErrorLog = nil
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	dir, err := os.MkdirTemp("", "daemon-") //nolint:usetesting // paths in t.TempDir are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s")) //nolint:noctx // closed below
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/containers/create") {
				var body map[string]any
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				hostConfig, _ := body["HostConfig"].(map[string]any)
				change(body, hostConfig)
				text, _ := json.Marshal(body)
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			}
			proxy.ServeHTTP(w, r)
		},
	)}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return "unix://" + filepath.Join(dir, "s")
}

func TestAProofDoesNotTrustTheDaemon(t *testing.T) {
	t.Parallel()
	open(t, Docker)
	other := t.TempDir()
	for name, test := range map[string]struct {
		change func(config, host map[string]any)
		want   string
	}{
		"network": {func(_, h map[string]any) { h["NetworkMode"] = "host" }, "the worker's namespace net"},
		"processes": {
			func(_, h map[string]any) { h["PidMode"] = "host" }, "",
		},
		"capabilities": {
			func(c, h map[string]any) { h["CapDrop"] = nil; c["User"] = "0:0" }, "capabilities (CapBnd)",
		},
		"writing": {func(_, h map[string]any) { h["ReadonlyRootfs"] = false }, "writing to /"},
		"mount":   {func(_, h map[string]any) { h["Binds"] = []string{other + ":/opt/other:ro"} }, "mount /opt/other"},
		"kernel":  {func(_, h map[string]any) { h["MaskedPaths"] = []string{} }, "mount /sys/fs/cgroup"},
		"workspace": {
			func(_, h map[string]any) { changeMount(h, insideDir, other) }, "another file or directory at /workspace",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := dishonest(t, test.change)
			_, image := dockerHost(t)
			s, err := New(Options{
				Kind: Docker, Exe: self(t), Program: smallProgram(t), Dir: t.TempDir(), DockerHost: host, DockerImage: image,
			})
			if err != nil {
				t.Fatal(err)
			}
			sp := spec(t, `touch ran`)
			seal(t, &sp)
			r, err := s.Start(t.Context(), sp)
			if err == nil {
				_, _ = r.Wait()
				t.Fatal("it started")
			}
			open, ok := errors.AsType[*OpenError](err)
			if test.want != "" && (!ok || !slices.Contains(open.Open, test.want)) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
			for _, dir := range []string{sp.Dir, other} {
				if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
					t.Error("the program ran")
				}
			}
		})
	}
}

func changeMount(host map[string]any, target, source string) {
	mounts, _ := host["Mounts"].([]any)
	for _, m := range mounts {
		if m, ok := m.(map[string]any); ok && m["Target"] == target {
			m["Source"] = source
		}
	}
}

// A worker that is killed leaves no container for long, and one that was not even started is removed
// by the next worker in the same folder. The containers of other workers stay.
func TestContainersOfAKilledWorkerAreRemoved(t *testing.T) {
	t.Parallel()
	d := openDocker(t)
	m := mark()
	cmd := server(t, Docker, m)
	eventually(t, 20*time.Second, "hostile tree", func() bool { return sleeping(m) == hostileCount })
	state := environmentOf(cmd, "SANDBOX_TEST_STATE")
	theirs := func() int {
		found, err := d.List(t.Context(), folderLabel, state)
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	if got := theirs(); got != 1 {
		t.Fatalf("got %d containers of the worker, want 1", got)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, 10*time.Second, "no process left", func() bool { return len(marked(m)) == 0 })
	eventually(t, 10*time.Second, "no container left", func() bool { return theirs() == 0 })

	neighbor := start(t, d, spec(t, "read wait"))
	if out, err := exec.Command("docker", "-H", d.Host(), "create", "--label", folderLabel+"="+state,
		"--label", processLabel+"=1-1", d.image, "sh").CombinedOutput(); err != nil {
		t.Skipf("no docker command: %v %s", err, out)
	}
	next, err := New(Options{
		Kind: Docker, Exe: self(t), Program: smallProgram(t), Dir: state, DockerHost: d.Host(), DockerImage: d.image,
	})
	if err != nil {
		t.Fatal(err)
	}
	output(t, next, spec(t, "exit 0"))
	if got := theirs(); got != 0 {
		t.Errorf("%d containers are left", got)
	}
	_ = neighbor.Stdin().Close()
	if exit, err := neighbor.Wait(); err != nil || exit.Code > 1 {
		t.Errorf("the other worker's container: %v, %v", exit, err)
	}
}

func environmentOf(cmd *exec.Cmd, key string) (value string) {
	for _, e := range cmd.Env {
		if v, ok := strings.CutPrefix(e, key+"="); ok {
			value = v
		}
	}
	return value
}

// A daemon that is killed takes its trees along, and leaves nothing once it is back.
func TestKilledDaemonEndsTheTree(t *testing.T) {
	t.Parallel()
	daemon := testkit.StartDocker(t)
	daemon.ImportImage(t)
	s, err := New(Options{
		Kind: Docker, Exe: self(t), Program: smallProgram(t), Dir: t.TempDir(), DockerHost: daemon.Host,
		DockerImage: daemon.Image,
	})
	if err != nil {
		t.Fatal(err)
	}
	m := mark()
	sp := spec(t, hostile+`wait`, m)
	seal(t, &sp)
	r := start(t, s, sp)
	eventually(t, 20*time.Second, "hostile tree", func() bool { return sleeping(m) == hostileCount })
	daemon.Kill(t)
	exit, err := r.Wait()
	if err == nil || !strings.Contains(err.Error(), "the Docker daemon ended while the program ran") {
		t.Errorf("got %v, %v, want an error about the daemon", exit, err)
	}
	if left := marked(m); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	if _, err := s.Start(t.Context(), sp); err == nil || !strings.Contains(err.Error(), "does not respond: start it") {
		t.Errorf("a start without the daemon: got %v", err)
	}
	if err := daemon.Restart(); err != nil {
		t.Fatal(err)
	}
	output(t, s, spec(t, "exit 0"))
	if n := daemon.Containers(t); n != 0 {
		t.Errorf("%d containers are left", n)
	}
}

// Docker would give the tree disk that nothing limits.
func TestVolumesOfAnImageAreInMemory(t *testing.T) {
	t.Parallel()
	d := openDocker(t)
	daemon := testkit.SharedDocker(t)
	daemon.Import(t, "penstock-test:volumes", testkit.HostImage(t, "sh", "dd"),
		"VOLUME /data", "VOLUME /tmp", "USER nobody", `ENTRYPOINT ["/no/such"]`, `HEALTHCHECK CMD exit 1`)
	sp := spec(t, `echo x > /data/x && dd if=/dev/zero of=/data/big bs=1M count=400 2>/dev/null; echo over`)
	sp.Image = &Image{Name: "penstock-test:volumes"}
	sp.Limits.Memory = 200 << 20 // with the race detector, this program alone needs 40 MB
	seal(t, &sp)
	result, err := Run(t.Context(), d, sp)
	if err != nil || result.Exceeded != Memory {
		t.Errorf("got %v, %v", result, err)
	}
}

// The daemon may remove the control groups of a container before anybody reads them.
func TestMemoryOfAContainerThatIsGone(t *testing.T) {
	t.Parallel()
	d := openDocker(t)
	daemon := testkit.SharedDocker(t)
	daemon.Import(t, "penstock-test:memory", testkit.HostImage(t, "sh", "dd"))
	for script, want := range map[string]bool{
		"dd if=/dev/zero of=/memory/big bs=1M count=300": true,
		"exit 3": false,
	} {
		c := image.Container{
			Image: "penstock-test:memory", User: "65534:65534", Argv: []string{"sh", "-c", "read x; exec " + script},
			Labels: map[string]string{"penstock-test": penstock.NewID()}, Memory: 64 << 20,
			Tmpfs: map[string]string{"/memory": "size=400m"},
		}
		started, err := d.Daemon.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		started.Close()
		eventually(t, time.Minute, "the container is gone", func() bool {
			left, err := d.List(t.Context(), "penstock-test", c.Labels["penstock-test"])
			return err == nil && len(left) == 0
		})
		if got, err := started.OutOfMemory(t.Context()); err != nil || got != want {
			t.Errorf("%s: out of memory: %v, %v, want %v", script, got, err, want)
		}
	}
}

func TestDockerSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	host, image := dockerHost(t)
	dir := t.TempDir()
	closed := filepath.Join("/tmp", "penstock-"+mark())
	if l, err := net.ListenUnix("unix", &net.UnixAddr{Name: closed, Net: "unix"}); err == nil {
		l.SetUnlinkOnClose(false)
		_ = l.Close()
	}
	t.Cleanup(func() { _ = os.Remove(closed) })
	for name, test := range map[string]struct {
		opts Options
		want string
	}{
		"another machine": {Options{DockerHost: "tcp://192.0.2.1:2375"}, "is not on this machine"},
		"no socket": {
			Options{DockerHost: "unix:///no/docker.sock"},
			"no Docker daemon listens at /no/docker.sock: install and start Docker",
		},
		"nobody listens": {Options{DockerHost: "unix://" + closed}, "does not respond: start it"},
		"no such image": {
			Options{DockerHost: host, DockerImage: "no-such:image"}, "the Docker daemon does not have the image no-such:image",
		},
		"no such runtime": {
			Options{DockerHost: host, DockerImage: image, DockerRuntime: "vm"}, `the Docker daemon has no runtime "vm": it has `,
		},
		"no folder": {Options{DockerHost: host, Dir: "-"}, "needs a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			test.opts.Kind, test.opts.Exe = Docker, self(t)
			if test.opts.Dir == "" {
				test.opts.Dir = dir
			}
			if err := Probe(t.Context(), test.opts); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	s, err := New(Options{Kind: Docker, Exe: self(t), Dir: dir, DockerHost: host})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), spec(t, "exit 0")); err == nil || !strings.Contains(err.Error(), "--docker-image") {
		t.Errorf("without an image: got %v", err)
	}
}

func TestNoPermissionOnTheSocketOfDocker(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may use each socket")
	}
	dir, err := os.MkdirTemp("/tmp", "daemon-") //nolint:usetesting // paths in t.TempDir are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := Listen(dir, "s")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket := filepath.Join(dir, "s")
	if err := os.Chmod(socket, 0); err != nil {
		t.Fatal(err)
	}
	err = Probe(t.Context(), Options{Kind: Docker, Exe: self(t), Dir: dir, DockerHost: "unix://" + socket})
	if err == nil || !strings.Contains(err.Error(), "add the user to its group") {
		t.Errorf("got %v", err)
	}
}

// The usual worker is not root, but in the group of the daemon's socket.
func TestDockerAsAnUnprivilegedUser(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	if os.Getuid() != 0 {
		t.Skip("the tests run as an unprivileged user already")
	}
	host, image := dockerHost(t)
	socket := strings.TrimPrefix(host, "unix://")
	err := errors.Join(os.Chmod(socket, 0o666), os.Chmod(filepath.Dir(socket), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	cmd := asNobody(t, "-test.run", `^(TestStreamsAndExitCode|TestPlaces|TestEnvironmentIsOnlyWhatIsGiven|TestLimitsHold|`+
		`TestASealedProgramReachesItsRelayAlone|TestKillEndsTheWholeTree|TestDockerShows.*|TestAttackProcesses)$/docker?`)
	cmd.Env = append(cmd.Env, "SANDBOX_TEST_DOCKER="+host, "SANDBOX_TEST_IMAGE="+image)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
