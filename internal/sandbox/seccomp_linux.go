package sandbox

import (
	"encoding/binary"
	"runtime"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// keyCalls are add_key, request_key and keyctl, which have consecutive numbers, for each
// kind of program that a processor runs (AUDIT_ARCH_…).
type keyCalls struct{ arch, first uint32 }

var keyCallsOf = map[string][]keyCalls{
	"amd64": {{unix.AUDIT_ARCH_X86_64, 248}, {unix.AUDIT_ARCH_I386, 286}},
	"arm64": {{unix.AUDIT_ARCH_AARCH64, 217}, {unix.AUDIT_ARCH_ARM, 309}},
}

// x32Bit marks the system calls of x32, which have the numbers of amd64 otherwise.
const x32Bit = 0x4000_0000

// noKeys is a seccomp(2) filter for which the kernel has no keyrings. A user's keyring is
// one for the whole machine, so that trees could read each other's keys, and those of the
// user who runs the worker. It is nil for processors that we do not know.
func noKeys() []byte {
	program := noKeysProgram(runtime.GOARCH)
	code := make([]byte, 0, 8*len(program))
	for _, i := range program {
		code = binary.NativeEndian.AppendUint16(code, i.Op)
		code = binary.NativeEndian.AppendUint32(append(code, i.Jt, i.Jf), i.K)
	}
	return code
}

func noKeysProgram(processor string) []bpf.RawInstruction {
	kinds := keyCallsOf[processor]
	if len(kinds) == 0 {
		return nil
	}
	const number, arch, size = 0, 4, 4 // offsets in struct seccomp_data, and the size of both
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	code := []bpf.Instruction{bpf.LoadAbsolute{Off: arch, Size: size}}
	for _, k := range kinds {
		code = append(code,
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: k.arch, SkipTrue: 6}, // to the next kind
			bpf.LoadAbsolute{Off: number, Size: size},
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: ^uint32(x32Bit)},
			bpf.ALUOpConstant{Op: bpf.ALUOpSub, Val: k.first}, // a lower number becomes a very high one
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: 2, SkipTrue: 1},
			bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
			allow)
	}
	program, err := bpf.Assemble(append(code, allow))
	if err != nil {
		panic("sandbox: the seccomp filter cannot be assembled: " + err.Error())
	}
	return program
}
