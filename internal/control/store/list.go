package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// Viewer is the caller who sees a list.
type Viewer struct {
	Team string
	UID  string
	All  bool // also sees personal runs of others
}

// sorts are the columns that a list of runs can be sorted by.
var sorts = map[string]string{
	"": "updated_at", "updated_at": "updated_at", "created_at": "created_at", "title": "title", "agent": "name",
}

// SortKeys lists the names of sorts.
func SortKeys() []string { return []string{"updated_at", "created_at", "title", "agent"} }

// cursor is the position after the last row of a page. Filter binds it to its query.
type cursor struct {
	Filter string `json:"f"`
	Value  string `json:"v"`
	ID     string `json:"i"`
}

func badCursor() error {
	return penstock.Errorf(
		penstock.CodeInvalidRequest,
		"query parameter cursor: does not belong to this list; use next_cursor of a page with the same filters and sort",
	)
}

func (c cursor) encode() string {
	b, _ := json.Marshal(c) // strings never fail
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeCursor(text, filter string) (cursor, error) {
	var c cursor
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(b, &c) != nil || c.Filter != filter || c.ID == "" ||
		strings.ContainsRune(c.Value+c.ID, 0) { // PostgreSQL does not accept NUL
		return c, badCursor()
	}
	return c, nil
}

// pageByUID reads one page of rows whose UIDs begin with their time, newest first, and the cursor of the
// next page, or "". filter identifies the query.
func pageByUID[T any](
	w where, column, filter, after string, limit int, read func(where string, args ...any) ([]T, error),
	uid func(T) string,
) (rows []T, next string, err error) {
	if after != "" {
		c, err := decodeCursor(after, filter)
		if err != nil {
			return nil, "", err
		}
		w.add(column+" < ?", c.ID)
	}
	text, args := w.numbered(1)
	rows, err = read(text+fmt.Sprintf(" ORDER BY %s DESC LIMIT %d", column, limit+1), args...)
	if len(rows) > limit {
		rows = rows[:limit]
		next = cursor{Filter: filter, ID: uid(rows[limit-1])}.encode()
	}
	return rows, next, err
}

// fingerprint identifies a query, without its page and size.
func fingerprint(q penstock.RunQuery, v Viewer) string {
	q.Cursor, q.Limit = "", 0
	return fingerprintOf(q, v)
}

func fingerprintOf(query any, v Viewer) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v %#v", query, v)) // prints maps in the order of their keys
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// RunList is one page of runs, in their order, with prompts cut to
// penstock.MaxListedPrompt.
type RunList struct {
	Rows   []RunRow
	More   bool     // there are more runs than Rows
	Bytes  int64    // size of the texts of Rows and of their artifacts in the database
	filter string   // of the query
	sorted []string // the sort key of each row
}

// After returns the cursor of the page that begins after the first n rows.
func (l RunList) After(n int) string {
	return cursor{Filter: l.filter, Value: l.sorted[n-1], ID: l.Rows[n-1].ID}.encode()
}

// List reads one page. Pages are keysets, so new rows neither shift nor repeat others. A page
// ends before its texts exceed penstock.MaxPageBytes, but has at least one run if one matches.
func (rs Runs) List(ctx context.Context, v Viewer, q penstock.RunQuery) (RunList, error) {
	list := RunList{Rows: []RunRow{}, filter: fingerprint(q, v)}
	page := runsPage{column: sorts[q.SortBy], direction: "DESC", limit: cmp.Or(q.Limit, penstock.DefaultLimit)}
	after := "<"
	if q.Ascending {
		page.direction, after = "ASC", ">"
	}
	page.w = runFilter(v, q)
	if err := rs.filterText(ctx, page.w, q.Text); err != nil {
		return list, err
	}
	if q.Cursor != "" {
		last, value, err := readCursor(q.Cursor, list.filter, page.column)
		if err != nil {
			return list, err
		}
		page.w.add("(r."+page.column+", r.id) "+after+" (?, ?)", value, last)
	}
	page.states = slices.Compact(slices.Sorted(slices.Values(q.States)))
	var err error
	if page.few, err = rs.fewIn(ctx, v.Team, page.states, page.column); err == nil {
		page.rare, err = rs.areRare(ctx, v.Team, q)
	}
	if err != nil {
		return list, rs.s.d.mapError(fmt.Errorf("list runs: %w", err))
	}
	return list, rs.s.d.mapError(rs.readPage(ctx, page, &list))
}

// readCursor decodes a cursor.
func readCursor(text, filter, column string) (id string, value any, err error) {
	c, err := decodeCursor(text, filter)
	if err != nil {
		return "", nil, err
	}
	value = c.Value
	if strings.HasSuffix(column, "_at") {
		if value, err = strconv.ParseInt(c.Value, 10, 64); err != nil {
			return "", nil, badCursor()
		}
	}
	return c.ID, value, nil
}

// listedColumns are the columns of a run in a list, and the size of its artifacts. They read one
// character more of a prompt than is shown, to see whether it is cut.
var listedColumns = strings.Replace(
	runColumns, "r.prompt,", fmt.Sprintf("substr(r.prompt, 1, %d),", MaxListedPrompt+1), 1,
) + `, CAST((
		SELECT COALESCE(sum(256 + octet_length(a.data)), 0)
		FROM artifacts a
		WHERE a.run_id = r.id
	) AS BIGINT)`

// readPage reads the rows of a page, and stops when the page is full.
func (rs Runs) readPage(ctx context.Context, page runsPage, list *RunList) error {
	limit := page.limit
	page.limit++ // one more, to see whether a next page exists
	ids, args := page.ids()
	rows, err := rs.s.query(ctx, "SELECT "+listedColumns+`, p.sorted
		FROM (`+ids+`) AS p
		JOIN runs r ON r.id = p.id`+runActors+`
		ORDER BY p.sorted `+page.direction+", p.id "+page.direction, args...)
	if err != nil {
		return fmt.Errorf("list runs: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if len(list.Rows) == limit {
			list.More = true
			break
		}
		var artifacts int64
		var sorted string
		r, err := scanRun(rows, &artifacts, &sorted)
		if err != nil {
			return fmt.Errorf("list runs: %w", err)
		}
		size := r.size + artifacts
		if list.Bytes+size > MaxPageBytes && len(list.Rows) > 0 {
			list.More = true
			break
		}
		r.Prompt, r.PromptCut = cutText(r.Prompt, MaxListedPrompt)
		list.Rows, list.sorted, list.Bytes = append(list.Rows, r), append(list.sorted, sorted), list.Bytes+size
	}
	return rows.Err()
}

// cutText cuts a text to n bytes at a whole character, and reports whether it has removed
// something.
func cutText(text string, n int) (string, bool) {
	if len(text) <= n {
		return text, false
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.Clone(text[:n]), true // releases the memory of the rest
}

// runsPage describes a page of runs.
type runsPage struct {
	w                 *where
	states            []penstock.State        // empty: any
	few               map[penstock.State]bool // the states with so few runs that sorting all of them is fast
	rare              bool                    // they have something in common that so few runs have
	column, direction string
	limit             int
}

// ids returns a query for the ids of the page. With states, it queries the index once for each
// state and merges the results, because an index that begins with the state can sort only one.
func (p runsPage) ids() (text string, args []any) {
	states := p.states
	if len(states) == 0 {
		states = []penstock.State{""}
	}
	var parts []string
	for _, state := range states {
		part, sorted := p.w.clone(), "r."+p.column
		if state != "" && p.rare {
			part.add("r.state || '' = ?", string(state)) // the index with the states has more runs
		} else if state != "" {
			part.add("r.state = ?", string(state))
		}
		if p.few[state] || p.rare && strings.HasSuffix(p.column, "_at") {
			sorted += " + 0" // no index has this expression, so another one is used than the one by time
		}
		text, partArgs := part.numbered(len(args) + 1)
		parts = append(parts, fmt.Sprintf(`SELECT *
			FROM (SELECT r.id, r.%s AS sorted FROM runs r WHERE %s ORDER BY %s %s, r.id %s LIMIT %d) AS s%d`,
			p.column, text, sorted, p.direction, p.direction, p.limit, len(parts)))
		args = append(args, partArgs...)
	}
	text = parts[0]
	if len(parts) > 1 {
		text = "SELECT id, sorted FROM (" + strings.Join(parts, " UNION ALL ") + fmt.Sprintf(
			") AS merged ORDER BY sorted %s, id %s LIMIT %d", p.direction, p.direction, p.limit,
		)
	}
	return text, args
}

// fewIn returns the states with at most fewMatches runs. SQLite does not know this number. For a
// list by creation time, it would read all runs in the index by time to find them.
func (rs Runs) fewIn(
	ctx context.Context, team string, states []penstock.State, column string,
) (map[penstock.State]bool, error) {
	if column != "created_at" || len(states) == 0 {
		return nil, nil //nolint:nilnil // none
	}
	args := []any{team}
	counts, fields := make([]int, len(states)), make([]any, len(states))
	parts := make([]string, len(states))
	for i, state := range states {
		args, fields[i] = append(args, string(state)), &counts[i]
		parts[i] = fmt.Sprintf(`(
			SELECT count(*)
			FROM (SELECT 1 FROM runs WHERE team = $1 AND state = $%d LIMIT %d) AS m
		)`, len(args), fewMatches+1)
	}
	if err := rs.s.row(ctx, "SELECT "+strings.Join(parts, ", "), args...).Scan(fields...); err != nil {
		return nil, err
	}
	few := map[penstock.State]bool{}
	for i, state := range states {
		few[state] = counts[i] <= fewMatches
	}
	return few, nil
}

// rareBy are the columns of a filter that have an index without its empty values. A run of a team may have a
// value of its own in each.
var rareBy = []struct {
	column string
	value  func(penstock.RunQuery) string
}{
	{"subject", func(q penstock.RunQuery) string { return q.Subject }},
	{"automation_id", func(q penstock.RunQuery) string { return q.AutomationID }},
	{"schedule_id", func(q penstock.RunQuery) string { return q.ScheduleID }},
	{"environment_id", func(q penstock.RunQuery) string {
		return strings.TrimPrefix(q.EnvironmentID, EmptyEnvironment)
	}},
}

// areRare reports whether at most fewMatches runs have one of the values of a filter. SQLite would read all runs
// in the index by time to find them.
func (rs Runs) areRare(ctx context.Context, team string, q penstock.RunQuery) (bool, error) {
	for _, by := range rareBy {
		value := by.value(q)
		if value == "" {
			continue
		}
		var n int
		err := rs.s.row(ctx, fmt.Sprintf(`SELECT count(*)
			FROM (SELECT 1 FROM runs WHERE team = $1 AND %s = $2 AND %[1]s <> '' LIMIT %d) AS m`, by.column, fewMatches+1),
			team, value).Scan(&n)
		if err != nil || n <= fewMatches {
			return err == nil, err
		}
	}
	return false, nil
}

// where collects conditions. They have ? for each argument until they are numbered.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(condition string, args ...any) {
	w.conditions = append(w.conditions, condition)
	w.args = append(w.args, args...)
}

func (w *where) clone() *where {
	return &where{slices.Clone(w.conditions), slices.Clone(w.args)}
}

// numbered joins the conditions with placeholders from $first on.
func (w *where) numbered(first int) (string, []any) {
	var b strings.Builder
	n := first
	for _, part := range strings.SplitAfter(strings.Join(w.conditions, " AND "), "?") {
		if before, ok := strings.CutSuffix(part, "?"); ok {
			b.WriteString(before + "$" + strconv.Itoa(n))
			n++
			continue
		}
		b.WriteString(part)
	}
	return b.String(), w.args
}

// runFilter returns all filters except state, text and cursor.
func runFilter(v Viewer, q penstock.RunQuery) *where {
	w := &where{}
	w.add("r.team = ?", v.Team)
	if !v.All {
		w.add("(r.personal = 0 OR r.creator = ?)", v.UID)
	}
	equal := func(column, value string) {
		if value != "" {
			w.add(column+" = ?", value)
		}
	}
	if q.Name != "" {
		w.add("r.name = ? AND r.name <> ''", q.Name) // the index excludes runs without a name
	}
	equal("r.model_id", q.ModelID)
	equal("r.creator", q.Creator)
	equal("r.executor", q.Executor)
	if len(q.Sources) > 0 {
		w.add("r.source IN (?"+strings.Repeat(", ?", len(q.Sources)-1)+")", anys(q.Sources)...)
	}
	equal("r.location", q.Location)
	w.addSkill(q.Skill)
	for _, by := range rareBy {
		if value := by.value(q); value != "" {
			w.add("r."+by.column+" = ? AND r."+by.column+" <> ''", value) // as in the condition of the index
		}
	}
	equal("r.webhook_uid", q.WebhookUID)
	if q.EnvironmentID == EmptyEnvironment {
		w.add("r.environment_id = ''")
	}
	if q.CreatedAfter != 0 {
		w.add("r.created_at > ?", int64(q.CreatedAfter))
	}
	if q.CreatedBefore != 0 {
		w.add("r.created_at < ?", int64(q.CreatedBefore))
	}
	if q.UpdatedAfter != 0 {
		w.add("r.updated_at > ?", int64(q.UpdatedAfter))
	}
	if len(q.FactoryUIDs) > 0 {
		w.add("r.factory_uid IN (?"+strings.Repeat(", ?", len(q.FactoryUIDs)-1)+")", anys(q.FactoryUIDs)...)
	}
	if q.FactoryOnly {
		w.add("r.factory_uid <> ''")
	}
	if q.AncestorID != "" {
		w.add("r.id IN (SELECT a.run_id FROM run_ancestors a WHERE a.ancestor = ?)", q.AncestorID)
	}
	if q.ArtifactType != "" {
		w.add("EXISTS (SELECT 1 FROM artifacts a WHERE a.type = ? AND a.run_id = r.id)", string(q.ArtifactType))
	}
	for _, k := range sortedKeys(q.Metadata) {
		w.add(`EXISTS (
			SELECT 1
			FROM run_metadata m
			WHERE m.team = ? AND m.key = ? AND m.value = ? AND m.run_id = r.id
		)`, v.Team, k, q.Metadata[k])
	}
	return w
}

// addSkill selects runs by the reference to their skill, or by its id. A run whose skill was not
// found when it was created has only the reference. The indexes exclude runs without a skill.
func (w *where) addSkill(skill string) {
	if skill == "" {
		return
	}
	text, args := "r.skill = ? AND r.skill <> '' OR r.skill_id = ? AND r.skill_id <> ''", []any{skill, skill}
	if spec, err := penstock.ParseSkillSpec(skill); err == nil && spec.Path != "" && spec.Repo != "" {
		repository, _, _ := strings.Cut(skill, ":")
		text += " OR r.skill = ? AND r.skill <> '' AND r.skill_id = ''"
		args = append(args, repository+":"+spec.Name)
	}
	w.add("("+text+")", args...)
}

func anys[T ~string](list []T) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// EmptyEnvironment is the value of the environment filter that selects runs
// without an environment.
const EmptyEnvironment = "empty-environment"

// PageInfo says whether a next page exists, and its cursor.
type PageInfo struct {
	HasNext    bool   `json:"has_next_page"`
	NextCursor string `json:"next_cursor,omitempty"`
}
