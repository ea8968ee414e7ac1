package httpapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
)

func TestAdoption(t *testing.T) {
	t.Parallel()
	onControls(t, map[string]func(*testing.T, *world, penstock.Control){
		"a run from launch to result":           adoptWholeRun,
		"twenty adopters":                       adoptRace,
		"a token that can be guessed":           adoptWeakToken,
		"a loss before the adoption":            lossBefore,
		"a loss that no attempt would avoid":    lossFinal,
		"a loss that is requeued":               lossRequeued,
		"a loss of a worker that may be alive":  lossUncertain,
		"a loss after the end of the execution": lossAfter,
		"a loss after success":                  lossAfterSuccess,
		"a loss by a foreign launcher":          lossForeign,
		"the list of workers":                   launchedOnWorkerList,
	})
}

// launch claims the next run as a launcher.
func launch(t *testing.T, c penstock.Control) penstock.Assignment {
	t.Helper()
	r := claim(0)
	r.Launch = true
	a, err := c.Claim(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func adopt(t *testing.T, c penstock.Control, l penstock.Lease) penstock.Assignment {
	t.Helper()
	a, err := c.Adopt(t.Context(), l, adoption())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func adoption() penstock.Adoption {
	return penstock.Adoption{Token: penstock.NewUID(), Host: "pod-1", Sandbox: "bubblewrap"}
}

// timeline returns the types of the timeline events of a run, with their reasons.
func (w *world) timeline(id string) string {
	var list struct {
		Events []penstock.TimelineEvent `json:"events"`
	}
	w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id+"/timeline", nil).into(w.t, &list)
	var types []string
	for _, e := range list.Events {
		if reason, ok := e.Payload["reason"]; ok {
			e.Type = fmt.Sprintf("%s(%v)", e.Type, reason)
		}
		types = append(types, e.Type)
	}
	return strings.Join(types, " ")
}

func adoptWholeRun(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("do it elsewhere")
	launched := launch(t, c)
	if launched.APIKey != "" || len(launched.Prompts) != 0 || launched.Run.ID != id {
		t.Errorf("the launcher got %+v", launched)
	}
	chosen := adoption()
	a, err := c.Adopt(t.Context(), launched.Lease, chosen)
	if err != nil || len(a.Prompts) != 1 || a.Prompts[0].Text != "do it elsewhere" || a.Prompts[0].Redelivered ||
		a.APIKey == "" || a.Lease.Token == launched.Lease.Token || strings.Contains(a.Lease.Token, launched.Lease.Token) {
		t.Fatalf("got %+v, %v", a, err)
	}
	again, err := c.Adopt(t.Context(), launched.Lease, chosen) // the response was lost on the way
	if err != nil || again.Lease != a.Lease || again.APIKey != a.APIKey || len(again.Prompts) != 1 {
		t.Errorf("the same again: got %+v, %v", again, err)
	}
	if _, err := c.Adopt(t.Context(), launched.Lease, adoption()); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("a second adopter: got %v, want ErrLeaseLost", err)
	}
	if _, err := c.Heartbeat(t.Context(), launched.Lease, 0); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("the launcher's heartbeat: got %v, want ErrLeaseLost", err)
	}
	if _, err := c.Heartbeat(t.Context(), a.Lease, 0); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	g := agent{t: t, control: c, a: a}
	g.append(g.state(penstock.StatePending), g.state(penstock.StateInProgress), g.say("done"))
	g.succeed()
	if got := w.timeline(id); got != "run_created run_claimed pod_started run_done" {
		t.Errorf("got timeline %s", got)
	}
	if _, err := c.Adopt(t.Context(), launched.Lease, chosen); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("after the end: got %v, want ErrLeaseLost", err)
	}
}

