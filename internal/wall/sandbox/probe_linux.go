package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Probe runs a trivial command in a sandbox of opts. Unless opts.AllowOpenNetwork is set, the
// sandbox is sealed. The error says in one sentence why this machine cannot have such a sandbox
// and what its operator can do about it. Of the kind Docker without opts.DockerImage, it tries the
// daemon alone.
func Probe(ctx context.Context, opts Options) error {
	s, err := New(opts)
	if err != nil {
		return err
	}
	if d, ok := s.(*dockerKind); ok && d.image == "" {
		_, err := d.ready(ctx)
		return err
	}
	if opts.Dir != "" {
		err = os.MkdirAll(opts.Dir, 0o700)
	}
	var dir string
	if err == nil {
		dir, err = os.MkdirTemp(opts.Dir, "penstock-probe-")
	}
	if err != nil {
		return fmt.Errorf("probe %s: %w", s.Kind(), err)
	}
	defer os.RemoveAll(dir)
	work, home, relays := filepath.Join(dir, "work"), filepath.Join(dir, "home"), filepath.Join(dir, "relay")
	if err := errors.Join(os.Mkdir(work, 0o700), os.Mkdir(home, 0o700), os.Mkdir(relays, 0o700)); err != nil {
		return fmt.Errorf("probe %s: %w", s.Kind(), err)
	}
	spec := Spec{Dir: work, Home: home, Argv: []string{"/bin/sh", "-c", "exit 0"}}
	if !opts.AllowOpenNetwork {
		spec.Relay = filepath.Join(relays, "s")
		listener, err := Listen(relays, filepath.Base(spec.Relay))
		if err != nil {
			return fmt.Errorf("probe %s: %w", s.Kind(), err)
		}
		defer listener.Close()
	}
	result, err := Run(ctx, s, spec)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("probe %s: %w", s.Kind(), err)
	case errors.Is(err, errNoDisable):
		return err
	case err != nil && s.Kind() == Bubblewrap:
		return whyNot(ctx, s, spec, err)
	case err != nil:
		return err
	case result.Code != 0:
		return fmt.Errorf("a shell does not run in a sandbox of kind %s: %s (%s)",
			s.Kind(), result.Exit, strings.TrimSpace(result.Output))
	}
	return nil
}

// whyNot finds out whether bubblewrap cannot work here, or only cannot seal a tree.
func whyNot(ctx context.Context, s Sandbox, spec Spec, failed error) error {
	if spec.Relay != "" {
		spec.Relay = ""
		if _, err := Run(ctx, s, spec); err == nil {
			return fmt.Errorf("bubblewrap cannot seal a sandbox: %s, or accept runs with the network of this machine with "+
				"--allow-open-network (%w)", networkObstacle(ctx), failed)
		}
	}
	return fmt.Errorf("bubblewrap cannot create a sandbox: %s (%w)", obstacle(ctx), failed)
}

// prohibition is a file of the kernel with a value that forbids namespaces.
type prohibition struct{ file, content, says string }

// forbidding returns the text of the first prohibition that this machine has.
func forbidding(list []prohibition) string {
	for _, s := range list {
		if content, err := os.ReadFile(s.file); err == nil && string(bytes.TrimSpace(content)) == s.content {
			return s.says
		}
	}
	return ""
}

const (
	userns   = "/proc/sys/kernel/unprivileged_userns_clone"
	apparmor = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
	// asService follows what a service manager or container engine may forbid.
	asService = "in a systemd service, set RestrictNamespaces=no, ProtectKernelTunables=no, ProtectKernelLogs=no and " +
		"ProcSubset=all, and let SystemCallFilter= include @mount"
	withProfile = "give penstock the AppArmor profile in deploy/apparmor, or set sysctl " +
		"kernel.apparmor_restrict_unprivileged_userns=0"
	asContainer = "in a container, run it with --security-opt seccomp=unconfined or a profile that allows them"
)

// obstacle names a known reason for which bwrap cannot create namespaces, and the remedy.
func obstacle(ctx context.Context) string {
	known := forbidding([]prohibition{
		{
			"/proc/sys/user/max_user_namespaces", "0",
			"user namespaces are switched off; set sysctl user.max_user_namespaces to 1000 or more",
		},
		{
			userns, "0",
			"user namespaces are forbidden to users other than root; set sysctl kernel.unprivileged_userns_clone=1",
		},
		{
			apparmor, "1",
			"AppArmor forbids user namespaces; " + withProfile,
		},
	})
	switch {
	case known != "":
		return known
	case !canUnshare(ctx, unix.CLONE_NEWUSER) && filtered():
		return "a seccomp filter forbids user namespaces; " + asService + "; " + asContainer
	case procCovered():
		return "parts of /proc are hidden here, and then the kernel allows no new one; in a container, " +
			"run it with --security-opt systempaths=unconfined (Docker) or procMount: Unmasked (Kubernetes), and with a " +
			"seccomp profile that allows user namespaces; " + asService
	case filtered():
		return "a seccomp filter may forbid namespaces or mounts; " + asService + "; " + asContainer
	}
	return "the kernel refused it"
}

// networkObstacle names a known reason for which bwrap cannot create a network namespace with a
// loopback interface, and the remedy.
func networkObstacle(ctx context.Context) string {
	known := forbidding([]prohibition{
		{
			"/proc/sys/user/max_net_namespaces", "0",
			"network namespaces are switched off; set sysctl user.max_net_namespaces to 1000 or more",
		},
		{
			apparmor, "1",
			"AppArmor lets no program bring up a loopback interface in a user namespace; " + withProfile,
		},
	})
	switch {
	case known != "":
		return known
	case !canUnshare(ctx, unix.CLONE_NEWUSER|unix.CLONE_NEWNET):
		return "network namespaces are forbidden; in a systemd service, set RestrictNamespaces=no; " + asContainer
	case !hasNetlink():
		return "netlink sockets are forbidden, so that no loopback interface can be brought up; in a systemd service, add " +
			"AF_NETLINK, AF_UNIX, AF_INET and AF_INET6 to RestrictAddressFamilies="
	}
	return "see the reason in parentheses"
}

// canUnshare tries to start a program in new namespaces.
func canUnshare(ctx context.Context, namespaces uintptr) bool {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "exit 0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	return cmd.Run() == nil
}

func hasNetlink() bool {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil
}

// filtered reports whether a seccomp filter restricts this process.
func filtered() bool {
	status, err := os.ReadFile("/proc/self/status")
	return err == nil && bytes.Contains(status, []byte("\nSeccomp:\t2\n"))
}

// procCovered reports whether something is mounted over parts of /proc, as container engines
// and systemd do. A machine's own binfmt_misc hides nothing.
func procCovered() bool {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) > 4 && strings.HasPrefix(f[4], "/proc/") && f[4] != "/proc/sys/fs/binfmt_misc" {
			return true
		}
	}
	return false
}
