package launch

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock"
)

// Each history ends in a loss that names its reason, in time.
func TestHistoriesOfLostPods(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) { time.Sleep(d) }
	start := func(h *history) {
		h.f.pod("Running", running)
		h.p.adopt("run-1")
		at(5 * time.Second)
	}
	for name, test := range map[string]struct {
		script  func(h *history) // ends with the fact
		within  time.Duration    // from the fact to the report
		reason  string
		waiting string // on the timeline before
		final   bool
	}{
		"InvalidImageName": {
			script: func(h *history) { h.f.pod("Pending", waitingFor("InvalidImageName", "x")) },
			within: 5 * time.Second, reason: "InvalidImageName", final: true,
		},
		"ErrImageNeverPull": {
			script: func(h *history) { h.f.pod("Pending", waitingFor("ErrImageNeverPull", "x")) },
			within: 5 * time.Second, reason: "ErrImageNeverPull", final: true,
		},
		"ImagePullBackOff": {
			script: func(h *history) {
				h.f.pod("Pending", waitingFor("ErrImagePull", "not found"))
				at(time.Minute)
				h.f.pod("Pending", waitingFor("ImagePullBackOff", "Back-off"))
				at(time.Minute)
			},
			within: 10 * time.Second, reason: "ImagePullBackOff", waiting: "pod_waiting(ImagePullBackOff)", final: true,
		},
		"Unschedulable": {
			script: func(h *history) {
				h.f.pod("Pending", func(p *pod) {
					p.Status.Conditions = []condition{{
						Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: "0/1 nodes",
					}}
				})
				at(10*time.Minute - 10*time.Second)
			},
			within: 20 * time.Second, reason: "Unschedulable", waiting: "pod_waiting(Unschedulable)", final: true,
		},
		"FailedCreate": {
			script: func(h *history) {
				h.f.set(func(f *fakeCluster) { f.events = eventOf("Job", "FailedCreate", "violates PodSecurity") })
				at(2 * time.Minute)
			},
			within: 10 * time.Second, reason: "FailedCreate", waiting: "pod_waiting(FailedCreate)", final: true,
		},
		"a missing Secret": {
			script: func(h *history) {
				h.f.pod("Pending", waitingFor("CreateContainerConfigError", `secret "keys" not found`))
				at(time.Minute)
			},
			within: 10 * time.Second, reason: "CreateContainerConfigError",
			waiting: "pod_waiting(CreateContainerConfigError)", final: true,
		},
		"a failed init container": {
			script: func(h *history) {
				h.f.pod("Failed", func(p *pod) {
					p.Status.Init = []containerStatus{{
						Name:  initContainer,
						State: containerState{Terminated: &terminatedState{ExitCode: 1, Message: "disk full"}},
					}}
				})
			},
			within: 5 * time.Second, reason: "InitFailed", final: true,
		},
		"OOMKilled": {
			script: func(h *history) { start(h); h.f.pod("Failed", terminated(137, "OOMKilled", "")) },
			within: 5 * time.Second, reason: "OOMKilled", final: true,
		},
		"DeadlineExceeded": {
			script: func(h *history) {
				start(h)
				name := h.f.only()
				h.f.set(func(f *fakeCluster) {
					j := f.jobs[name]
					j.Status.Conditions = []condition{{Type: "FailureTarget", Status: "True", Reason: "DeadlineExceeded"}}
					f.jobs[name] = j
					delete(f.pods, name)
				})
			},
			within: 15 * time.Second, reason: "DeadlineExceeded", final: true,
		},
		"Evicted": {
			script: func(h *history) {
				start(h)
				h.f.pod("Failed", func(p *pod) { p.Status.Reason, p.Status.Message = "Evicted", "low on memory" })
			},
			within: 5 * time.Second, reason: "Evicted",
		},
		"Preempted": {
			script: func(h *history) {
				start(h)
				h.f.pod("Failed", func(p *pod) {
					terminated(143, "Error", "")(p)
					p.Status.Conditions = []condition{disruption("PreemptionByScheduler", "")}
				})
			},
			within: 5 * time.Second, reason: "Preempted",
		},
		"a lost node": {
			script: func(h *history) {
				start(h)
				h.f.pod("Running", func(p *pod) {
					running(p)
					now := time.Now()
					p.Meta.DeletionTimestamp = &now
					p.Status.Conditions = []condition{disruption("DeletionByTaintManager", "unreachable")}
				})
			},
			within: 30 * time.Second, reason: "NodeLost",
		},
		"a Pod deleted by hand": {
			script: func(h *history) {
				start(h)
				name := h.f.only()
				h.f.set(func(f *fakeCluster) { delete(f.pods, name) })
			},
			within: 30 * time.Second, reason: "PodDeleted",
		},
		"a Pod deleted by hand, whose worker returned its run, and that was gone before anybody looked": {
			script: func(h *history) {
				start(h)
				h.p.finish()
				h.f.leave(endedAt(time.Now()), deletedAt(time.Now()))
			},
			within: 15 * time.Second, reason: "PodDeleted",
		},
		"a Pod deleted by hand, whose worker returned its run, while nobody watched": {
			script: func(h *history) {
				start(h)
				h.f.pod("Running", running, deletedAt(time.Now()))
				h.p.finish()
				h.f.expire()
				h.f.leave(endedAt(time.Now()), deletedAt(time.Now()))
			},
			within: 15 * time.Second, reason: "PodDeleted",
		},
		"a Job deleted by hand": {
			script: func(h *history) {
				start(h)
				h.f.set(func(f *fakeCluster) { f.jobs, f.pods = map[string]job{}, map[string]pod{} })
			},
			within: 30 * time.Second, reason: "JobDeleted",
		},
		"a Pod deleted before its worker came": {
			script: func(h *history) {
				h.f.pod("Pending", waitingFor("ContainerCreating", ""))
				at(10 * time.Second)
				name := h.f.only()
				h.f.set(func(f *fakeCluster) { delete(f.pods, name) })
			},
			within: 30 * time.Second, reason: "PodDeleted",
		},
		"a Pod that was deleted at once": {
			script: func(h *history) {
				h.f.pod("Pending", waitingFor("ContainerCreating", ""))
				at(time.Second)
				name := h.f.only()
				h.f.set(func(f *fakeCluster) {
					f.say("DELETED", f.pods[name])
					delete(f.pods, name)
				})
			},
			within: 30 * time.Second, reason: "PodDeleted",
		},
		"a Pod that was deleted before anybody saw it": {
			script: func(h *history) {
				name := h.f.only()
				h.f.set(func(f *fakeCluster) {
					j := f.jobs[name]
					j.Status.Conditions = []condition{{Type: "Failed", Status: "True", Reason: "BackoffLimitExceeded"}}
					f.jobs[name] = j
				})
			},
			within: 30 * time.Second, reason: "PodDeleted",
		},
		"a watch that has expired": {
			script: func(h *history) {
				start(h)
				h.f.expire()
				at(time.Minute)
				h.p.renew("run-1")
				h.f.pod("Failed", terminated(137, "OOMKilled", ""))
			},
			within: 15 * time.Second, reason: "OOMKilled", final: true,
		},
		"an API that was away for five minutes": {
			script: func(h *history) {
				h.f.set(func(f *fakeCluster) { f.away = true })
				at(5 * time.Minute)
				h.f.set(func(f *fakeCluster) { f.away = false })
				h.f.pod("Pending", waitingFor("ErrImageNeverPull", ""))
			},
			within: 30 * time.Second, reason: "ErrImageNeverPull", final: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(h *history) {
				test.script(h)
				fact := time.Now()
				if early, _ := h.p.lost(); len(early) > 0 && test.waiting != "" {
					t.Errorf("reported too early: %+v", early[0])
				}
				time.Sleep(test.within)
				synctest.Wait()
				losses, when := h.p.lost()
				if len(losses) != 1 {
					t.Fatalf("got losses %+v; the timeline: %s", losses, h.p.happened())
				}
				if got := losses[0]; got.Reason != test.reason || got.Final != test.final || got.Message.Message == "" {
					t.Errorf("got %+v", got)
				}
				if late := when[0].Sub(fact); late > test.within {
					t.Errorf("reported %v after the fact", late)
				}
				if !strings.Contains(h.p.happened(), test.waiting) {
					t.Errorf("got timeline %s, want %s in it", h.p.happened(), test.waiting)
				}
			})
		})
	}
}

