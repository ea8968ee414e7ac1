package sandbox

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The filter lists what it refuses: an allow list breaks tools with each new system call.
// Refusals are errors, never signals, so that programs can fall back to something else.
// Debuggers work: ptrace and process_vm_readv are allowed within a sandbox, whose first
// process and relay are protected by Landlock and by not being dumpable.

// Refused with EPERM, as the kernel refuses them to users without capabilities. Most need
// a capability anyway; here they do not depend on that check alone.
var forbiddenCalls = []uint32{
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
}

// Refused with EPERM unless the operator allows user namespaces, in which they make sense.
var namespaceCalls = []uint32{
	unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2,
	unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
}

// Refused with ENOSYS, as if the kernel did not have them: programs then use something else. The
// flags of clone3 are in memory, where no filter can read them. A user's keyring is one for the
// whole machine, so that trees could read each other's keys, and the keys of the user who runs the
// worker. The operations of io_uring pass by every filter.
var missingCalls = []uint32{
	unix.SYS_CLONE3,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// newNamespaces are the flags that create namespaces. CLONE_NEWTIME is one for unshare only;
// clone reads these bits as the signal at the end of the child.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Offsets in struct seccomp_data (seccomp(2)).
const (
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16
)

var (
	allow      = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	eperm      = refusal(unix.EPERM)
	enosys     = refusal(unix.ENOSYS)
	noFamily   = refusal(unix.EAFNOSUPPORT)
	noProtocol = refusal(unix.EPROTONOSUPPORT)
	argument   = func(i uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offsetArgs + 8*i + lowWord, Size: 4} }
	unless     = func(v uint32, skip uint8) bpf.Instruction {
		return bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: skip}
	}
	equals = func(v uint32, skip uint8) bpf.Instruction {
		return bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: skip}
	}
	withoutBits = func(v uint32, skip uint8) bpf.Instruction {
		return bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: v, SkipTrue: skip}
	}
)

// lowWord is where the lower half of an argument lies; both processors that have a filter are
// little-endian. The kernel ignores the upper half of all arguments that we check.
const lowWord = 0

func refusal(errno unix.Errno) bpf.RetConstant {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)} //nolint:gosec // errors are small numbers
}

// seccompFilter is the filter of every process of a sandbox, as bwrap reads it. It is nil
// for processors that we do not know. sharesUser refuses larger pipes than the kernel makes, because
// their memory counts for the user.
func seccompFilter(userNamespaces, sharesUser bool) []byte {
	if nativeArch == 0 {
		return nil
	}
	program, err := bpf.Assemble(filterProgram(userNamespaces, sharesUser))
	if err != nil {
		panic("sandbox: the seccomp filter cannot be assembled: " + err.Error())
	}
	code := make([]byte, 0, 8*len(program))
	for _, i := range program {
		code = binary.NativeEndian.AppendUint16(code, i.Op)
		code = binary.NativeEndian.AppendUint32(append(code, i.Jt, i.Jf), i.K)
	}
	return code
}

// filterProgram decides by architecture first: a deny list has numbers of one architecture,
// and a 64-bit program can make calls of another one (int 0x80, x32). All of those are
// refused. The kernel remembers which calls are allowed whatever their arguments, so the
// length of the list costs nothing.
func filterProgram(userNamespaces, sharesUser bool) []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		equals(nativeArch, 1), enosys,
		bpf.LoadAbsolute{Off: offsetCall, Size: 4},
		// On amd64, x32 is a bit of the number; elsewhere no number is as high.
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
		enosys,
	}
	on := func(call uint32, then ...bpf.Instruction) {
		p = append(append(p, unless(call, uint8(len(then)))), then...) //nolint:gosec // at most 20
	}
	refuse := func(calls []uint32, with bpf.RetConstant) {
		for _, call := range calls {
			on(call, with)
		}
	}
	refuse(missingCalls, enosys)
	refuse(forbiddenCalls, eperm)
	refuse(forbiddenHere, eperm)
	if !userNamespaces {
		refuse(namespaceCalls, eperm)
		on(unix.SYS_CLONE, argument(0), withoutBits(newNamespaces, 1), eperm, allow)
		on(unix.SYS_UNSHARE, argument(0), withoutBits(newNamespaces|unix.CLONE_NEWTIME, 1), eperm, allow)
	}
	on(unix.SYS_SOCKET, socketRule()...)
	on(unix.SYS_SOCKETPAIR, argument(0), equals(unix.AF_UNIX, 1), noFamily, allow)
	// Both put characters into the input of a terminal.
	on(unix.SYS_IOCTL, argument(1), equals(unix.TIOCSTI, 2), equals(unix.TIOCLINUX, 1), allow, eperm)
	on(unix.SYS_PERSONALITY, personalityRule()...)
	if sharesUser {
		on(unix.SYS_FCNTL, argument(1), equals(unix.F_SETPIPE_SZ, 1), allow, argument(2),
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: defaultPipe, SkipTrue: 1}, allow, eperm)
	}
	return append(p, allow)
}

// socketRule allows unix sockets, the common protocols of the internet and routing netlink,
// by which programs list network interfaces. Other families and protocols are much code
// of the kernel, some with a way out of the network namespace (AF_VSOCK).
func socketRule() []bpf.Instruction {
	protocols := []uint32{
		unix.IPPROTO_IP, unix.IPPROTO_ICMP, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMPV6, unix.IPPROTO_MPTCP,
	}
	internet := []bpf.Instruction{
		argument(1),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf}, // the rest are flags
		unless(unix.SOCK_RAW, 1), eperm,
		argument(2),
	}
	for _, protocol := range protocols {
		internet = append(internet, unless(protocol, 1), allow)
	}
	internet = append(internet, noProtocol)
	return append([]bpf.Instruction{
		argument(0),
		unless(unix.AF_UNIX, 1), allow,
		unless(unix.AF_NETLINK, 4), argument(2), unless(unix.NETLINK_ROUTE, 1), allow, noProtocol,
		equals(unix.AF_INET, 2), equals(unix.AF_INET6, 1), noFamily,
	}, internet...)
}

// personalityRule allows the personalities that setarch and sanitizers use, and the query.
func personalityRule() []bpf.Instruction {
	const linux32, uname26, noRandom, query = 0x8, 0x2_0000, 0x4_0000, 0xffff_ffff
	rule := []bpf.Instruction{argument(0), unless(query, 1), allow}
	return append(rule, withoutBits(^uint32(linux32|uname26|noRandom), 1), eperm, allow)
}

// defaultPipe is the size of a new pipe, in bytes.
const defaultPipe = 64 << 10

// x32Bit marks the system calls of x32, which have the numbers of amd64 otherwise.
const x32Bit = 0x4000_0000
