package sandbox

import "golang.org/x/sys/unix"

// nativeArch is the only architecture whose system calls the filter lets through.
const nativeArch = unix.AUDIT_ARCH_AARCH64

// forbiddenHere are the calls to refuse that only this architecture has.
var forbiddenHere = []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_NFSSERVCTL}