// A reason to wait that no longer holds is not the last word.
func TestAPodThatNoLongerWaitsSaysSo(t *testing.T) {
	bubble(t, func(h *history) {
		h.f.pod("Pending", func(p *pod) {
			p.Status.Conditions = []condition{{
				Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: "0/1 nodes",
			}}
		})
		time.Sleep(10 * time.Second)
		h.f.pod("Pending", waitingFor("ContainerCreating", ""))
		time.Sleep(10 * time.Second)
		h.f.pod("Running", running)
		time.Sleep(10 * time.Second)
		h.p.adopt("run-1")
		want := "pod_created pod_waiting(Unschedulable) pod_waiting(Starting)"
		if got := h.p.happened(); got != want {
			t.Errorf("got timeline %s, want %s", got, want)
		}
	})
}

// An ordinary run needs nothing of the launcher once its worker has adopted it.
func TestHistoryOfARun(t *testing.T) {
	bubble(t, func(h *history) {
		h.f.pod("Pending", waitingFor("ContainerCreating", ""))
		time.Sleep(45 * time.Second) // longer than a lease, which the launcher renews
		h.f.pod("Running", running)
		h.p.adopt("run-1")
		for range 60 {
			time.Sleep(time.Minute)
			h.p.renew("run-1")
		}
		h.p.finish()
		h.f.pod("Succeeded", terminated(0, "Completed", ""))
		time.Sleep(time.Minute)
		if losses, _ := h.p.lost(); len(losses) > 0 || h.p.happened() != "pod_created" {
			t.Errorf("got losses %+v, timeline %s", losses, h.p.happened())
		}
	})
}

