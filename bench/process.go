package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// apiKey is the admin key of every server that is measured here.
const apiKey = "psk_bench_0123456789abcdefghijklmnopqrstuvwxyz"

// process is a program under measurement, with an address on 127.0.0.1.
type process struct {
	cmd  *exec.Cmd
	addr string // host:port
}

// pause suspends it while another one is measured.
func (p *process) pause()  { _ = p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *process) resume() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

// stop ends it and waits.
func (p *process) stop() {
	p.resume()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait() // it ends after WaitDelay at the latest
}

// resident returns its resident memory in bytes.
func (p *process) resident() (int64, error) {
	for line := range strings.Lines(oneLine(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes * 1024, err
		}
	}
	return 0, errors.New("/proc says nothing about its memory")
}

// cpuTime returns the CPU time that it has used, in hundredths of a second (proc(5)), or 0 if /proc
// does not have it.
func (p *process) cpuTime() time.Duration { return p.cpuTimeAt(11) }

// childTime is cpuTime of the children that have ended, and of theirs.
func (p *process) childTime() time.Duration { return p.cpuTimeAt(13) }

// cpuTimeAt returns a CPU time of which the part in user mode is a field of the status, counted from
// its state, and the part of the system the next one.
func (p *process) cpuTimeAt(field int) time.Duration {
	stat := oneLine(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < field+2 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[field], 10, 64)
	system, _ := strconv.ParseInt(fields[field+1], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// command prepares a program that ends with ctx.
func command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		return cmd.Process.Signal(syscall.SIGTERM)
	}
	cmd.WaitDelay = 15 * time.Second
	return cmd
}

func output(ctx context.Context, program string, args ...string) (string, error) {
	out, err := command(ctx, program, args...).Output()
	return strings.TrimSpace(string(out)), err
}

// startBare starts this program as a bare server of a kind, whose responses have
// the given size.
func startBare(ctx context.Context, kind string, response int) (*process, error) {
	return startSelf(ctx, kind, strconv.Itoa(response))
}

// startSelf starts this program as a server of a kind.
func startSelf(ctx context.Context, kind, argument string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := command(ctx, self, kind, argument)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	p := &process{cmd: cmd, addr: strings.TrimSpace(line)}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("start the bare server: %w", err)
	}
	return p, nil
}

// serve starts the binary on a database and waits until it is ready. It uses the defaults, except
// for args and the limit of requests.
func (b *bench) serve(ctx context.Context, database string, args ...string) (*process, error) {
	return b.serveWith(ctx, database, nil, args...)
}

// serveWith is serve with additional environment variables.
func (b *bench) serveWith(ctx context.Context, database string, env []string, args ...string) (*process, error) {
	dir, err := os.MkdirTemp(b.dir, "serve-")
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	all := []string{
		"serve", "--listen", addr, "--data", filepath.Join(dir, "data"), "--limit-requests-per-minute", "0",
		"--keyset", filepath.Join(b.dir, "keyset.json"), // the next server on this database needs the same
		"--database", database,
	}
	cmd := command(ctx, b.binary, append(all, args...)...)
	cmd.Env = append(
		[]string{"HOME=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin", "PENSTOCK_BOOTSTRAP_KEY=" + apiKey}, env...,
	)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, addr: addr}
	if err := p.ready(ctx); err != nil {
		p.stop()
		return nil, fmt.Errorf("%w; the end of its log: %s", err, tail(log.Name()))
	}
	return p, nil
}

// serveFresh starts a server without a worker on a new database. end removes both.
func (b *bench) serveFresh(
	ctx context.Context, fresh func(context.Context) (string, func(), error), args ...string,
) (p *process, end func(), err error) {
	url, drop, err := fresh(ctx)
	if err != nil {
		return nil, nil, err
	}
	if p, err = b.serve(ctx, url, append([]string{"--worker=false"}, args...)...); err != nil {
		drop()
		return nil, nil, err
	}
	return p, func() { p.stop(); drop() }, nil
}

// ready waits until the server knows the key.
func (p *process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+"/api/v1/me", http.NoBody)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+apiKey)
		if res, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return errors.New("the server was not ready within 30 s")
		}
	}
}

func tail(path string) string {
	const most = 600
	text := oneLine(path)
	return text[max(0, len(text)-most):]
}

func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
