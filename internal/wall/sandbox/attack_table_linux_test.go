package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// prey is the target of the attacks. The secret is reversed, so that the attackers' processes do
// not contain it.
type prey struct {
	TCP      string `json:"tcp"`
	TCP6     string `json:"tcp6"`
	Address  string `json:"address"`
	Abstract string `json:"abstract"`
	File     string `json:"file"`
	Socket   string `json:"socket"`
	Secret   string `json:"secret"`
}

// attackOn is one attack from inside a sealed sandbox.
type attackOn struct {
	attack, stoppedBy string
	// try returns nil if the attack succeeds.
	try func(p prey) error
	// want lists the errors with which it may fail.
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
		{
			"TCP to a service of the host on 127.0.0.1", ownNetwork,
			func(p prey) error { return dialOut("tcp4", p.TCP) },
			refused,
		},
		{
			"TCP to a service of the host on ::1", ownNetwork,
			func(p prey) error { return dialOut("tcp6", p.TCP6) },
			append(refused, unix.EADDRNOTAVAIL),
		},
		{
			"TCP to the host's own address", ownNetwork,
			func(p prey) error { return dialOut("tcp", p.Address) },
			unreachable,
		},
		{
			"an abstract socket of the host", ownNetwork,
			func(p prey) error { return dialOut("unix", p.Abstract) },
			append(refused, unix.EPERM),
		},
		{
			"the relay socket of another run", ownFiles,
			func(p prey) error { return dialOut("unix", p.Socket) },
			absent,
		},
		{
			"UDP to a public address", ownNetwork,
			func(prey) error { return dialOut("udp4", "198.51.100.1:443") },
			unreachable,
		},
		{
			"UDP to a private address", ownNetwork,
			func(prey) error { return dialOut("udp4", "10.0.0.1:53") },
			unreachable,
		},
		{
			"UDP to the metadata service", ownNetwork,
			func(prey) error { return dialOut("udp4", "169.254.169.254:80") },
			unreachable,
		},
		{
			"UDP to a public IPv6 address", ownNetwork,
			func(prey) error { return dialOut("udp6", "[2001:db8::1]:443") },
			unreachable,
		},
		{
			"UDP to a multicast group", ownNetwork,
			func(prey) error { return dialOut("udp4", "224.0.0.251:5353") },
			unreachable,
		},
		{"DNS to the local resolver", ownNetwork, func(prey) error { return askDNS() }, refused},
		{
			"raw IP packets", filter,
			func(prey) error { return openSocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
			denied,
		},
		{
			"raw frames", filter,
			func(prey) error { return openSocket(unix.AF_PACKET, unix.SOCK_RAW, 0) },
			[]error{unix.EAFNOSUPPORT},
		},
		{
			"a socket to the hypervisor", filter,
			func(prey) error { return openSocket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
			[]error{unix.EAFNOSUPPORT},
		},
		{
			"packet filter rules", filter,
			func(prey) error { return openSocket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER) },
			[]error{unix.EPROTONOSUPPORT},
		},
		{
			"a new route", noRights,
			func(prey) error { return netlink(unix.RTM_NEWROUTE, make([]byte, unix.SizeofRtMsg)) },
			denied,
		},
		{
			"a new interface", noRights,
			func(prey) error { return netlink(unix.RTM_NEWLINK, make([]byte, unix.SizeofIfInfomsg)) },
			denied,
		},
		{"a tunnel device", ownFiles, func(prey) error { return openFile("/dev/net/tun", os.O_RDWR) }, absent},
		{
			"a network by io_uring", filter,
			func(prey) error { return call(unix.SYS_IO_URING_SETUP, 1) },
			[]error{unix.ENOSYS},
		},
	},
	"Kernel": {
		{
			"a new user namespace", filter,
			func(prey) error { return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)) },
			denied,
		},
		{
			"a new network namespace", filter,
			func(prey) error { return call(unix.SYS_UNSHARE, unix.CLONE_NEWNET) },
			denied,
		},
		{
			"clone3, whose flags no filter reads", filter,
			func(prey) error { return call(unix.SYS_CLONE3, 0) },
			[]error{unix.ENOSYS},
		},
		{
			"the namespaces of the first process", filter,
			func(prey) error { return enterNamespace("/proc/1/ns/net") },
			denied,
		},
		{"its own namespace again", filter, func(prey) error { return enterNamespace("/proc/self/ns/net") }, denied},
		{"a keyring", filter, func(prey) error { return call(unix.SYS_KEYCTL, 0) }, []error{unix.ENOSYS}},
		{"a mount over /etc", filter, func(prey) error { return unix.Mount("none", "/etc", "tmpfs", 0, "") }, denied},
		{
			"an unmount of /proc/sys", filter,
			func(prey) error { return unix.Unmount("/proc/sys", unix.MNT_DETACH) },
			denied,
		},
		{"a file by its handle", filter, func(prey) error { return call(unix.SYS_OPEN_BY_HANDLE_AT, 0) }, denied},
		{"eBPF", filter, func(prey) error { return call(unix.SYS_BPF, 0) }, denied},
		{
			"the handler of core dumps", ownFiles,
			func(prey) error { return openFile("/proc/sys/kernel/core_pattern", os.O_WRONLY) },
			append(denied, unix.EROFS),
		},
		{
			"what only root may read in /proc", ownFiles,
			func(prey) error { return readOfRoot() },
			absent,
		},
		{
			"the sysrq trigger", ownFiles,
			func(prey) error { return openFile("/proc/sysrq-trigger", os.O_WRONLY) },
			append(denied, unix.EROFS, unix.ENOENT),
		},
		{
			"a disk's device", noRights,
			func(prey) error { return unix.Mknod("/tmp/disk", unix.S_IFBLK|0o600, 0) },
			denied,
		},
		{"/sys", ownFiles, func(prey) error { return openFile("/sys/kernel", os.O_RDONLY) }, absent},
	},
	"Processes": {
		{
			"a canary in another's environment or arguments", ownTree,
			func(p prey) error { return searchProcesses(reverse(p.Secret)) },
			absent,
		},
		{
			"a process of the host by its number", ownTree,
			func(prey) error { return unix.Kill(1<<22-1, 0) },
			[]error{unix.ESRCH},
		},
		{"tracing bwrap", landlock, func(prey) error { return unix.PtraceAttach(1) }, denied},
		{"tracing the relay", landlock, func(prey) error { return onRelay(unix.PtraceAttach) }, denied},
		{
			"the root directory of bwrap", landlock,
			func(prey) error { return openFile("/proc/1/root/", os.O_RDONLY) },
			denied,
		},
		{"the memory of bwrap", landlock, func(prey) error { return openFile("/proc/1/mem", os.O_RDONLY) }, denied},
		{"the descriptors of the relay", landlock, func(prey) error {
			return onRelay(func(pid int) (failed error) {
				for fd := range 20 {
					_, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
					if err == nil {
						return nil
					}
					if failed == nil || !errors.Is(err, unix.ENOENT) {
						failed = err
					}
				}
				return failed
			})
		}, denied},
		{"the memory of the relay", landlock, func(prey) error {
			return onRelay(func(pid int) error { return openFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR) })
		}, denied},
		{"killing the relay", "Landlock, on Linux 6.12 and later", func(prey) error {
			if !SeparatesSockets() {
				return unix.EPERM // at worst, this run loses its own relay
			}
			return onRelay(func(pid int) error { return unix.Kill(pid, unix.SIGKILL) })
		}, denied},
		{"taking over the relay's port", "the relay listens first", func(prey) error {
			l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", RelayAddress)
			if err == nil {
				_ = l.Close()
			}
			return err
		}, []error{unix.EADDRINUSE}},
	},
	"Files": {
		{
			"a file of the host by its path", ownFiles,
			func(p prey) error { return openFile(p.File, os.O_RDONLY) },
			absent,
		},
		{"a file of the host by a symlink", ownFiles, func(p prey) error {
			return errors.Join(os.Symlink(p.File, "/workspace/link"), openFile("/workspace/link", os.O_RDONLY))
		}, absent},
		{
			"a file of the host by ..", ownFiles,
			func(p prey) error { return openFile("/workspace/../../.."+p.File, os.O_RDONLY) },
			absent,
		},
		{
			"replacing the relay's socket", ownFiles,
			func(prey) error { return os.Remove(inside.RelaySocket) },
			[]error{unix.EROFS, unix.EBUSY},
		},
		{
			"the mode of the relay's socket", ownFiles,
			func(prey) error { return os.Chmod(inside.RelaySocket, 0o777) },
			[]error{unix.EROFS},
		},
		{
			"replacing this program", ownFiles,
			func(prey) error { return openFile(insideExe, os.O_WRONLY) },
			append(denied, unix.EROFS, unix.ETXTBSY),
		},
		{
			"replacing the supervisor's program", ownFiles,
			func(prey) error { return openFile(insideProgram, os.O_WRONLY) },
			append(denied, unix.EROFS, unix.ETXTBSY),
		},
		{
			"another resolver", ownFiles,
			func(prey) error { return openFile("/etc/resolv.conf", os.O_WRONLY) },
			append(denied, unix.EROFS),
		},
		{"the docker socket", ownFiles, func(prey) error { return dialOut("unix", "/run/docker.sock") }, absent},
		{
			"the system bus", ownFiles,
			func(prey) error { return dialOut("unix", "/run/dbus/system_bus_socket") },
			absent,
		},
	},
}
