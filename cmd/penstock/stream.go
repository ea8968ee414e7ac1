package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
)

// liveEvent is one event of a run's stream.
type liveEvent struct {
	ID   int64              `json:"id"`
	Type penstock.EventType `json:"event"`
	Data jsontext.Value     `json:"data"`
}

// Time limits of a stream. The server sends a comment every 15 s, so a stream that is silent for
// streamSilence is dead. The client gives up after streamPatience without a stream.
const (
	streamSilence = 45 * time.Second
	streamTimeout = 5 * time.Minute
	maxEvent      = 64 << 20
)

// follow calls handle with each event of a run after a sequence number, from the log and then live.
// It continues after lost connections and restarts of the server, and never repeats an event. It
// returns when the run has ended (with its last state), when handle fails, or when the server
// rejects the request.
func (c *client) follow(
	ctx context.Context, runID string, after int64, handle func(liveEvent) error,
) (penstock.StateData, error) {
	f := follower{client: c, runID: runID, after: after, handle: handle, alive: time.Now()}
	for attempt := 1; ; attempt++ {
		before := f.alive
		over, err := f.connect(ctx)
		if err == nil && over || ctx.Err() != nil {
			return f.last, ctx.Err()
		}
		if handled, ok := errors.AsType[*handleError](err); ok {
			return f.last, handled.cause
		}
		var api *apiError
		if errors.As(err, &api) && !api.mayRetry && api.status < 500 || time.Since(f.alive) > streamTimeout {
			return f.last, err
		}
		if f.alive.After(before) {
			attempt = 1
		}
		pause, _ := retryable(err, min(attempt, 6))
		if err := sleep(ctx, max(pause, 200*time.Millisecond)); err != nil {
			return f.last, err
		}
	}
}

// follower is the position in a run's stream.
type follower struct {
	*client
	runID  string
	after  int64              // sequence number of the last handled event
	last   penstock.StateData // from the last state event
	alive  time.Time          // when the server last sent something
	handle func(liveEvent) error
}

// handleError is an error of handle, and not of the stream.
type handleError struct{ cause error }

func (e *handleError) Error() string { return e.cause.Error() }

// connect reads one connection to its end. over means that the run has ended.
func (f *follower) connect(ctx context.Context) (over bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(streamSilence, cancel)
	defer silence.Stop()

	header := http.Header{"Accept": {"text/event-stream"}}
	if f.after > 0 {
		header.Set("Last-Event-ID", strconv.FormatInt(f.after, 10))
	}
	response, err := f.send(ctx, http.MethodGet, runPath(f.runID, "events"), header, nil)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent { // the log was already read to its end
		run, err := f.run(ctx, f.runID)
		f.last = penstock.StateData{State: run.State, ExecutionID: run.ExecutionID, StatusMessage: run.StatusMessage}
		return run.State.Done(), err
	}
	events := newEventReader(response.Body)
	for {
		event, err := events.next()
		if err != nil {
			return false, &transportError{f.base, err}
		}
		silence.Reset(streamSilence)
		f.alive = time.Now()
		if over, err := f.take(event); over || err != nil {
			return over, err
		}
	}
}

// take handles one event. over means that it was the last one.
func (f *follower) take(event liveEvent) (over bool, err error) {
	if event.Type == "" || event.ID != 0 && event.ID <= f.after {
		return false, nil // a comment, or a repeated event
	}
	over = event.Type == penstock.EventDone
	if over || event.Type == penstock.EventState {
		var state penstock.StateData
		if err := json.Unmarshal(event.Data, &state); err != nil {
			return false, &handleError{exitf(exitUnavailable, "%s sent an invalid event: %w", f.base, err)}
		}
		f.last = state
	}
	if err := f.handle(event); err != nil {
		return false, &handleError{err}
	}
	f.after = max(f.after, event.ID)
	return over, nil
}

// run reads one run.
func (c *client) run(ctx context.Context, id string) (penstock.Run, error) {
	var run penstock.Run
	_, err := c.call(ctx, http.MethodGet, runPath(id), nil, &run)
	return run, err
}

// eventReader reads server-sent events (WHATWG HTML §9.2.6), those fields of
// them that the contract uses.
type eventReader struct {
	lines *bufio.Reader
	size  int
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{lines: bufio.NewReaderSize(r, 64<<10)}
}

// next reads up to the end of the next event. A comment is an event without a type.
func (r *eventReader) next() (liveEvent, error) {
	var event liveEvent
	r.size = 0
	for {
		line, err := r.line()
		if err != nil {
			return event, err
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && event.Type != "":
			return event, nil
		case name == "" && event.Type == "" && event.Data == nil:
			return event, nil
		case name == "event":
			event.Type = penstock.EventType(value)
		case name == "id":
			if event.ID, err = strconv.ParseInt(value, 10, 64); err != nil {
				return event, fmt.Errorf("event id %q: %w", value, err)
			}
		case name == "data":
			if event.Data != nil {
				event.Data = append(event.Data, '\n')
			}
			event.Data = append(event.Data, value...)
		}
	}
}

func (r *eventReader) line() (string, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		line = append(line, part...)
		if r.size += len(part); r.size > maxEvent {
			return "", fmt.Errorf("event exceeds %d bytes", maxEvent)
		}
		if err == nil {
			return strings.TrimRight(string(line), "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
}
