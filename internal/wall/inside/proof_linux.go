package inside

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Challenge is the worker's first message on the socket of a proof. The response is Findings,
// and the last message is one byte, by which the worker lets the program start.
type Challenge struct {
	// Canaries are addresses, network and host, at which the worker listens.
	Canaries [][2]string `json:"canaries"`
	// UserNamespaces means that the operator allows them.
	UserNamespaces bool `json:"user_namespaces"`
}

// Findings are what enter sees in the place of the later program.
type Findings struct {
	// Failed says why there was no relay or no check.
	Failed string `json:"failed"`
	// Open names what should not be there.
	Open []string `json:"open"`
	// Environment is the SHA-256 of the program's environment.
	Environment [sha256.Size]byte `json:"environment"`
}

// MaxMessage is the largest message of a proof, in bytes.
const MaxMessage = 64 << 10

// proveInside starts the relay, checks the sandbox from inside and reports to the worker. It
// returns nil when the program may start.
func proveInside(socket int, environment []byte) error {
	defer unix.Close(socket)
	buffer := make([]byte, MaxMessage)
	n, err := unix.Read(socket, buffer)
	var c Challenge
	if err == nil {
		err = json.Unmarshal(buffer[:n], &c)
	}
	if err != nil {
		return fmt.Errorf("read the worker's challenge: %w", err)
	}
	f := Findings{Environment: sha256.Sum256(environment)}
	f.Open, err = openInside(c)
	if err == nil && len(f.Open) == 0 { // otherwise this may be the host's network
		err = startRelay()
	}
	if err != nil {
		f.Failed = err.Error()
	}
	response, err := json.Marshal(f)
	if err == nil {
		_, err = unix.Write(socket, response)
	}
	if err != nil {
		return fmt.Errorf("report to the worker: %w", err)
	}
	if n, err = unix.Read(socket, buffer); err != nil || n != 1 {
		return errors.New("the worker does not let the program start")
	}
	return nil
}

func openInside(c Challenge) ([]string, error) {
	open, err := openNetwork()
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: time.Second}
	for _, canary := range c.Canaries {
		if conn, err := dialer.DialContext(context.Background(), canary[0], canary[1]); err == nil {
			_ = conn.Close()
			open = append(open, fmt.Sprintf("the worker's own listener (%s)", canary[0]))
		}
	}
	for _, entry := range os.Environ() { //nolint:forbidigo // checked, not used
		if key, _, _ := strings.Cut(entry, "="); key != "GOMAXPROCS" && key != "PWD" { // bwrap sets PWD
			open = append(open, "environment variable "+key)
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0); errno != unix.ENOSYS {
		open = append(open, "system call clone3")
	}
	if fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); err == nil {
		_ = unix.Close(fd)
		open = append(open, "sockets of the family AF_VSOCK")
	}
	if !c.UserNamespaces && canCreateUserNamespace() {
		open = append(open, "user namespaces")
	}
	return open, nil
}

// canCreateUserNamespace tries it, with a child that ends at once.
func canCreateUserNamespace() bool {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"penstock", "enter"}, &syscall.ProcAttr{
		Dir: "/", Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER},
	})
	if err != nil {
		return false
	}
	_, _ = unix.Wait4(pid, nil, 0, nil)
	return true
}

// openNetwork asks the kernel for interfaces, addresses and routes (rtnetlink(7)) and names
// those that are not loopback.
func openNetwork() (open []string, err error) {
	loopback := map[uint32]bool{}
	err = eachNetlink(unix.RTM_GETLINK, unix.RTM_NEWLINK, func(body []byte, attributes map[uint16][]byte) {
		index, flags := binary.NativeEndian.Uint32(body[4:]), binary.NativeEndian.Uint32(body[8:])
		if loopback[index] = flags&unix.IFF_LOOPBACK != 0; !loopback[index] {
			name, _, _ := strings.Cut(string(attributes[unix.IFLA_IFNAME]), "\x00")
			open = append(open, "network interface "+name)
		}
	})
	if err == nil {
		err = eachNetlink(unix.RTM_GETADDR, unix.RTM_NEWADDR, func(_ []byte, attributes map[uint16][]byte) {
			address, _ := netip.AddrFromSlice(attributes[unix.IFA_ADDRESS])
			if !address.IsLoopback() {
				open = append(open, "network address "+address.String())
			}
		})
	}
	if err == nil {
		err = eachNetlink(unix.RTM_GETROUTE, unix.RTM_NEWROUTE, func(_ []byte, attributes map[uint16][]byte) {
			device := attributes[unix.RTA_OIF]
			if attributes[unix.RTA_GATEWAY] != nil || len(device) != 4 || !loopback[binary.NativeEndian.Uint32(device)] {
				to, _ := netip.AddrFromSlice(attributes[unix.RTA_DST])
				open = append(open, "network route to "+to.String())
			}
		})
	}
	return open, err
}

// eachNetlink calls f with each message of a type that the kernel sends for a request.
func eachNetlink(request int, messages uint16, f func(body []byte, attributes map[uint16][]byte)) error {
	table, err := syscall.NetlinkRIB(request, unix.AF_UNSPEC)
	if err != nil {
		return fmt.Errorf("ask the kernel for the network: %w", err)
	}
	all, err := syscall.ParseNetlinkMessage(table)
	if err != nil {
		return fmt.Errorf("read the kernel's list of the network: %w", err)
	}
	for i := range all {
		if all[i].Header.Type != messages || len(all[i].Data) < unix.SizeofIfAddrmsg {
			continue
		}
		list, err := syscall.ParseNetlinkRouteAttr(&all[i])
		if err != nil {
			return fmt.Errorf("read the kernel's list of the network: %w", err)
		}
		attributes := map[uint16][]byte{}
		for _, a := range list {
			attributes[a.Attr.Type] = a.Value
		}
		f(all[i].Data, attributes)
	}
	return nil
}
