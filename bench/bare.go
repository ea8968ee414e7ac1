package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// bare does the minimum that a Go server can do for the measured requests: it reads the body as
// JSON and returns 200 with as many bytes as Penstock does. A request whose path ends in /events
// stays open. It gets the body of each request whose path ends in /append as an event.
type bare struct {
	response []byte

	mu        sync.Mutex
	listeners map[chan []byte]struct{}
}

// The kinds of bare servers.
const (
	bareRuns  = "bare"
	bareHooks = "bare-hooks"
)

// serveBare serves until ctx ends, and prints its address on standard output.
func serveBare(ctx context.Context, kind, argument string) error {
	handler, err := bareHandler(kind, argument)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if _, err := fmt.Fprintln(os.Stdout, listener.Addr()); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bareHandler returns the handler of a process of a kind. The argument is the size of its
// responses, or the address behind a proxy.
func bareHandler(kind, argument string) (http.Handler, error) {
	if kind != bareRuns && kind != bareHooks {
		return modelHandler(kind, argument)
	}
	n, err := strconv.Atoi(argument)
	if err != nil {
		return nil, err
	}
	response := bytes.Repeat([]byte{' '}, n)
	if kind == bareHooks {
		return &bareHook{response}, nil
	}
	return &bare{response: response, listeners: map[chan []byte]struct{}{}}, nil
}

func (b *bare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/events") {
		b.listen(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	var value map[string]any
	if err != nil || len(body) > 0 && json.Unmarshal(body, &value) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/append") {
		b.tell(body)
	}
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(b.response))}
	_, _ = w.Write(b.response)
}

// tell sends an event to all listeners. A slow listener loses some;
// the table shows it.
func (b *bare) tell(data []byte) {
	event := append(append([]byte("event: message\ndata: "), data...), "\n\n"...)
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		select {
		case c <- event:
		default:
		}
	}
}

func (b *bare) listen(w http.ResponseWriter, r *http.Request) {
	c := make(chan []byte, 1000)
	b.mu.Lock()
	b.listeners[c] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, c)
	}()
	w.Header()["Content-Type"] = []string{"text/event-stream"}
	control := http.NewResponseController(w)
	if control.Flush() != nil {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-c:
			if _, err := w.Write(event); err != nil || control.Flush() != nil {
				return
			}
		}
	}
}
