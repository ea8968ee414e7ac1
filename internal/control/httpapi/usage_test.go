package httpapi_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestUsageAsATable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		w := start(t, func(s *settings) { s.storeURL = url })
		for i, model := range []string{"=HYPERLINK(\"http://x\")", "a, \"b\""} {
			testkit.Exec(t, url, fmt.Sprintf(`INSERT INTO calls (id, team, run_id, execution_id, token, state, created_at,
					provider, model, cost, tokens_input, unpriced)
				VALUES ('c%d', 'default', 'r', 1, '', 'settled', %d, '%s', '', %d, 7, %d)`,
				i, time.Now().UnixMilli(), model, (1-i)*1_500_000, i))
		}
		want := [][]string{
			{"'=HYPERLINK(\"http://x\")", "", "1", "7", "0", "0", "0", "0", "0.0015", "0.0015", "0", "0", "0", "0", "0"},
			{"a, \"b\"", "", "1", "7", "0", "0", "0", "0", "", "0", "1", "0", "0", "0", "0"},
		}
		for name, a := range map[string]response{
			"by the header":    w.do("GET", "/api/v1/usage?group_by=provider", nil, "Accept", "text/csv, */*"),
			"by the parameter": w.do("GET", "/api/v1/usage?group_by=provider&format=csv", nil),
		} {
			if got := a.header.Get("Content-Type"); a.status != 200 || got != "text/csv; charset=utf-8" {
				t.Errorf("%s: got %d %s", name, a.status, got)
			}
			rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
			if err != nil || len(rows) != 3 || rows[0][0] != "key" || rows[0][8] != "cost_usd" {
				t.Fatalf("%s: got %q, %v", name, a.body, err)
			}
			if diff := cmp.Diff(want, rows[1:]); diff != "" {
				t.Errorf("%s, -want +got:\n%s", name, diff)
			}
		}
		for _, accept := range []string{"", "*/*", "application/json, text/csv"} {
			a := w.do("GET", "/api/v1/usage?format=json", nil, "Accept", accept)
			if !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
				t.Errorf("Accept %q: got %s", accept, a.header.Get("Content-Type"))
			}
		}
		for _, bad := range []string{
			"group_by=month", "format=xml", "time_zone=Mars", "from=yesterday", "from=2024-01-01T00:00:00Z",
		} {
			if a := w.do("GET", "/api/v1/usage?"+bad, nil); a.status != 400 {
				t.Errorf("%s: got %d %s", bad, a.status, a.body)
			}
		}
	})
}

func TestNullRemovesACapOfARun(t *testing.T) {
	t.Parallel()
	w := start(t)
	run := "/api/v1/agent/runs/" + w.must(200, "POST", "/api/v1/agent/runs",
		`{"prompt": "x", "config": {"budget": {"max_cost_usd": 5, "max_total_tokens": 100}}}`).field("run_id")
	for _, c := range []struct{ change, want string }{
		{`{"max_cost_usd": null}`, `{"max_total_tokens":100}`},
		{`{"max_cost_usd": 2.5, "max_total_tokens": null}`, `{"max_cost_usd":2.5}`},
		{`null`, ``},
	} {
		a := w.must(200, "PATCH", run, `{"config": {"budget": `+c.change+`}}`)
		var got struct {
			Config map[string]json.RawMessage `json:"agent_config"`
		}
		a.into(t, &got)
		if string(got.Config["budget"]) != c.want {
			t.Errorf("%s: got %s, want %s", c.change, got.Config["budget"], c.want)
		}
	}
	for _, bad := range []string{`{}`, `{"config": null}`, `{"config": {}}`, `{"config": {"budget": {}}}`} {
		if a := w.do("PATCH", run, bad); a.status != 400 {
			t.Errorf("%s: got %d %s", bad, a.status, a.body)
		}
	}
	if a := w.must(200, "PATCH", run, `{"config": {"model_id": "x", "budget": null}}`); a.header.Get(
		"X-Penstock-Ignored-Fields",
	) == "" {
		t.Error("an ignored field is not named")
	}
}
