package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// observation is what is known about an execution at one moment.
type observation struct {
	job     *job // nil: it does not exist
	pod     *pod // nil: it does not exist
	gone    *pod // without pod: how it was seen last, if it was
	hadPod  bool // it existed before
	adopted bool // the worker in the Pod has the execution
	events  []event
	elapsed time.Duration // since the launch
	waited  time.Duration // since it waits for the same reason
	before  string        // that reason
	start   time.Duration // the longest time until the worker in the Pod has started
}

// lastSeen returns the Pod as it is, or as it was before it was gone, or nil.
func (o observation) lastSeen() *pod { return cmp.Or(o.pod, o.gone) }

// What to do about an execution.
type action int

const (
	wait action = iota // go on: reason and message say for what, if that is known
	end                // the Pod has ended, and the run as well, by itself
	lose               // report the loss
)

// decision is the result of an observation.
type decision struct {
	action  action
	reason  string // one word of Kubernetes, such as ImagePullBackOff
	message string
	limit   time.Duration // of waiting for this reason; 0: none

	state   penstock.State
	code    penstock.Code
	final   bool
	certain bool // the Pod's processes have ended
}

// The reasons of a Pod that somebody has deleted, and of a Job that the API does not accept.
const (
	podDeleted = "PodDeleted"
	jobRefused = "JobRefused"
)

// How long to wait for what may pass by itself.
const (
	pullTime      = 2 * time.Minute // pull limits of registries pass
	createTime    = 2 * time.Minute // quotas become free
	configureTime = time.Minute     // a Secret may come late
)

// decide says what to do about an execution, in words for its user. It is pure.
func decide(o observation) decision {
	d := o.look()
	if d.action != wait {
		return d
	}
	switch {
	case d.limit > 0 && d.reason == o.before && o.waited >= d.limit:
	case !o.adopted && o.start > 0 && o.elapsed >= o.start:
		reason := cmp.Or(d.message, "It is not known what it waits for.")
		d.message = fmt.Sprintf("The run's Pod did not start within %s. %s", o.start, reason)
		d.code = cmp.Or(d.code, penstock.CodeUnavailable)
	default:
		return d
	}
	d.action, d.final = lose, true
	if d.state = penstock.StateFailed; d.code.OurFault() {
		d.state = penstock.StateError
	}
	return d
}

// look finds the first fact that matters.
func (o observation) look() decision {
	if o.job == nil {
		return gone("JobDeleted", "The Job of the run was deleted.")
	}
	if _, complete := holds(o.job.Status.Conditions, "Complete"); complete {
		return o.succeeded()
	}
	late, overdue := holds(o.job.Status.Conditions, "FailureTarget")
	if !overdue {
		late, overdue = holds(o.job.Status.Conditions, "Failed")
	}
	failed := overdue
	overdue = overdue && late.Reason == "DeadlineExceeded"
	if overdue && (o.pod == nil || ended(o.pod)) {
		return deadline()
	}
	if o.pod == nil && o.gone != nil && (ended(o.gone) || mainTerminated(o.gone) != nil) {
		o.pod = o.gone // it ended before it was deleted
	}
	switch {
	case o.pod == nil && (o.hadPod || failed): // it may have gone before anybody saw it
		return o.deleted()
	case o.pod == nil:
		return o.noPod()
	case inOrder(o.pod): // the Job is about to say so
		return o.succeeded()
	case o.pod.Status.Phase == "Failed" || mainTerminated(o.pod) != nil:
		return o.failed()
	case o.pod.Meta.DeletionTimestamp != nil:
		return leaving(o.pod)
	}
	return o.starting()
}

// gone is the loss of an object. Its processes may still be alive, on a node that cannot be reached.
func gone(reason, message string) decision {
	return decision{
		action: lose, reason: reason, message: message, state: penstock.StateError,
		code: penstock.CodeInfrastructureTimeout,
	}
}

// deleted is the loss of a Pod that is gone. How it was seen last may say why.
func (o observation) deleted() decision {
	d := gone(podDeleted, "The Pod of the run was deleted.")
	if p := o.lastSeen(); p != nil {
		if why, ok := disrupted(p); ok {
			d.reason, d.message = why.reason, why.message
		}
	}
	return d
}

func deadline() decision {
	return decision{
		action: lose, reason: "DeadlineExceeded", state: penstock.StateError, code: penstock.CodeInfrastructureTimeout,
		message: "The run's Pod was stopped because its Job reached activeDeadlineSeconds.", final: true, certain: true,
	}
}

