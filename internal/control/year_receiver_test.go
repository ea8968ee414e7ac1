package control_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// network connects the servers of a year with the receivers of their messages. Its connections are in memory, because
// the clock of testing/synctest stands still while a goroutine reads from a socket.
type network struct {
	t         *testing.T
	seed      uint64
	begun     time.Time
	receivers []*receiver

	mu    sync.Mutex
	well  bool // all receivers answer at once
	lines map[net.Conn]*server
	busy  map[*server]int // requests that wait for an answer
}

// receiver is an event endpoint, as its owner sees it.
type receiver struct {
	name        string
	uid, secret string
	events      []penstock.EndpointEvent // empty: all
	conduct     func(n *network, since time.Duration) conduct
	calls       []*call     // in the order of their beginnings; guarded by network.mu
	enabled     []time.Time // when somebody enabled it again
}

// conduct is how a receiver treats a request.
type conduct struct {
	away   bool          // it takes no connection
	lose   bool          // it takes the message, and the connection breaks before the answer
	after  time.Duration // until the answer
	status int           // 0: it never answers
	header string
}

// call is a request or a refused connection.
type call struct {
	server   *server
	at, done time.Time
	id       string // "": the connection was refused
	message  penstock.EndpointMessage
	status   int // 0: no answer
	taken    bool
}

var ok = conduct{status: http.StatusOK}

const day = 24 * time.Hour

// draw returns a number that is the same during a period of so long.
func (n *network) draw(since, period time.Duration) uint64 {
	return rand.NewPCG(n.seed, uint64(since/period)).Uint64() >> 8
}

// newReceivers returns receivers of each kind. In a large world, they choose rare events: each message costs about a
// millisecond.
func newReceivers(large bool) []*receiver {
	rare := []penstock.EndpointEvent{
		store.EventRunErrored, store.EventRunStalled, store.EventRunCancelled,
		store.EventAutomationPaused, store.EventAutomationDegraded, store.EventAutomationSilent,
		store.EventAutomationBack, store.EventScheduleMissed, store.EventWorkerLost, store.EventEndpointDisabled,
	}
	failures := []penstock.EndpointEvent{store.EventRunFailed, store.EventRunErrored}
	stalls := append([]penstock.EndpointEvent{store.EventRunStalled}, failures...)
	quick := &receiver{name: "quick", conduct: func(*network, time.Duration) conduct { return ok }}
	if large {
		quick.events, failures, stalls = rare, failures[:1], []penstock.EndpointEvent{store.EventScheduleMissed}
	}
	return []*receiver{quick, {
		name: "slow", events: failures, conduct: func(n *network, since time.Duration) conduct {
			return conduct{status: http.StatusOK, after: time.Duration(1+n.draw(since, time.Second)%13) * time.Second}
		},
	}, {
		name: "flaky", events: failures, conduct: func(n *network, since time.Duration) conduct {
			if n.draw(since, 10*time.Minute)%2 == 0 {
				return conduct{status: http.StatusServiceUnavailable}
			}
			return conduct{status: http.StatusNoContent}
		},
	}, {
		name: "away", events: failures, conduct: func(_ *network, since time.Duration) conduct {
			since %= 14 * day
			return conduct{status: http.StatusOK, away: since > 2*day && since < 10*day}
		},
	}, {
		name: "gone", events: failures, conduct: func(_ *network, since time.Duration) conduct {
			if since %= 10 * day; since > day && since < 2*day {
				return conduct{status: http.StatusGone}
			}
			return ok
		},
	}, {
		name: "limited", events: failures, conduct: func(n *network, since time.Duration) conduct {
			switch n.draw(since, time.Hour) % 4 {
			case 0:
				return conduct{status: http.StatusTooManyRequests, header: "Retry-After: 900\r\n"}
			case 1:
				until := n.begun.Add(since + 15*time.Minute).UTC().Format(http.TimeFormat)
				return conduct{status: http.StatusTooManyRequests, header: "Retry-After: " + until + "\r\n"}
			}
			return ok
		},
	}, {
		name: "hanging", events: stalls, conduct: func(_ *network, since time.Duration) conduct {
			if since%day < 8*time.Hour {
				return ok
			}
			return conduct{}
		},
	}, {
		name: "lossy", events: failures, conduct: func(n *network, since time.Duration) conduct {
			return conduct{status: http.StatusOK, lose: n.draw(since, time.Minute)%2 == 0}
		},
	}}
}

