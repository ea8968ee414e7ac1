package run

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// ConnectedWorker sums up the workers of one host.
type ConnectedWorker struct {
	Host        string        `json:"worker_host"`
	Connections int           `json:"connection_count"`
	Capacity    int           `json:"capacity"` // simultaneous runs of all its workers
	Busy        int           `json:"busy"`
	ConnectedAt penstock.Time `json:"connected_at"`
	LastSeenAt  penstock.Time `json:"last_seen_at"`
	Launchers   int           `json:"launcher_count"` // how many of them are launchers
	// Executions lists the executions of runs that the caller can see. The ones that have not
	// started come first.
	Executions []store.WorkerExecution `json:"executions"`
}

// maxWorkerExecutions limits the executions of all workers together in a response.
const maxWorkerExecutions = 500

// Workers lists the hosts of connected workers outside of the server. Each has the time since when
// it has a worker, when a worker was last seen, and the runs that its workers have.
func (s *Catalog) Workers(ctx context.Context, p penstock.Principal) ([]ConnectedWorker, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return nil, err
	}
	workers, err := s.store.Queue.Workers(ctx) // by host
	if err != nil {
		return nil, err
	}
	hosts := []ConnectedWorker{}
	hostOf := map[string]int{} // by the id of a worker
	launchers := map[string]bool{}
	for _, w := range workers {
		if w.Local {
			continue
		}
		if n := len(hosts); n == 0 || hosts[n-1].Host != w.Host {
			hosts = append(hosts, ConnectedWorker{
				Host: w.Host, ConnectedAt: w.ConnectedAt, Executions: []store.WorkerExecution{},
			})
		}
		hostOf[w.ID], launchers[w.ID] = len(hosts)-1, w.Launcher
		host := &hosts[len(hosts)-1]
		host.Connections++
		if w.Launcher {
			host.Launchers++
		}
		host.Capacity += w.Capacity
		host.Busy += w.Busy
		host.ConnectedAt = min(host.ConnectedAt, w.ConnectedAt)
		host.LastSeenAt = max(host.LastSeenAt, w.LastSeenAt)
	}
	if len(hosts) == 0 {
		return hosts, nil
	}
	held, err := s.store.Executions.HeldRuns(ctx, ViewerOf(p), maxWorkerExecutions)
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		n, connected := hostOf[h.WorkerID]
		if !connected {
			continue
		}
		if err := addWait(&h, launchers[h.WorkerID]); err != nil {
			return nil, err
		}
		hosts[n].Executions = append(hosts[n].Executions, h.WorkerExecution)
	}
	return hosts, nil
}

// addWait adds what the Pod of a launched execution waits for, by its latest timeline event.
func addWait(h *store.HeldRun, launched bool) error {
	if !launched || len(h.Last.Data) == 0 {
		return nil
	}
	e, err := h.Last.Timeline()
	if err != nil {
		return fmt.Errorf("read the timeline of run %s: %w", h.RunID, err)
	}
	h.Since = h.Last.At
	switch e.Type {
	case penstock.TimelineClaimed:
		h.Waiting = &store.PodWait{Message: "The launcher creates its Job."}
	case penstock.TimelinePodCreated:
		h.Waiting = &store.PodWait{Message: "Its Pod is starting."}
	case penstock.TimelinePodWaiting:
		reason, _ := e.Payload["reason"].(string)
		message, _ := e.Payload["message"].(string)
		h.Waiting = &store.PodWait{Reason: reason, Message: message}
	}
	return nil
}
