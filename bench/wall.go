package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/egress"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// The kinds of processes of this part.
const (
	plainRelay = "plain-relay"
	tunnel     = "tunnel"
)

const (
	tunnelHost   = "host.bench.test"
	tunnelBytes  = 512 << 20 // of one transfer
	tunnelRounds = 7
	wallRounds   = 30
)

// wall measures the parts around a sealed run: its tunnels and its start.
func (b *bench) wall(ctx context.Context) error {
	return errors.Join(b.tunnels(ctx), b.starts(ctx))
}

// serveRelay serves a relay to target until ctx ends, and prints its address on standard output.
func serveRelay(ctx context.Context, kind, target string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(os.Stdout, listener.Addr()); err != nil {
		return err
	}
	if kind == tunnel {
		return serveTunnel(ctx, listener, target)
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	for {
		conn, err := listener.Accept()
		if err != nil {
			return nil //nolint:nilerr // ctx has ended
		}
		go func() {
			defer conn.Close()
			host, err := new(net.Dialer).DialContext(ctx, "tcp", target)
			if err != nil {
				return
			}
			defer host.Close()
			go func() { _, _ = io.Copy(host, conn) }()
			_, _ = io.Copy(conn, host)
		}()
	}
}

func serveTunnel(ctx context.Context, listener net.Listener, target string) error {
	address, err := netip.ParseAddrPort(target)
	if err != nil {
		return err
	}
	policy, err := egress.Compile(penstock.NetworkPolicy{Layers: []penstock.NetworkLayer{{
		Source: "server", Network: penstock.Network{
			Allow: []penstock.NetworkRule{{Host: tunnelHost, Ports: []int{int(address.Port())}}},
		},
	}}})
	if err != nil {
		return err
	}
	proxy, err := egress.New(egress.Options{
		Policy: policy, Networks: []netip.Prefix{netip.PrefixFrom(address.Addr(), 32)},
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{address.Addr()}, nil },
	})
	if err != nil {
		return err
	}
	return proxy.Serve(ctx, listener)
}

// tunnels measures how fast a host's data passes a tunnel, compared with a relay that only copies.
// The data after the ClientHello is not encrypted, so that only the relays are measured.
func (b *bench) tunnels(ctx context.Context) error {
	hello, err := clientHello(ctx)
	if err != nil {
		return err
	}
	host, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer host.Close()
	go sendZeros(host, len(hello))
	times := map[string][]time.Duration{}
	ways := map[string]*process{}
	for _, kind := range []string{plainRelay, tunnel} {
		if ways[kind], err = startSelf(ctx, kind, host.Addr().String()); err != nil {
			return err
		}
		defer ways[kind].stop()
	}
	for range tunnelRounds {
		for kind, p := range ways {
			took, err := transfer(ctx, kind, p.addr, host.Addr().String(), hello)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			times[kind] = append(times[kind], took)
		}
	}
	rate := func(kind string) float64 { return tunnelBytes / quantile(times[kind], .5).Seconds() / 1e6 }
	mine, other := rate(tunnel), rate(plainRelay)
	b.out.row(row{
		what: "tunnel, MB per second", penstock: count(mine), bare: count(other), ratio: ratio(mine, other),
		aim: atLeast(mine, 0.7*other, "ratio ≥ 0.7"),
	})
	return nil
}

// clientHello returns what a TLS client sends first.
func clientHello(ctx context.Context) ([]byte, error) {
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		defer client.Close()
		_ = tls.Client(client, &tls.Config{ServerName: tunnelHost, MinVersion: tls.VersionTLS12}).HandshakeContext(ctx)
	}()
	const head = 5 // the last two bytes are the size of the rest
	hello := make([]byte, 1<<16)
	if _, err := io.ReadFull(server, hello[:head]); err != nil {
		return nil, err
	}
	hello = hello[:head+int(binary.BigEndian.Uint16(hello[3:]))]
	_, err := io.ReadFull(server, hello[head:])
	return hello, err
}

// sendZeros responds to each connection's first bytes.
func sendZeros(host net.Listener, hello int) {
	for {
		conn, err := host.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if _, err := io.ReadFull(conn, make([]byte, hello)); err != nil {
				return
			}
			block := make([]byte, 1<<20)
			for range tunnelBytes / len(block) {
				if _, err := conn.Write(block); err != nil {
					return
				}
			}
		}()
	}
}

func transfer(ctx context.Context, kind, addr, host string, hello []byte) (time.Duration, error) {
	conn, err := dial(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return 0, err
	}
	if kind == tunnel {
		_, port, err := net.SplitHostPort(host)
		if err != nil {
			return 0, err
		}
		name := net.JoinHostPort(tunnelHost, port)
		if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", name, name); err != nil {
			return 0, err
		}
		const response = "HTTP/1.1 200 "
		head := make([]byte, len(response))
		if _, err := io.ReadFull(conn, head); err != nil || string(head) != response {
			return 0, errors.Join(fmt.Errorf("the proxy returns %q", head), err)
		}
		for line := ""; len(line) < 4 || line[len(line)-4:] != "\r\n\r\n"; {
			one := make([]byte, 1)
			if _, err := io.ReadFull(conn, one); err != nil {
				return 0, err
			}
			line += string(one)
		}
	}
	start := time.Now()
	if _, err := conn.Write(hello); err != nil {
		return 0, err
	}
	buffer := make([]byte, 1<<20)
	for left := tunnelBytes; left > 0; {
		n, err := conn.Read(buffer)
		if left -= n; err != nil && left > 0 {
			return 0, fmt.Errorf("%d bytes are missing: %w", left, err)
		}
	}
	return time.Since(start), nil
}

