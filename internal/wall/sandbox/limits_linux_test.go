package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// limited is a sandbox on a machine on which all limits work.
func limited(t *testing.T, s Sandbox) *limiter {
	t.Helper()
	var l *limiter
	switch s := s.(type) {
	case *bubblewrap:
		l = s.limits
	case *process:
		l = s.limits
	case *dockerKind:
		can, err := s.ready(t.Context())
		if err != nil || !can.Memory || !can.Processes || !can.CPUs {
			t.Skipf("not everything can be limited here: %v, %v", can, err)
		}
		return nil
	}
	for _, name := range []string{"memory", "pids", "cpu"} {
		if _, ok := l.controllers[name]; !ok {
			t.Skipf("controller %s cannot be used here: %s", name, l.reason)
		}
	}
	return l
}

// leftBy lists the control groups or containers that a sandbox has created and not removed.
func leftBy(t *testing.T, s Sandbox) []string {
	t.Helper()
	if d, ok := s.(*dockerKind); ok {
		return containersOf(t, d)
	}
	return groupsOf(limited(t, s))
}

// groupsOf lists the groups that a limiter has created and not removed.
func groupsOf(l *limiter) (dirs []string) {
	for _, c := range l.controllers {
		found, _ := filepath.Glob(filepath.Join(c.parent, groupPrefix+l.owner+"-*"))
		dirs = append(dirs, found...)
	}
	return dirs
}

func TestLimitsHold(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		limited(t, s)
		for name, test := range map[string]struct {
			limits Limits
			script string
			says   string
			ended  func(Result) bool
		}{
			"memory": {
				Limits{Memory: 128 << 20},
				`head -c 300M /dev/zero | tail`, "128 MiB of memory",
				func(r Result) bool { return r.Exceeded == Memory },
			},
			"memory in a file": {
				Limits{Memory: 128 << 20},
				`[ "$HOME" = /home/agent ] || exec head -c 300M /dev/zero | tail; head -c 300M /dev/zero > /tmp/big`,
				"128 MiB of memory",
				func(r Result) bool { return r.Exceeded == Memory },
			},
			"memory that is enough": {
				Limits{Memory: 256 << 20},
				`head -c 30M /dev/zero | tail | wc -c`, "256 MiB of memory",
				func(r Result) bool { return r.Code == 0 && r.Exceeded == "" && r.Output == "31457280\n" },
			},
			"processes": {
				Limits{Processes: 20},
				`for i in $(seq 1 200); do sleep 100 & done`, "20 processes",
				func(r Result) bool { return r.Code != 0 && strings.Contains(r.Output, "fork") },
			},
			"all of them": {
				Limits{Memory: 1 << 30, Processes: 50, CPUs: 1.5},
				`exit 0`, "1024 MiB of memory, 50 processes, 1.5 CPUs",
				func(r Result) bool { return r.Code == 0 },
			},
			"none": {
				Limits{},
				`exit 0`, "no limits set",
				func(r Result) bool { return r.Code == 0 },
			},
		} {
			t.Run(name, func(t *testing.T) {
				sp := spec(t, test.script)
				sp.Limits = test.limits
				result, err := Run(t.Context(), s, sp)
				if err != nil || !test.ended(result) {
					t.Errorf("got %v, %v, output %q", result.Exit, err, result.Output)
				}
				if !strings.HasSuffix(result.Limits, test.says) {
					t.Errorf("got limits %q, want %q at the end", result.Limits, test.says)
				}
			})
		}
		if left := leftBy(t, s); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

func TestFailedStartLeavesNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		if s.Kind() == Process {
			t.Skip("it starts nothing that could fail")
		}
		limited(t, s)
		sp := spec(t, "exit 0")
		sp.ReadOnly = []Mount{{Source: filepath.Join(sp.Dir, "missing")}}
		sp.Limits = Limits{Memory: 1 << 30, Processes: 50, CPUs: 1}
		if _, err := s.Start(t.Context(), sp); err == nil || !strings.Contains(err.Error(), "missing") {
			t.Errorf("got %v, want an error with the folder", err)
		}
		if left := leftBy(t, s); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// The next server removes the groups of a killed one.
func TestGroupsOfAKilledServerAreRemoved(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		if s.Kind() == Docker {
			t.Skip("the daemon makes the groups")
		}
		parent := limited(t, s).controllers["pids"].parent
		m := mark()
		cmd := server(t, s.Kind(), m, "SANDBOX_TEST_PROCESSES=200")
		eventually(t, 10*time.Second, "hostile tree", func() bool { return sleeping(m) == hostileCount })
		theirs := func() []string {
			dirs, _ := filepath.Glob(filepath.Join(parent, fmt.Sprintf("%s%d-*", groupPrefix, cmd.Process.Pid)))
			return dirs
		}
		if got := theirs(); len(got) != 1 {
			t.Fatalf("got groups %v, want one", got)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		newLimiter()
		if got := theirs(); len(got) > 0 || len(marked(m)) > 0 {
			t.Errorf("left: groups %v, processes %v", got, marked(m))
		}
	})
}

func TestHierarchies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mountinfo, cgroup string
		want              []hierarchy
	}{
		"version 2 alone, under systemd": {
			"29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			"0::/system.slice/penstock.service\n",
			[]hierarchy{{dir: "/sys/fs/cgroup/system.slice/penstock.service", v2: true}},
		},
		"version 2 in a container with a namespace of its own": {
			"900 890 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n",
			"0::/\n",
			[]hierarchy{{dir: "/sys/fs/cgroup", v2: true}},
		},
		"version 1 in a container": {
			"35 30 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
				"36 30 0:31 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
			"5:pids:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n",
			[]hierarchy{
				{dir: "/sys/fs/cgroup/cpu,cpuacct", controllers: []string{"cpu", "cpuacct"}},
				{dir: "/sys/fs/cgroup/pids", controllers: []string{"pids"}},
			},
		},
		"a group outside of what is mounted": {
			"36 30 0:31 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
			"5:pids:/docker/other\n",
			nil,
		},
		"none": {"29 23 0:26 / /proc rw - proc proc rw\n", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := hierarchies([]byte(test.mountinfo), []byte(test.cgroup))
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(hierarchy{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Ordinary files represent a machine with control groups version 2. The test checks which files get
// which values.
func TestVersion2Settings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"cgroup.controllers": "cpuset cpu io memory pids\n", "cgroup.subtree_control": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := &limiter{controllers: map[string]controller{}, owner: "1-2"}
	l.add(hierarchy{dir: filepath.Join(dir, serverGroup), v2: true})
	if got, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control")); err != nil ||
		string(got) != "+cpu +memory +pids" {
		t.Errorf("got subtree_control %q, %v", got, err)
	}
	group := t.TempDir()
	files := []string{"memory.max", "memory.swap.max", "pids.max", "cpu.max"}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(group, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range settings(Limits{Memory: 1 << 30, Processes: 100, CPUs: 0.5}) {
		if err := s.apply(l.controllers[s.controller].v2, group); err != nil {
			t.Errorf("%s: %v", s.controller, err)
		}
	}
	var got bytes.Buffer
	for _, name := range files {
		content, _ := os.ReadFile(filepath.Join(group, name))
		fmt.Fprintf(&got, "%s: %s\n", name, content)
	}
	want := "memory.max: 1073741824\nmemory.swap.max: 0\npids.max: 116\ncpu.max: 50000 100000\n"
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}
