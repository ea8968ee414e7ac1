package launch

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// The parts of histories.
func aJob(conditions ...condition) *job {
	return &job{Meta: meta{Name: "j"}, Status: jobStatus{Conditions: conditions}}
}

func aPod(phase string, changes ...func(*pod)) *pod {
	p := &pod{
		Meta: meta{Name: "p", OwnerReferences: []owner{{Kind: "Job", Name: "j"}}},
		Spec: podSpec{
			InitContainers: []container{{Name: initContainer, Image: "penstock:1"}},
			Containers: []container{{
				Name: mainContainer, Image: "app:1",
				Resources: map[string]any{"limits": map[string]any{"memory": "512Mi"}},
			}},
		},
		Status: podStatus{Phase: phase},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func waitingFor(reason, message string) func(*pod) {
	return func(p *pod) {
		s := containerStatus{Name: mainContainer}
		s.State.Waiting = &struct {
			Reason  string `json:"reason"`
			Message string `json:"message,omitempty"`
		}{reason, message}
		p.Status.Containers = []containerStatus{s}
	}
}

func terminated(code int, reason, message string) func(*pod) {
	return func(p *pod) {
		p.Status.Containers = []containerStatus{{
			Name: mainContainer,
			State: containerState{
				Terminated: &terminatedState{ExitCode: code, Reason: reason, Message: message},
			},
		}}
	}
}

// endedAt is a worker that has ended in order.
func endedAt(at time.Time) func(*pod) {
	return func(p *pod) {
		terminated(0, "Completed", "")(p)
		p.Status.Containers[0].State.Terminated.FinishedAt = &at
	}
}

// deletedAt is a Pod that was deleted with a grace period.
func deletedAt(at time.Time) func(*pod) {
	const grace = 30 // seconds
	return func(p *pod) {
		over := at.Add(time.Duration(grace) * time.Second)
		p.Meta.DeletionTimestamp, p.Meta.DeletionGracePeriodSeconds = &over, grace
	}
}

func running(p *pod) {
	p.Status.Containers = []containerStatus{{Name: mainContainer, State: containerState{Running: &struct{}{}}}}
}

func eventOf(kind, reason, message string) []event {
	e := event{Reason: reason, Message: message}
	e.Involved.Kind = kind
	return []event{e}
}

func disruption(reason, message string) condition {
	return condition{Type: "DisruptionTarget", Status: "True", Reason: reason, Message: message}
}

// What the launcher makes of each state of a Job and its Pod.
func TestDecide(t *testing.T) {
	t.Parallel()
	const start = 10 * time.Minute
	now := time.Now()
	complete := aJob(condition{Type: "Complete", Status: "True"})
	for name, test := range map[string]struct {
		o       observation
		action  action
		reason  string
		words   string
		state   penstock.State
		code    penstock.Code
		final   bool
		certain bool
	}{
		"nothing yet": {o: observation{job: aJob()}, action: wait},
		"a Pod that starts": {
			o: observation{job: aJob(), pod: aPod("Pending", waitingFor("ContainerCreating", ""))}, action: wait,
		},
		"a Pod that runs": {o: observation{job: aJob(), pod: aPod("Running", running), adopted: true}, action: wait},
		"a run that ended": {
			o: observation{job: aJob(), pod: aPod("Succeeded", terminated(0, "Completed", "")), adopted: true}, action: end,
		},
		"a complete Job whose Pod is gone": {
			o:      observation{job: aJob(condition{Type: "Complete", Status: "True"}), hadPod: true, adopted: true},
			action: end,
		},
		"an execution that was cancelled before its worker came": {
			o: observation{job: aJob(), pod: aPod("Failed", terminated(exitNotAdopted, "Error", ""))}, action: end,
		},
		"an invalid image name": {
			o:      observation{job: aJob(), pod: aPod("Pending", waitingFor("InvalidImageName", "couldn't parse"))},
			action: lose, reason: "InvalidImageName", words: `"app:1" is invalid`, state: penstock.StateFailed,
			code: penstock.CodeEnvironmentSetupFailed, final: true, certain: true,
		},
		"an image that is never pulled": {
			o:      observation{job: aJob(), pod: aPod("Pending", waitingFor("ErrImageNeverPull", ""))},
			action: lose, reason: "ErrImageNeverPull", words: "not on the node", state: penstock.StateFailed,
			code: penstock.CodeEnvironmentSetupFailed, final: true, certain: true,
		},
		"a pull that fails for a minute": {
			o: observation{
				job: aJob(), pod: aPod("Pending", waitingFor("ErrImagePull", "toomanyrequests")), before: "ImagePullBackOff",
				waited: time.Minute,
			},
			action: wait, reason: "ImagePullBackOff", words: "toomanyrequests", code: penstock.CodeEnvironmentSetupFailed,
		},
		"a pull that fails for two minutes": {
			o: observation{
				job: aJob(), pod: aPod("Pending", waitingFor("ImagePullBackOff", "Back-off pulling image")),
				before: "ImagePullBackOff", waited: 2 * time.Minute, start: start,
				events: eventOf("Pod", "Failed", `Failed to pull image "app:1": not found`),
			},
			action: lose, reason: "ImagePullBackOff", words: "app:1 cannot be pulled: Failed to pull image \"app:1\": not found",
			state: penstock.StateFailed, code: penstock.CodeEnvironmentSetupFailed, final: true,
		},
		"no node has room": {
			o: observation{
				job: aJob(), elapsed: time.Minute, start: start, pod: aPod("Pending", func(p *pod) {
					p.Status.Conditions = []condition{{
						Type: "PodScheduled", Status: "False", Reason: "Unschedulable",
						Message: "0/3 nodes are available: 3 Insufficient cpu.",
					}}
				}),
			},
			action: wait, reason: "Unschedulable", words: "0/3 nodes are available: 3 Insufficient cpu.",
			code: penstock.CodeUnavailable,
		},
		"no node has room until the timeout": {
			o: observation{
				job: aJob(), elapsed: start, start: start, pod: aPod("Pending", func(p *pod) {
					p.Status.Conditions = []condition{{
						Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: "0/3 nodes are available",
					}}
				}),
			},
			action: lose, reason: "Unschedulable", words: "did not start within 10m0s. No node can take the run's Pod: 0/3",
			state: penstock.StateError, code: penstock.CodeUnavailable, final: true,
		},
		"a Job that Pod Security lets create no Pod": {
			o: observation{
				job: aJob(), start: start,
				events: eventOf("Job", "FailedCreate", `pods "j-x" is forbidden: violates PodSecurity "restricted:latest"`),
			},
			action: wait, reason: "FailedCreate", words: `violates PodSecurity "restricted:latest"`,
			code: penstock.CodeUnavailable,
		},
		"a quota that stays full": {
			o: observation{
				job: aJob(), start: start, before: "FailedCreate", waited: 2 * time.Minute,
				events: eventOf("Job", "FailedCreate", `exceeded quota: pods=10`),
			},
			action: lose, reason: "FailedCreate", words: "exceeded quota", state: penstock.StateError,
			code: penstock.CodeUnavailable, final: true,
		},
		"a Secret that does not exist": {
			o: observation{
				job: aJob(), start: start,
				pod: aPod("Pending", waitingFor("CreateContainerConfigError", `secret "keys" not found`)),
			},
			action: wait, reason: "CreateContainerConfigError", words: `secret "keys" not found`,
			code: penstock.CodeEnvironmentSetupFailed,
		},
		"a Secret that does not come": {
			o: observation{
				job: aJob(), start: start, before: "CreateContainerConfigError", waited: time.Minute,
				pod: aPod("Pending", waitingFor("CreateContainerConfigError", `secret "keys" not found`)),
			},
			action: lose, reason: "CreateContainerConfigError", words: `secret "keys" not found`, state: penstock.StateFailed,
			code: penstock.CodeEnvironmentSetupFailed, final: true,
		},
		"a volume whose Secret is missing": {
			o: observation{
				job: aJob(), pod: aPod("Pending", waitingFor("ContainerCreating", "")),
				events: eventOf("Pod", "FailedMount", `MountVolume.SetUp failed: secret "x" not found`),
			},
			action: wait, reason: "FailedMount", words: `secret "x" not found`, code: penstock.CodeEnvironmentSetupFailed,
		},
		"an init container that failed": {
			o: observation{job: aJob(), pod: aPod("Failed", func(p *pod) {
				p.Status.Init = []containerStatus{{
					Name:  initContainer,
					State: containerState{Terminated: &terminatedState{ExitCode: 1, Message: "no space left"}},
				}}
			})},
			action: lose, reason: "InitFailed",
			words: "init container penstock of the run's Pod failed with exit code 1: no space",
			state: penstock.StateFailed, code: penstock.CodeEnvironmentSetupFailed, final: true, certain: true,
		},
		"out of memory": {
			o:      observation{job: aJob(), adopted: true, pod: aPod("Failed", terminated(137, "OOMKilled", ""))},
			action: lose, reason: "OOMKilled", words: "its limit of 512Mi", state: penstock.StateFailed,
			final: true, certain: true,
		},
		"the deadline of the Job": {
			o: observation{
				adopted: true, hadPod: true,
				job: aJob(condition{Type: "FailureTarget", Status: "True", Reason: "DeadlineExceeded"}),
			},
			action: lose, reason: "DeadlineExceeded", words: "activeDeadlineSeconds", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, final: true, certain: true,
		},
		"eviction by a full node": {
			o: observation{job: aJob(), adopted: true, pod: aPod("Failed", func(p *pod) {
				p.Status.Reason, p.Status.Message = "Evicted", "The node was low on resource: memory."
			})},
			action: lose, reason: "Evicted", words: "low on resource: memory.", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"eviction by the API": {
			o: observation{job: aJob(), adopted: true, pod: aPod("Failed", func(p *pod) {
				terminated(143, "Error", "")(p)
				p.Status.Conditions = []condition{disruption("EvictionByEvictionAPI", "Eviction API: evicting")}
			})},
			action: lose, reason: "Evicted", words: "Eviction API: evicting", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"preemption": {
			o: observation{job: aJob(), adopted: true, pod: aPod("Failed", func(p *pod) {
				terminated(143, "Error", "")(p)
				p.Status.Conditions = []condition{disruption("PreemptionByScheduler", "preempting")}
			})},
			action: lose, reason: "Preempted", words: "higher priority", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"a disruption of a kind that is new": {
			o: observation{job: aJob(), adopted: true, pod: aPod("Failed", func(p *pod) {
				terminated(143, "Error", "")(p)
				p.Status.Conditions = []condition{disruption("MovedByDescheduler", "balance")}
			})},
			action: lose, reason: "MovedByDescheduler", words: "balance", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"a lost node": {
			o: observation{job: aJob(), adopted: true, pod: aPod("Running", func(p *pod) {
				running(p)
				p.Meta.DeletionTimestamp = &now
				p.Status.Conditions = []condition{disruption("DeletionByTaintManager", "node is unreachable")}
			})},
			action: lose, reason: "NodeLost", words: "node is unreachable", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout,
		},
		"a Pod that is being deleted": {
			o: observation{job: aJob(), adopted: true, pod: aPod("Running", func(p *pod) {
				running(p)
				p.Meta.DeletionTimestamp = &now
			})},
			action: wait, reason: "PodDeleted", words: "is being deleted",
		},
		"a Pod deleted by hand": {
			o: observation{job: aJob(), adopted: true, hadPod: true}, action: lose, reason: "PodDeleted", words: "was deleted",
			state: penstock.StateError, code: penstock.CodeInfrastructureTimeout,
		},
		"a worker that has ended in a Pod that does not say so yet": {
			o: observation{job: aJob(), adopted: true, pod: aPod("Running", terminated(0, "Completed", ""))}, action: end,
		},
		"a worker that returned its run because its Pod is being deleted": {
			o: observation{job: aJob(), adopted: true, pod: aPod("Running", func(p *pod) {
				terminated(0, "Completed", "")(p)
				p.Meta.DeletionTimestamp = &now
			})},
			action: lose, reason: "PodDeleted", words: "was deleted", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"a worker that returned its run because its Pod is evicted": {
			o: observation{job: aJob(), adopted: true, pod: aPod("Succeeded", func(p *pod) {
				p.Meta.DeletionTimestamp = &now
				p.Status.Conditions = []condition{disruption("EvictionByEvictionAPI", "drained")}
			})},
			action: lose, reason: "Evicted", words: "drained", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"a worker that returned its run in a Pod that is gone": {
			o: observation{job: complete, adopted: true, hadPod: true, gone: aPod("Succeeded", func(p *pod) {
				deletedAt(now)(p)
				endedAt(now.Add(time.Second))(p)
			})},
			action: lose, reason: "PodDeleted", words: "was deleted", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"a worker that returned its run in a Pod whose deletion took its time": {
			o: observation{job: complete, adopted: true, hadPod: true, gone: aPod("Succeeded", endedAt(now), func(p *pod) {
				last := now.Add(2 * time.Second)
				p.Meta.DeletionTimestamp, p.Spec.TerminationGracePeriodSeconds = &last, 30
			})},
			action: lose, reason: "PodDeleted", words: "was deleted", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"a worker that was never seen to end in a Pod that is gone": {
			o: observation{
				job: complete, adopted: true, hadPod: true, gone: aPod("Running", running, deletedAt(now)),
			},
			action: lose, reason: "PodDeleted", words: "was deleted", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"a worker that returned its run in an evicted Pod that is gone": {
			o: observation{job: complete, adopted: true, hadPod: true, gone: aPod("Succeeded", func(p *pod) {
				deletedAt(now)(p)
				p.Status.Conditions = []condition{disruption("EvictionByEvictionAPI", "drained")}
			})},
			action: lose, reason: "Evicted", words: "drained", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"a Pod that was deleted after its run had ended": {
			o: observation{
				job: complete, adopted: true, hadPod: true,
				gone: aPod("Succeeded", endedAt(now), deletedAt(now.Add(2*time.Second))),
			},
			action: end,
		},
		"a Pod that is being deleted after its run has ended": {
			o: observation{
				job: complete, adopted: true, hadPod: true,
				pod: aPod("Succeeded", endedAt(now), deletedAt(now.Add(2*time.Second))),
			},
			action: end,
		},
		"a worker that returned its run because its node was short of memory": {
			o: observation{job: aJob(), adopted: true, pod: aPod("Failed", func(p *pod) {
				endedAt(now)(p)
				p.Status.Reason, p.Status.Message = "Evicted", "The node was low on resource: memory."
			})},
			action: lose, reason: "Evicted", words: "low on resource", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"a worker that returned its run because its node was shut down": {
			o: observation{job: aJob(), adopted: true, pod: aPod("Failed", func(p *pod) {
				endedAt(now)(p)
				p.Status.Conditions = []condition{disruption("TerminationByKubelet", "Pod was terminated in response to shutdown.")}
			})},
			action: lose, reason: "TerminationByKubelet", words: "in response to shutdown", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"a Pod that was killed for its memory and is gone": {
			o: observation{
				job: aJob(), adopted: true, hadPod: true, gone: aPod("Failed", terminated(137, "OOMKilled", "")),
			},
			action: lose, reason: "OOMKilled", words: "limit of 512Mi", state: penstock.StateFailed, final: true, certain: true,
		},
		"an evicted Pod that is gone": {
			o: observation{job: aJob(), adopted: true, hadPod: true, gone: aPod("Running", func(p *pod) {
				running(p)
				p.Status.Conditions = []condition{disruption("EvictionByEvictionAPI", "drained")}
			})},
			action: lose, reason: "Evicted", words: "drained", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout,
		},
		"a Job deleted by hand": {
			o: observation{adopted: true, hadPod: true}, action: lose, reason: "JobDeleted", words: "Job of the run was deleted",
			state: penstock.StateError, code: penstock.CodeInfrastructureTimeout,
		},
		"an init container that was killed": {
			o: observation{job: aJob(), pod: aPod("Failed", func(p *pod) {
				p.Status.Init = []containerStatus{{
					Name: initContainer, State: containerState{Terminated: &terminatedState{ExitCode: 137}},
				}}
			})},
			action: lose, reason: "InitFailed", words: "failed with exit code 137.", state: penstock.StateFailed,
			code: penstock.CodeEnvironmentSetupFailed, certain: true,
		},
		"the mounted image of the worker is not on the node": {
			o: observation{job: aJob(), pod: aPod("Pending", func(p *pod) {
				waitingFor("ErrImageNeverPull", `Container image "penstock:1" is not present`)(p)
				p.Spec.Volumes = []map[string]any{{"image": map[string]any{"reference": "penstock:1"}}}
			})},
			action: lose, reason: "ErrImageNeverPull", words: "The image penstock:1 is not on the node",
			state: penstock.StateFailed, code: penstock.CodeEnvironmentSetupFailed, final: true, certain: true,
		},
		"a node that cannot mount the image of the worker": {
			o: observation{job: aJob(), waited: time.Hour, before: "CreateContainerError", pod: aPod("Pending", func(p *pod) {
				waitingFor("CreateContainerError", `failed to generate spec: failed to mkdir ""`)(p)
				p.Spec.Volumes = []map[string]any{{"image": map[string]any{"reference": "penstock:1"}}}
			})},
			action: lose, reason: "CreateContainerError", words: "start the launcher without --pod-mount-program",
			state: penstock.StateFailed, code: penstock.CodeEnvironmentSetupFailed, final: true,
		},
		"a worker that could not start": {
			o: observation{
				job: aJob(), pod: aPod("Failed", terminated(128, "StartError", "exec: /penstock/bin/penstock: exec format error")),
			},
			action: lose, reason: "StartError", words: "exec format error", state: penstock.StateFailed,
			code: penstock.CodeEnvironmentSetupFailed, certain: true,
		},
		"a worker that failed before it began": {
			o:      observation{job: aJob(), pod: aPod("Failed", terminated(77, "Error", "the API key lacks the scope worker"))},
			action: lose, reason: "WorkerFailed", words: "exit code 77: the API key lacks the scope worker.",
			state: penstock.StateError, code: penstock.CodeInfrastructureTimeout, final: true, certain: true,
		},
		"a worker that was killed before it began": {
			o:      observation{job: aJob(), pod: aPod("Failed", terminated(137, "Error", ""))},
			action: lose, reason: "WorkerFailed", words: "before it began, with exit code 137.",
			state: penstock.StateError, code: penstock.CodeInfrastructureTimeout, certain: true,
		},
		"a worker that crashed": {
			o:      observation{job: aJob(), adopted: true, pod: aPod("Failed", terminated(137, "Error", "worker started"))},
			action: lose, reason: "WorkerFailed", words: "ended with exit code 137.", state: penstock.StateError,
			code: penstock.CodeInfrastructureTimeout, certain: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := decide(test.o)
			if got.action != test.action || got.reason != test.reason || got.state != test.state || got.code != test.code ||
				got.final != test.final || got.certain != test.certain {
				t.Errorf("got %+v", got)
			}
			if !strings.Contains(got.message, test.words) {
				t.Errorf("got message %q, want %q in it", got.message, test.words)
			}
		})
	}
}

// A text of the cluster cannot break out of the message.
func TestSentence(t *testing.T) {
	t.Parallel()
	got := sentence("a\x1b[31m\n b\x00" + strings.Repeat("x", 5000) + "\xff")
	if len(got) > maxWords+10 || strings.ContainsAny(got, "\x1b\x00\n") || !utf8.ValidString(got) {
		t.Errorf("got %q", got)
	}
}
