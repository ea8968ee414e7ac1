package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// fakeCluster is the API of a cluster whose Pods follow the script of a test. It is a transport, so
// that the clock of a bubble holds for it.
type fakeCluster struct {
	t *testing.T

	mu       sync.Mutex
	version  int
	jobs     map[string]job
	pods     map[string]pod // by the name of their Job
	secrets  map[string]secret
	events   []event
	watches  map[chan string]struct{} // get lines
	away     bool                     // no call is answered
	watched  int
	refuse   map[string]status // by "METHOD resource"
	denied   []string          // "verb resource"
	noImages bool              // no volumes of images
	noUserNS bool
}

func newFake(t *testing.T) *fakeCluster {
	return &fakeCluster{
		t: t, jobs: map[string]job{}, pods: map[string]pod{}, secrets: map[string]secret{},
		watches: map[chan string]struct{}{}, refuse: map[string]status{},
	}
}

// RoundTrip implements http.RoundTripper.
func (f *fakeCluster) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	away := f.away
	f.mu.Unlock()
	if away {
		return nil, errors.New("connection refused")
	}
	if r.URL.Query().Get("watch") != "" {
		return f.watch(r)
	}
	w := httptest.NewRecorder()
	f.serve(w, r)
	return w.Result(), nil
}

func (f *fakeCluster) watch(r *http.Request) (*http.Response, error) {
	lines := make(chan string, 100)
	f.mu.Lock()
	f.watches[lines] = struct{}{}
	f.watched++
	f.mu.Unlock()
	in, out := io.Pipe()
	go func() {
		defer func() { _ = out.Close() }()
		for {
			select {
			case <-r.Context().Done():
				_ = out.CloseWithError(r.Context().Err())
				return
			case line, ok := <-lines:
				if !ok {
					return
				}
				if _, err := io.WriteString(out, line+"\n"); err != nil {
					return
				}
			}
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: in, Header: http.Header{}, Request: r}, nil
}

// say sends a line to each watch. The caller has the lock.
func (f *fakeCluster) say(kind string, object any) {
	raw, err := json.Marshal(map[string]any{"type": kind, "object": object})
	if err != nil {
		f.t.Error(err)
	}
	for lines := range f.watches {
		lines <- string(raw)
	}
}

// expire ends each watch as the API does when it has forgotten the changes: with HTTP 200.
func (f *fakeCluster) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.say("ERROR", status{Code: http.StatusGone, Reason: "Expired", Message: "too old resource version"})
	f.watches = map[chan string]struct{}{}
}

func (f *fakeCluster) set(change func(*fakeCluster)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeCluster) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	name, resource := "", parts[len(parts)-1]
	if !slices.Contains([]string{"jobs", "pods", "secrets", "events", "selfsubjectaccessreviews"}, resource) {
		name, resource = resource, parts[len(parts)-2]
	}
	if s, ok := f.refuse[r.Method+" "+resource]; ok {
		w.WriteHeader(s.Code)
		f.write(w, s)
		return
	}
	switch r.Method + " " + resource {
	case "POST jobs":
		f.createJob(w, r)
	case "GET jobs":
		f.write(w, list[job]{Meta: f.listed(), Items: values(f.jobs)})
	case "DELETE jobs":
		delete(f.jobs, name)
		if p, ok := f.pods[name]; ok {
			delete(f.pods, name)
			f.say("DELETED", p)
		}
	case "GET pods":
		f.write(w, list[pod]{Meta: f.listed(), Items: values(f.pods)})
	case "POST secrets":
		var s secret
		f.read(r, &s)
		f.secrets[s.Meta.Name] = s
	case "GET secrets":
		s, ok := f.secrets[name]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			f.write(w, status{Code: http.StatusNotFound, Reason: "NotFound"})
			return
		}
		f.write(w, s)
	case "GET events":
		f.write(w, list[event]{Items: f.events})
	case "POST selfsubjectaccessreviews":
		raw, _ := io.ReadAll(r.Body)
		allowed := !slices.ContainsFunc(f.denied, func(d string) bool {
			verb, resource, _ := strings.Cut(d, " ")
			return strings.Contains(string(raw), `"resource":"`+resource+`"`) &&
				strings.Contains(string(raw), `"verb":"`+verb+`"`)
		})
		f.write(w, map[string]any{"status": map[string]any{"allowed": allowed}})
	default:
		f.t.Errorf("an unexpected call: %s %s", r.Method, r.URL)
	}
}

