package inside

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// JoinArg makes enter the first process of a container: it takes the descriptors of a supervisor
	// from the worker, and becomes the supervisor.
	JoinArg = "join"
	// containerArg makes enter that supervisor.
	containerArg = "supervise"
	// LaunchSocket is the path of the socket from which it takes them.
	LaunchSocket = "/opt/penstock/launch.sock"
	// passedFD is added to the number of each descriptor but the standard streams. The runtime of Go opens
	// low numbers at any time, and ends the process if they get another meaning.
	passedFD = 100
	// aliveFD is the standard input of the container, which ends with the worker or the daemon.
	aliveFD = passedFD + 9
)

// join returns the exit code for this process if it fails.
func join() int {
	runtime.LockOSThread()
	err := takeDescriptors()
	if err == nil {
		err = syscall.Exec("/proc/self/exe", []string{"penstock", "enter", containerArg}, []string{"GOMAXPROCS=1"})
	}
	_, _ = unix.Write(2, []byte("penstock: take over from the worker: "+err.Error()+"\n"))
	return 1
}

// takeDescriptors receives descriptors from the worker, and numbers them as a supervisor expects
// them.
func takeDescriptors() error {
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	if err := unix.Connect(socket, &unix.SockaddrUnix{Name: LaunchSocket}); err != nil {
		return fmt.Errorf("connect to %s: %w", LaunchSocket, err)
	}
	control := make([]byte, unix.CmsgSpace(4*(ProofFD+1)))
	//nolint:dogsled // one byte, from the only peer
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err == nil && len(messages) != 1 {
		err = errors.New("no descriptors")
	}
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) <= ReportFD || len(fds) > ProofFD+1 {
		return fmt.Errorf("receive: %d descriptors (%w)", len(fds), err)
	}
	if err := unix.Dup3(0, aliveFD, 0); err != nil {
		return fmt.Errorf("keep the standard input: %w", err)
	}
	for i, fd := range fds {
		at := i
		if i >= ControlFD {
			at += passedFD
		}
		if err := unix.Dup3(fd, at, 0); err != nil {
			return fmt.Errorf("duplicate: %w", err)
		}
	}
	return nil
}

// superviseContainer is supervise as the first process of a container.
func superviseContainer() int {
	// The tree has the same user. It can neither trace us nor open our descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil || os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "penstock enter is started by a sandbox, never by hand")
		return 2
	}
	_ = unix.SetNonblock(aliveFD, true)
	KeepThreads(SpareThreads)
	return superviseUntil(os.NewFile(aliveFD, "alive"), passedFD)
}

// enterContainer applies the filter of system calls in a file to this process.
func enterContainer(file int) error {
	var stat unix.Stat_t
	if err := unix.Fstat(file, &stat); err != nil {
		return fmt.Errorf("read the filter of system calls: %w", err)
	}
	// If memory runs out, the kernel kills the tree rather than its supervisor.
	_ = Write("/proc/self/oom_score_adj", "500")
	code := make([]byte, stat.Size)
	n, err := unix.Pread(file, code, 0)
	_ = unix.Close(file)
	if err != nil || n != len(code) {
		return fmt.Errorf("read the filter of system calls: %d of %d bytes (%w)", n, len(code), err)
	}
	if len(code) == 0 {
		return nil // an unknown processor, in a sandbox that is not sealed
	}
	program := unix.SockFprog{
		Len:    uint16(len(code) / int(unsafe.Sizeof(unix.SockFilter{}))), //nolint:gosec // our own filter is short
		Filter: (*unix.SockFilter)(unsafe.Pointer(&code[0])),              //nolint:gosec // unix has no function for it
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))) //nolint:gosec // likewise
	runtime.KeepAlive(code)
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

// SpareThreads is how many threads the supervisor of a container needs at most: for reads, waits and
// signals, while one goroutine runs. With its others they are fewer than [Overhead].
const SpareThreads = 9

// KeepThreads makes the runtime start n threads, which it keeps. In a container the supervisor counts
// toward the limit of processes. A runtime that cannot start a thread ends the process, so a program
// that uses up the limit would end its supervisor.
func KeepThreads(n int) {
	var locked, done sync.WaitGroup
	locked.Add(n)
	for range n {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			locked.Done()
			locked.Wait()
		})
	}
	done.Wait()
}
