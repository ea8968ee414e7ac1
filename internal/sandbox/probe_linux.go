package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Probe runs a trivial command in a sandbox of opts. The error says in one
// sentence why this machine does not have such a sandbox, with what the person
// who runs it can do about it.
func Probe(ctx context.Context, opts Options) error {
	s, err := New(opts)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "penstock-probe-")
	if err != nil {
		return fmt.Errorf("probe %s: %w", s.Kind(), err)
	}
	defer os.RemoveAll(dir)
	work, home := filepath.Join(dir, "work"), filepath.Join(dir, "home")
	if err := errors.Join(os.Mkdir(work, 0o700), os.Mkdir(home, 0o700)); err != nil {
		return fmt.Errorf("probe %s: %w", s.Kind(), err)
	}
	result, err := Run(ctx, s, Spec{Dir: work, Home: home, Argv: []string{"/bin/sh", "-c", "exit 0"}})
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("probe %s: %w", s.Kind(), err)
	case err != nil && s.Kind() == Bubblewrap:
		return fmt.Errorf("bubblewrap cannot create a sandbox: %s (%w)", obstacle(), err)
	case err != nil:
		return err
	case result.Code != 0:
		return fmt.Errorf("a shell does not run in a sandbox of kind %s: %s (%s)",
			s.Kind(), result.Exit, strings.TrimSpace(result.Output))
	}
	return nil
}

// obstacle names what is known to forbid a namespace to bubblewrap.
func obstacle() string {
	for _, o := range []struct{ file, content, says string }{
		{
			"/proc/sys/user/max_user_namespaces", "0",
			"user namespaces are switched off; set sysctl user.max_user_namespaces to 1000 or more",
		},
		{
			"/proc/sys/kernel/unprivileged_userns_clone", "0",
			"user namespaces are forbidden to users other than root; set sysctl kernel.unprivileged_userns_clone=1",
		},
		{
			"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
			"AppArmor forbids user namespaces; set sysctl kernel.apparmor_restrict_unprivileged_userns=0 or give bwrap an " +
				"AppArmor profile that allows userns",
		},
	} {
		if content, err := os.ReadFile(o.file); err == nil && string(bytes.TrimSpace(content)) == o.content {
			return o.says
		}
	}
	if procCovered() {
		return "this container hides parts of /proc, and then the kernel allows no new one; " +
			"run it with --security-opt systempaths=unconfined (Docker) or procMount: Unmasked (Kubernetes), and with a " +
			"seccomp profile that allows user namespaces"
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil && bytes.Contains(status, []byte("\nSeccomp:\t2\n")) {
		return "a seccomp filter may forbid user namespaces; in a container, run it with --security-opt seccomp=unconfined " +
			"or a profile that allows them"
	}
	return "the kernel refused it"
}

// procCovered tells whether something is mounted over parts of /proc, as
// container engines do. A machine's own binfmt_misc hides nothing.
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