func (f *fakeCluster) createJob(w http.ResponseWriter, r *http.Request) {
	var j job
	f.read(r, &j)
	if f.noUserNS {
		j.Spec.Template.Spec.HostUsers = nil
	}
	if f.noImages && slices.ContainsFunc(j.Spec.Template.Spec.Volumes, func(v map[string]any) bool {
		return v["image"] != nil
	}) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		f.write(w, status{Code: http.StatusUnprocessableEntity, Message: "must specify a volume type"})
		return
	}
	dry := r.URL.Query().Get("dryRun") == "All"
	if _, exists := f.jobs[j.Meta.Name]; exists && !dry {
		w.WriteHeader(http.StatusConflict)
		f.write(w, status{Code: http.StatusConflict, Reason: "AlreadyExists"})
		return
	}
	now := time.Now()
	j.Meta.UID, j.Meta.CreationTimestamp = "uid-"+j.Meta.Name, &now
	if !dry {
		f.jobs[j.Meta.Name] = j
	}
	f.write(w, j)
}

func (f *fakeCluster) listed() meta { return meta{ResourceVersion: fmt.Sprint(f.version)} }

func (f *fakeCluster) read(r *http.Request, into any) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		f.t.Error(err)
	}
}

func (f *fakeCluster) write(w io.Writer, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		f.t.Error(err)
	}
}

func values[T any](m map[string]T) []T {
	list := []T{}
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

// only is the name of the only Job.
func (f *fakeCluster) only() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.jobs {
		return name
	}
	return ""
}

// pod changes the Pod of the only Job, and creates it if it does not exist.
func (f *fakeCluster) pod(phase string, changes ...func(*pod)) {
	name := f.only()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	_, exists := f.pods[name]
	p := aPod(phase, changes...)
	p.Meta.Name, p.Meta.OwnerReferences = name+"-x", []owner{{Kind: "Job", Name: name}}
	f.pods[name] = *p
	kind := "ADDED"
	if exists {
		kind = "MODIFIED"
	}
	f.say(kind, *p)
}

// leave deletes the Pod of the only Job, which is complete. Watches get nothing but the last state.
func (f *fakeCluster) leave(changes ...func(*pod)) {
	name := f.only()
	f.mu.Lock()
	defer f.mu.Unlock()
	p := aPod("Succeeded", changes...)
	p.Meta = meta{
		Name: name + "-x", OwnerReferences: []owner{{Kind: "Job", Name: name}},
		DeletionTimestamp: p.Meta.DeletionTimestamp, DeletionGracePeriodSeconds: p.Meta.DeletionGracePeriodSeconds,
	}
	j := f.jobs[name]
	j.Status.Conditions = []condition{{Type: "Complete", Status: "True"}}
	f.jobs[name] = j
	delete(f.pods, name)
	f.say("DELETED", p)
}

// plane is a control plane for launchers: the part of the real one that they use, with its rules.
type plane struct {
	penstock.Control

	mu       sync.Mutex
	waiting  []penstock.Assignment
	held     map[string]*heldRun // by run
	timeline []string
	losses   []penstock.Loss
	lostAt   []time.Time
	away     bool
}

type heldRun struct {
	lease   penstock.Lease
	adopted bool
	over    bool
	until   time.Time
}

func newPlane(runs ...string) *plane {
	p := &plane{held: map[string]*heldRun{}}
	for _, id := range runs {
		p.waiting = append(p.waiting, penstock.Assignment{
			Lease: penstock.Lease{RunID: id, ExecutionID: 1, Token: "token of " + id}, Run: penstock.Run{ID: id},
		})
	}
	return p
}

func (p *plane) Claim(ctx context.Context, c penstock.ClaimRequest) (penstock.Assignment, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Stopping || c.Busy >= c.Capacity || len(p.waiting) == 0 {
		p.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(c.Wait):
		}
		p.mu.Lock()
		return penstock.Assignment{}, penstock.ErrNoWork
	}
	a := p.waiting[0]
	p.waiting = p.waiting[1:]
	p.held[a.Lease.RunID] = &heldRun{lease: a.Lease, until: time.Now().Add(penstock.LeaseTime)}
	return a, nil
}

