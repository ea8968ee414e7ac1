package store

import (
	"context"
)

// List is a list without pages.
type List string

// The lists without pages whose size is limited.
const (
	ListOfSchedules    List = "schedules"
	ListOfAgents       List = "agents"
	ListOfEnvironments List = "environments"
)

var listSizes = map[List]string{
	ListOfAgents: `SELECT sum(length(data)) AS n
		FROM identities
		WHERE team = $1 AND deleted_at = 0`,
	ListOfEnvironments: `SELECT sum(length(config)) AS n
		FROM environments
		WHERE team = $1 AND deleted_at = 0`,
	// Each schedule shows the environment that it names.
	ListOfSchedules: `SELECT sum(length(s.data) + COALESCE(length(e.config), 0)) AS n
		FROM schedules s
		LEFT JOIN environments e ON e.uid = s.environment_id AND e.team = s.team AND e.deleted_at = 0
		WHERE s.team = $1`,
}

// ListSize returns how many characters of data a list of the team has.
func (tx *Tx) ListSize(ctx context.Context, l List, team string) (size int64, err error) {
	err = tx.row(ctx, `SELECT CAST(COALESCE(n, 0) AS BIGINT)
		FROM (`+listSizes[l]+") AS total", team).Scan(&size)
	return size, wrapf(err, "size the list of %s", l)
}

// Bounds of lists of runs.
const (
	MaxPageBytes    = 4 << 20  // of JSON; a page of runs ends before this, but has at least one run
	MaxListedPrompt = 16 << 10 // bytes of a prompt in a list
)
