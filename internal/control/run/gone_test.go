package run_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// With an expired lease, a worker can only report, once, that the sandbox of that execution is
// gone.
func TestWithoutItsLeaseAWorkerCanOnlyReportTheEndOfTheSandbox(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		id := w.Create(penstock.RunRequest{Prompt: "go"}).ID
		first := w.Work().Lease
		gone := func(payload map[string]any) penstock.Draft {
			return penstock.Timeline(penstock.Now(), penstock.TimelineSandboxGone, payload)
		}
		appended := func(l penstock.Lease, drafts ...penstock.Draft) error {
			return w.Executions.Control().Append(ctx, l, drafts)
		}
		refused := func(what string, err error) {
			if !errors.Is(err, penstock.ErrLeaseLost) {
				w.T.Errorf("%s: got %v, want a lost lease", what, err)
			}
		}
		forged := first
		forged.Token = penstock.NewUID()
		refused("a token of nobody's while it works", appended(forged, gone(nil)))
		if _, err := w.Runs.Cancel(ctx, w.Admin, id, false); err != nil {
			w.T.Fatal(err)
		}
		refused("a token of nobody's", appended(forged, gone(nil)))
		refused("no token", appended(penstock.Lease{RunID: id, ExecutionID: first.ExecutionID}, gone(nil)))
		refused("another execution", appended(penstock.Lease{RunID: id, ExecutionID: 2, Token: first.Token}, gone(nil)))
		refused("another moment", appended(first, penstock.Timeline(penstock.Now(), run.TimelineDone, nil)))
		refused("more than that", appended(first, gone(nil), penstock.Timeline(penstock.Now(), run.TimelineDone, nil)))
		refused(
			"a message",
			appended(first, penstock.NewDraft(penstock.EventMessage, penstock.Now(), penstock.Message{ID: penstock.NewID()})),
		)
		traffic := func(requests int64) penstock.Draft {
			return penstock.NewDraft(penstock.EventNetwork, penstock.Now(), penstock.NetworkReport{
				Hosts: []penstock.HostTraffic{{Host: "a.test", Port: 443, Mode: penstock.TrafficTunnel, Requests: requests}},
			})
		}
		refused("traffic alone", appended(first, traffic(1)))
		if err := appended(
			first, gone(map[string]any{"sandbox": "bubblewrap", "message": "all went well"}), traffic(2),
		); err != nil {
			w.T.Fatal(err)
		}
		refused("said again", appended(first, gone(nil), traffic(3)))
		if network, err := w.Runs.Network(ctx, w.Admin, id); err != nil || len(network.Hosts) != 1 ||
			network.Hosts[0].Requests != 2 {
			w.T.Errorf("the traffic: got %+v, %v; want 2 requests", network.Hosts, err)
		}
		events, err := w.Runs.Timeline(ctx, w.Admin, id)
		if err != nil {
			w.T.Fatal(err)
		}
		last := events[len(events)-1]
		if diff := cmp.Diff(map[string]any{"sandbox": "bubblewrap"}, last.Payload); diff != "" ||
			last.Type != penstock.TimelineSandboxGone || last.ExecutionID != 1 {
			w.T.Errorf("got %s of execution %d (-want +got):\n%s", last.Type, last.ExecutionID, diff)
		}

		w.FollowUp(id, "once more")
		second := w.Work().Lease
		if err := appended(second, gone(nil)); err != nil { // while it has its lease, as every worker does
			w.T.Fatal(err)
		}
		w.Finish(second, penstock.Result{State: penstock.StateSucceeded})
		refused("what was said before the end", appended(second, gone(nil)))
		if timeline := w.TimelineTypes(id); slices.Index(timeline, penstock.TimelineSandboxGone) < 0 ||
			len(slices.DeleteFunc(timeline, func(m string) bool { return m != penstock.TimelineSandboxGone })) != 2 {
			w.T.Errorf("timeline: got %v, want one end for each of two sandboxes", timeline)
		}
	})
}
