package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// proofTimeout bounds the wait for enter, which may have to wait for a processor.
const proofTimeout = time.Minute

// proofPair connects enter and the worker for a proof. Messages keep their boundaries, and the
// kernel adds the sender's process ID to each.
func proofPair() (theirs, ours *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	err = unix.SetsockoptInt(pair[1], unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	if err == nil {
		err = unix.SetNonblock(pair[1], true)
	}
	if err != nil {
		return nil, nil, errors.Join(
			fmt.Errorf("set up the socket of a proof: %w", err), unix.Close(pair[0]), unix.Close(pair[1]),
		)
	}
	return os.NewFile(uintptr(pair[0]), "proof"), os.NewFile(uintptr(pair[1]), "proof"), nil
}

// intention is what a proof compares a sandbox with.
type intention struct {
	environment    string
	mounts         map[string]expectedMount
	userNamespaces bool
	// sharesUsers says that the tree is in the user namespace of the worker.
	sharesUsers bool
	// ownKernel reports whether a process belongs to a runtime that has a kernel of its own for the
	// tree. nil: never. Then the worker sees only the network from outside.
	ownKernel func(pid int) bool
}

// checks are the names of what a proof checks.
var checks = []string{
	"namespaces", "network interfaces", "network routes", "canary listeners",
	"capabilities", "system call filter", "user namespaces", "mounts", "environment",
}

// prove checks a tree whose enter waits, and lets its program start if nothing is open.
func (t *tree) prove(ctx context.Context, want intention) error {
	start := time.Now()
	birds, closeBirds, err := canaries(ctx)
	if err != nil {
		return fmt.Errorf("sandbox: listen for the proof: %w", err)
	}
	defer closeBirds()
	message, err := json.Marshal(inside.Challenge{Canaries: birds, UserNamespaces: want.userNamespaces})
	if err == nil {
		_, err = t.proving.Write(message)
	}
	if err != nil {
		return fmt.Errorf("sandbox: begin the proof: %w", err)
	}
	pid, found, err := receiveFindings(t.proving)
	switch {
	case err != nil:
		return err
	case found.Failed != "":
		return fmt.Errorf("sandbox: %s", found.Failed)
	}
	checked, open := want.openOutside(pid)
	open = slices.Concat(found.Open, open)
	if found.Environment != sha256.Sum256([]byte(want.environment)) {
		open = append(open, "an environment other than the intended one")
	}
	took := time.Since(start)
	if len(open) > 0 {
		return &OpenError{Open: open, Took: took}
	}
	if _, err := t.proving.Write([]byte{1}); err != nil {
		return fmt.Errorf("sandbox: end the proof: %w", err)
	}
	t.proof = Proof{Checked: checked, Took: took}
	_ = t.proving.Close()
	return nil
}

// canaries listens at addresses of the host that no sandbox may reach. Connections need not be
// accepted: the kernel completes them.
func canaries(ctx context.Context) (addresses [][2]string, closeAll func(), err error) {
	var listeners []net.Listener
	closeAll = func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}
	abstract := "@penstock-canary-" + rand.Text()
	for _, at := range [][2]string{{"tcp4", "127.0.0.1:0"}, {"tcp6", "[::1]:0"}, {"unix", abstract}} {
		l, err := (&net.ListenConfig{}).Listen(ctx, at[0], at[1])
		if err != nil && at[0] == "tcp6" {
			continue // a machine without IPv6
		}
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		listeners = append(listeners, l)
		addresses = append(addresses, [2]string{at[0], l.Addr().String()})
	}
	return addresses, closeAll, nil
}

