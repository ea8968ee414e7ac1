// Package launch executes runs in Pods of a Kubernetes cluster: one Job for each execution, whose Pod
// runs `penstock worker --once`. That worker adopts the execution and speaks to the server itself, so
// no line of a transcript depends on the cluster.
//
// The launcher keeps the lease of an execution until it is adopted, and says on its timeline what the
// Pod waits for. Afterwards, it only reports why a Pod died. All its state is in the cluster and in
// the control plane: it can be killed at any time, and its successor finds the Jobs by their labels.
package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/queue"
)

// Options configures a Launcher. Cluster, Control, Log, Name, Namespace, Server, Key and WorkerImage
// are required.
type Options struct {
	Cluster *rest.Config
	Control penstock.Control
	Log     *slog.Logger
	// Name tells launchers apart that share a namespace. It is a label.
	Name      string
	Namespace string
	// Server and Key are what the workers in Pods use.
	Server, Key string

	WorkerImage string   // has this program and bubblewrap
	Image       string   // of runs that name none; default: WorkerImage
	PullPolicy  string   // of all images; "": the cluster's default
	PullSecrets []string // names of Secrets for all images
	Secrets     []string // names of Secrets whose keys become variables of the worker, such as provider keys
	WorkerArgs  []string // more arguments of the worker
	// CPUs and Memory are the size of Pods whose runner has none, and Disk is the size of the
	// workspace, as Kubernetes writes quantities. Default of Disk: 10Gi.
	CPUs, Memory, Disk string
	// Where Pods run, and before which others; all optional.
	NodeSelector                map[string]string
	Tolerations                 []Toleration
	RuntimeClass, PriorityClass string
	// MountProgram makes sealed Pods with other images mount WorkerImage, instead of copying its programs.
	MountProgram bool
	// Unsealed makes the Pod the sandbox, for clusters that refuse the sealed Pod.
	Unsealed bool
	// StartTimeout is the longest time until the worker in a Pod has started; default: 10 min.
	StartTimeout time.Duration
	// LongestRun limits runs without a limit of their own; default: 24 h.
	LongestRun time.Duration
	// KeepJobs is how long an ended Job stays; default: 1 h.
	KeepJobs time.Duration
	// Claim is the template of claims; see queue.Options.
	Claim penstock.ClaimRequest
}

// Launcher claims runs and executes them in Pods.
type Launcher struct {
	Options
	cluster *cluster
	view    *view
}

// New checks the options and creates a launcher. It sends nothing.
func New(o Options) (*Launcher, error) {
	o.Image = cmp.Or(o.Image, o.WorkerImage)
	o.Disk = cmp.Or(o.Disk, "10Gi")
	o.StartTimeout = orDefault(o.StartTimeout, 10*time.Minute)
	o.LongestRun = orDefault(o.LongestRun, 24*time.Hour)
	o.KeepJobs = orDefault(o.KeepJobs, time.Hour)
	c, err := connect(o.Cluster, o.Namespace)
	if err != nil {
		return nil, err
	}
	return &Launcher{Options: o, cluster: c, view: newView(c, o.selector(), o.Log)}, nil
}

func orDefault(given, otherwise time.Duration) time.Duration {
	if given == 0 {
		return otherwise
	}
	return given
}

// selector finds the objects of this launcher.
func (o Options) selector() string {
	return labelManaged + "=" + managedBy + "," + labelLauncher + "=" + o.Name
}

// Run claims and launches runs until ctx ends. Then it returns at once: the Pods go on, and the next
// launcher of this name looks after them.
func (l *Launcher) Run(ctx context.Context) error {
	if err := l.Preflight(ctx); err != nil {
		return err
	}
	left, err := l.left(ctx)
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	looking, stop := context.WithCancel(ctx)
	watching.Go(func() { l.view.run(looking) })
	defer watching.Wait()
	defer stop()
	claim := l.Claim
	claim.Launch = true
	return queue.New(queue.Options{
		Leases: l.Control, Claim: claim, Held: left, Work: l.work, Log: l.Log,
	}).Run(ctx)
}

