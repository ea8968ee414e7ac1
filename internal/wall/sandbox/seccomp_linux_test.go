package sandbox

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refusedCalls are the calls that fail with any arguments, with their errors.
func refusedCalls() map[uint32]unix.Errno {
	refused := map[uint32]unix.Errno{}
	for _, call := range missingCalls {
		refused[call] = unix.ENOSYS
	}
	for _, calls := range [][]uint32{forbiddenCalls, forbiddenHere, namespaceCalls} {
		for _, call := range calls {
			refused[call] = unix.EPERM
		}
	}
	return refused
}

// decide runs the filter for one call. The VM reads big-endian words.
func decide(t *testing.T, vm *bpf.VM, arch, call uint32, args ...uint32) int {
	t.Helper()
	data := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, call), arch)
	data = append(data, make([]byte, 8)...)
	for i := range 6 {
		word := uint32(0)
		if i < len(args) {
			word = args[i]
		}
		data = append(binary.BigEndian.AppendUint32(data, word), 0xff, 0xff, 0xff, 0xff) // the kernel ignores the upper half
	}
	result, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func filterVM(t *testing.T, userNamespaces bool) *bpf.VM {
	t.Helper()
	if nativeArch == 0 {
		t.Skip("there is no filter for " + runtime.GOARCH)
	}
	vm, err := bpf.NewVM(filterProgram(userNamespaces, true))
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

func TestFilterRefusesTheListedCallsAndNoOther(t *testing.T) {
	t.Parallel()
	vm, refused := filterVM(t, false), refusedCalls()
	withRules := map[uint32]bool{unix.SYS_SOCKET: true, unix.SYS_SOCKETPAIR: true}
	for call := range uint32(1000) {
		want := unix.SECCOMP_RET_ALLOW
		if errno, ok := refused[call]; ok {
			want = unix.SECCOMP_RET_ERRNO | int(errno)
		}
		if got := decide(t, vm, nativeArch, call); got != want && !withRules[call] {
			t.Errorf("call %d: got %#x, want %#x", call, got, want)
		}
	}
}

// A list of numbers does not cover architectures with other numbers.
func TestFilterRefusesEveryCallOfForeignArchitectures(t *testing.T) {
	t.Parallel()
	vm, want := filterVM(t, false), unix.SECCOMP_RET_ERRNO|int(unix.ENOSYS)
	for _, arch := range []uint32{
		unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_AARCH64, unix.AUDIT_ARCH_ARM,
		unix.AUDIT_ARCH_ARMEB, unix.AUDIT_ARCH_RISCV64, unix.AUDIT_ARCH_S390X, 0,
	} {
		for call := range uint32(1000) {
			for _, call := range []uint32{call, x32Bit | call, ^call} {
				if arch == nativeArch && call < x32Bit {
					continue
				}
				if got := decide(t, vm, arch, call); got != want {
					t.Errorf("call %#x of %#x: got %#x, want %#x", call, arch, got, want)
				}
			}
		}
	}
}

func TestFilterChecksArguments(t *testing.T) {
	t.Parallel()
	const allowed = unix.Errno(0)
	strict, lax := filterVM(t, false), filterVM(t, true)
	for name, test := range map[string]struct {
		call    uint32
		args    []uint32
		want    unix.Errno
		wantLax unix.Errno // if the operator allows user namespaces
	}{
		"a thread":            {unix.SYS_CLONE, []uint32{0x3d0f00}, allowed, allowed},
		"a process":           {unix.SYS_CLONE, []uint32{uint32(unix.SIGCHLD)}, allowed, allowed},
		"a user namespace":    {unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER | 17}, unix.EPERM, allowed},
		"a network namespace": {unix.SYS_CLONE, []uint32{unix.CLONE_NEWNET | unix.CLONE_NEWUSER}, unix.EPERM, allowed},
		"unshare files":       {unix.SYS_UNSHARE, []uint32{unix.CLONE_FILES}, allowed, allowed},
		"unshare users":       {unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWUSER}, unix.EPERM, allowed},
		"unshare time":        {unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWTIME}, unix.EPERM, allowed},
		"a mount":             {unix.SYS_MOUNT, nil, unix.EPERM, allowed},
		"a larger pipe":       {unix.SYS_FCNTL, []uint32{3, unix.F_SETPIPE_SZ, 1 << 20}, unix.EPERM, unix.EPERM},
		"a usual pipe":        {unix.SYS_FCNTL, []uint32{3, unix.F_SETPIPE_SZ, 64 << 10}, allowed, allowed},
		"another fcntl":       {unix.SYS_FCNTL, []uint32{3, unix.F_SETFL, 1 << 20}, allowed, allowed},
		"bpf":                 {unix.SYS_BPF, nil, unix.EPERM, unix.EPERM},
		"TCP": {
			unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, allowed, allowed,
		},
		"UDP over IPv6": {
			unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP}, allowed, allowed,
		},
		"multipath TCP": {
			unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, allowed, allowed,
		},
		"unix": {unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}, allowed, allowed},
		"route netlink": {
			unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allowed, allowed,
		},
		"netfilter netlink": {
			unix.SYS_SOCKET,
			[]uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
			unix.EPROTONOSUPPORT, unix.EPROTONOSUPPORT,
		},
		"raw IP": {
			unix.SYS_SOCKET,
			[]uint32{unix.AF_INET, unix.SOCK_RAW | unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP},
			unix.EPERM, unix.EPERM,
		},
		"SCTP": {
			unix.SYS_SOCKET,
			[]uint32{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP},
			unix.EPROTONOSUPPORT, unix.EPROTONOSUPPORT,
		},
		"vsock": {
			unix.SYS_SOCKET, []uint32{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, unix.EAFNOSUPPORT, unix.EAFNOSUPPORT,
		},
		"packet": {
			unix.SYS_SOCKET, []uint32{unix.AF_PACKET, unix.SOCK_RAW, 0}, unix.EAFNOSUPPORT, unix.EAFNOSUPPORT,
		},
		"the kernel's crypto": {
			unix.SYS_SOCKET, []uint32{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, unix.EAFNOSUPPORT, unix.EAFNOSUPPORT,
		},
		"a pair":                {unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX}, allowed, allowed},
		"a pair of TIPC":        {unix.SYS_SOCKETPAIR, []uint32{unix.AF_TIPC}, unix.EAFNOSUPPORT, unix.EAFNOSUPPORT},
		"the size of terminal":  {unix.SYS_IOCTL, []uint32{0, unix.TIOCGWINSZ}, allowed, allowed},
		"input of a terminal":   {unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, unix.EPERM, unix.EPERM},
		"paste into a console":  {unix.SYS_IOCTL, []uint32{0, unix.TIOCLINUX}, unix.EPERM, unix.EPERM},
		"the personality":       {unix.SYS_PERSONALITY, []uint32{0xffff_ffff}, allowed, allowed},
		"addresses not random":  {unix.SYS_PERSONALITY, []uint32{0x4_0000}, allowed, allowed},
		"a foreign personality": {unix.SYS_PERSONALITY, []uint32{0x6}, unix.EPERM, unix.EPERM},
		"read implies exec":     {unix.SYS_PERSONALITY, []uint32{0x40_0000}, unix.EPERM, unix.EPERM},
	} {
		for vm, errno := range map[*bpf.VM]unix.Errno{strict: test.want, lax: test.wantLax} {
			want := unix.SECCOMP_RET_ALLOW
			if errno != allowed {
				want = unix.SECCOMP_RET_ERRNO | int(errno)
			}
			if got := decide(t, vm, nativeArch, test.call, test.args...); got != want {
				t.Errorf("%s: got %#x, want %#x", name, got, want)
			}
		}
	}
}

