package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// prey is what the attacks aim at. The secret is reversed, so that its attackers do not hold it.
type prey struct {
	TCP, TCP6, Address, Abstract, File, Socket, Secret string
}

// attackOn is one attack from inside a sealed sandbox.
type attackOn struct {
	attack, stoppedBy string
	// try returns nil if the attack succeeds.
	try func(p prey) error
	// want are the errors by which it may fail.
	want []error
}

const (
	ownNetwork = "a network namespace with nothing but loopback"
	filter     = "the system call filter"
	ownFiles   = "mounts of its own"
	ownTree    = "a process namespace of its own"
	landlock   = "Landlock, and processes that are not dumpable"
	noRights   = "no capabilities"
)

var (
	refused     = []error{unix.ECONNREFUSED}
	unreachable = []error{unix.ENETUNREACH, unix.EADDRNOTAVAIL, unix.EINVAL, unix.EAFNOSUPPORT}
	denied      = []error{unix.EPERM, unix.EACCES}
	absent      = []error{unix.ENOENT}
)

var attacks = map[string][]attackOn{
	"Network": {
		{"TCP to a service of the host on 127.0.0.1", ownNetwork, func(p prey) error { return dialOut("tcp4", p.TCP) }, refused},
		{"TCP to a service of the host on ::1", ownNetwork, func(p prey) error { return dialOut("tcp6", p.TCP6) }, append(refused, unix.EADDRNOTAVAIL)},
		{"TCP to the host's own address", ownNetwork, func(p prey) error { return dialOut("tcp", p.Address) }, unreachable},
		{"an abstract socket of the host", ownNetwork, func(p prey) error { return dialOut("unix", p.Abstract) }, append(refused, unix.EPERM)},
		{"the relay socket of another run", ownFiles, func(p prey) error { return dialOut("unix", p.Socket) }, absent},
		{"UDP to a public address", ownNetwork, func(prey) error { return dialOut("udp4", "198.51.100.1:443") }, unreachable},
		{"UDP to a private address", ownNetwork, func(prey) error { return dialOut("udp4", "10.0.0.1:53") }, unreachable},
		{"UDP to the metadata service", ownNetwork, func(prey) error { return dialOut("udp4", "169.254.169.254:80") }, unreachable},
		{"UDP to a public IPv6 address", ownNetwork, func(prey) error { return dialOut("udp6", "[2001:db8::1]:443") }, unreachable},
		{"UDP to a multicast group", ownNetwork, func(prey) error { return dialOut("udp4", "224.0.0.251:5353") }, unreachable},
		{"DNS to the local resolver", ownNetwork, func(prey) error { return askDNS() }, refused},
		{"raw IP packets", filter, func(prey) error { return openSocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }, denied},
		{"raw frames", filter, func(prey) error { return openSocket(unix.AF_PACKET, unix.SOCK_RAW, 0) }, []error{unix.EAFNOSUPPORT}},
		{"a socket to the hypervisor", filter, func(prey) error { return openSocket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }, []error{unix.EAFNOSUPPORT}},
		{"packet filter rules", filter, func(prey) error { return openSocket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER) }, []error{unix.EPROTONOSUPPORT}},
		{"a new route", noRights, func(prey) error { return netlink(unix.RTM_NEWROUTE, make([]byte, unix.SizeofRtMsg)) }, denied},
		{"a new interface", noRights, func(prey) error { return netlink(unix.RTM_NEWLINK, make([]byte, unix.SizeofIfInfomsg)) }, denied},
		{"a tunnel device", ownFiles, func(prey) error { return openFile("/dev/net/tun", os.O_RDWR) }, absent},
		{"a network by io_uring", filter, func(prey) error { return call(unix.SYS_IO_URING_SETUP, 1, 0) }, []error{unix.ENOSYS}},
	},
	"Kernel": {
		{"a new user namespace", filter, func(prey) error { return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0) }, denied},
		{"a new network namespace", filter, func(prey) error { return call(unix.SYS_UNSHARE, unix.CLONE_NEWNET, 0) }, denied},
		{"clone3, whose flags no filter reads", filter, func(prey) error { return call(unix.SYS_CLONE3, 0, 0) }, []error{unix.ENOSYS}},
		{"the namespaces of the first process", filter, func(prey) error { return enterNamespace("/proc/1/ns/net") }, denied},
		{"its own namespace again", filter, func(prey) error { return enterNamespace("/proc/self/ns/net") }, denied},
		{"a keyring", filter, func(prey) error { return call(unix.SYS_KEYCTL, 0, 0) }, []error{unix.ENOSYS}},
		{"a mount over /etc", filter, func(prey) error { return unix.Mount("none", "/etc", "tmpfs", 0, "") }, denied},
		{"an unmount of /proc/sys", filter, func(prey) error { return unix.Unmount("/proc/sys", unix.MNT_DETACH) }, denied},
		{"a file by its handle", filter, func(prey) error { return call(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0) }, denied},
		{"eBPF", filter, func(prey) error { return call(unix.SYS_BPF, 0, 0) }, denied},
		{"the handler of core dumps", ownFiles, func(prey) error { return openFile("/proc/sys/kernel/core_pattern", os.O_WRONLY) }, append(denied, unix.EROFS)},
		{"the sysrq trigger", ownFiles, func(prey) error { return openFile("/proc/sysrq-trigger", os.O_WRONLY) }, append(denied, unix.EROFS, unix.ENOENT)},
		{"a disk's device", noRights, func(prey) error { return unix.Mknod("/tmp/disk", unix.S_IFBLK|0o600, 0) }, denied},
		{"/sys", ownFiles, func(prey) error { return openFile("/sys/kernel", os.O_RDONLY) }, absent},
	},
	"Processes": {
		{"a canary in another's environment or arguments", ownTree, func(p prey) error { return searchProcesses(reverse(p.Secret)) }, absent},
		{"a process of the host by its number", ownTree, func(prey) error { return unix.Kill(1<<22-1, 0) }, []error{unix.ESRCH}},
		{"tracing bwrap", landlock, func(prey) error { return unix.PtraceAttach(1) }, denied},
		{"tracing the relay", landlock, func(prey) error { return onRelay(unix.PtraceAttach) }, denied},
		{"the root directory of bwrap", landlock, func(prey) error { return openFile("/proc/1/root/", os.O_RDONLY) }, denied},
		{"the memory of bwrap", landlock, func(prey) error { return openFile("/proc/1/mem", os.O_RDONLY) }, denied},
		{"the descriptors of the relay", landlock, func(prey) error {
			return onRelay(func(pid int) error {
				_, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, firstFD))
				return err
			})
		}, denied},
		{"the memory of the relay", landlock, func(prey) error {
			return onRelay(func(pid int) error { return openFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR) })
		}, denied},
		{"killing the relay", "Landlock, on Linux 6.12 and later", func(prey) error {
			if !SeparatesSockets() {
				return unix.EPERM // the worst is that this run loses its own relay
			}
			return onRelay(func(pid int) error { return unix.Kill(pid, unix.SIGKILL) })
		}, denied},
		{"taking over the relay's port", "the relay listens first", func(prey) error {
			l, err := net.Listen("tcp4", RelayAddress)
			if err == nil {
				_ = l.Close()
			}
			return err
		}, []error{unix.EADDRINUSE}},
	},
	"Files": {
		{"a file of the host by its path", ownFiles, func(p prey) error { return openFile(p.File, os.O_RDONLY) }, absent},
		{"a file of the host by a symlink", ownFiles, func(p prey) error {
			return errors.Join(os.Symlink(p.File, "/workspace/link"), openFile("/workspace/link", os.O_RDONLY))
		}, absent},
		{"a file of the host by ..", ownFiles, func(p prey) error { return openFile("/workspace/../../.."+p.File, os.O_RDONLY) }, absent},
		{"replacing the relay's socket", ownFiles, func(prey) error { return os.Remove(insideRelay) }, []error{unix.EROFS, unix.EBUSY}},
		{"the mode of the relay's socket", ownFiles, func(prey) error { return os.Chmod(insideRelay, 0o777) }, []error{unix.EROFS}},
		{"replacing this program", ownFiles, func(prey) error { return openFile(insideExe, os.O_WRONLY) }, append(denied, unix.EROFS, unix.ETXTBSY)},
		{"another resolver", ownFiles, func(prey) error { return openFile("/etc/resolv.conf", os.O_WRONLY) }, append(denied, unix.EROFS)},
		{"the docker socket", ownFiles, func(prey) error { return dialOut("unix", "/run/docker.sock") }, absent},
		{"the system bus", ownFiles, func(prey) error { return dialOut("unix", "/run/dbus/system_bus_socket") }, absent},
	},
}