// launchedOnWorkerList reads what the list of workers says about a launched run while its Pod starts.
func launchedOnWorkerList(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("elsewhere")
	var had penstock.Time
	look := func(want store.WorkerExecution) {
		t.Helper()
		var list struct {
			Workers []run.ConnectedWorker `json:"workers"`
		}
		w.must(http.StatusOK, "GET", "/api/v1/agent/connected-self-hosted-workers", nil).into(t, &list)
		if len(list.Workers) != 1 || list.Workers[0].Launchers != 1 || len(list.Workers[0].Executions) != 1 {
			t.Fatalf("got %+v", list)
		}
		got := list.Workers[0].Executions[0]
		if got.Since < had {
			t.Errorf("since %s, want no earlier than %s", got.Since, had)
		}
		had, got.Since = got.Since, 0
		want.RunID, want.ExecutionID, want.Title = id, 1, "elsewhere"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	waits := func(reason, message string) store.WorkerExecution {
		return store.WorkerExecution{
			State: penstock.StateClaimed, Waiting: &store.PodWait{Reason: reason, Message: message},
		}
	}
	l := launch(t, c).Lease
	look(waits("", "The launcher creates its Job."))
	report := func(event string, payload map[string]any) {
		t.Helper()
		if err := c.Append(t.Context(), l, []penstock.Draft{penstock.Timeline(penstock.Now(), event, payload)}); err != nil {
			t.Fatal(err)
		}
	}
	report(penstock.TimelinePodCreated, map[string]any{"job": "penstock-1"})
	look(waits("", "Its Pod is starting."))
	report(penstock.TimelinePodWaiting, map[string]any{"reason": "Unschedulable", "message": "0/1 nodes."})
	report(penstock.TimelinePodWaiting, map[string]any{"reason": "ImagePullBackOff", "message": "Not found."})
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs/"+id+"/followups", map[string]any{"message": "hurry"})
	look(waits("ImagePullBackOff", "Not found."))
	g := agent{t: t, control: c, a: adopt(t, c, l)}
	look(store.WorkerExecution{State: penstock.StateClaimed})
	g.append(g.state(penstock.StatePending), g.state(penstock.StateInProgress))
	look(store.WorkerExecution{State: penstock.StateInProgress})
}

// Of many adopters at the same moment, exactly one gets the execution.
func adoptRace(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("mine")
	l := launch(t, c).Lease
	results := make([]error, 20)
	winners := make([]penstock.Assignment, len(results))
	var together sync.WaitGroup
	for i := range results {
		together.Go(func() { winners[i], results[i] = c.Adopt(t.Context(), l, adoption()) })
	}
	together.Wait()
	won := 0
	for i, err := range results {
		switch {
		case err == nil:
			won++
			if _, err := c.Heartbeat(t.Context(), winners[i].Lease, 0); err != nil {
				t.Errorf("the winner's heartbeat: %v", err)
			}
		case !errors.Is(err, penstock.ErrLeaseLost):
			t.Errorf("got %v, want ErrLeaseLost", err)
		}
	}
	if won != 1 {
		t.Errorf("%d adopters won, want 1", won)
	}
	if got := w.timeline(id); strings.Count(got, "pod_started") != 1 {
		t.Errorf("got timeline %s", got)
	}
}

func adoptWeakToken(t *testing.T, w *world, c penstock.Control) {
	w.newRun("x")
	l := launch(t, c).Lease
	for _, token := range []string{"", "1", strings.Repeat("x", 65)} {
		_, err := c.Adopt(t.Context(), l, penstock.Adoption{Token: token})
		if penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			t.Errorf("token of %d bytes: got %v", len(token), err)
		}
	}
	adopt(t, c, l)
}

func loss() penstock.Loss {
	return penstock.Loss{
		Reason: "Evicted", State: penstock.StateError, Certain: true,
		Message: penstock.StatusMessage{
			Message: "The Pod was evicted.", ErrorCode: penstock.CodeInfrastructureTimeout,
		},
	}
}

func lossBefore(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("x")
	l := launch(t, c).Lease
	no := loss()
	no.Reason, no.Final, no.State = "InvalidImageName", true, penstock.StateFailed
	no.Message.Message = "The image name is invalid."
	if err := c.ReportLoss(t.Context(), l, no); err != nil {
		t.Fatal(err)
	}
	a := w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil)
	if a.field("state") != "FAILED" || !strings.Contains(a.body, "The image name is invalid.") {
		t.Errorf("got %s", a.body)
	}
	if got := w.timeline(id); got != "run_created run_claimed pod_lost(InvalidImageName) run_failed" {
		t.Errorf("got timeline %s", got)
	}
	if err := c.ReportLoss(t.Context(), l, no); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("again: got %v, want ErrLeaseLost", err)
	}
	if got := w.timeline(id); strings.Count(got, "pod_lost") != 1 {
		t.Errorf("reported twice: %s", got)
	}
}

