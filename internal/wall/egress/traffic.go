package egress

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/penstock-dev/penstock"
)

const (
	// maxHosts limits the report. Traffic with further hosts is counted together.
	maxHosts   = 500
	otherHosts = "(other hosts)"
	maxShown   = 200 // characters of a host that has no canonical form
)

// Denial is a refused request or connection, reported once for each host and port.
type Denial struct {
	Host   string
	Port   int
	Reason string // the sentence that the agent got
}

// ledger counts what goes to each host, and bounds what is sent to all.
type ledger struct {
	limit  int64 // of bytes sent, 0 for none
	denied func(Denial)

	sent atomic.Int64
	full atomic.Bool

	mu    sync.Mutex
	hosts map[hostPort]*account
}

type hostPort struct {
	host string
	port int
}

// account is the traffic with one host and port.
type account struct {
	requests, in, out atomic.Int64

	mu      sync.Mutex
	mode    string
	refused int64
	reason  string
}

func (l *ledger) account(host string, port int) *account {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := hostPort{host, port}
	if a, ok := l.hosts[key]; ok {
		return a
	}
	if len(l.hosts) >= maxHosts {
		key = hostPort{host: otherHosts}
		if a, ok := l.hosts[key]; ok {
			return a
		}
	}
	a := &account{}
	l.hosts[key] = a
	return a
}

// begin counts a request, or a tunnel.
func (l *ledger) begin(t target, mode string) *account {
	a := l.account(t.host, t.port)
	a.requests.Add(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mode = mode
	return a
}

// refuse counts a refusal, and reports it if it is the first of this host. The host may be
// hostile text.
func (l *ledger) refuse(host string, port int, reason string) {
	if _, err := canonical(host); err != nil {
		host = strconv.QuoteToASCII(host)
		host = host[:min(len(host), maxShown)]
	}
	a := l.account(host, port)
	a.mu.Lock()
	a.refused++
	first := a.refused == 1
	a.reason = reason
	a.mu.Unlock()
	if first && l.denied != nil {
		l.denied(Denial{host, port, reason})
	}
}

// uploadError is the error of a connection or request that the limit of uploads cut.
type uploadError int64

func (e uploadError) Error() string {
	return fmt.Sprintf("the run has reached its limit for uploads to all hosts together, %d bytes (max_upload_bytes): "+
		"nothing more is sent. To allow more, raise max_upload_bytes in every layer that sets it", int64(e))
}

// send counts n bytes before they are sent. Once they do not fit within the limit, neither
// these nor any later ones may be sent.
func (l *ledger) send(a *account, n int) error {
	if l.limit > 0 && (l.full.Load() || l.sent.Add(int64(n)) > l.limit) {
		l.full.Store(true)
		return uploadError(l.limit)
	}
	a.out.Add(int64(n))
	return nil
}

func (l *ledger) exhausted() error {
	if l.full.Load() {
		return uploadError(l.limit)
	}
	return nil
}

// report is sorted by host and port.
func (l *ledger) report() []penstock.HostTraffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]penstock.HostTraffic, 0, len(l.hosts))
	for key, a := range l.hosts {
		a.mu.Lock()
		list = append(list, penstock.HostTraffic{
			Host: key.host, Port: key.port, Mode: cmp.Or(a.mode, ModeRefused), Requests: a.requests.Load(),
			BytesIn: a.in.Load(), BytesOut: a.out.Load(), Refused: a.refused, Reason: a.reason,
		})
		a.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b penstock.HostTraffic) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	return list
}

// upload counts the body of a request as it is sent, or everything that is written to a
// connection.
type upload struct {
	io.ReadCloser
	ledger  *ledger
	account *account
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if limit := u.ledger.send(u.account, n); limit != nil {
		return 0, limit
	}
	return n, err
}

// download counts the body of a response.
type download struct {
	io.ReadCloser
	account *account
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	d.account.in.Add(int64(n))
	return n, err
}

// duplex counts both directions of an upgraded connection.
type duplex struct {
	io.ReadWriteCloser
	ledger  *ledger
	account *account
}

func (d *duplex) Read(p []byte) (int, error) {
	n, err := d.ReadWriteCloser.Read(p)
	d.account.in.Add(int64(n))
	return n, err
}

func (d *duplex) Write(p []byte) (int, error) {
	if err := d.ledger.send(d.account, len(p)); err != nil {
		return 0, err
	}
	return d.ReadWriteCloser.Write(p)
}
