package launch

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/penstock-dev/penstock"
)

// create creates the Job and its Secret. A repeated creation finds them.
func (x *launched) create(ctx context.Context) error {
	o := x.l.Options
	wanted := o.newJob(x.Assignment)
	var created job
	err := x.insist(ctx, "create a Job", func() (err error) {
		if created, err = x.l.cluster.createJob(ctx, wanted, false); answered(err) != http.StatusConflict {
			return err
		}
		jobs, err := x.l.cluster.listJobs(ctx, o.selector()+","+labelRun+"="+x.Lease.RunID)
		for _, j := range jobs.Items {
			if j.Meta.Name == x.name {
				created = j
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	s, err := o.newSecret(x.Lease, created)
	if err != nil {
		return err
	}
	secrets := []secret{s}
	if x.RegistryLogin != "" {
		pull, err := o.newPullSecret(x.Assignment, created)
		if err != nil {
			return err
		}
		secrets = append(secrets, pull)
	}
	for _, s := range secrets {
		err := x.insist(ctx, "create a Secret", func() error {
			err := x.l.cluster.createSecret(ctx, s)
			if answered(err) == http.StatusConflict {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	x.begun = time.Now() // only a view of later counts
	x.record(ctx, penstock.TimelinePodCreated, map[string]any{
		"namespace": x.l.Namespace, "job": x.name, "image": o.podImage(x.Assignment),
	})
	return nil
}

// insist repeats a call also while it is forbidden, for a while: quotas become free, and an API server
// that has just started does not know all roles yet.
func (x *launched) insist(ctx context.Context, what string, call func() error) error {
	for begun, told := time.Now(), false; ; told = true {
		err := retry(ctx, x.log, what, call)
		if answered(err) != http.StatusForbidden || ctx.Err() != nil || time.Since(begun) >= createTime {
			return err
		}
		if e, ok := errors.AsType[*apiError](err); ok && !told {
			x.log.WarnContext(ctx, "the Kubernetes API forbids a call", "attempted", what, "error", err)
			x.record(ctx, penstock.TimelinePodWaiting, map[string]any{
				"reason": jobRefused, "message": "Kubernetes refuses the Job of the run for now: " + sentence(e.Message),
			})
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookWaiting):
		}
	}
}

// refused ends the run: the cluster does not accept its Job.
func (x *launched) refused(ctx context.Context, err error) {
	d := decision{
		action: lose, reason: jobRefused, message: "Kubernetes refused the Job of the run.", final: true, certain: true,
		state: penstock.StateError, code: penstock.CodeUnavailable,
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		d.message = "Kubernetes refused the Job of the run: " + sentence(e.Message)
	}
	x.log.ErrorContext(ctx, "cannot create the Job of a run", "error", err)
	_ = x.lose(ctx, d)
	x.remove(ctx)
}