// Deleting the Pod of a run that has ended is no loss.
func TestAPodDeletedAfterItsRunIsNoLoss(t *testing.T) {
	bubble(t, func(h *history) {
		h.f.pod("Running", running)
		h.p.adopt("run-1")
		time.Sleep(5 * time.Second)
		h.p.finish()
		h.f.leave(endedAt(time.Now()), deletedAt(time.Now().Add(time.Second)))
		time.Sleep(time.Minute)
		if losses, _ := h.p.lost(); len(losses) > 0 {
			t.Errorf("got losses %+v", losses)
		}
	})
}

// A worker can adopt a run and return it before the launcher hears of either.
func TestALauncherThatHearsOfTheAdoptionLate(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, test := range map[string]struct {
		gone *pod // or nil: it has never been seen
		want string
	}{
		"the Pod was deleted":           {aPod("Succeeded", endedAt(now), deletedAt(now)), "PodDeleted"},
		"the run has ended":             {aPod("Succeeded", endedAt(now)), ""},
		"it was cancelled before a Pod": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.held["run-1"] = &heldRun{over: true}
			l, err := New(options(newFake(t), p))
			if err != nil {
				t.Fatal(err)
			}
			x := &launched{l: l, name: "penstock-run-1-1", begun: now, log: l.Log}
			x.Lease.RunID = "run-1"
			l.view.jobs, l.view.seen = map[string]job{x.name: *aJob()}, now.Add(time.Second)
			if test.gone != nil {
				l.view.gone[x.name] = *test.gone
			}
			if x.stillActive(t.Context()) {
				t.Error("it is followed further")
			}
			losses, _ := p.lost()
			if got := len(losses); got != 0 && losses[0].Reason != test.want || (got == 0) != (test.want == "") {
				t.Errorf("got losses %+v, want %q", losses, test.want)
			}
		})
	}
}

// A worker that fails right after it has adopted the run is not one that failed before: the launcher
// hears of an adoption only with its next heartbeat.
func TestAnAdoptionThatTheLauncherHasNotSeenCounts(t *testing.T) {
	bubble(t, func(h *history) {
		h.f.pod("Running", running)
		time.Sleep(6 * time.Second)
		h.p.adopt("run-1")
		h.f.pod("Failed", terminated(1, "Error", "the disk is full"))
		time.Sleep(time.Second)
		losses, _ := h.p.lost()
		if len(losses) != 1 || losses[0].Final || !strings.Contains(losses[0].Message.Message, "ended with exit code 1") {
			t.Errorf("got losses %+v", losses)
		}
	})
}

// A worker that may be alive keeps its execution, whatever the cluster says.
func TestADeletedPodWhoseWorkerIsAliveKeepsItsRun(t *testing.T) {
	bubble(t, func(h *history) {
		h.f.pod("Running", running)
		h.p.adopt("run-1")
		time.Sleep(5 * time.Second)
		name := h.f.only()
		h.f.set(func(f *fakeCluster) { delete(f.pods, name) })
		for range 60 {
			time.Sleep(5 * time.Second)
			h.p.renew("run-1")
		}
		if losses, _ := h.p.lost(); len(losses) > 0 {
			t.Errorf("got losses %+v", losses)
		}
		h.p.finish()
	})
}

// While the API does not answer, nothing is decided, and the lease lives.
func TestAnAbsentAPIDecidesNothing(t *testing.T) {
	bubble(t, func(h *history) {
		h.f.pod("Pending", waitingFor("ErrImagePull", ""))
		time.Sleep(10 * time.Second)
		h.f.set(func(f *fakeCluster) { f.away = true })
		time.Sleep(5 * time.Minute)
		if losses, _ := h.p.lost(); len(losses) > 0 {
			t.Errorf("got losses %+v", losses)
		}
		h.p.mu.Lock()
		if left := time.Until(h.p.held["run-1"].until); left < 10*time.Second {
			t.Errorf("the lease has %v left", left)
		}
		h.p.mu.Unlock()
	})
}

