package store

import (
	"context"
	"fmt"
)

// NamesOf returns the names of the factories of agents and automations, by the UIDs of these.
// Agents and automations without a factory are absent.
func (fs factoryReads) NamesOf(ctx context.Context, team string, uids []string) (map[string]string, error) {
	type named struct{ uid, factory string }
	names := map[string]string{}
	for args := range chunks(uids, func(uid string) []any { return []any{uid} }) {
		of := func(table string) string {
			return fmt.Sprintf(`SELECT n.uid, f.name
				FROM %s n
				JOIN factories f ON f.uid = n.factory_uid AND f.team = n.team
				WHERE n.uid IN (%s) AND n.team = $%d`, table, placeholders(1, len(args)), len(args)+1)
		}
		rows, err := fs.q.query(ctx, of("identities")+" UNION ALL "+of("automations"), append(args, team)...)
		list, err := collect(
			fs.q.store(), rows, err, "names of factories", func(n *named) []any { return []any{&n.uid, &n.factory} },
		)
		if err != nil {
			return nil, err
		}
		for _, n := range list {
			names[n.uid] = n.factory
		}
	}
	return names, nil
}