// left returns the executions that an earlier launcher of this name has left. A Job whose lease is
// not known is removed: its launcher died before it had stored the lease, so the run is requeued.
func (l *Launcher) left(ctx context.Context) ([]penstock.Assignment, error) {
	var jobs list[job]
	err := retry(ctx, l.Log, "list the Jobs", func() (err error) {
		jobs, err = l.cluster.listJobs(ctx, l.selector())
		return err
	})
	if err != nil {
		return nil, err
	}
	var left []penstock.Assignment
	for _, j := range jobs.Items {
		if _, over := holds(j.Status.Conditions, "Complete"); over {
			continue
		}
		s, err := l.cluster.readSecret(ctx, j.Meta.Name)
		var lease penstock.Lease
		switch {
		case answered(err) == http.StatusNotFound:
			if err := l.cluster.deleteJob(ctx, j.Meta.Name); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		case json.Unmarshal(s.Data["lease"], &lease) != nil || jobName(lease) != j.Meta.Name:
			l.Log.ErrorContext(ctx, "a Job has no lease of ours", "job", j.Meta.Name)
			continue
		}
		left = append(left, penstock.Assignment{Lease: lease})
	}
	return left, nil
}

// retry repeats a call while the API cannot be reached. It returns other errors.
func retry(ctx context.Context, log *slog.Logger, what string, call func() error) error {
	for pause := time.Second; ; pause = min(2*pause, 15*time.Second) {
		err := call()
		code := answered(err)
		final := code != 0 && code < http.StatusInternalServerError && code != http.StatusTooManyRequests
		if err == nil || final {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		log.WarnContext(ctx, "cannot reach the Kubernetes API", "attempted", what, "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// launched is one execution in a Pod.
type launched struct {
	l    *Launcher
	name string
	queue.Job
	log *slog.Logger

	begun   time.Time // of the launch, or of the look at one that was left
	adopted bool
	hadPod  bool
	before  decision  // the latest reason to wait
	since   time.Time // when that began
}

// work launches one execution, and returns when its Pod has ended.
func (l *Launcher) work(lease context.Context, job queue.Job) {
	x := &launched{
		l: l, name: jobName(job.Lease), Job: job, begun: time.Now(),
		log: l.Log.With("run_id", job.Lease.RunID, "execution_id", job.Lease.ExecutionID),
	}
	held, stop := context.WithCancel(lease)
	defer stop()
	go func() { // ends with held
		select {
		case <-x.HandBack:
			stop()
		case <-held.Done():
		}
	}()
	if x.Run.ID != "" { // not left by another launcher
		if err := x.create(held); err != nil {
			if held.Err() == nil {
				x.refused(lease, err)
			}
			return
		}
	}
	x.follow(lease)
}

// record adds an event to the timeline. Without the lease, there is nobody to add it.
func (x *launched) record(ctx context.Context, kind string, payload map[string]any) {
	d := penstock.Timeline(penstock.Now(), kind, payload)
	if err := x.l.Control.Append(ctx, x.Lease, []penstock.Draft{d}); err != nil &&
		!errors.Is(err, penstock.ErrLeaseLost) && ctx.Err() == nil {
		x.log.WarnContext(ctx, "cannot add to the timeline", "event", kind, "error", err)
	}
}

// How often an execution is checked, besides each change of its Pod.
const (
	lookWaiting = 2 * time.Second
	lookRunning = 10 * time.Second
)

// follow watches the Pod until it has ended.
func (x *launched) follow(lease context.Context) {
	ctx := context.WithoutCancel(lease) // the Pod goes on without the launcher's lease
	changed, forget := x.l.view.subscribe(x.name)
	defer forget()
	over := lease.Done()
	for {
		pause := lookWaiting
		if x.adopted {
			pause = lookRunning
		}
		select {
		case <-x.HandBack:
			return // the next launcher looks after it
		case <-over:
			over = nil
			if !x.stillActive(ctx) {
				return
			}
		case <-changed:
		case <-time.After(pause):
		}
		if x.step(ctx) {
			return
		}
	}
}

// stillActive finds out why the launcher has lost its lease: the worker has adopted it, and may have
// ended meanwhile, or the run was cancelled. Then a Pod that has not started never will.
func (x *launched) stillActive(ctx context.Context) bool {
	err := x.l.Control.ReportLoss(ctx, x.Lease, penstock.Loss{
		State: penstock.StateError, Unadopted: true,
		Message: penstock.StatusMessage{Message: "The execution was launched, but not adopted."},
	})
	if errors.Is(err, penstock.ErrRenewed) {
		x.adopted = true
		return true
	}
	if !errors.Is(err, penstock.ErrLeaseLost) {
		return true // unknown: the Pod shows it
	}
	x.adopted = true
	o, fresh := x.look()
	if !fresh || o.pod != nil && mainRunning(o.pod) {
		return true
	}
	p := o.lastSeen()
	workerEnded := p != nil && mainTerminated(p) != nil
	if d := decide(o); workerEnded && d.action == lose { // it has returned the run
		if err := x.lose(ctx, d); err != nil && !errors.Is(err, penstock.ErrLeaseLost) {
			return true
		}
	}
	x.remove(ctx)
	return false
}

// look returns what is known now. It is not fresh while the API does not answer: what was seen before
// may be wrong.
func (x *launched) look() (o observation, fresh bool) {
	o, fresh = x.l.view.look(x.name, x.begun)
	x.hadPod = x.hadPod || o.pod != nil
	o.hadPod, o.adopted, o.start = x.hadPod, x.adopted, x.l.StartTimeout
	o.elapsed, o.before, o.waited = time.Since(x.begun), x.before.reason, time.Since(x.since)
	if o.job != nil && o.job.Meta.CreationTimestamp != nil {
		o.elapsed = max(o.elapsed, time.Since(*o.job.Meta.CreationTimestamp))
	}
	return o, fresh
}

// step decides once. It returns true if nothing is left to do.
func (x *launched) step(ctx context.Context) bool {
	o, fresh := x.look()
	if !fresh {
		return false
	}
	if !x.adopted && (o.pod == nil || !mainRunning(o.pod)) && o.job != nil {
		o.events = x.events(ctx, o)
	}
	switch d := decide(o); d.action {
	case end:
		return true
	case lose:
		err := x.lose(ctx, d)
		if errors.Is(err, penstock.ErrRenewed) && !x.adopted {
			x.adopted = true
			return x.step(ctx) // what that means, now that it was adopted
		}
		if err != nil && !errors.Is(err, penstock.ErrLeaseLost) {
			return false // too early, or the server does not answer
		}
		if o.pod == nil || !ended(o.pod) {
			x.remove(ctx)
		}
		return true
	default:
		if d.reason != x.before.reason {
			x.before, x.since = d, time.Now()
			if !x.adopted {
				x.waits(ctx, d)
			}
		}
		return false
	}
}

// waits records what the Pod waits for, or that it waits for nothing unusual any more.
func (x *launched) waits(ctx context.Context, d decision) {
	if d.reason == "" {
		d.reason, d.message = reasonStarting, "The run's Pod is starting."
	}
	x.record(ctx, penstock.TimelinePodWaiting, map[string]any{"reason": d.reason, "message": d.message})
	x.log.InfoContext(ctx, "a Pod waits", "reason", d.reason, "message", d.message)
}

// reasonStarting follows another reason to wait, which no longer holds.
const reasonStarting = "Starting"

// events returns the events of the Pod, or of the Job while it has none. They only explain: without
// them, the decision has fewer words.
func (x *launched) events(ctx context.Context, o observation) []event {
	kind, name := "Job", x.name
	if o.pod != nil {
		kind, name = "Pod", o.pod.Meta.Name
	}
	events, err := x.l.cluster.listEvents(ctx, kind, name)
	if err != nil {
		x.log.DebugContext(ctx, "cannot list events", "of", name, "error", err)
	}
	return events
}

// lose reports that the Pod is lost. penstock.ErrLeaseLost: the run has ended already. A loss decided
// before the launcher has heard of an adoption does not count after it.
func (x *launched) lose(ctx context.Context, d decision) error {
	err := x.l.Control.ReportLoss(ctx, x.Lease, penstock.Loss{
		Reason: d.reason, State: d.state, Final: d.final, Certain: d.certain, Unadopted: !x.adopted,
		Message: penstock.StatusMessage{Message: d.message, ErrorCode: d.code},
	})
	level := slog.LevelInfo
	if err != nil && !errors.Is(err, penstock.ErrLeaseLost) && !errors.Is(err, penstock.ErrRenewed) {
		level = slog.LevelWarn
	}
	x.log.Log(ctx, level, "the Pod of a run is lost", "reason", d.reason, "message", d.message, "result", fmt.Sprint(err))
	return err
}

// remove deletes the Job, with its Pod and Secret. If that fails, its deadline ends it.
func (x *launched) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := x.l.cluster.deleteJob(ctx, x.name); err != nil {
		x.log.WarnContext(ctx, "cannot delete a Job", "job", x.name, "error", err)
	}
}
