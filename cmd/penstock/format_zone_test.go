package main_test

import (
	"strings"
	"testing"
)

// A time names its zone, in facts and in tables. A list shows the column by which it is sorted.
func TestTimesHaveAZone(t *testing.T) {
	t.Parallel()
	const run = `{"run_id":"r","title":"t","state":"QUEUED","created_at":"2026-01-31T12:00:00.000Z",` +
		`"updated_at":"2026-01-31T12:00:00.000Z","agent_config":{"name":"nightly"}}`
	const due = `{"occurrences":[{"kind":"tick","fate":"started","due_at":"2026-01-31T12:00:00.000Z"}]}`
	for zone, want := range map[string]string{
		"UTC": "2026-01-31 12:00:00 +00:00 (", "Asia/Kathmandu": "2026-01-31 17:45:00 +05:45 (",
	} {
		s := script(t, responds(200, run), responds(200, due))
		env := append(s.env(), "TZ="+zone)
		call(t, env, "run", "get", "r").want(t, 0, "created  "+want)
		call(t, env, "occurrences").want(t, 0, "\n"+want)
	}
	list := `{"runs":[` + run + `]}`
	for sort, want := range map[string]string{
		"updated_at": "UPDATED", "created_at": "AGE", "title": "TITLE", "agent": "NAME",
	} {
		s := script(t, responds(200, list))
		got := call(t, s.env(), "run", "list", "--sort-by", sort)
		got.want(t, 0)
		if head, _, _ := strings.Cut(got.out, "\n"); !strings.Contains(head, want) {
			t.Errorf("sorted by %s: got the columns %s", sort, head)
		}
		if sort == "agent" && !strings.Contains(got.out, "nightly") {
			t.Errorf("got %s, want the name", got.out)
		}
	}
}
