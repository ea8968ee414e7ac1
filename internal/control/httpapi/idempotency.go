package httpapi

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
)

// idempotency executes a request at most once per idempotency key.
type idempotency struct {
	responses *access.Responses // of completed requests

	// The idempotency keys whose requests this process is executing. Between replicas, the unique key
	// in the store decides.
	mu      sync.Mutex
	flights map[string]struct{}
}

func newIdempotency(responses *access.Responses) *idempotency {
	return &idempotency{responses: responses, flights: make(map[string]struct{})}
}

// begin adds a flight. It returns false if there is one with this key already.
func (i *idempotency) begin(key string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, busy := i.flights[key]; busy {
		return false
	}
	i.flights[key] = struct{}{}
	return true
}

func (i *idempotency) end(key string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.flights, key)
}

// idempotencyKey reads the header, which must be 1 to 255 printable characters.
func (c *call) idempotencyKey() (string, error) {
	values := c.r.Header["Idempotency-Key"]
	key := values[0]
	printable := !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
	if len(values) > 1 || key == "" || len(key) > 255 || !printable {
		return "", penstock.Errorf(
			penstock.CodeInvalidRequest, "header Idempotency-Key must be given once, with 1 to 255 printable ASCII characters",
		)
	}
	return key, nil
}

// handle runs the handler, at most once per idempotency key. A handler that reads the body itself
// also calls once itself.
func (i *idempotency) handle(c *call) error {
	if c.r.Method != post || c.route.Scope == worker || c.route.Public || len(c.r.Header["Idempotency-Key"]) == 0 {
		return c.route.handle(c)
	}
	if _, err := c.idempotencyKey(); err != nil {
		return err
	}
	if c.route.streamBody {
		return c.route.handle(c)
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	return i.once(c, hashBody(body, c.r.URL.RawQuery), func() error { return c.route.handle(c) })
}

// once runs act, unless the idempotency key was used before. Then it sends the first response
// again. bodyHash shows whether it is the same request.
func (i *idempotency) once(c *call, bodyHash [32]byte, act func() error) error {
	if len(c.r.Header["Idempotency-Key"]) == 0 {
		return act()
	}
	key, err := c.idempotencyKey()
	if err != nil {
		return err
	}
	p := c.principal
	flight := strings.Join([]string{p.Team, p.Actor.UID, p.RunID, c.r.URL.Path, key}, "\x00")
	if !i.begin(flight) {
		return stillInFlight()
	}
	defer i.end(flight)
	return i.perform(c, access.Idempotency{
		Key: key, Method: c.r.Method, Path: c.r.URL.Path, BodyHash: bodyHash,
		Status: cmp.Or(c.route.status, http.StatusOK), OneTimeSecret: c.route.showsOnce,
	}, act)
}

// hashBody returns the hash that identifies a request under its idempotency key. It includes the
// query, because some requests, such as a cancel, have no body.
func hashBody(body []byte, query string) [32]byte {
	if query == "" {
		return sha256.Sum256(body)
	}
	h := sha256.New()
	h.Write(body)
	h.Write([]byte{0})
	h.Write([]byte(query))
	return [32]byte(h.Sum(nil))
}

// perform looks for a kept response before it acts, and again if another replica was faster.
func (i *idempotency) perform(c *call, once access.Idempotency, act func() error) error {
	replayed, err := i.replay(c, once)
	if replayed || err != nil {
		return err
	}
	c.r = c.r.WithContext(access.WithIdempotency(c.ctx(), once))
	err = act()
	if !errors.Is(err, access.ErrReplay) {
		return err
	}
	if replayed, err = i.replay(c, once); replayed || err != nil {
		return err
	}
	return stillInFlight()
}

func (i *idempotency) replay(c *call, once access.Idempotency) (bool, error) {
	body, status, found, err := i.responses.Replay(c.ctx(), c.principal, once)
	if err != nil || !found {
		return false, err
	}
	c.w.Header()["Idempotent-Replayed"] = []string{"true"}
	c.write(status, "", body)
	return true, nil
}

func stillInFlight() error {
	e := penstock.Errorf(penstock.CodeConflict, "the first request with this Idempotency-Key is still in progress")
	e.Retryable = true
	return e
}
