package sandbox

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/inside"
)

func dialOut(network, address string) error {
	if network == "" || address == "" {
		return unix.ECONNREFUSED // the host has no such address
	}
	conn, err := (&net.Dialer{}).DialContext(context.Background(), network, address)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

func askDNS() error {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "udp4", "127.0.0.1:53")
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(make([]byte, 12)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

func openSocket(family, kind, protocol int) error {
	_, err := unix.Socket(family, kind, protocol)
	return err
}

func openFile(path string, flags int) error {
	_, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	return err
}

func call(number, argument uintptr) error {
	if _, _, errno := unix.RawSyscall(number, argument, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func enterNamespace(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Setns(fd, 0)
}

// netlink sends a request to change the network, and returns the kernel's response.
func netlink(kind uint16, body []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	message := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(body))
	order := binary.NativeEndian
	order.PutUint32(message, uint32(unix.SizeofNlMsghdr+len(body)))
	order.PutUint16(message[4:], kind)
	order.PutUint16(message[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	if err := unix.Sendto(fd, append(message, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	response := make([]byte, 4096)
	n, err := unix.Read(fd, response)
	if err != nil {
		return err
	}
	list, err := syscall.ParseNetlinkMessage(response[:n])
	if err != nil {
		return err
	}
	if code := int32(order.Uint32(list[0].Data)); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// onRelay calls f with the process of the relay, which is a child of the first process.
func onRelay(f func(pid int) error) error {
	stats, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range stats {
		content, err := os.ReadFile(file)
		if err == nil && strings.HasPrefix(string(content), "penstock\x00enter\x00"+inside.RelayArg+"\x00") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return errors.Join(err, f(pid))
		}
	}
	return errors.New("there is no relay")
}

// searchProcesses looks for text in everything that /proc shows of all processes.
func searchProcesses(text string) error {
	for _, name := range []string{"environ", "cmdline", "comm", "maps"} {
		files, _ := filepath.Glob("/proc/[0-9]*/" + name)
		for _, file := range files {
			if content, _ := os.ReadFile(file); strings.Contains(string(content), text) {
				return nil
			}
		}
	}
	return unix.ENOENT
}

// readOfRoot looks for a file of /proc that has content and that only root may read, except the
// files of processes and of the tree's own network.
func readOfRoot() error {
	found := errors.New("")
	err := filepath.WalkDir("/proc", func(path string, entry fs.DirEntry, walkErr error) error {
		process := path != "/proc" && strings.Trim(filepath.Base(path), "0123456789") == ""
		if entry.IsDir() && (process || path == "/proc/sys/net") {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if errors.Join(walkErr, err) != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o004 != 0 ||
			path == "/proc/kmsg" { // whose content is gone once it is read
			return nil
		}
		file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return nil
		}
		defer file.Close()
		if n, _ := file.Read(make([]byte, 4096)); n > 0 {
			fmt.Println(path, "is readable")
			return found
		}
		return nil
	})
	if errors.Is(err, found) {
		return nil
	}
	return unix.ENOENT
}

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// attack plays the attacker. It prints each attack with its result.
func attack(args []string) int {
	if args[0] == "relay" {
		conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", RelayAddress)
		if err == nil {
			_, err = io.Copy(os.Stdout, conn)
		}
		fmt.Println()
		return map[bool]int{true: 0, false: 1}[err == nil]
	}
	var p prey
	if err := json.Unmarshal([]byte(args[1]), &p); err != nil {
		fmt.Println(err)
		return 1
	}
	for _, a := range attacks[args[0]] {
		err := a.try(p)
		switch {
		case err == nil:
			fmt.Printf("%s: succeeds\n", a.attack)
		case slices.ContainsFunc(a.want, func(want error) bool { return errors.Is(err, want) }):
			fmt.Printf("%s: stopped\n", a.attack)
		default:
			fmt.Printf("%s: fails with %v, want %v\n", a.attack, err, a.want)
		}
	}
	return 0
}

// newPrey creates the targets of the attacks on the host.
func newPrey(t *testing.T) prey {
	t.Helper()
	p := prey{File: filepath.Join(t.TempDir(), "key"), Abstract: "@prey-" + mark(), Secret: reverse("canary-" + mark())}
	for _, listen := range []struct {
		network, address string
		to               *string
	}{
		{"tcp4", "127.0.0.1:0", &p.TCP},
		{"tcp6", "[::1]:0", &p.TCP6},
		{"unix", p.Abstract, &p.Abstract},
	} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), listen.network, listen.address)
		if err != nil {
			*listen.to = ""
			continue
		}
		t.Cleanup(func() { _ = l.Close() })
		*listen.to = l.Addr().String()
		if err := dialOut(listen.network, *listen.to); err != nil {
			t.Fatal("the host itself does not reach it:", err)
		}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			p.Address = net.JoinHostPort(ip.IP.String(), "22")
		}
	}
	if err := os.WriteFile(p.File, []byte(reverse(p.Secret)), 0o644); err != nil {
		t.Fatal(err)
	}
	other := spec(t, "")
	seal(t, &other)
	p.Socket = other.Relay
	holder := exec.CommandContext(t.Context(), "sleep", mark())
	holder.Env = []string{"KEY=" + reverse(p.Secret)}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill(); _ = holder.Wait() })
	if err := searchProcesses(reverse(p.Secret)); err != nil {
		t.Fatal("the host itself does not find the secret")
	}
	return p
}

// sally runs a group of attacks in a sealed sandbox of each kind, in bubblewrap with the programs
// of the host and with the programs of an image.
func sally(t *testing.T, group string) {
	t.Helper()
	t.Parallel()
	aim, err := json.Marshal(newPrey(t))
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	try := func(s Sandbox, image *Image) {
		sp := spec(t, "")
		sp.Image = image
		seal(t, &sp)
		sp.Argv = []string{s.Layout(sp).Exe, "attack", group, string(aim)}
		got = append(got, strings.Split(output(t, s, sp), "\n"))
	}
	for _, kind := range []string{Bubblewrap, ownUser} {
		if s := openIf(t, kind); s != nil {
			try(s, nil)
			try(s, pulled(t))
		}
	}
	if s := openIf(t, Docker); s != nil {
		try(s, nil)
	}
	tried := testkit.NewAttacks(t, section)
	for _, a := range attacks[group] {
		tried.Run(a.attack, a.stoppedBy, func(t *testing.T) {
			for _, got := range got {
				if !slices.Contains(got, a.attack+": stopped") {
					t.Errorf("not stopped as expected: %q", got)
				}
			}
		})
	}
}

// section is the part of docs/attacks.md that lists the attacks of this package.
const section = "The wall"

func TestAttackNetwork(t *testing.T)   { sally(t, "Network") }
func TestAttackKernel(t *testing.T)    { sally(t, "Kernel") }
func TestAttackProcesses(t *testing.T) { sally(t, "Processes") }
func TestAttackFiles(t *testing.T)     { sally(t, "Files") }

// An attack that could not succeed anywhere proves nothing.
func TestAttacksSucceedWithoutTheWall(t *testing.T) {
	t.Parallel()
	p := newPrey(t)
	names := []string{
		"TCP to a service of the host on 127.0.0.1", "an abstract socket of the host", "the relay socket of another run",
		"a canary in another's environment or arguments", "a file of the host by its path",
	}
	if os.Geteuid() == 0 {
		names = append(names, "what only root may read in /proc")
	}
	for _, name := range names {
		found := false
		for _, group := range attacks {
			for _, a := range group {
				if a.attack == name {
					found = true
					if err := a.try(p); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
		if !found {
			t.Errorf("no attack is called %q", name)
		}
	}
}

// Two runs have two relays with the same address, and each reaches its own socket.
func TestAttackRelayOfAnotherRun(t *testing.T) {
	t.Parallel()
	testkit.NewAttacks(t, section).Run("another run behind the same address of the relay",
		"a socket of its own", reachOtherRelay)
}

func reachOtherRelay(t *testing.T) {
	for _, kind := range []string{Bubblewrap, Docker} {
		if s := openIf(t, kind); s != nil {
			reachOtherRelayIn(t, s)
		}
	}
}

func reachOtherRelayIn(t *testing.T, s Sandbox) {
	t.Helper()
	for _, name := range []string{"one", "other"} {
		sp := spec(t, "")
		listener := seal(t, &sp)
		go func() {
			conn, err := listener.AcceptUnix()
			if err == nil {
				_, _ = conn.Write([]byte(name))
				_ = conn.Close()
			}
		}()
		sp.Argv = []string{s.Layout(sp).Exe, "attack", "relay"}
		if got := output(t, s, sp); got != name+"\n" {
			t.Errorf("got %q, want %q", got, name)
		}
	}
}

// The relay ends with the program although it is not a child of the program.
func TestAttackLeftoverProcesses(t *testing.T) {
	t.Parallel()
	testkit.NewAttacks(t, section).Run("a process that outlives its run",
		"the whole process tree is killed", leaveProcesses)
}

func leaveProcesses(t *testing.T) {
	for _, kind := range []string{Bubblewrap, Docker} {
		if s := openIf(t, kind); s != nil {
			leaveProcessesIn(t, s)
		}
	}
}

func leaveProcessesIn(t *testing.T, s Sandbox) {
	t.Helper()
	m := mark()
	sp := spec(t, `setsid sleep "$1" & (setsid sleep "$1" &) ; echo; read wait`, m)
	seal(t, &sp)
	r := start(t, s, sp)
	if _, err := r.Stdout().Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	tree, ok := r.(*tree)
	if !ok {
		t.Fatal("another kind of sandbox")
	}
	pids := inside.Descendants(tree.pid())
	if len(pids) < 4 { // the shell, the relay, two sleeps; with bubblewrap, bwrap and its init
		t.Fatalf("got the processes %v", pids)
	}
	_ = r.Stdin().Close()
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
			t.Errorf("process %d is left: %v", pid, err)
		}
	}
}
