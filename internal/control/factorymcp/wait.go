package factorymcp

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	waitTask = "wait_task"

	// longestWait ends before clients end a call: many of them after 60 seconds, whatever the server says.
	longestWait = 50 * time.Second
	// progressEvery is the time between two reports of progress.
	progressEvery = 10 * time.Second
	// settle is how long a change waits for others that come with it, so that the run is read once.
	settle = 100 * time.Millisecond
)

type waitArgs struct {
	Task    string `json:"factory_task_uid"`
	State   string `json:"state"`
	Cursor  int64  `json:"cursor"`
	Timeout int    `json:"timeout_seconds"`
}

// waitTask follows the events of the run, and reads the run when one of them reports a state. It ends at once when
// the client goes away.
func (s *session) waitTask(ctx context.Context, req *mcp.CallToolRequest, args waitArgs) (result, error) {
	if !s.waits.take(s.caller.keyUID) {
		return result{}, &apiError{
			text: "this key already waits for " + strconv.Itoa(MaxWaits) + " tasks; use get_task, or wait for one of them",
		}
	}
	defer s.waits.free(s.caller.keyUID)
	r, err := s.root(ctx, args.Task)
	if err != nil {
		return result{}, err
	}
	known := args.State
	if known == "" {
		known = r.State
	}
	if r.done() || r.needsAnswer() || r.State != known {
		return waited(s.Server, r, args.Cursor, true), nil
	}
	limit := longestWait
	if t := time.Duration(args.Timeout) * time.Second; t > 0 && t < limit {
		limit = t
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stream, err := s.watch(ctx, r.ID, args.Cursor)
	if err != nil {
		return result{}, err
	}
	defer stream.Close()
	w := &wait{session: s, req: req, run: r, known: known, cursor: args.Cursor}
	return w.follow(ctx, stream)
}

// waited returns the state of a task after a wait. changed is false if only time has passed.
func waited(s *Server, r *runItem, cursor int64, changed bool) result {
	f := r.facts(s)
	f["changed"], f["cursor"] = changed, cursor
	words := r.words()
	delete(words, "note")
	return result{f, []foreign{{"task", "the sender of the task and its agents", words}}}
}

// watch opens the event stream of a run.
func (s *session) watch(ctx context.Context, id string, after int64) (*events, error) {
	q := url.Values{"after": {strconv.FormatInt(max(0, after), 10)}}
	resp, err := s.open(ctx, request{path: join("agent", "runs", id, "events"), query: q})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		return nil, read(resp, "events", nil)
	}
	e := &events{resp: resp, heads: make(chan head, 64), stop: make(chan struct{}), done: make(chan struct{})}
	go e.scan(bufio.NewReader(resp.Body))
	return e, nil
}

// head is what a wait reads of an event: everything but its data.
type head struct {
	id   int64
	kind string
}

// events reads an event stream (HTML standard §9.2).
type events struct {
	resp  *http.Response
	heads chan head // closed at the end of the stream
	stop  chan struct{}
	done  chan struct{}
}

// Close ends the stream and waits for its end.
func (e *events) Close() {
	close(e.stop)
	_ = e.resp.Body.Close()
	<-e.done
}

func (e *events) scan(in *bufio.Reader) {
	defer close(e.done)
	defer close(e.heads)
	var h head
	for {
		line, err := in.ReadSlice('\n')
		name, value, _ := strings.Cut(strings.TrimRight(string(line[:min(len(line), 128)]), "\n"), ": ")
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of long data
			_, err = in.ReadSlice('\n')
		}
		switch name {
		case "id":
			h.id, _ = strconv.ParseInt(value, 10, 64)
		case "event":
			h.kind = value
		case "data":
			select {
			case e.heads <- h:
			case <-e.stop:
				return
			}
			h = head{}
		}
		if err != nil {
			return
		}
	}
}

// wait is one wait for a change of a run.
type wait struct {
	session *session

	req    *mcp.CallToolRequest
	run    *runItem
	known  string // the state that the caller knows
	cursor int64  // of the last event
	seen   int    // events
	sent   int    // reports of progress
}

// follow reads events until the run has changed or ctx ends.
func (w *wait) follow(ctx context.Context, stream *events) (result, error) {
	settled := time.NewTimer(settle)
	settled.Stop()
	report := time.NewTicker(progressEvery)
	defer report.Stop()
	w.progress(ctx)
	heads := stream.heads
	for {
		select {
		case h, open := <-heads:
			if !open {
				heads = nil
				settled.Reset(0)
				continue
			}
			w.seen++
			w.cursor = max(w.cursor, h.id)
			if h.kind == "state" || h.kind == "done" {
				settled.Reset(settle)
			}
		case <-settled.C:
			changed, err := w.look(ctx)
			if changed || err != nil || heads == nil {
				return waited(w.session.Server, w.run, w.cursor, changed), w.unlessOver(ctx, err)
			}
		case <-report.C:
			w.progress(ctx)
		case <-ctx.Done():
			return w.over(ctx)
		}
	}
}

// look reads the run. It reports whether its state is not what the caller knows.
func (w *wait) look(ctx context.Context) (bool, error) {
	r, err := w.session.root(ctx, w.run.ID)
	if err != nil {
		return false, err
	}
	w.run = r
	return r.done() || r.needsAnswer() || r.State != w.known, nil
}

// over returns the result once the time has passed. Without a client, nobody reads it.
func (w *wait) over(ctx context.Context) (result, error) {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return result{}, ctx.Err()
	}
	return waited(w.session.Server, w.run, w.cursor, false), nil
}

// unlessOver returns err, unless it only says that the time of the wait has passed.
func (w *wait) unlessOver(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}

// progress tells the client, if it asked for that, how the run goes. Nothing in it comes from the agent.
func (w *wait) progress(ctx context.Context) {
	token := w.req.Params.GetProgressToken()
	if token == nil {
		return
	}
	w.sent++
	_ = w.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(w.sent), Message: w.run.State + ", " + strconv.Itoa(w.seen) + " events",
	})
}
