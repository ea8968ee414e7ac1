package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// taskStatus returns the states of a group of the `task_status` filter. ok is false for an unknown
// group.
func taskStatus(group string) (states []penstock.State, ok bool) {
	switch group {
	case "running":
		return []penstock.State{
			penstock.StateQueued, penstock.StateClaimed, penstock.StatePending, penstock.StateInProgress,
		}, true
	case "failed":
		return []penstock.State{penstock.StateFailed, penstock.StateError}, true
	case "blocked":
		return []penstock.State{penstock.StateBlocked}, true
	case "cancelled":
		return []penstock.State{penstock.StateCancelled}, true
	case "complete":
		return []penstock.State{penstock.StateSucceeded}, true
	}
	return nil, false
}

// usageGroups lists the groups.
func usageGroups() []penstock.UsageGroup {
	return []penstock.UsageGroup{
		penstock.UsageByDay, penstock.UsageByModel, penstock.UsageByProvider, penstock.UsageByAutomation,
		penstock.UsageByAgent, penstock.UsageByFactory, penstock.UsageByKey,
	}
}

// maxMetadataFilter is how many keys of metadata a filter can name.
const maxMetadataFilter = 5

// query reads the parameters of a route and keeps the first error. It ignores unknown parameters.
type query struct {
	values url.Values
	err    error
}

// query parses the query string of the request.
func (c *call) query() *query {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.err = penstock.Errorf(
			penstock.CodeInvalidRequest,
			"the query string is not encoded correctly: separate parameters with & and percent-encode the rest",
		)
	}
	return q
}

// badf records an error of the named parameter. A query has no JSON pointers, so the detail has the
// name.
func (q *query) badf(name, format string, args ...any) {
	if q.err == nil {
		q.err = penstock.Errorf(penstock.CodeInvalidRequest, "query parameter %s: %s", name, fmt.Sprintf(format, args...))
	}
}

// optional returns the value of a parameter that may occur once and may be empty.
func (q *query) optional(name string) string {
	values := q.values[name]
	if len(values) > 1 {
		q.badf(name, "must not be given more than once")
	}
	if len(values) == 0 {
		return ""
	}
	if !utf8.ValidString(values[0]) || strings.ContainsRune(values[0], 0) {
		q.badf(name, "must be UTF-8 without NUL")
	}
	return values[0]
}

// text returns the value of a parameter. It rejects an empty filter, which would silently select
// everything.
func (q *query) text(name string) string {
	value := q.optional(name)
	if value == "" && q.values.Has(name) {
		q.badf(name, "must not be empty; omit it instead")
	}
	return value
}

// texts returns all values of a repeatable parameter.
func (q *query) texts(name string) []string {
	for _, v := range q.values[name] {
		if v == "" || !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
			q.badf(name, "must not be empty, and must be UTF-8 without NUL")
		}
	}
	return q.values[name]
}

// limit returns the requested page size.
func (q *query) limit(otherwise int) int { return q.count("limit", penstock.MaxLimit, otherwise) }

// count returns a number from 1 to most.
func (q *query) count(name string, most, otherwise int) int {
	if !q.values.Has(name) {
		return otherwise
	}
	n, err := strconv.Atoi(q.text(name))
	if err != nil || n < 1 || n > most {
		q.badf(name, "must be an integer from 1 to %d", most)
	}
	return n
}

func (q *query) sequence(name string) int64 {
	if !q.values.Has(name) {
		return 0
	}
	n, err := strconv.ParseInt(q.text(name), 10, 64)
	if err != nil || n < 0 {
		q.badf(name, "must be the ID of an event, a number from 0")
	}
	return n
}

func (q *query) boolean(name string) bool {
	value := q.text(name)
	if value != "" && value != "true" && value != "false" {
		q.badf(name, "must be true or false")
	}
	return value == "true"
}

// after returns a lower bound in time, and before an upper bound. Timestamps have whole
// milliseconds, so a bound between two of them is rounded in the direction that keeps the selection
// the same.
func (q *query) after(name string) penstock.Time  { return q.time(name, 0) }
func (q *query) before(name string) penstock.Time { return q.time(name, time.Millisecond-1) }

func (q *query) time(name string, add time.Duration) penstock.Time {
	value := q.text(name)
	if value == "" {
		return 0
	}
	// The + of an offset arrives as a space if it was not encoded. RFC 3339 §5.6 allows t and z.
	std, err := time.Parse(time.RFC3339Nano, strings.ToUpper(strings.ReplaceAll(value, " ", "+")))
	if err != nil {
		q.badf(name, "must be a time in RFC 3339, such as 2026-01-31T12:00:00Z")
	}
	return max(1, penstock.TimeOf(std.Add(add))) // zero means no bound
}

