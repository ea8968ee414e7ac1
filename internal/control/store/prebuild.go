package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
)

// Prebuild is what a worker keeps of the setup of an environment.
type Prebuild struct {
	penstock.ReportedLayer

	folder            string
	report            string
	reportedAt        penstock.Time
	retiredAt, goneAt penstock.Time
	retiredFor        string
}

var prebuildFields = newResource("prebuilds", "b",
	textColumn("folder", func(p *Prebuild) *string { return &p.folder }),
	textColumn("worker_host", func(p *Prebuild) *string { return &p.WorkerHost }),
	textColumn("environment_id", func(p *Prebuild) *string { return &p.EnvironmentUID }),
	textColumn("uid", func(p *Prebuild) *string { return &p.UID }),
	textColumn("state", func(p *Prebuild) *penstock.PreparedState { return &p.State }).editable(),
	textColumn("reason", func(p *Prebuild) *string { return &p.Reason }).editable(),
	textColumn("mode", func(p *Prebuild) *penstock.PrebuildMode { return &p.Mode }).editable(),
	jsonColumn("heads", func(p *Prebuild) *[]penstock.PreparedHead { return &p.Heads }).editable(),
	listColumn("parents", func(p *Prebuild) *[]string { return &p.Parents }).editable(),
	textColumn("image_digest", func(p *Prebuild) *string { return &p.ImageDigest }).editable(),
	numberColumn("bytes", func(p *Prebuild) *int64 { return &p.Bytes }).editable(),
	numberColumn("files", func(p *Prebuild) *int64 { return &p.Files }).editable(),
	numberColumn("duration_ms", func(p *Prebuild) *int64 { return &p.DurationMS }).editable(),
	numberColumn("built_at", func(p *Prebuild) *penstock.Time { return &p.BuiltAt }).editable(),
	numberColumn("last_used_at", func(p *Prebuild) *penstock.Time { return &p.LastUsedAt }).editable(),
	numberColumn("uses", func(p *Prebuild) *int64 { return &p.Uses }).editable(),
	textColumn("report", func(p *Prebuild) *string { return &p.report }).editable(),
	numberColumn("reported_at", func(p *Prebuild) *penstock.Time { return &p.reportedAt }).editable(),
	numberColumn("retired_at", func(p *Prebuild) *penstock.Time { return &p.retiredAt }),
	textColumn("retired_for", func(p *Prebuild) *string { return &p.retiredFor }),
	numberColumn("gone_at", func(p *Prebuild) *penstock.Time { return &p.goneAt }).editable(),
)

// A report never undoes a deletion.
var reportedPrebuilds = prebuildFields.onConflict(
	prebuildFields.orUpdate("folder, worker_host, environment_id, uid") + `,
	retired_for = CASE WHEN prebuilds.retired_at > 0 THEN prebuilds.retired_for ELSE excluded.retired_for END,
	retired_at = CASE WHEN prebuilds.retired_at > 0 THEN prebuilds.retired_at ELSE excluded.retired_at END`,
)

// How long rows stay. A worker uses no layer that was unused for 90 days, so a deletion is still known then.
const (
	keepUnreported = 7 * 24 * time.Hour // without a report of the worker
	keepGone       = 7 * 24 * time.Hour // longer than any preparation on top of the layer takes
	keepRetired    = 365 * 24 * time.Hour
)

// List returns what workers keep for an environment, the newest first. It leaves out what has not
// been reported for days.
func (ps Prebuilds) List(ctx context.Context, environment string) ([]penstock.PreparedWorkspace, error) {
	rows, err := ps.s.query(ctx, "SELECT "+prebuildFields.selected+`
		FROM prebuilds b
		WHERE b.environment_id = $1 AND b.gone_at = 0 AND b.reported_at >= $2
		ORDER BY b.built_at DESC, b.uid, b.worker_host, b.folder`,
		environment, int64(penstock.Now().Add(-keepUnreported)))
	found, err := collect(ps.s, rows, err, "prebuilds", func(p *Prebuild) []any { return prebuildFields.into(p) })
	list := make([]penstock.PreparedWorkspace, 0, len(found))
	for _, p := range found {
		if p.retiredAt > 0 {
			p.State, p.Reason = penstock.PreparedRetired, "It was deleted."
			if p.retiredFor != p.UID {
				p.Reason = fmt.Sprintf("It was made from %s, which was deleted.", p.retiredFor)
			}
		}
		if p.Heads == nil {
			p.Heads = []penstock.PreparedHead{}
		}
		list = append(list, p.PreparedWorkspace)
	}
	return list, err
}

// Retired returns the uids of an environment's deleted layers, also of those that were made from them.
func (ps Prebuilds) Retired(ctx context.Context, environment string) ([]string, error) {
	rows, err := ps.s.query(ctx, `SELECT DISTINCT uid
		FROM prebuilds
		WHERE environment_id = $1 AND retired_at > 0
		ORDER BY uid`, environment)
	return collect(ps.s, rows, err, "retired prebuilds", func(uid *string) []any { return []any{uid} })
}

// Retire deletes a layer of an environment for new runs, on every worker, with the layers that were
// made from it. Absence is penstock.CodeNotFound. The caller has locked the environment.
func (ps PrebuildsTx) Retire(ctx context.Context, environment, uid string) error {
	// No uid has a character with a meaning in a pattern.
	n, err := ps.tx.exec(ctx, `UPDATE prebuilds
		SET retired_at = CASE WHEN retired_at > 0 THEN retired_at ELSE $1 END,
			retired_for = CASE WHEN retired_at > 0 THEN retired_for ELSE $2 END
		WHERE environment_id = $3 AND (uid = $2 OR parents LIKE $4)
			AND EXISTS (SELECT 1 FROM prebuilds own WHERE own.environment_id = $3 AND own.uid = $2)`,
		int64(penstock.Now()), uid, environment, "%,"+uid+",%")
	if err == nil && n == 0 {
		return penstock.NotFound("prebuild", uid)
	}
	return wrapf(err, "retire prebuild %s", uid)
}

