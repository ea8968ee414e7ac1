package sandbox

import "golang.org/x/sys/unix"

// nativeArch is the only architecture whose system calls the filter lets through.
const nativeArch = unix.AUDIT_ARCH_X86_64

// forbiddenHere are the calls to refuse that only this architecture has.
var forbiddenHere = []uint32{
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_CREATE_MODULE, unix.SYS__SYSCTL, unix.SYS_SYSFS, unix.SYS_USELIB, unix.SYS_USTAT,
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_NFSSERVCTL,
}