// starts measures the time until the program in a sealed sandbox with its proof prints something,
// compared with the same sandbox without a seal. bwrap alone, without limits, supervisor and
// mounts, is the minimum.
func (b *bench) starts(ctx context.Context) error {
	const script = "echo x; read wait"
	box, err := sandbox.New(b.box(sandbox.Options{}))
	if err != nil {
		return err
	}
	relay, err := net.Listen("unix", filepath.Join(b.dir, "relay")) //nolint:noctx // it does not wait
	if err != nil {
		return err
	}
	defer relay.Close()
	spec := sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", script}, Relay: filepath.Join(b.dir, "relay"),
		Limits: sandbox.Limits{Memory: 1 << 30, Processes: 100, CPUs: 2},
	}
	for _, dir := range []*string{&spec.Dir, &spec.Home} {
		if *dir, err = os.MkdirTemp(b.dir, "wall-"); err != nil {
			return err
		}
	}
	open := spec
	open.Relay = ""
	sealed, without, alone, err := medianStarts(ctx, box, script, spec, open)
	if err != nil {
		return err
	}
	b.startRows("start of a sealed sandbox with its proof, p50", 2, sealed, without, alone)
	return nil
}

// startRows prints a start beside another kind of sandbox, of which it may take limit times as long, and
// beside the program bwrap.
func (b *bench) startRows(what string, limit float64, start, other, alone time.Duration) {
	b.out.row(row{
		what: what, penstock: millis(start), bare: millis(other), ratio: ratio(float64(start), float64(other)),
		aim: upTo(float64(start), limit*float64(other), fmt.Sprintf("ratio ≤ %.3g", limit)),
	})
	b.out.row(row{
		what: "the same, beside the program bwrap", penstock: millis(start), bare: millis(alone),
		ratio: ratio(float64(start), float64(alone)),
	})
}

// medianStarts starts sandboxes of two kinds and the program bwrap in turns, and returns the median of
// each time until the script prints something.
func medianStarts(
	ctx context.Context, box sandbox.Sandbox, script string, one, other sandbox.Spec,
) (ofOne, ofOther, alone time.Duration, err error) {
	var took [3][]time.Duration
	for round := range wallRounds + 1 {
		for i, start := range []func() (time.Duration, error){
			func() (time.Duration, error) { return startIn(ctx, box, one) },
			func() (time.Duration, error) { return startIn(ctx, box, other) },
			func() (time.Duration, error) { return startAlone(ctx, script) },
		} {
			t, err := start()
			if err != nil {
				return 0, 0, 0, err
			}
			if round > 0 { // programs are in memory
				took[i] = append(took[i], t)
			}
		}
	}
	return quantile(took[0], .5), quantile(took[1], .5), quantile(took[2], .5), nil
}

func startIn(ctx context.Context, box sandbox.Sandbox, spec sandbox.Spec) (time.Duration, error) {
	start := time.Now()
	running, err := box.Start(ctx, spec)
	if err != nil {
		return 0, err
	}
	_, err = io.ReadFull(running.Stdout(), make([]byte, 1))
	took := time.Since(start)
	running.Kill()
	_, _ = running.Stdin().Close(), running.Stdout().Close()
	return took, err
}

// aloneArgs are the arguments of the program bwrap before a program.
func aloneArgs() []string {
	return []string{
		"--unshare-all", "--unshare-user", "--disable-userns", "--uid", "1000", "--die-with-parent",
		"--new-session", "--cap-drop", "ALL", "--clearenv", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
		"--tmpfs", "/tmp", "--",
	}
}

func startAlone(ctx context.Context, script string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, "bwrap", append(aloneArgs(), "/bin/sh", "-c", script)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, err = io.ReadFull(out, make([]byte, 1))
	took := time.Since(start)
	_ = in.Close()
	return took, errors.Join(err, ignoreExit(cmd.Wait()))
}

// ignoreExit ignores the exit error of a program that ended because it had no input.
func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

// box adds to options what starts in and around a sandbox, as `make build` has built it.
func (b *bench) box(o sandbox.Options) sandbox.Options {
	o.Exe, o.ProgramDir = b.binary, filepath.Join(b.dir, "inside")
	// Without the file, the whole binary takes its place, as in a build without it.
	o.Program, _ = os.ReadFile(filepath.Join("cmd", "penstock", "inside", runtime.GOARCH, "penstock-inside"))
	return o
}
