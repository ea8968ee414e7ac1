package sandbox

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

func TestFilterHitsTheCallsForKeysAndNoOther(t *testing.T) {
	t.Parallel()
	for processor, kinds := range map[string]map[uint32][]uint32{
		"amd64": {
			unix.AUDIT_ARCH_X86_64: {248, 249, 250, x32Bit | 248, x32Bit | 249, x32Bit | 250},
			unix.AUDIT_ARCH_I386:   {286, 287, 288},
		},
		"arm64": {unix.AUDIT_ARCH_AARCH64: {217, 218, 219}, unix.AUDIT_ARCH_ARM: {309, 310, 311}},
	} {
		var program []bpf.Instruction
		for _, raw := range noKeysProgram(processor) {
			program = append(program, raw.Disassemble())
		}
		vm, err := bpf.NewVM(program)
		if err != nil {
			t.Fatal(err)
		}
		for arch, hit := range kinds {
			refused := map[uint32]bool{}
			for _, number := range hit {
				refused[number] = true
			}
			for number := range uint32(1000) {
				for _, number := range []uint32{number, x32Bit | number, ^number} {
					data := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, number), arch) // as the VM reads
					got, err := vm.Run(data)
					want := unix.SECCOMP_RET_ALLOW
					if refused[number&^x32Bit] {
						want = unix.SECCOMP_RET_ERRNO | int(unix.ENOSYS)
					}
					if err != nil || got != want {
						t.Errorf("%s: call %#x of %#x: got %#x, %v, want %#x", processor, number, arch, got, err, want)
					}
				}
			}
		}
	}
	if noKeysProgram("riscv64") != nil {
		t.Error("there is a filter for an unknown processor")
	}
}

// A filter for the calls of 64-bit programs alone could be gone round.
func TestThirtyTwoBitProgramsHaveNoKeyringsEither(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for amd64 machines")
	}
	s := open(t, Bubblewrap)
	// Made there, since a fork of another test may still hold open what this process writes.
	sp := spec(t, `cp code keyctl && chmod 700 keyctl; ./keyctl; code=$?; [ $code = 126 ] && exec true; exit $code`)
	if err := os.WriteFile(filepath.Join(sp.Dir, "code"), keyctl32(t), 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), s, sp)
	if err == nil && result.Code == 0 {
		t.Skip("this kernel runs no 32-bit programs")
	}
	if err != nil || result.Code != int(unix.ENOSYS) {
		t.Errorf("keyctl fails with error %v (%v), want %d", result.Exit, err, unix.ENOSYS)
	}
}

// keyctl32 is a 32-bit program that calls keyctl and exits with the number of its error.
func keyctl32(t *testing.T) []byte {
	t.Helper()
	code := []byte{
		0xb8, 0x20, 0x01, 0, 0, // mov eax, 288
		0xcd, 0x80, // int 0x80
		0xf7, 0xd8, // neg eax
		0x89, 0xc3, // mov ebx, eax
		0xb8, 1, 0, 0, 0, // mov eax, 1: exit
		0xcd, 0x80, // int 0x80
	}
	const base, header, segment = 0x8048000, 52, 32
	var file bytes.Buffer
	for _, part := range []any{
		elf.Header32{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS32), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_386), Version: uint32(elf.EV_CURRENT),
			Entry: base + header + segment, Phoff: header, Ehsize: header, Phentsize: segment, Phnum: 1,
		},
		elf.Prog32{
			Type: uint32(elf.PT_LOAD), Vaddr: base, Paddr: base, Flags: uint32(elf.PF_R | elf.PF_X), Align: 0x1000,
			Filesz: uint32(header + segment + len(code)), Memsz: uint32(header + segment + len(code)),
		},
		code,
	} {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return file.Bytes()
}
