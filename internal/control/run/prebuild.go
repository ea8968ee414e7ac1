package run

import (
	"context"
	"regexp"
	"strings"
	"unicode"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

// ListPrebuilds lists the workspaces that workers keep for later runs of an environment, the newest
// first.
func (s *Catalog) ListPrebuilds(
	ctx context.Context, p penstock.Principal, environment string,
) ([]penstock.PreparedWorkspace, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return nil, err
	}
	if _, err := s.store.Environments.Spec(ctx, p.Team, environment); err != nil {
		return nil, err
	}
	return s.store.Prebuilds.List(ctx, environment)
}

// DeletePrebuild deletes a prepared workspace and all that were made from it. Runs that are claimed
// later get none of them, on any worker. Workers remove them from their disks when they can.
func (s *Catalog) DeletePrebuild(ctx context.Context, p penstock.Principal, environment, uid string) error {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return err
	}
	if !layerUID.MatchString(uid) {
		return penstock.NotFound("prebuild", uid)
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Environments().Use(ctx, p.Team, environment); err != nil {
			return err
		}
		return tx.Prebuilds().Retire(ctx, environment, uid)
	})
}

// ClearPrebuilds forgets the prepared workspaces of workers that have disappeared.
func (s *Catalog) ClearPrebuilds(ctx context.Context) error {
	return s.store.Prebuilds.Clear(ctx, penstock.Now())
}

// ReportLayers implements penstock.Control.
func (c control) ReportLayers(ctx context.Context, r penstock.LayerReport) (retired []string, err error) {
	if r, err = boundReport(r); err != nil {
		return nil, err
	}
	err = c.s.store.Write(ctx, func(tx *store.Tx) (err error) {
		retired, err = tx.Prebuilds().Report(ctx, r)
		return err
	})
	return retired, err
}

// The longest texts of a report, in bytes. A worker keeps as many parents.
const (
	maxLayerReason = 1000
	maxLayerText   = 500
	maxParents     = 100
)

var layerUID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// boundReport returns a report without what our workers never send: a report may come from a worker
// that someone has taken over.
func boundReport(r penstock.LayerReport) (penstock.LayerReport, error) {
	if !layerUID.MatchString(r.Folder) {
		return r, penstock.Invalid("/folder", "must be the id of a folder")
	}
	if r.Host = oneLine(r.Host, request.MaxName); r.Host == "" {
		return r, penstock.Invalid("/worker_host", "is required")
	}
	type place struct{ environment, uid string }
	seen := map[place]bool{}
	var list []penstock.ReportedLayer
	for _, l := range r.Layers {
		if at := (place{l.EnvironmentUID, l.UID}); !seen[at] && len(list) < penstock.MaxReportedLayers && boundLayer(&l) {
			seen[at] = true
			list = append(list, l)
		}
	}
	r.Layers = list
	return r, nil
}

// boundLayer reports whether a layer may be recorded, and shortens and cleans its texts.
func boundLayer(l *penstock.ReportedLayer) bool {
	switch l.State {
	case penstock.PreparedReady, penstock.PreparedFailed, penstock.PreparedRetired:
	default:
		return false
	}
	if !layerUID.MatchString(l.UID) || !layerUID.MatchString(l.EnvironmentUID) {
		return false
	}
	if l.Mode != penstock.PrebuildOff && l.Mode != penstock.PrebuildLazy {
		l.Mode = ""
	}
	l.Reason, l.ImageDigest = oneLine(l.Reason, maxLayerReason), oneLine(l.ImageDigest, maxLayerText)
	l.Heads, l.Parents = l.Heads[:min(len(l.Heads), maxRepos)], l.Parents[max(len(l.Parents)-maxParents, 0):]
	heads := make([]penstock.PreparedHead, 0, len(l.Heads))
	for _, h := range l.Heads {
		if len(h.URL) > maxLayerText || !strings.Contains(h.URL, "://") && !strings.Contains(h.URL, "@") {
			h.URL = "" // such as javascript:…, which could be the short form of a remote
		}
		heads = append(heads, penstock.PreparedHead{
			URL: oneLine(git.PublicURL(h.URL), maxLayerText), Commit: oneLine(h.Commit, maxLayerText),
		})
	}
	l.Heads = heads
	for _, uid := range l.Parents {
		if !layerUID.MatchString(uid) {
			return false
		}
	}
	for _, n := range []*int64{&l.Bytes, &l.Files, &l.DurationMS, &l.Uses} {
		*n = max(*n, 0)
	}
	now := penstock.Now()
	l.BuiltAt, l.LastUsedAt = min(max(l.BuiltAt, 0), now), min(max(l.LastUsedAt, 0), now)
	return true
}

// oneLine returns a text in one line of printable characters, with at most so many bytes.
func oneLine(text string, most int) string {
	text = text[:min(len(text), 4*most)]
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar
	}), " ")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