// makeCalls makes each refused call and prints the calls with a wrong result.
func makeCalls() {
	for call, want := range maps.All(refusedCalls()) {
		if _, _, errno := unix.RawSyscall6(uintptr(call), 0, 0, 0, 0, 0, 0); errno != want {
			fmt.Println("call", call, "has the result", errno)
		}
	}
	fmt.Println("done")
}

func TestRefusedCallsFailInASandbox(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	if nativeArch == 0 {
		t.Skip("there is no filter for " + runtime.GOARCH)
	}
	sp := spec(t, "")
	sp.Argv = []string{s.Layout(sp).Exe, "calls"}
	if got := output(t, s, sp); got != "done\n" {
		t.Error(got)
	}
}

// A 64-bit program can make 32-bit calls (int 0x80) and x32 calls, which have other numbers.
func TestCallsOfForeignArchitecturesFailInASandbox(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the programs are for amd64")
	}
	s := open(t, Bubblewrap)
	for name, call := range map[string][]byte{
		"getpid of i386": {0xb8, 20, 0, 0, 0, 0xcd, 0x80},         // mov eax, 20; int 0x80
		"keyctl of i386": {0xb8, 0x20, 0x01, 0, 0, 0xcd, 0x80},    // mov eax, 288; int 0x80
		"getpid of x32":  {0xb8, 0x27, 0x00, 0, 0x40, 0x0f, 0x05}, // mov eax, 0x40000027; syscall
		"keyctl of x32":  {0xb8, 0xfa, 0x00, 0, 0x40, 0x0f, 0x05}, // mov eax, 0x400000fa; syscall
	} {
		// The script copies the file, because a fork of another test may still hold open a file
		// that this process writes.
		sp := spec(t, `cp code call && chmod 700 call; exec ./call`)
		if err := os.WriteFile(filepath.Join(sp.Dir, "code"), exitWithErrno(t, call), 0o600); err != nil {
			t.Fatal(err)
		}
		result, err := Run(t.Context(), s, sp)
		if err == nil && result.Code == 128+int(unix.SIGSEGV) {
			t.Logf("%s: this kernel has no such calls", name)
			continue
		}
		if err != nil || result.Code != int(unix.ENOSYS) {
			t.Errorf("%s fails with error %v (%v), want %d", name, result.Exit, err, unix.ENOSYS)
		}
	}
}

// exitWithErrno is a 64-bit program that makes a call and exits with its negated result.
func exitWithErrno(t *testing.T, call []byte) []byte {
	t.Helper()
	code := append(bytes.Clone(call),
		0xf7, 0xd8, // neg eax
		0x89, 0xc7, // mov edi, eax
		0xb8, 60, 0, 0, 0, // mov eax, 60: exit
		0x0f, 0x05, // syscall
	)
	const base, header, segment = 0x400000, 64, 56
	size := uint64(header + segment + len(code))
	var file bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
			Entry: base + header + segment, Phoff: header, Ehsize: header, Phentsize: segment, Phnum: 1,
		},
		elf.Prog64{
			Type: uint32(elf.PT_LOAD), Vaddr: base, Paddr: base, Flags: uint32(elf.PF_R | elf.PF_X), Align: 0x1000,
			Filesz: size, Memsz: size,
		},
		code,
	} {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return file.Bytes()
}
