package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

func parseRuns(rawQuery string) (penstock.RunQuery, bool, error) {
	c := &call{r: &http.Request{URL: &url.URL{RawQuery: rawQuery}}}
	return c.query().runs()
}

func TestRunQueryReadsEveryFilter(t *testing.T) {
	t.Parallel()
	day := penstock.TimeOf(time.Date(2026, 1, 31, 11, 0, 0, 0, time.UTC))
	tests := []struct {
		name, query string
		want        penstock.RunQuery
	}{
		{"nothing", "", penstock.RunQuery{}},
		{"unknown parameters", "color=red&page=2", penstock.RunQuery{}},
		{
			"paging", "limit=500&cursor=abc&sort_by=created_at&sort_order=asc",
			penstock.RunQuery{Limit: 500, Cursor: "abc", SortBy: "created_at", Ascending: true},
		},
		{"an empty cursor is the first page", "cursor=&q=", penstock.RunQuery{}},
		{"states", "state=QUEUED&state=FAILED", penstock.RunQuery{States: []penstock.State{"QUEUED", "FAILED"}}},
		{"a group of states", "task_status=failed", penstock.RunQuery{States: []penstock.State{"FAILED", "ERROR"}}},
		{
			"states within a group", "task_status=failed&state=QUEUED&state=ERROR",
			penstock.RunQuery{States: []penstock.State{"ERROR"}},
		},
		{
			"times",
			"created_after=2026-01-31T11:00:00Z&created_before=2026-01-31T12:00:00%2B01:00" +
				"&updated_after=2026-01-31T12:00:00+01:00",
			penstock.RunQuery{CreatedAfter: day, CreatedBefore: day, UpdatedAfter: day},
		},
		{
			"times between two milliseconds",
			"created_after=2026-01-31T10:59:59.999999Z&created_before=2026-01-31T10:59:59.999001Z" +
				"&updated_after=2026-01-31T11:00:00.000999Z",
			penstock.RunQuery{CreatedAfter: day - 1, CreatedBefore: day, UpdatedAfter: day},
		},
		{"times in lower case", "created_before=2026-01-31t11:00:00z", penstock.RunQuery{CreatedBefore: day}},
		{
			"times before all others", "created_before=1970-01-01T00:00:00Z&created_after=0001-01-01T00:00:00Z",
			penstock.RunQuery{CreatedBefore: 1, CreatedAfter: 1},
		},
		{"names", "name=n&model_id=m&creator=c&executor=e&schedule_id=s&ancestor_run_id=a&automation_id=o&webhook_uid=w" +
			"&environment_id=empty-environment", penstock.RunQuery{
			Name: "n", ModelID: "m", Creator: "c", Executor: "e", ScheduleID: "s", AncestorID: "a", AutomationID: "o",
			WebhookUID: "w", EnvironmentID: store.EmptyEnvironment,
		}},
		{
			"enumerations", "source=GITHUB_ACTION&execution_location=REMOTE&artifact_type=PLAN",
			penstock.RunQuery{Sources: []penstock.Source{"GITHUB_ACTION"}, Location: "REMOTE", ArtifactType: "PLAN"},
		},
		{
			"sources", "source=CUSTOM_WEBHOOK&source=CLI&source=TEAMS",
			penstock.RunQuery{Sources: []penstock.Source{"WEBHOOK", "CLI", "TEAMS"}},
		},
		{
			"groups of states", "task_status=failed&task_status=blocked",
			penstock.RunQuery{States: []penstock.State{"FAILED", "ERROR", "BLOCKED"}},
		},
		{"a skill by its other name", "skill_spec=o/r:n", penstock.RunQuery{Skill: "o/r:n"}},
		{"a skill by both names", "skill=o/r:n&skill_spec=o/r:n", penstock.RunQuery{Skill: "o/r:n"}},
		{"factories", "factory_uid=a&factory_uid=b", penstock.RunQuery{FactoryUIDs: []string{"a", "b"}}},
		{
			"metadata", "metadata[ticket]=OPS-1&metadata%5Bempty%5D=",
			penstock.RunQuery{Metadata: map[string]string{"ticket": "OPS-1", "empty": ""}},
		},
		{"text", "q=flaky+login", penstock.RunQuery{Text: "flaky login"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, none, err := parseRuns(tt.query)
			if err != nil || none {
				t.Fatalf("got none %v, error %v", none, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFiltersThatExcludeOneAnotherSelectNothing(t *testing.T) {
	t.Parallel()
	_, none, err := parseRuns("task_status=complete&state=QUEUED")
	if err != nil || !none {
		t.Errorf("got none %v, error %v; want nothing selected", none, err)
	}
}

func TestBadQueryParametersAreNamed(t *testing.T) {
	t.Parallel()
	tests := []struct{ query, want string }{
		{"limit=0", "query parameter limit: must be an integer from 1 to 500"},
		{"limit=501", "query parameter limit: must be an integer from 1 to 500"},
		{"limit=ten", "query parameter limit: must be an integer from 1 to 500"},
		{"limit=", "query parameter limit: must not be empty"},
		{"limit=1&limit=2", "query parameter limit: must not be given more than once"},
		{"sort_by=size", "query parameter sort_by: must be one of updated_at, created_at, title, agent"},
		{"sort_order=up", "query parameter sort_order: must be one of asc, desc"},
		{"state=queued", "query parameter state: must be one of QUEUED, CLAIMED"},
		{"state=", "query parameter state: must not be empty"},
		{"task_status=lost", "query parameter task_status: must be one of running"},
		{"source=PIGEON", "query parameter source: must be one of API"},
		{"execution_location=local", "query parameter execution_location: must be one of LOCAL, REMOTE"},
		{"artifact_type=POEM", "query parameter artifact_type: must be one of PLAN"},
		{"created_after=yesterday", "query parameter created_after: must be a time in RFC 3339"},
		{"created_before=2026-01-31", "query parameter created_before: must be a time in RFC 3339"},
		{"creator=", "query parameter creator: must not be empty"},
		{"name=a%00b", "query parameter name: must be UTF-8 without NUL"},
		{"name=%ff", "query parameter name: must be UTF-8 without NUL"},
		{"factory_uid=%ff", "query parameter factory_uid: must not be empty, and must be UTF-8"},
		{"skill=a:b&skill_spec=c:d", "query parameter skill: must not differ from skill_spec"},
		{
			"metadata[a]=1&metadata[b]=1&metadata[c]=1&metadata[d]=1&metadata[e]=1&metadata[f]=1",
			"query parameter metadata: is allowed for at most 5 keys",
		},
		{"metadata[a=1", "query parameter metadata: must be written as metadata[key]=value"},
		{"metadata[a%20b]=1", "query parameter metadata: has an invalid key or value"},
		{"metadata[a]=1&metadata[a]=2", "query parameter metadata[a]: must not be given more than once"},
		{"name=%zz", "the query string is not encoded correctly"},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			t.Parallel()
			_, _, err := parseRuns(tt.query)
			if penstock.CodeOf(err) != penstock.CodeInvalidRequest || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