func (o observation) noPod() decision {
	if e, ok := last(o.events, "Job", "FailedCreate"); ok {
		return decision{
			reason: "FailedCreate", message: "Kubernetes cannot create the Pod of the run: " + sentence(e.Message),
			limit: createTime, code: penstock.CodeUnavailable,
		}
	}
	return decision{}
}

// succeeded is about a worker that has ended in order: the run has ended, or the worker has returned it
// to the queue because its Pod is being deleted. Only the Pod says why.
func (o observation) succeeded() decision {
	if p := o.lastSeen(); p == nil || !stopped(p) {
		return decision{action: end}
	}
	d := o.deleted()
	d.certain = true
	return d
}

// failed explains a Pod whose containers have ended.
func (o observation) failed() decision {
	p := o.pod
	d := decision{action: lose, certain: true, state: penstock.StateError, code: penstock.CodeInfrastructureTimeout}
	if t := mainTerminated(p); t != nil && t.ExitCode == exitNotAdopted {
		return decision{action: end} // it was cancelled, or another Pod has it
	}
	if p.Status.Reason == "DeadlineExceeded" {
		return deadline()
	}
	if d, ok := disrupted(p); ok {
		d.certain = true
		return d
	}
	for _, c := range p.Status.Init {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			d.reason, d.final, d.code = "InitFailed", t.ExitCode < 128, penstock.CodeEnvironmentSetupFailed
			d.state = penstock.StateFailed
			d.message = fmt.Sprintf("The init container %s of the run's Pod failed with exit code %d%s",
				c.Name, t.ExitCode, details(t))
			return d
		}
	}
	t := mainTerminated(p)
	switch {
	case t == nil:
		d.reason = "PodFailed"
		d.message = "The run's Pod failed: " + sentence(p.Status.Reason+" "+p.Status.Message)
	case t.Reason == "OOMKilled":
		d.reason, d.final, d.state, d.code = "OOMKilled", true, penstock.StateFailed, ""
		limit := memoryLimit(p)
		d.message = "The run's Pod was killed because it used more memory than its limit of " + limit + "."
		if limit == "" {
			d.message = "The run's Pod was killed because its node had no memory left."
		}
	case t.Reason == "StartError" || t.Reason == "ContainerCannotRun":
		// Not final: a runtime that is stopped reports it as well.
		d.reason, d.state, d.code = t.Reason, penstock.StateFailed, penstock.CodeEnvironmentSetupFailed
		d.message = "The run's Pod could not start its container" + details(t) + o.mountHint()
	case !o.adopted:
		d.reason, d.final = "WorkerFailed", t.ExitCode <= 128 // a signal comes from outside
		d.message = fmt.Sprintf("The worker in the run's Pod failed before it began, with exit code %d%s",
			t.ExitCode, details(t))
		if t.ExitCode == cannotExecute {
			d.message += o.mountHint()
		}
	default:
		d.reason = "WorkerFailed"
		d.message = fmt.Sprintf("The worker in the run's Pod ended with exit code %d%s", t.ExitCode, details(t))
	}
	return d
}

// disrupted explains a Pod that the cluster has taken away. Such a run is requeued.
func disrupted(p *pod) (decision, bool) {
	d := decision{action: lose, state: penstock.StateError, code: penstock.CodeInfrastructureTimeout}
	why, ok := holds(p.Status.Conditions, "DisruptionTarget")
	switch {
	case p.Status.Reason == "Evicted":
		d.reason, d.message = "Evicted", "The run's Pod was evicted from its node: "+sentence(p.Status.Message)
	case p.Status.Reason == "NodeLost":
		d.reason, d.message = "NodeLost", "The node of the run's Pod is lost."
	case !ok:
		return d, false
	case why.Reason == "PreemptionByScheduler":
		d.reason, d.message = "Preempted", "The run's Pod was preempted by one with a higher priority."
	case why.Reason == "DeletionByTaintManager" || why.Reason == "DeletionByPodGC":
		d.reason, d.message = "NodeLost", "The node of the run's Pod is lost: "+sentence(why.Message)
	case strings.HasPrefix(why.Reason, "Eviction"):
		d.reason, d.message = "Evicted", "The run's Pod was evicted: "+sentence(why.Message)
	default:
		d.reason, d.message = why.Reason, "The cluster stopped the run's Pod: "+sentence(why.Message)
	}
	return d, true
}

// inOrder reports whether the worker in a Pod ended in order. The Pod says so a moment later.
func inOrder(p *pod) bool {
	t := mainTerminated(p)
	return p.Status.Phase == "Succeeded" || t != nil && t.ExitCode == 0
}