func (p *plane) find(l penstock.Lease) (*heldRun, bool) {
	h, ok := p.held[l.RunID]
	return h, ok && !h.over && h.lease == l && time.Now().Before(h.until)
}

func (p *plane) Heartbeat(ctx context.Context, l penstock.Lease, wait time.Duration) (penstock.Signal, error) {
	for over := time.Now().Add(wait); ; {
		p.mu.Lock()
		h, ok := p.find(l)
		if !ok || h.adopted {
			p.mu.Unlock()
			return penstock.Signal{}, penstock.ErrLeaseLost
		}
		h.until = time.Now().Add(penstock.LeaseTime)
		p.mu.Unlock()
		if !time.Now().Before(over) {
			return penstock.Signal{}, nil
		}
		select {
		case <-ctx.Done():
			return penstock.Signal{}, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (p *plane) Append(_ context.Context, l penstock.Lease, drafts []penstock.Draft) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h, ok := p.find(l); !ok || h.adopted {
		return penstock.ErrLeaseLost
	}
	for _, d := range drafts {
		var data penstock.TimelineData
		if err := json.Unmarshal(d.Data, &data); err != nil {
			return err
		}
		text := data.Type
		if reason, ok := data.Payload["reason"]; ok {
			text += fmt.Sprintf("(%v)", reason)
		}
		p.timeline = append(p.timeline, text)
	}
	return nil
}

func (p *plane) ReportLoss(_ context.Context, l penstock.Lease, loss penstock.Loss) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return errors.New("connection refused")
	}
	h, ok := p.find(l)
	if !ok {
		if h != nil && h.over && loss.Reason != "" { // it goes to the timeline all the same
			p.losses, p.lostAt = append(p.losses, loss), append(p.lostAt, time.Now())
		}
		return penstock.ErrLeaseLost
	}
	givenUp := time.Until(h.until) < store.GivenUp
	if h.adopted && (loss.Unadopted || !loss.Certain && !givenUp) || !h.adopted && !loss.Unadopted && !loss.Certain {
		return penstock.ErrRenewed
	}
	p.losses, p.lostAt = append(p.losses, loss), append(p.lostAt, time.Now())
	h.over = true
	return nil
}

// adopt is the worker in the Pod of a run.
func (p *plane) adopt(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[id]
	h.adopted, h.until = true, time.Now().Add(penstock.LeaseTime)
}

// renew is a heartbeat of the worker in the Pod.
func (p *plane) renew(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[id].until = time.Now().Add(penstock.LeaseTime)
}

// finish is the end of a run by its worker, but for a success, or by a cancel.
func (p *plane) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held["run-1"].over = true
}

func (p *plane) lost() (losses []penstock.Loss, at []time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.losses), slices.Clone(p.lostAt)
}

func (p *plane) happened() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.timeline, " ")
}

// history is a launcher with one run in a fake cluster.
type history struct {
	t     *testing.T
	f     *fakeCluster
	p     *plane
	begun time.Time
	stop  func()
}

func options(f *fakeCluster, p *plane) Options {
	return Options{
		Cluster: &rest.Config{Host: "http://cluster.test", Transport: f}, Control: p, Log: slog.New(slog.DiscardHandler),
		Name: "penstock", Namespace: "runs", Server: "https://penstock.test", Key: "psk_key", WorkerImage: "penstock:1",
		CPUs: "1", Memory: "512Mi", StartTimeout: 10 * time.Minute, Claim: penstock.ClaimRequest{Capacity: 2},
	}
}

// launchOne starts a launcher, and waits for the Job of the run.
func launchOne(t *testing.T) *history {
	t.Helper()
	h := &history{t: t, f: newFake(t), p: newPlane("run-1"), begun: time.Now()}
	h.start()
	time.Sleep(time.Second)
	if h.f.only() != "penstock-run-1-1" {
		t.Fatalf("got Job %q", h.f.only())
	}
	return h
}

// start starts a launcher over the same cluster and control plane.
func (h *history) start() {
	l, err := New(options(h.f, h.p))
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	h.stop = func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			h.t.Errorf("the launcher ended: %v", err)
		}
	}
}

// bubble runs a history with a clock of its own.
func bubble(t *testing.T, test func(h *history)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := launchOne(t)
		test(h)
		h.stop()
	})
}
