package launch

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// view is what the API has shown of a launcher's Jobs and Pods. It is fresh while the API answers.
type view struct {
	cluster  *cluster
	selector string
	log      *slog.Logger

	mu      sync.Mutex
	jobs    map[string]job
	pods    map[string]pod       // by the name of their Job
	gone    map[string]pod       // as they were seen last, while their Job exists
	touched map[string]time.Time // when the watch last changed a Pod
	seen    time.Time            // when the last complete read began
	waiting map[string]chan struct{}
}

// How often the view is read anew, besides the watch of Pods, and how long it counts as fresh.
const (
	readEvery = 5 * time.Second
	freshFor  = 20 * time.Second
)

func newView(c *cluster, selector string, log *slog.Logger) *view {
	return &view{
		cluster: c, selector: selector, log: log, waiting: map[string]chan struct{}{}, touched: map[string]time.Time{},
		gone: map[string]pod{},
	}
}

// run reads and watches until ctx ends.
func (v *view) run(ctx context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	versions := make(chan string, 1)
	watching.Go(func() { v.watch(ctx, versions) })
	for failures := 0; ctx.Err() == nil; {
		version, err := v.read(ctx)
		if err != nil && ctx.Err() == nil {
			failures++
			if failures == 1 || failures%12 == 0 {
				v.log.WarnContext(ctx, "cannot read Jobs and Pods", "attempt", failures, "error", err)
			}
		}
		if err == nil {
			failures = 0
			select {
			case versions <- version:
			default:
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(readEvery):
		}
	}
}

// read lists everything. Jobs come first: a Pod without its Job is then one of a deleted Job.
func (v *view) read(ctx context.Context) (version string, err error) {
	start := time.Now()
	jobs, err := v.cluster.listJobs(ctx, v.selector)
	if err != nil {
		return "", err
	}
	pods, err := v.cluster.listPods(ctx, v.selector)
	if err != nil {
		return "", err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.pods
	v.jobs, v.pods, v.seen = map[string]job{}, map[string]pod{}, start
	for _, j := range jobs.Items {
		v.jobs[j.Meta.Name] = j
	}
	for _, p := range pods.Items {
		v.pods[p.owner()] = p
	}
	for name, at := range v.touched { // what the watch has shown since is newer
		if at.Before(start) {
			delete(v.touched, name)
			continue
		}
		delete(v.pods, name)
		if p, ok := before[name]; ok {
			v.pods[name] = p
		}
	}
	v.remember(before)
	for _, c := range v.waiting {
		nudge(c)
	}
	return pods.Meta.ResourceVersion, nil
}

// remember keeps the Pods that are gone since the last read, and forgets those without a Job.
func (v *view) remember(before map[string]pod) {
	for name, p := range before {
		if _, exists := v.pods[name]; !exists {
			v.gone[name] = p
		}
	}
	maps.DeleteFunc(v.gone, func(name string, _ pod) bool {
		_, exists := v.jobs[name]
		return !exists
	})
}

// watch applies changes of Pods as they come. When a watch expires or breaks, it waits for the next
// complete read.
func (v *view) watch(ctx context.Context, versions <-chan string) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case version := <-versions:
			err := v.cluster.watchPods(ctx, v.selector, version, v.change)
			if err != nil && ctx.Err() == nil && !errors.Is(err, errExpired) {
				v.log.InfoContext(ctx, "the watch of Pods ended", "error", err)
			}
			select { // what was read during the watch is too old
			case <-versions:
			default:
			}
		}
	}
}

func (v *view) change(kind string, p pod) {
	if kind == "BOOKMARK" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pods == nil {
		return
	}
	name := p.owner()
	v.touched[name] = time.Now()
	if kind == "DELETED" {
		delete(v.pods, name)
		v.gone[name] = p
	} else {
		v.pods[name] = p
	}
	if c, ok := v.waiting[name]; ok {
		nudge(c)
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// subscribe returns a channel that gets a value when the Job or its Pod may have changed.
func (v *view) subscribe(name string) (changed <-chan struct{}, forget func()) {
	c := make(chan struct{}, 1)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waiting[name] = c
	return c, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.waiting, name)
	}
}

// look returns what is known of a Job since it was created. fresh is false if the API has not answered
// of late, or not since then.
func (v *view) look(name string, created time.Time) (o observation, fresh bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if j, ok := v.jobs[name]; ok {
		o.job = &j
	}
	if p, ok := v.pods[name]; ok {
		o.pod = &p
	} else if p, ok := v.gone[name]; ok {
		o.gone = &p
	}
	return o, v.seen.After(created) && time.Since(v.seen) < freshFor
}

// owner is the name of the Job of a Pod.
func (p pod) owner() string {
	for _, o := range p.Meta.OwnerReferences {
		if o.Kind == "Job" {
			return o.Name
		}
	}
	return ""
}