// oneOf returns the value of a parameter that must be one of allowed, or "" if it is absent.
func oneOf[T ~string](q *query, name string, allowed ...T) T {
	value := T(q.optional(name))
	if q.values.Has(name) && !slices.Contains(allowed, value) {
		q.badf(name, "must be one of %s", list(allowed))
	}
	return value
}

func list[T ~string](words []T) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = string(w)
	}
	return strings.Join(parts, ", ")
}

// metadata collects metadata[key]=value.
func (q *query) metadata() map[string]string {
	var filter map[string]string
	for name := range q.values {
		key, ok := strings.CutPrefix(name, "metadata[")
		key, closed := strings.CutSuffix(key, "]")
		if !ok {
			continue
		}
		if !closed {
			q.badf("metadata", "must be written as metadata[key]=value")
			continue
		}
		if filter == nil {
			filter = make(map[string]string)
		}
		filter[key] = q.optional(name)
	}
	if len(filter) > maxMetadataFilter {
		q.badf("metadata", "is allowed for at most %d keys", maxMetadataFilter)
	}
	if wrong := run.CheckMetadata(filter); len(wrong) > 0 {
		q.badf("metadata", "has an invalid key or value: %s", wrong[0].Detail)
	}
	return filter
}

// states returns the states that both state and task_status allow. none is true if they have no
// state in common, so that nothing can match.
func (q *query) states() (states []penstock.State, none bool) {
	for _, s := range q.texts("state") {
		if !penstock.State(s).Valid() {
			q.badf("state", "must be one of %s", list(penstock.States()))
		}
		states = append(states, penstock.State(s))
	}
	if !q.values.Has("task_status") {
		return states, false
	}
	var group []penstock.State
	for _, status := range q.texts("task_status") {
		some, known := taskStatus(status)
		if !known {
			q.badf("task_status", "must be one of running, failed, blocked, cancelled, complete")
		}
		group = append(group, some...)
	}
	if len(states) == 0 {
		return group, false
	}
	states = slices.DeleteFunc(states, func(s penstock.State) bool { return !slices.Contains(group, s) })
	return states, len(states) == 0
}

// sources returns the requested sources by the names that runs have.
func (q *query) sources() []penstock.Source {
	var sources []penstock.Source
	for _, s := range q.texts("source") {
		source, known := lookupSource(s)
		if !known {
			q.badf("source", "must be one of %s", list(sourceNames()))
		}
		sources = append(sources, source)
	}
	return sources
}

// alias returns the value of a parameter that has two names.
func (q *query) alias(name, other string) string {
	a, b := q.text(name), q.text(other)
	if a != "" && b != "" && a != b {
		q.badf(name, "must not differ from %s, which means the same", other)
	}
	if a == "" {
		return b
	}
	return a
}

// runs reads the query of GET /agent/runs. If none is true, no run can match and the list is
// empty.
func (q *query) runs() (rq penstock.RunQuery, none bool, err error) {
	if len(q.values) == 0 {
		return penstock.RunQuery{}, false, q.err
	}
	rq = penstock.RunQuery{
		Limit:     q.limit(0),
		Cursor:    q.optional("cursor"),
		SortBy:    oneOf(q, "sort_by", "updated_at", "created_at", "title", "agent"),
		Ascending: oneOf(q, "sort_order", "asc", "desc") == "asc",

		Name: q.text("name"), ModelID: q.text("model_id"), Creator: q.text("creator"), Executor: q.text("executor"),
		Sources:  q.sources(),
		Location: oneOf(q, "execution_location", "LOCAL", "REMOTE"),

		CreatedAfter: q.after("created_after"), CreatedBefore: q.before("created_before"),
		UpdatedAfter: q.after("updated_after"),

		EnvironmentID: q.text("environment_id"), Skill: q.alias("skill", "skill_spec"), ScheduleID: q.text("schedule_id"),
		AncestorID: q.text("ancestor_run_id"), AutomationID: q.text("automation_id"), Subject: q.text("subject"),
		FactoryUIDs: q.texts("factory_uid"),
		FactoryOnly: q.boolean("factory_only"),
		WebhookUID:  q.text("webhook_uid"), ArtifactType: oneOf(q, "artifact_type", penstock.ArtifactTypes()...),
		Metadata: q.metadata(), Text: q.optional("q"),
	}
	rq.States, none = q.states()
	return rq, none, q.err
}