// stopped reports whether a Pod was stopped before its worker ended, which then ended in order. It
// takes the clocks of the node and of the API for the same. Their times are whole seconds.
func stopped(p *pod) bool {
	if _, ok := disrupted(p); ok && p.Status.Phase == "Failed" { // without an exit code that says so
		return true
	}
	if p.Meta.DeletionTimestamp == nil {
		return false
	}
	t := mainTerminated(p)
	if t == nil || t.FinishedAt == nil {
		return true
	}
	grace := p.Meta.DeletionGracePeriodSeconds
	if grace == 0 { // the deletion is almost complete, and this is the time of its last step
		grace = int64(p.Spec.TerminationGracePeriodSeconds)
	}
	deleted := p.Meta.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
	return !t.FinishedAt.Before(deleted)
}

// leaving explains a Pod that is being deleted. Its worker has a chance to requeue the run.
func leaving(p *pod) decision {
	d, ok := disrupted(p)
	if ok && d.reason == "NodeLost" { // nobody there can end it
		return d
	}
	if !ok {
		d = decision{reason: podDeleted, message: "The Pod of the run is being deleted."}
	}
	d.action = wait
	return d
}

// starting says what a Pod waits for.
func (o observation) starting() decision {
	for _, c := range slices.Concat(o.pod.Status.Init, o.pod.Status.Containers) {
		if w := c.State.Waiting; w != nil {
			if d, ok := o.waiting(c.Name, w.Reason, w.Message); ok {
				return d
			}
		}
	}
	for _, c := range o.pod.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return decision{
				reason: c.Reason, message: "No node can take the run's Pod: " + sentence(c.Message),
				code: penstock.CodeUnavailable,
			}
		}
	}
	if e, ok := last(o.events, "Pod", "FailedMount"); ok && !mainRunning(o.pod) {
		return decision{
			reason: "FailedMount", message: "A volume of the run's Pod cannot be mounted: " + sentence(e.Message),
			limit: createTime, code: penstock.CodeEnvironmentSetupFailed,
		}
	}
	if e, ok := last(o.events, "Pod", "FailedCreatePodSandBox"); ok && !mainRunning(o.pod) {
		return decision{
			reason: "FailedCreatePodSandBox", message: "The node cannot start the run's Pod: " + sentence(e.Message),
			limit: createTime, code: penstock.CodeUnavailable,
		}
	}
	return decision{}
}

// waiting explains the reason for which a container waits. It returns false for one that passes.
func (o observation) waiting(name, reason, message string) (decision, bool) {
	d := decision{reason: reason, code: penstock.CodeEnvironmentSetupFailed}
	image := o.image(name, message)
	switch reason {
	case "InvalidImageName":
		d.message = fmt.Sprintf("The image name %q is invalid.", image)
	case "ErrImageNeverPull":
		d.message = fmt.Sprintf("The image %s is not on the node, and its pull policy is Never.", image)
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError":
		d.reason, d.limit = "ImagePullBackOff", pullTime
		d.message = fmt.Sprintf("The image %s cannot be pulled: %s", image, sentence(o.pullError(message)))
		return d, true
	case "CreateContainerConfigError":
		d.limit = configureTime
		d.message = "The run's Pod cannot be configured: " + sentence(message)
		return d, true
	case "CreateContainerError", "RunContainerError", "CrashLoopBackOff":
		d.limit = configureTime
		d.message = fmt.Sprintf("The container %s of the run's Pod cannot be created: %s", name, sentence(message)) +
			o.mountHint()
		return d, true
	default: // ContainerCreating, PodInitializing
		return d, false
	}
	d.action, d.final, d.certain, d.state = lose, true, true, penstock.StateFailed
	return d, true
}

// ended reports whether all containers of the Pod have ended.
func ended(p *pod) bool { return p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded" }

func mainTerminated(p *pod) *terminatedState {
	for _, c := range p.Status.Containers {
		if c.Name == mainContainer {
			return c.State.Terminated
		}
	}
	return nil
}

func mainRunning(p *pod) bool {
	for _, c := range p.Status.Containers {
		if c.Name == mainContainer {
			return c.State.Running != nil
		}
	}
	return false
}

// last returns the last event of a kind of object with this reason.
func last(events []event, kind, reason string) (found event, ok bool) {
	for _, e := range events {
		if e.Involved.Kind == kind && e.Reason == reason {
			found, ok = e, true
		}
	}
	return found, ok
}
