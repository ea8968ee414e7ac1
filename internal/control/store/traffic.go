package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
)

// The results of checking a run's sandboxes.
const (
	sealedYes = 1 // each so far was sealed
	sealedNo  = 2 // one was not
)

// splitReports separates the reports about traffic from drafts, because they are not in the log.
func splitReports(drafts []penstock.Draft) (events, reports []penstock.Draft) {
	is := func(d penstock.Draft) bool { return d.Type == penstock.EventNetwork }
	if !slices.ContainsFunc(drafts, is) {
		return drafts, nil
	}
	for _, d := range drafts {
		if is(d) {
			reports = append(reports, d)
		} else {
			events = append(events, d)
		}
	}
	return events, reports
}

// Report stores what an execution reports about its network. Counts start with the execution and
// never decrease. Hosts beyond penstock.MaxTrafficHosts of an execution are dropped.
func (e ExecutionsTx) Report(ctx context.Context, l penstock.Lease, reports ...penstock.Draft) error {
	for _, d := range reports {
		var report penstock.NetworkReport
		if err := json.Unmarshal(d.Data, &report); err != nil {
			return fmt.Errorf("read a report of run %s: %w", l.RunID, err)
		}
		if report.Sealed != nil {
			if err := e.setSealed(ctx, l.RunID, *report.Sealed); err != nil {
				return err
			}
		}
		if err := e.setTraffic(ctx, l, report.Hosts); err != nil {
			return err
		}
	}
	return nil
}

// setSealed records a check of a sandbox. If one check of a run fails, the run stays unsealed.
func (e ExecutionsTx) setSealed(ctx context.Context, runID string, sealed bool) error {
	value := sealedNo
	if sealed {
		value = sealedYes
	}
	_, err := e.tx.exec(ctx, `UPDATE runs
		SET sealed = $1
		WHERE id = $2 AND sealed < $1`, value, runID)
	return wrapf(err, "record whether run %s is sealed", runID)
}

func (e ExecutionsTx) setTraffic(ctx context.Context, l penstock.Lease, hosts []penstock.HostTraffic) error {
	if len(hosts) == 0 {
		return nil
	}
	var known int
	if err := e.tx.row(ctx, `SELECT count(*)
		FROM run_hosts
		WHERE run_id = $1 AND execution_id = $2`, l.RunID, l.ExecutionID).Scan(&known); err != nil {
		return fmt.Errorf("count the hosts of run %s: %w", l.RunID, err)
	}
	for _, h := range hosts {
		row := []any{
			h.Requests, h.BytesIn, h.BytesOut, h.Refused, h.Reason, l.RunID, l.ExecutionID, h.Host, h.Port, h.Mode,
		}
		n, err := e.tx.exec(ctx, `UPDATE run_hosts
			SET requests = $1, bytes_in = $2, bytes_out = $3, refused = $4, reason = $5
			WHERE run_id = $6 AND execution_id = $7 AND host = $8 AND port = $9 AND mode = $10
				AND requests <= $1 AND bytes_in <= $2 AND bytes_out <= $3 AND refused <= $4`, row...)
		if err == nil && n == 0 && known < MaxTrafficHosts {
			n, err = e.tx.exec(ctx, `INSERT INTO run_hosts
				(requests, bytes_in, bytes_out, refused, reason, run_id, execution_id, host, port, mode)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
				ON CONFLICT DO NOTHING`, row...)
			known += int(n)
		}
		if err != nil {
			return fmt.Errorf("record what run %s exchanged with a host: %w", l.RunID, err)
		}
	}
	return nil
}

// TrafficSince sums what a run exchanged with each host, without models, in the executions that ended after a
// time or have not ended.
func (e ExecutionsTx) TrafficSince(
	ctx context.Context, runID string, at penstock.Time,
) ([]penstock.HostTraffic, error) {
	rows, err := e.tx.query(ctx, `SELECT h.host, h.port, sum(h.requests), sum(h.bytes_out)
		FROM run_hosts h
		JOIN executions x ON x.run_id = h.run_id AND x.execution_id = h.execution_id
		WHERE h.run_id = $1 AND (x.ended_at = 0 OR x.ended_at > $2) AND h.requests > h.refused AND h.mode <> 'model'
		GROUP BY h.host, h.port
		ORDER BY h.host, h.port`, runID, int64(at))
	return collect(e.tx.s, rows, err, "the traffic of run "+runID, func(h *penstock.HostTraffic) []any {
		return []any{&h.Host, &h.Port, &h.Requests, &h.BytesOut}
	})
}

// Traffic sums what all executions of a run exchanged with each host. The reason comes from the
// latest execution that has one.
func (e Executions) Traffic(ctx context.Context, runID string) ([]penstock.HostTraffic, error) {
	rows, err := e.s.query(ctx, `SELECT host, port, mode, requests, bytes_in, bytes_out, refused, reason
		FROM run_hosts
		WHERE run_id = $1
		ORDER BY host, port, mode, execution_id`, runID)
	list, err := collect(e.s, rows, err, "the traffic of run "+runID, func(h *penstock.HostTraffic) []any {
		return []any{&h.Host, &h.Port, &h.Mode, &h.Requests, &h.BytesIn, &h.BytesOut, &h.Refused, &h.Reason}
	})
	sums := []penstock.HostTraffic{}
	for _, h := range list {
		last := len(sums) - 1
		if last < 0 || sums[last].Host != h.Host || sums[last].Port != h.Port || sums[last].Mode != h.Mode {
			sums = append(sums, h)
			continue
		}
		sum := &sums[last]
		sum.Requests, sum.Refused = sum.Requests+h.Requests, sum.Refused+h.Refused
		sum.BytesIn, sum.BytesOut = sum.BytesIn+h.BytesIn, sum.BytesOut+h.BytesOut
		if h.Reason != "" {
			sum.Reason = h.Reason
		}
	}
	return sums, err
}

// MaxTrafficHosts is of how many hosts an execution may report traffic.
const MaxTrafficHosts = 1000