func lossFinal(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("x")
	l := launch(t, c).Lease
	a := adopt(t, c, l)
	g := agent{t: t, control: c, a: a}
	g.append(g.state(penstock.StatePending), g.state(penstock.StateInProgress))
	out := loss()
	out.Reason, out.Final, out.State = "OOMKilled", true, penstock.StateFailed
	if err := c.ReportLoss(t.Context(), l, out); err != nil {
		t.Fatal(err)
	}
	if got := w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil).field("state"); got != "FAILED" {
		t.Errorf("got state %s", got)
	}
	if _, err := c.Heartbeat(t.Context(), a.Lease, 0); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("got %v, want ErrLeaseLost", err)
	}
}

// A lost run is requeued unless work would be done twice.
func lossRequeued(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("try again")
	l := launch(t, c).Lease
	adopt(t, c, l)
	if err := c.ReportLoss(t.Context(), l, loss()); err != nil {
		t.Fatal(err)
	}
	second := launch(t, c)
	if second.Run.ID != id || second.Lease.ExecutionID != 2 {
		t.Fatalf("got %+v", second.Lease)
	}
	a := adopt(t, c, second.Lease)
	if len(a.Prompts) != 1 || !a.Prompts[0].Redelivered {
		t.Errorf("got prompts %+v", a.Prompts)
	}
	g := agent{t: t, control: c, a: a}
	g.append(g.state(penstock.StatePending), g.state(penstock.StateInProgress))
	if err := c.ReportLoss(t.Context(), second.Lease, loss()); err != nil {
		t.Fatal(err)
	}
	r := w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil)
	if r.field("state") != "ERROR" || !strings.Contains(r.body, "evicted. The agent's session cannot be resumed") {
		t.Errorf("got %s", r.body)
	}
}

func lossUncertain(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("x")
	l := launch(t, c).Lease
	a := adopt(t, c, l)
	unsure := loss()
	unsure.Certain = false
	if err := c.ReportLoss(t.Context(), l, unsure); !errors.Is(err, penstock.ErrRenewed) {
		t.Errorf("got %v, want ErrRenewed", err)
	}
	if _, err := c.Heartbeat(t.Context(), a.Lease, 0); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	unsure.Unadopted = true
	if err := c.ReportLoss(t.Context(), l, unsure); !errors.Is(err, penstock.ErrRenewed) {
		t.Errorf("a loss before the adoption, too late: got %v, want ErrRenewed", err)
	}
	if got := w.timeline(id); strings.Contains(got, "pod_lost") {
		t.Errorf("got timeline %s", got)
	}
	w.newRun("y")
	l = launch(t, c).Lease
	if err := c.ReportLoss(t.Context(), l, unsure); err != nil {
		t.Errorf("a loss before the adoption: %v", err)
	}
	if _, err := c.Adopt(t.Context(), l, adoption()); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("got %v, want ErrLeaseLost", err)
	}
}

func lossAfter(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("x")
	l := launch(t, c).Lease
	a := adopt(t, c, l)
	if _, err := c.Finish(t.Context(), a.Lease, penstock.Result{State: penstock.StateQueued}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.ReportLoss(t.Context(), l, loss()); !errors.Is(err, penstock.ErrLeaseLost) {
			t.Errorf("got %v, want ErrLeaseLost", err)
		}
	}
	if got := w.timeline(id); strings.Count(got, "pod_lost(Evicted)") != 1 {
		t.Errorf("got timeline %s", got)
	}
	if got := w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil).field("state"); got != "QUEUED" {
		t.Errorf("got state %s", got)
	}
}

// Somebody may delete the Pod of a run that has just succeeded.
func lossAfterSuccess(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("x")
	l := launch(t, c).Lease
	g := agent{t: t, control: c, a: adopt(t, c, l)}
	g.append(g.state(penstock.StatePending), g.state(penstock.StateInProgress))
	g.succeed()
	if err := c.ReportLoss(t.Context(), l, loss()); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("got %v, want ErrLeaseLost", err)
	}
	if got := w.timeline(id); strings.Contains(got, "pod_lost") {
		t.Errorf("got timeline %s", got)
	}
}

func lossForeign(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("x")
	l := launch(t, c).Lease
	a := adopt(t, c, l)
	for _, token := range []string{"guess", "", a.Lease.Token} {
		foreign := penstock.Lease{RunID: id, ExecutionID: 1, Token: token}
		err := c.ReportLoss(t.Context(), foreign, loss())
		if token != a.Lease.Token && !errors.Is(err, penstock.ErrLeaseLost) {
			t.Errorf("token %q: got %v, want ErrLeaseLost", token, err)
		}
		if token == "guess" && strings.Contains(w.timeline(id), "pod_lost") {
			t.Error("a foreign launcher wrote to the timeline")
		}
	}
}
