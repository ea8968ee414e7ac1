package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// HourlyCosts are the costs of calls whose model has a price, by the hour in which they were sent.
// Hours begin with [run.UsageReport.From].
type HourlyCosts struct {
	Rows  []HourlyCost `json:"rows"`  // the first rows of the report
	Other []float64    `json:"other"` // of all other rows, one for each hour
}

// HourlyCost holds the costs of one row.
type HourlyCost struct {
	Key     string    `json:"key"`
	CostUSD []float64 `json:"cost_usd"` // one for each hour
}

// usageSums are the sums of calls, for [usageInto].
var usageSums = func() string {
	settled := func(condition, amount string) string {
		if condition != "" {
			condition = " AND " + condition
		}
		return "CAST(COALESCE(SUM(CASE WHEN l.state = 'settled'" + condition + " THEN " + amount +
			" ELSE 0 END), 0) AS BIGINT)"
	}
	reserved := func(amount string) string {
		return "CAST(COALESCE(SUM(CASE WHEN l.state = 'reserved' THEN " + amount + " ELSE 0 END), 0) AS BIGINT)"
	}
	return strings.Join([]string{
		settled("", "l.calls"), settled("", "l.tokens_input"), settled("", "l.tokens_output"),
		settled("", "l.tokens_cache_read"), settled("", "l.tokens_cache_write"), settled("", "l.tokens_reasoning"),
		settled("", "l.cost") + " AS spent",
		settled("l.unpriced = 1", "l.calls"), settled("l.estimated = 1", "l.calls"), settled("l.unknown = 1", "l.calls"),
		reserved("1"), reserved("l.cost"),
	}, ", ")
}()

// usageRow is a sum as the database returns it, with costs in nano-dollars.
type usageRow struct {
	penstock.UsageRow
	cost, reserved int64
}

func (r *usageRow) into() []any {
	return []any{
		&r.Calls, &r.Input, &r.Output, &r.CacheRead, &r.CacheWrite, &r.Reasoning, &r.cost, &r.UnpricedCalls,
		&r.EstimatedCalls, &r.UnknownCalls, &r.UnsettledCalls, &r.reserved,
	}
}

// present converts the costs.
func (r *usageRow) present() penstock.UsageRow {
	r.PricedCostUSD, r.ReservedUSD = penstock.USDOf(r.cost), penstock.USDOf(r.reserved)
	if r.UnpricedCalls == 0 {
		r.CostUSD = new(r.PricedCostUSD)
	}
	return r.UsageRow
}

// modelKey is provider/model. The name of a model may begin with its provider.
const modelKey = `CASE WHEN substr(l.model, 1, length(l.provider) + 1) = l.provider || '/' THEN l.model
			ELSE l.provider || '/' || l.model END`

// groupColumns says what calls are grouped by, and the table with the names of such keys.
var groupColumns = map[penstock.UsageGroup]struct{ column, named string }{
	penstock.UsageByModel:      {modelKey, ""},
	penstock.UsageByProvider:   {"l.provider", ""},
	penstock.UsageByAutomation: {"l.automation_id", "automations"},
	penstock.UsageByAgent:      {"l.agent_uid", "identities"},
	penstock.UsageByFactory:    {"l.factory_uid", "factories"},
	penstock.UsageByKey:        {"l.key_uid", "api_keys"},
}

// callsBetween selects the calls of a team that were made from one time to before another.
const callsBetween = "l.team = $1 AND l.created_at >= $2 AND l.created_at < $3 AND l.state <> 'unsent'"

// Sum adds up the calls of a team. Each day of zone is a row, from the first with calls on. Other
// groups are rows with the highest cost first, up to limit; omitted is how many more there are.
func (u Usage) Sum(
	ctx context.Context, team string, q penstock.UsageQuery, zone *time.Location, limit int,
) (rows []penstock.UsageRow, omitted int, err error) {
	if q.GroupBy == penstock.UsageByDay {
		rows, err = u.byDay(ctx, team, q, zone)
		return rows, 0, err
	}
	group := groupColumns[q.GroupBy]
	name, join := "''", ""
	if group.named != "" {
		name = "COALESCE(MAX(n.name), '')"
		join = "\n\t\tLEFT JOIN " + group.named + " n ON n.uid = " + group.column + " AND n.team = l.team"
	}
	found, err := u.s.query(ctx, "SELECT "+group.column+" AS grouped, "+name+", "+usageSums+`
		FROM calls l`+join+`
		WHERE `+callsBetween+`
		GROUP BY 1
		ORDER BY spent DESC, 1
		LIMIT `+strconv.Itoa(limit+1), team, int64(q.From), int64(q.To))
	list, err := u.rows(found, err, func(r *usageRow) []any { return []any{&r.Key, &r.Name} })
	if err != nil || len(list) <= limit {
		return list, 0, err
	}
	var groups int
	err = u.s.row(ctx, `SELECT COUNT(DISTINCT `+group.column+`)
		FROM calls l
		WHERE `+callsBetween, team, int64(q.From), int64(q.To)).Scan(&groups)
	return list[:limit], groups - limit, u.s.d.mapError(err)
}

// byDay joins the calls with the list of days, whose length clocks can change.
func (u Usage) byDay(
	ctx context.Context, team string, q penstock.UsageQuery, zone *time.Location,
) ([]penstock.UsageRow, error) {
	var days []string
	for at := q.From; at < q.To; {
		start, end := penstock.BudgetDay.At(at, zone)
		days = append(days, fmt.Sprintf("('%s', %d, %d)",
			start.Std().In(zone).Format(time.DateOnly), max(start, q.From), min(end, q.To)))
		at = end
	}
	found, err := u.s.query(ctx, `WITH days (day, day_start, day_end) AS (VALUES `+strings.Join(days, ", ")+`)
		SELECT d.day, `+usageSums+`
		FROM days d
		JOIN calls l ON l.created_at >= d.day_start AND l.created_at < d.day_end
		WHERE l.team = $1 AND l.state <> 'unsent'
		GROUP BY d.day
		ORDER BY d.day`, team)
	return u.rows(found, err, func(r *usageRow) []any { return []any{&r.Key} })
}