// url is the URL of an endpoint. All addresses in memory are private, so HTTP is allowed.
func (r *receiver) url() string { return "http://" + r.name + ".test/" }

var errRefused = errors.New("connection refused")

// dial connects a server to a receiver.
func (n *network) dial(s *server, address string) (net.Conn, error) {
	host, _, _ := strings.Cut(address, ".test:")
	i := slices.IndexFunc(n.receivers, func(r *receiver) bool { return r.name == host })
	if i < 0 {
		n.t.Errorf("a server connects to %s", address)
		return nil, errRefused
	}
	r, now := n.receivers[i], time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conduct(r, now).away {
		r.calls = append(r.calls, &call{server: s, at: now, done: now})
		return nil, errRefused
	}
	ours, theirs := net.Pipe()
	n.lines[ours] = s
	go func() {
		n.serve(r, s, theirs)
		_ = theirs.Close()
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.lines, ours)
	}()
	return ours, nil
}

func (n *network) conduct(r *receiver, now time.Time) conduct {
	if n.well {
		return ok
	}
	return r.conduct(n, now.Sub(n.begun))
}

// cut breaks the connections of a server, or of all if s is nil.
func (n *network) cut(s *server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for conn, of := range n.lines {
		if s == nil || of == s {
			_ = conn.Close()
		}
	}
}

// waiting counts the requests of a server that have no answer yet.
func (n *network) waiting(s *server) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.busy[s]
}

// serve answers the requests on a connection.
func (n *network) serve(r *receiver, s *server, conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		c := &call{server: s, at: time.Now(), id: req.Header.Get("Webhook-Id")}
		n.mu.Lock()
		how := n.conduct(r, c.at)
		if !n.genuine(r, c, req.Header, body) {
			how = conduct{status: http.StatusBadRequest}
		}
		n.busy[s]++
		r.calls = append(r.calls, c)
		n.mu.Unlock()
		status, good := answer(how, in, conn)
		n.mu.Lock()
		c.done, c.status = time.Now(), status
		c.taken = how.lose || status/100 == 2
		n.busy[s]--
		n.mu.Unlock()
		if !good {
			return
		}
	}
}

// genuine checks a message as the Standard Webhooks say. It is false if the timestamp is not near the time, which a
// server with a wrong clock causes.
func (n *network) genuine(r *receiver, c *call, header http.Header, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.secret, "whsec_"))
	if err != nil {
		n.t.Error(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(c.id + "." + header.Get("Webhook-Timestamp") + "."))
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if got := header.Get("Webhook-Signature"); c.id == "" || !slices.Contains(strings.Fields(got), want) {
		n.t.Errorf("%s received message %q with the signature %q, want %q", r.name, c.id, got, want)
	}
	if err := json.Unmarshal(body, &c.message); err != nil {
		n.t.Errorf("%s received %q: %v", r.name, body, err)
	}
	if len(r.events) > 0 && !slices.Contains(r.events, c.message.Type) {
		n.t.Errorf("%s received %q, which it did not choose", r.name, c.message.Type)
	}
	seconds, err := strconv.ParseInt(header.Get("Webhook-Timestamp"), 10, 64)
	off := time.Unix(seconds, 0).Sub(c.at).Abs()
	if err != nil || off > 5*time.Minute && c.server.clock.Load() == 0 {
		n.t.Errorf("%s received message %s with the timestamp %q", r.name, c.id, header.Get("Webhook-Timestamp"))
	}
	return off <= 5*time.Minute
}

// dialer is [run.Deps.EventDial] of a server.
func (n *network) dialer(s *server) func(context.Context, string, string) (net.Conn, error) {
	return func(_ context.Context, _, address string) (net.Conn, error) { return n.dial(s, address) }
}