func dialOut(network, address string) error {
	if network == "" || address == "" {
		return unix.ECONNREFUSED // the host has no such address
	}
	conn, err := net.Dial(network, address)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

func askDNS() error {
	conn, err := net.Dial("udp4", "127.0.0.1:53")
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(make([]byte, 12)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

func openSocket(family, kind, protocol int) error {
	_, err := unix.Socket(family, kind, protocol)
	return err
}

func openFile(path string, flags int) error {
	_, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	return err
}

func call(number, a, b uintptr) error {
	if _, _, errno := unix.RawSyscall(number, a, b, 0); errno != 0 {
		return errno
	}
	return nil
}

func enterNamespace(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Setns(fd, 0)
}

// netlink sends a request to change the network, and returns the kernel's answer.
func netlink(kind uint16, body []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	message := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(body))
	order := binary.NativeEndian
	order.PutUint32(message, uint32(unix.SizeofNlMsghdr+len(body)))
	order.PutUint16(message[4:], kind)
	order.PutUint16(message[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	if err := unix.Sendto(fd, append(message, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, err := unix.Read(fd, answer)
	if err != nil {
		return err
	}
	list, err := syscall.ParseNetlinkMessage(answer[:n])
	if err != nil {
		return err
	}
	if code := int32(order.Uint32(list[0].Data)); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// onRelay calls f with the process of the relay, which is a child of the first process.
func onRelay(f func(pid int) error) error {
	stats, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range stats {
		content, err := os.ReadFile(file)
		if err == nil && strings.HasPrefix(string(content), "penstock\x00enter\x00"+relayArg+"\x00") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return errors.Join(err, f(pid))
		}
	}
	return errors.New("there is no relay")
}

// searchProcesses looks for text in what /proc says of all processes.
func searchProcesses(text string) error {
	for _, name := range []string{"environ", "cmdline", "comm", "maps"} {
		files, _ := filepath.Glob("/proc/[0-9]*/" + name)
		for _, file := range files {
			if content, _ := os.ReadFile(file); strings.Contains(string(content), text) {
				return nil
			}
		}
	}
	return unix.ENOENT
}

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// attack is the part of the attacker. It prints each attack that does not fail as it should.
func attack(args []string) int {
	if args[0] == "relay" {
		conn, err := net.Dial("tcp", RelayAddress)
		if err == nil {
			_, err = io.Copy(os.Stdout, conn)
		}
		fmt.Println()
		return map[bool]int{true: 0, false: 1}[err == nil]
	}
	var p prey
	if err := json.Unmarshal([]byte(args[1]), &p); err != nil {
		fmt.Println(err)
		return 1
	}
	for _, a := range attacks[args[0]] {
		err := a.try(p)
		if err == nil {
			fmt.Printf("%s: succeeds\n", a.attack)
		} else if !slices.ContainsFunc(a.want, func(want error) bool { return errors.Is(err, want) }) {
			fmt.Printf("%s: fails with %v, want %v\n", a.attack, err, a.want)
		}
	}
	return 0
}

// newPrey makes what the attacks aim at, on the host.
func newPrey(t *testing.T) prey {
	t.Helper()
	p := prey{File: filepath.Join(t.TempDir(), "key"), Abstract: "@prey-" + mark(), Secret: reverse("canary-" + mark())}
	for _, listen := range []struct {
		network, address string
		to               *string
	}{
		{"tcp4", "127.0.0.1:0", &p.TCP},
		{"tcp6", "[::1]:0", &p.TCP6},
		{"unix", p.Abstract, &p.Abstract},
	} {
		l, err := net.Listen(listen.network, listen.address)
		if err != nil {
			*listen.to = ""
			continue
		}
		t.Cleanup(func() { _ = l.Close() })
		*listen.to = l.Addr().String()
		if err := dialOut(listen.network, *listen.to); err != nil {
			t.Fatal("the host itself does not reach it:", err)
		}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			p.Address = net.JoinHostPort(ip.IP.String(), "22")
		}
	}
	if err := os.WriteFile(p.File, []byte(reverse(p.Secret)), 0o644); err != nil { //nolint:gosec // only the sandbox protects it
		t.Fatal(err)
	}
	other := spec(t, "")
	seal(t, &other)
	p.Socket = other.Relay
	holder := exec.CommandContext(t.Context(), "sleep", mark())
	holder.Env = []string{"KEY=" + reverse(p.Secret)}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill(); _ = holder.Wait() })
	if err := searchProcesses(reverse(p.Secret)); err != nil {
		t.Fatal("the host itself does not find the secret")
	}
	return p
}

// sally runs a group of attacks in a sealed sandbox.
func sally(t *testing.T, group string) {
	t.Helper()
	t.Parallel()
	s := open(t, Bubblewrap)
	aim, err := json.Marshal(newPrey(t))
	if err != nil {
		t.Fatal(err)
	}
	sp := spec(t, "")
	seal(t, &sp)
	sp.Argv = []string{s.Layout(sp).Exe, "attack", group, string(aim)}
	if got := output(t, s, sp); got != "" {
		t.Error(got)
	}
}

func TestAttackNetwork(t *testing.T)   { sally(t, "Network") }
func TestAttackKernel(t *testing.T)    { sally(t, "Kernel") }
func TestAttackProcesses(t *testing.T) { sally(t, "Processes") }
func TestAttackFiles(t *testing.T)     { sally(t, "Files") }

// An attack that could not succeed anywhere shows nothing.
func TestAttacksSucceedWithoutTheWall(t *testing.T) {
	t.Parallel()
	p := newPrey(t)
	for _, name := range []string{
		"TCP to a service of the host on 127.0.0.1", "an abstract socket of the host", "the relay socket of another run",
		"a canary in another's environment or arguments", "a file of the host by its path",
	} {
		found := false
		for _, group := range attacks {
			for _, a := range group {
				if a.attack == name {
					found = true
					if err := a.try(p); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
		if !found {
			t.Errorf("no attack is called %q", name)
		}
	}
}

// Two runs have two relays with one address, and each reaches its own socket.
func TestAttackRelayOfAnotherRun(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	for _, name := range []string{"one", "other"} {
		sp := spec(t, "")
		listener := seal(t, &sp)
		go func() {
			conn, err := listener.AcceptUnix()
			if err == nil {
				_, _ = conn.Write([]byte(name))
				_ = conn.Close()
			}
		}()
		sp.Argv = []string{s.Layout(sp).Exe, "attack", "relay"}
		if got := output(t, s, sp); got != name+"\n" {
			t.Errorf("got %q, want %q", got, name)
		}
	}
}

// The relay is not a child of the program, and nevertheless ends with it.
func TestAttackLeftoverProcesses(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	m := mark()
	sp := spec(t, `setsid sleep "$1" & (setsid sleep "$1" &) ; echo; read wait`, m)
	seal(t, &sp)
	r := start(t, s, sp)
	if _, err := r.Stdout().Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	tree, ok := r.(*tree)
	if !ok {
		t.Fatal("another kind of sandbox")
	}
	pids := descendants(tree.supervisor.Process.Pid)
	if len(pids) < 6 { // bwrap, init, the shell, the relay, two sleeps
		t.Fatalf("got the processes %v", pids)
	}
	_ = r.Stdin().Close()
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
			t.Errorf("process %d is left: %v", pid, err)
		}
	}
}