// HourlyCosts sums up the costs of each hour for each group with one of these keys, and for all others together.
func (u Usage) HourlyCosts(
	ctx context.Context, team string, q penstock.UsageQuery, keys []string,
) (*HourlyCosts, error) {
	hours := int((q.To - q.From + millisPerHour - 1) / millisPerHour)
	costs := &HourlyCosts{Rows: []HourlyCost{}, Other: make([]float64, hours)}
	if len(keys) == 0 {
		return costs, nil
	}
	var args []any
	var index strings.Builder
	for i, key := range keys {
		costs.Rows = append(costs.Rows, HourlyCost{Key: key, CostUSD: make([]float64, hours)})
		args = append(args, key)
		fmt.Fprintf(&index, " WHEN $%d THEN %d", len(args), i)
	}
	n := len(args)
	found, err := u.s.query(ctx, fmt.Sprintf(`SELECT CASE %s%s ELSE -1 END AS grouped, (l.created_at - $%d) / %d AS hour,
			CAST(sum(l.cost) AS BIGINT)
		FROM calls l
		WHERE l.created_at >= $%d AND l.created_at < $%d AND l.team = $%d AND l.state = 'settled' AND l.cost > 0
		GROUP BY 1, 2`, groupColumns[q.GroupBy].column, index.String(), n+1, millisPerHour, n+1, n+2, n+3),
		append(args, int64(q.From), int64(q.To), team)...)
	type sum struct {
		group, hour int
		cost        int64
	}
	sums, err := collect(u.s, found, err, "costs by hour", func(c *sum) []any { return []any{&c.group, &c.hour, &c.cost} })
	for _, c := range sums {
		into := costs.Other
		if c.group >= 0 {
			into = costs.Rows[c.group].CostUSD
		}
		into[c.hour] = penstock.USDOf(c.cost)
	}
	return costs, err
}

// rows reads sums, whose first columns are keys.
func (u Usage) rows(
	found *sql.Rows, err error, keys func(*usageRow) []any,
) ([]penstock.UsageRow, error) {
	list, err := collect(u.s, found, err, "sums of calls", func(r *usageRow) []any { return append(keys(r), r.into()...) })
	rows := make([]penstock.UsageRow, len(list))
	for i := range list {
		rows[i] = list[i].present()
	}
	return rows, err
}

// OfRun sums up the calls of a run by model, those with the highest cost first.
func (u Usage) OfRun(ctx context.Context, id string) ([]penstock.UsageRow, error) {
	found, err := u.s.query(ctx, "SELECT "+groupColumns[penstock.UsageByModel].column+" AS grouped, "+usageSums+`
		FROM calls l
		WHERE l.run_id = $1 AND l.state <> 'unsent'
		GROUP BY 1
		ORDER BY spent DESC, 1`, id)
	return u.rows(found, err, func(r *usageRow) []any { return []any{&r.Key} })
}

// LastSettled returns when a call of a run was last settled, and its latest execution with a call. Both are
// zero without such calls.
func (u Usage) LastSettled(ctx context.Context, id string) (at penstock.Time, execution int, err error) {
	if err := u.s.row(ctx, `SELECT COALESCE(MAX(settled_at), 0), COALESCE(MAX(execution_id), 0)
		FROM calls
		WHERE run_id = $1 AND state = 'settled'`, id).Scan(&at, &execution); err != nil {
		return 0, 0, u.s.d.mapError(fmt.Errorf("read the last call of run %s: %w", id, err))
	}
	return at, execution, nil
}

// CallsOfRun lists one page of the calls of a run, the newest first.
func (u Usage) CallsOfRun(
	ctx context.Context, id, after string, limit int,
) (calls []Call, next string, err error) {
	filter, args := "", []any{id}
	if after != "" {
		c, err := decodeCursor(after, id)
		if err != nil {
			return nil, "", err
		}
		at, err := strconv.ParseInt(c.Value, 10, 64)
		if err != nil {
			return nil, "", badCursor()
		}
		filter, args = " AND (l.created_at, l.id) < ($2, $3)", append(args, at, c.ID)
	}
	rows, err := u.s.query(ctx, "SELECT "+callFields.selected+`
		FROM calls l
		WHERE l.run_id = $1 AND (l.state <> 'unsent' OR l.model <> '')`+filter+`
		ORDER BY l.created_at DESC, l.id DESC
		LIMIT `+strconv.Itoa(limit+1), args...)
	calls, err = collect(u.s, rows, err, "calls", func(c *Call) []any { return callFields.into(c) })
	if len(calls) > limit {
		calls = calls[:limit]
		last := calls[limit-1]
		next = cursor{Filter: id, Value: strconv.FormatInt(int64(last.CreatedAt), 10), ID: last.ID}.encode()
	}
	return calls, next, err
}

// Total sums up the calls of a team from one time to before another.
func (u Usage) Total(ctx context.Context, team string, from, to penstock.Time) (penstock.UsageSum, error) {
	var r usageRow
	err := u.s.row(ctx, "SELECT "+usageSums+`
		FROM calls l
		WHERE `+callsBetween, team, int64(from), int64(to)).Scan(r.into()...)
	if err != nil {
		return penstock.UsageSum{}, u.s.d.mapError(fmt.Errorf("sum up calls: %w", err))
	}
	return r.present().UsageSum, nil
}
