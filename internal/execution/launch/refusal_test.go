package launch

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestARefusedJobEndsTheRun(t *testing.T) {
	refuseJobs(t, func(h *history) {
		time.Sleep(createTime + 10*time.Second)
		if losses, _ := h.p.lost(); len(losses) != 1 || losses[0].Reason != "JobRefused" ||
			!strings.Contains(losses[0].Message.Message, "exceeded quota: jobs") {
			t.Errorf("got losses %+v", losses)
		}
	})
}

// A quota becomes free, and an API server that has just started does not know all roles yet.
func TestAJobThatIsRefusedForAWhileIsCreated(t *testing.T) {
	refuseJobs(t, func(h *history) {
		time.Sleep(createTime / 2)
		if want := "pod_waiting(JobRefused)"; strings.Count(h.p.happened(), want) != 1 {
			t.Errorf("got timeline %s, want %s once", h.p.happened(), want)
		}
		h.f.set(func(f *fakeCluster) { delete(f.refuse, "POST jobs") })
		time.Sleep(5 * time.Second)
		if losses, _ := h.p.lost(); len(losses) != 0 || h.f.only() != "penstock-run-2-1" {
			t.Errorf("got losses %+v, Job %q", losses, h.f.only())
		}
	})
}

// refuseJobs runs a history in which the API refuses the Job of the run run-2.
func refuseJobs(t *testing.T, test func(h *history)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &history{t: t, f: newFake(t), p: newPlane()}
		h.start()
		time.Sleep(time.Second)
		h.f.set(func(f *fakeCluster) {
			f.refuse["POST jobs"] = status{Code: http.StatusForbidden, Reason: "Forbidden", Message: "exceeded quota: jobs"}
		})
		h.p.mu.Lock()
		h.p.waiting = newPlane("run-2").waiting
		h.p.mu.Unlock()
		test(h)
		h.stop()
	})
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change   func(*fakeCluster)
		unsealed bool
		words    []string // none: it passes
	}{
		"everything is allowed": {change: func(*fakeCluster) {}},
		"rights are missing": {
			change: func(f *fakeCluster) { f.denied = []string{"create secrets", "watch pods"} },
			words:  []string{"may not watch pods, create secrets in the namespace runs", "kind: Role", "verbs: [create, get]"},
		},
		"the API drops hostUsers": {
			change: func(f *fakeCluster) { f.noUserNS = true }, words: []string{"hostUsers", "--allow-unsealed"},
		},
		"the API drops hostUsers, which is accepted": {change: func(f *fakeCluster) { f.noUserNS = true }, unsealed: true},
		"the API refuses the Job": {
			change: func(f *fakeCluster) {
				f.refuse["POST jobs"] = status{Code: 422, Reason: "Invalid", Message: "procMount: Invalid value"}
			},
			words: []string{"procMount: Invalid value", "--allow-unsealed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			test.change(f)
			o := options(f, newPlane())
			o.Unsealed = test.unsealed
			l, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			err = l.Preflight(t.Context())
			if (err == nil) != (len(test.words) == 0) {
				t.Fatalf("got %v", err)
			}
			for _, word := range test.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("got %v, want %q in it", err, word)
				}
			}
		})
	}
}