// Report replaces what is known of the layers in a folder of a worker. It returns the reported ones
// that no run may use.
func (ps PrebuildsTx) Report(ctx context.Context, r penstock.LayerReport) (retired []string, err error) {
	known, err := ps.lockEnvironments(ctx, r)
	if err != nil {
		return nil, err
	}
	banned, room, err := ps.state(ctx, r, known)
	if err != nil {
		return nil, err
	}
	now, report := penstock.Now(), penstock.NewID()
	var rows [][]any
	for _, l := range r.Layers {
		if !known[l.EnvironmentUID] {
			continue
		}
		row := Prebuild{ReportedLayer: l, folder: r.Folder, report: report, reportedAt: now}
		row.WorkerHost = r.Host
		for _, uid := range append(slices.Clone(l.Parents), l.UID) {
			if banned[[2]string{l.EnvironmentUID, uid}] {
				row.retiredAt, row.retiredFor = now, uid
			}
		}
		if row.retiredAt > 0 {
			retired = append(retired, l.UID)
		} else if room[l.EnvironmentUID]++; room[l.EnvironmentUID] > penstock.MaxReportedLayers {
			continue
		}
		rows = append(rows, prebuildFields.row(&row))
	}
	if err := ps.tx.insert(ctx, reportedPrebuilds, rows); err != nil {
		return nil, fmt.Errorf("record prebuilds: %w", err)
	}
	return retired, ps.removeGone(ctx, r, report, now)
}

// removeGone removes what a worker no longer has. The row of a deleted layer stays: another one may have
// been made from it meanwhile.
func (ps PrebuildsTx) removeGone(ctx context.Context, r penstock.LayerReport, report string, now penstock.Time) error {
	_, err := ps.tx.exec(ctx, `UPDATE prebuilds
		SET gone_at = $1
		WHERE folder = $2 AND worker_host = $3 AND report <> $4 AND retired_at > 0 AND gone_at = 0`,
		int64(now), r.Folder, r.Host, report)
	if err == nil {
		_, err = ps.tx.exec(ctx, `DELETE FROM prebuilds
			WHERE folder = $1 AND worker_host = $2 AND report <> $3 AND retired_at = 0`, r.Folder, r.Host, report)
	}
	return wrapf(err, "remove the prebuilds that a worker no longer has")
}

// lockEnvironments returns the environments of a report that exist or have existed. Nothing of them is
// deleted until the transaction ends.
func (ps PrebuildsTx) lockEnvironments(ctx context.Context, r penstock.LayerReport) (map[string]bool, error) {
	var uids []any
	seen := map[string]bool{}
	for _, l := range r.Layers {
		if !seen[l.EnvironmentUID] {
			seen[l.EnvironmentUID] = true
			uids = append(uids, l.EnvironmentUID)
		}
	}
	known := map[string]bool{}
	if len(uids) == 0 {
		return known, nil
	}
	rows, err := ps.tx.query(ctx, `SELECT uid
		FROM environments
		WHERE uid IN (`+placeholders(1, len(uids))+`)
		ORDER BY uid`+ps.tx.s.d.lock, uids...)
	list, err := collect(ps.tx.s, rows, err, "environments", func(uid *string) []any { return []any{uid} })
	for _, uid := range list {
		known[uid] = true
	}
	return known, err
}

// state returns which layers of the environments are deleted, and how many others workers keep, apart
// from the one that reports.
func (ps PrebuildsTx) state(
	ctx context.Context, r penstock.LayerReport, environments map[string]bool,
) (banned map[[2]string]bool, others map[string]int, err error) {
	banned, others = map[[2]string]bool{}, map[string]int{}
	if len(environments) == 0 {
		return banned, others, nil
	}
	var uids []any
	for uid := range environments {
		uids = append(uids, uid)
	}
	in := placeholders(1, len(uids))
	type row struct {
		environment, uid string
		n                int
	}
	rows, err := ps.tx.query(ctx, `SELECT environment_id, uid, 1
		FROM prebuilds
		WHERE retired_at > 0 AND environment_id IN (`+in+`)`, uids...)
	into := func(r *row) []any { return []any{&r.environment, &r.uid, &r.n} }
	list, err := collect(ps.tx.s, rows, err, "retired prebuilds", into)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range list {
		banned[[2]string{r.environment, r.uid}] = true
	}
	rows, err = ps.tx.query(ctx, `SELECT environment_id, '', count(*)
		FROM prebuilds
		WHERE retired_at = 0 AND environment_id IN (`+in+`)
			AND NOT (folder = `+placeholders(len(uids)+1, 1)+` AND worker_host = `+placeholders(len(uids)+2, 1)+`)
		GROUP BY environment_id`, append(uids, r.Folder, r.Host)...)
	list, err = collect(ps.tx.s, rows, err, "numbers of prebuilds", into)
	for _, r := range list {
		others[r.environment] = r.n
	}
	return banned, others, err
}

// Clear removes the rows of workers that have disappeared, and of layers that no worker can have any
// more.
func (ps Prebuilds) Clear(ctx context.Context, now penstock.Time) error {
	return ps.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, `DELETE FROM prebuilds
			WHERE retired_at = 0 AND reported_at < $1 OR gone_at > 0 AND gone_at < $2
				OR retired_at > 0 AND retired_at < $3`,
			int64(now.Add(-keepUnreported)), int64(now.Add(-keepGone)), int64(now.Add(-keepRetired)))
		return wrapf(err, "remove old prebuilds")
	})
}