// receiveFindings waits for the report of enter. The process ID comes from the kernel.
func receiveFindings(socket *os.File) (pid int, f inside.Findings, err error) {
	if err := socket.SetReadDeadline(time.Now().Add(proofTimeout)); err != nil {
		return 0, f, fmt.Errorf("sandbox: set the time limit of the proof: %w", err)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, f, err
	}
	text, control := make([]byte, inside.MaxMessage), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	var n, controls int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, controls, _, _, failed = unix.Recvmsg(int(fd), text, control, unix.MSG_CMSG_CLOEXEC)
		return !errors.Is(failed, unix.EAGAIN) && !errors.Is(failed, unix.EINTR)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, f, fmt.Errorf("sandbox: wait for the report from inside: %w", err)
	}
	if n == 0 {
		return 0, f, errors.New("sandbox: it ended before its proof")
	}
	messages, err := unix.ParseSocketControlMessage(control[:controls])
	if err == nil && len(messages) != 1 {
		err = errors.New("no sender")
	}
	if err != nil {
		return 0, f, fmt.Errorf("sandbox: read the report from inside: %w", err)
	}
	sender, err := unix.ParseUnixCredentials(&messages[0])
	if err == nil {
		err = json.Unmarshal(text[:n], &f)
	}
	if err != nil {
		return 0, f, fmt.Errorf("sandbox: read the report from inside: %w", err)
	}
	return int(sender.Pid), f, nil
}

// openOutside checks the process that becomes the program, with the facts of the kernel. It returns
// what a proof checks then.
func (want intention) openOutside(pid int) (checked, open []string) {
	kinds := []string{"net", "mnt", "pid", "ipc", "uts", "user"}
	if want.ownKernel != nil && want.ownKernel(pid) {
		without := func(name string) bool { return slices.Contains([]string{"capabilities", "mounts"}, name) }
		return slices.DeleteFunc(slices.Clone(checks), without), openSpaces(pid, kinds[:1])
	}
	if want.sharesUsers {
		kinds = kinds[:len(kinds)-1]
	}
	return checks, slices.Concat(openSpaces(pid, kinds), openRights(pid), openMounts(pid, want.mounts))
}

// openSpaces checks the namespaces of a process, and what its network has.
func openSpaces(pid int, kinds []string) (open []string) {
	for _, kind := range kinds {
		ours, err1 := os.Readlink("/proc/self/ns/" + kind)
		theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
		if err := errors.Join(err1, err2); err != nil {
			open = append(open, fmt.Sprintf("namespace %s cannot be checked (%v)", kind, err))
		} else if ours == theirs {
			open = append(open, "the worker's namespace "+kind)
		}
	}
	for _, table := range []struct {
		name, what     string
		header, device int // lines, and the field with the interface; the last one if it is negative
		optional       bool
	}{
		{"dev", "network interface", 2, 0, false},
		{"route", "IPv4 route on", 1, 0, false},
		{"ipv6_route", "IPv6 route on", 0, -1, true},
	} {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table.name))
		if err != nil {
			if !table.optional || !errors.Is(err, os.ErrNotExist) {
				open = append(open, fmt.Sprintf("the network cannot be checked (%v)", err))
			}
			continue
		}
		lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
		for _, line := range lines[min(table.header, len(lines)):] {
			fields := strings.Fields(line)
			if len(fields) == 0 {
				continue
			}
			device := fields[(table.device+len(fields))%len(fields)]
			device, _, _ = strings.Cut(device, ":")
			if device != "lo" || table.name == "route" {
				open = append(open, table.what+" "+device)
			}
		}
	}
	return open
}

// openRights checks what /proc/PID/status says (proc_pid_status(5)).
func openRights(pid int) (open []string) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return []string{fmt.Sprintf("the process cannot be checked (%v)", err)}
	}
	want := map[string]string{
		"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
		"NoNewPrivs": "1", "Seccomp": "2",
	}
	for line := range strings.Lines(string(content)) {
		key, value, _ := strings.Cut(line, ":")
		if want[key] == strings.TrimSpace(value) {
			delete(want, key)
		}
	}
	for _, key := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if want[key] != "" {
			open = append(open, "capabilities ("+key+")")
		}
	}
	if want["NoNewPrivs"] != "" {
		open = append(open, "new privileges by setuid programs")
	}
	if want["Seccomp"] != "" {
		open = append(open, "all system calls (no filter)")
	}
	return open
}

// none is an empty set of capabilities.
const none = "0000000000000000"
