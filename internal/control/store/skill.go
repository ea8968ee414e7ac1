package store

import (
	"context"
	"strings"

	"github.com/penstock-dev/penstock"
)

// SkillUses returns when a visible run last used a skill of a repository, by the skill's id and by
// each reference in runs. It omits references without runs, and bare names that stood for another
// skill.
func (rs Runs) SkillUses(ctx context.Context, v Viewer, references []string) (map[string]penstock.Time, error) {
	out := map[string]penstock.Time{}
	const most = 500 // placeholders in a statement
	for len(references) > 0 {
		some := references[:min(most, len(references))]
		references = references[len(some):]
		args := append([]any{v.Team, flag(v.All), v.UID}, anys(some)...)
		list := strings.ReplaceAll(placeholders(4, len(some)), ", ", "), (")
		last := func(condition string) string {
			return `COALESCE((
				SELECT r.created_at
				FROM runs r
				WHERE r.team = $1 AND ($2 = 1 OR r.personal = 0 OR r.creator = $3) AND ` + condition + `
				ORDER BY r.created_at DESC
				LIMIT 1
			), 0)`
		}
		rows, err := rs.s.query(ctx, `SELECT k.column1,
			`+last("r.skill = k.column1 AND r.skill <> '' AND r.skill_found = 0")+`,
			`+last("r.skill_id = k.column1 AND r.skill_id <> ''")+`
			FROM (VALUES (`+list+`)) AS k`, args...)
		type use struct {
			reference string
			at, byID  penstock.Time
		}
		found, err := collect(
			rs.s, rows, err, "runs of skills", func(l *use) []any { return []any{&l.reference, &l.at, &l.byID} },
		)
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			if at := max(l.at, l.byID); at != 0 {
				out[l.reference] = at
			}
		}
	}
	return out, nil
}