// A run that is cancelled before its Pod has started takes its Job with it.
func TestACancelRemovesAPodThatWaits(t *testing.T) {
	bubble(t, func(h *history) {
		h.f.pod("Pending", waitingFor("ContainerCreating", ""))
		time.Sleep(10 * time.Second)
		h.p.finish()
		time.Sleep(15 * time.Second)
		if name := h.f.only(); name != "" {
			t.Errorf("the Job %s is still there", name)
		}
	})
}

// A launcher that stops leaves its Pods to its successor, which keeps the lease and reports losses.
func TestSuccessorTakesOver(t *testing.T) {
	bubble(t, func(h *history) {
		h.f.pod("Pending", waitingFor("ContainerCreating", ""))
		h.stop()
		time.Sleep(10 * time.Second)
		h.start()
		time.Sleep(2 * time.Minute)
		h.p.mu.Lock()
		if left := time.Until(h.p.held["run-1"].until); left < 10*time.Second {
			t.Errorf("the lease has %v left", left)
		}
		h.p.mu.Unlock()
		h.f.pod("Running", running)
		h.p.adopt("run-1")
		time.Sleep(5 * time.Second)
		h.stop()
		h.f.pod("Failed", terminated(137, "OOMKilled", ""))
		time.Sleep(5 * time.Second)
		h.start()
		time.Sleep(10 * time.Second)
		if losses, _ := h.p.lost(); len(losses) != 1 || losses[0].Reason != "OOMKilled" {
			t.Errorf("got losses %+v", losses)
		}
	})
}

// A launcher that died between the Job and its Secret leaves a Job whose lease nobody knows.
func TestSuccessorRemovesAJobWithoutALease(t *testing.T) {
	bubble(t, func(h *history) {
		h.stop()
		h.f.set(func(f *fakeCluster) { f.secrets = map[string]secret{} })
		h.start()
		time.Sleep(5 * time.Second)
		if name := h.f.only(); name != "" {
			t.Errorf("the Job %s is still there", name)
		}
	})
}

// The Secret has the lease and the key; the Job, which more people may read, has neither.
func TestJobHoldsNoSecret(t *testing.T) {
	bubble(t, func(h *history) {
		h.f.mu.Lock()
		defer h.f.mu.Unlock()
		j := h.f.jobs["penstock-run-1-1"]
		s := h.f.secrets["penstock-run-1-1"]
		if string(s.Data["key"]) != "psk_key" || !strings.Contains(string(s.Data["lease"]), "token of run-1") ||
			len(s.Meta.OwnerReferences) != 1 || s.Meta.OwnerReferences[0].UID != j.Meta.UID {
			t.Errorf("got Secret %+v", s)
		}
		text := marshalled(t, j)
		for _, word := range []string{"psk_key", "token of run-1"} {
			if strings.Contains(text, word) {
				t.Errorf("the Job shows %q: %s", word, text)
			}
		}
		for _, word := range []string{
			`"backoffLimit":0`, `"podReplacementPolicy":"Failed"`, `"automountServiceAccountToken":false`, `"hostUsers":false`,
			`"procMount":"Unmasked"`, `"readOnlyRootFilesystem":true`, `"drop":["ALL"]`, `"memory":"512Mi"`,
		} {
			if !strings.Contains(text, word) {
				t.Errorf("the Job lacks %s: %s", word, text)
			}
		}
	})
}

func TestRunnerDecidesImageAndSize(t *testing.T) {
	t.Parallel()
	o := options(newFake(t), newPlane())
	o.Image, o.StartTimeout = "default:1", 10*time.Minute
	a := penstock.Assignment{
		Lease: penstock.Lease{RunID: "r", ExecutionID: 2}, TimeLimit: 30 * time.Minute,
		Runner:        &penstock.RunnerSpec{Image: "registry.example.com/app:2", VCPUs: 4, MemoryGB: 1.5, Arch: "aarch64"},
		RegistryLogin: "user:pass:word",
	}
	j := o.newJob(a)
	text := marshalled(t, j)
	for _, word := range []string{
		`"image":"registry.example.com/app:2"`, `"cpu":"4"`, `"memory":"1500M"`, `"kubernetes.io/arch":"arm64"`,
		`"activeDeadlineSeconds":2700`, `"imagePullSecrets":[{"name":"penstock-r-2-pull"}]`,
	} {
		if !strings.Contains(text, word) {
			t.Errorf("the Job lacks %s: %s", word, text)
		}
	}
	s, err := o.newPullSecret(a, j)
	if want := `{"auths":{"registry.example.com":{"password":"pass:word","username":"user"}}}`; err != nil ||
		string(s.Data[".dockerconfigjson"]) != want {
		t.Errorf("got %s, %v", s.Data, err)
	}
}

func marshalled(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
