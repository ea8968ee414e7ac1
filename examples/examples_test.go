// Package examples_test sets up each example by the commands of its README, on
// the real binary, and holds what comes of it to what the README says.
package examples_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// started is a run that an example must have started.
type started struct {
	agent, automation, webhook string
	sample                     string // what it got as event-payload.json
}

// entry is a line of a webhook's log: its outcome, and the key of the filter
// that did not match.
type entry struct {
	outcome  penstock.Outcome
	failedAt string
}

// example is what the commands of a README come to.
type example struct {
	folder, alias string
	files         map[string]string // what a user has saved beside it
	shows         []string          // by the commands, in this order
	runs          []started
	logs          map[string][]entry // by webhook, newest first
}

var examples = []example{
	{
		folder: "code-review", alias: "code-review",
		files: map[string]string{"github.token": "github_pat_example"},
		shows: []string{
			"factory is valid", "create", "revision 1 is active", "/webhooks/w/", "Duplicate", "`labels` is `no-review`",
			"review-pull-request", "event-payload.json",
		},
		runs: []started{{"reviewer", "review-pull-request", "github", "samples/opened.json"}},
		logs: map[string][]entry{
			"github": {{penstock.OutcomeDuplicate, ""}, {penstock.OutcomeAccepted, "/labels"}, {penstock.OutcomeAccepted, ""}},
		},
	},
	{
		folder: "incident-response", alias: "incident-response",
		files: map[string]string{
			"pagerduty.token": "u+example", "sentry.token": "sntrys_example",
			"pagerduty.secret": "gfjTvXyBl1nFzpTqp2mBqzJ4Wv0uN9cd",
			"sentry.secret":    "5a4f1c0b9e8d7c6b5a4f3e2d1c0b9a8f7e6d5c4b3a2f1e0d9c8b7a6f5e4d3c2b",
		},
		shows: []string{
			"factory is valid", "revision 1 is active", "pending secret", "/webhooks/w/", "enabled", "Accepted",
			"on-new-error", "`data.issue.level` is `warning`", "event-payload.json", "would have triggered",
		},
		runs: []started{
			{"responder", "on-incident", "pagerduty", "samples/pagerduty-triggered.json"},
			{"debugger", "on-new-error", "sentry", "samples/sentry-error.json"},
		},
		logs: map[string][]entry{
			"pagerduty": {{penstock.OutcomeAccepted, "/event/data/urgency"}, {penstock.OutcomeAccepted, ""}},
			"sentry":    {{penstock.OutcomeAccepted, "/data/issue/level"}, {penstock.OutcomeAccepted, ""}},
		},
	},
	{
		folder: "ci-failure", alias: "ci-failure",
		files: map[string]string{"github.token": "github_pat_example"},
		shows: []string{
			"factory is valid", "create", "revision 1 is active", "/webhooks/w/", "Duplicate",
			"`branch` is `round-refunds`", "event-payload.json",
			"next.token",
		},
		runs: []started{{"fixer", "on-failed-build", "ci", "samples/failed-on-main.json"}},
		logs: map[string][]entry{
			"ci": {{penstock.OutcomeDuplicate, ""}, {penstock.OutcomeAccepted, "/branch"}, {penstock.OutcomeAccepted, ""}},
		},
	},
	{
		folder: "dependency-audit", alias: "dependency-audit",
		files: map[string]string{"github.token": "github_pat_example"},
		shows: []string{"factory is valid", "create", "revision 1 is active", "next run", "run", "disabled", "enabled"},
	},
}

// All examples live on one server of each engine, as the README promises.
func TestExamples(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		testkit.TakesLongOnPostgres(t, database)
		w := &world{testkit.Serve(t, testkit.ServeOptions{Database: database}), database}
		for _, ex := range examples {
			t.Run(ex.folder, func(t *testing.T) {
				t.Parallel()
				folder := ex.setUp(t)
				w.follow(t, folder, ex.shows)
				factory := w.factory(t, ex.alias)
				for _, want := range ex.runs {
					w.wantRun(t, factory, folder, want)
				}
				for webhook, want := range ex.logs {
					w.wantLog(t, factory, webhook, want)
				}
				if ex.folder == "dependency-audit" {
					w.wantNightly(t, factory)
				}
			})
		}
	})
}

// No example is without a test.
func TestEveryExampleIsHere(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, name := range folders {
		got = append(got, filepath.Dir(name))
	}
	for _, ex := range examples {
		want = append(want, ex.folder)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("examples (-tested +there):\n%s", diff)
	}
}
