package store_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func timelineType(t *testing.T, e penstock.Event) string {
	t.Helper()
	var d penstock.TimelineData
	if err := json.Unmarshal(e.Data, &d); err != nil {
		t.Fatal(err)
	}
	return d.Type
}

var everything = store.Viewer{Team: store.DefaultTeam, All: true}

func listed(t *testing.T, s *store.Store, v store.Viewer, q penstock.RunQuery) []string {
	t.Helper()
	list, err := s.Runs.List(t.Context(), v, q)
	if err != nil {
		t.Fatal(err)
	}
	titles := []string{}
	for _, r := range list.Rows {
		titles = append(titles, r.Title)
	}
	return titles
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		parent := mustCreate(t, s, func(r *store.NewRun) { r.Title, r.CreatedAt, r.UpdatedAt = "plain", 1000, 1000 })
		mustCreate(t, s, func(r *store.NewRun) {
			r.Title, r.CreatedAt, r.UpdatedAt = "full", 2000, 3000
			r.Config = &penstock.Config{Name: "nightly", ModelID: "m1", EnvironmentID: "env"}
			r.Source, r.SkillSpec = "CLI", "acme/app:review"
			r.FactoryUID, r.AutomationID, r.WebhookUID = "f1", "a1", "w1"
			r.SkillID = "acme/app:x/review/SKILL.md"
			r.Creator, r.Executor = &penstock.Actor{UID: "bob"}, &penstock.Actor{UID: "robot"}
			r.Schedule = &penstock.RunSchedule{ID: "s1"}
			r.Metadata = map[string]string{"k": "v", "team": "core"}
			r.Ancestors = []string{parent.ID}
		})
		mustCreate(t, s, func(r *store.NewRun) {
			r.Title, r.Personal, r.CreatedAt, r.UpdatedAt, r.SkillSpec = "personal", true, 4000, 4000, "acme/app:tidy"
			r.Creator = &penstock.Actor{UID: "bob"}
		})
		mustCreate(t, s, func(r *store.NewRun) { r.Title, r.Team = "another team's", "other" })
		cancelled := mustCreate(t, s, func(r *store.NewRun) { r.Title = "cancelled" })
		if err := move(t, s, cancelled.ID, penstock.StateCancelled); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			q    penstock.RunQuery
			want []string
		}{
			"nothing": {penstock.RunQuery{}, []string{"cancelled", "personal", "full", "plain"}},
			"created first": {
				penstock.RunQuery{SortBy: "created_at", Ascending: true}, []string{"plain", "full", "personal", "cancelled"},
			},
			"by title": {
				penstock.RunQuery{SortBy: "title", Ascending: true}, []string{"cancelled", "full", "personal", "plain"},
			},
			"by agent": {penstock.RunQuery{SortBy: "agent", Limit: 1}, []string{"full"}},
			"states": {
				penstock.RunQuery{States: []penstock.State{penstock.StateCancelled, penstock.StateFailed}}, []string{"cancelled"},
			},
			"several states": {
				penstock.RunQuery{States: []penstock.State{penstock.StateCancelled, penstock.StateQueued}, Limit: 2},
				[]string{"cancelled", "personal"},
			},
			"states, created": {
				penstock.RunQuery{
					States: []penstock.State{penstock.StateCancelled, penstock.StateQueued}, SortBy: "created_at", Ascending: true,
				},
				[]string{"plain", "full", "personal", "cancelled"},
			},
			"name":     {penstock.RunQuery{Name: "nightly"}, []string{"full"}},
			"model":    {penstock.RunQuery{ModelID: "m1"}, []string{"full"}},
			"creator":  {penstock.RunQuery{Creator: "bob"}, []string{"personal", "full"}},
			"executor": {penstock.RunQuery{Executor: "robot"}, []string{"full"}},
			"source":   {penstock.RunQuery{Sources: []penstock.Source{"CLI"}}, []string{"full"}},
			"sources": {
				penstock.RunQuery{Sources: []penstock.Source{"CLI", "API"}},
				[]string{"cancelled", "personal", "full", "plain"},
			},
			"created after": {penstock.RunQuery{CreatedAfter: 2000, CreatedBefore: 5000}, []string{"personal"}},
			"updated after": {penstock.RunQuery{UpdatedAfter: 1000, CreatedBefore: 3000}, []string{"full"}},
			"environment":   {penstock.RunQuery{EnvironmentID: "env"}, []string{"full"}},
			"no environment": {
				penstock.RunQuery{EnvironmentID: store.EmptyEnvironment}, []string{"cancelled", "personal", "plain"},
			},
			"skill":            {penstock.RunQuery{Skill: "acme/app:review"}, []string{"full"}},
			"skill by its id":  {penstock.RunQuery{Skill: "acme/app:x/review/SKILL.md"}, []string{"full"}},
			"skill not found":  {penstock.RunQuery{Skill: "acme/app:y/tidy/SKILL.md"}, []string{"personal"}},
			"schedule":         {penstock.RunQuery{ScheduleID: "s1"}, []string{"full"}},
			"ancestor":         {penstock.RunQuery{AncestorID: parent.ID}, []string{"full"}},
			"automation":       {penstock.RunQuery{AutomationID: "a1", WebhookUID: "w1"}, []string{"full"}},
			"factories":        {penstock.RunQuery{FactoryUIDs: []string{"f0", "f1"}}, []string{"full"}},
			"any factory":      {penstock.RunQuery{FactoryOnly: true}, []string{"full"}},
			"metadata":         {penstock.RunQuery{Metadata: map[string]string{"k": "v", "team": "core"}}, []string{"full"}},
			"metadata, one no": {penstock.RunQuery{Metadata: map[string]string{"k": "v", "team": "else"}}, []string{}},
			"all at once": {
				penstock.RunQuery{
					Name: "nightly", ModelID: "m1", Creator: "bob", States: []penstock.State{penstock.StateQueued},
					Metadata: map[string]string{"k": "v"},
				},
				[]string{"full"},
			},
		} {
			if diff := cmp.Diff(c.want, listed(t, s, everything, c.q)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if diff := cmp.Diff(
			[]string{"cancelled", "full", "plain"},
			listed(t, s, store.Viewer{Team: store.DefaultTeam, UID: "ada"}, penstock.RunQuery{}),
		); diff != "" {
			t.Errorf("somebody else's personal run: %s", diff)
		}
	})
}

// Pages of every size and sort order show each run once, even if runs are created in between.
func TestPagesRepeatNothing(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		var want []string
		for i := range 57 {
			r := mustCreate(t, s, func(r *store.NewRun) {
				r.Title = fmt.Sprintf("title %d", i%5) // many equal
				r.UpdatedAt = penstock.Time(1000 + i%7)
				r.CreatedAt = penstock.Time(1000 + i%3)
			})
			want = append(want, r.ID)
		}
		slices.Sort(want)
		for _, sort := range store.SortKeys() {
			for _, ascending := range []bool{false, true} {
				q := penstock.RunQuery{
					SortBy: sort, Ascending: ascending, Limit: 1 + rand.IntN(9),
					States: []penstock.State{penstock.StateQueued, penstock.StateError}, CreatedBefore: 2000,
				}
				var got []string
				for {
					list, err := s.Runs.List(t.Context(), everything, q)
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range list.Rows {
						got = append(got, r.ID)
					}
					if !list.More {
						break
					}
					q.Cursor = list.After(len(list.Rows))
				}
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("sorted by %s, ascending %v: %s", sort, ascending, diff)
				}
			}
		}
	})
}

// A page is also limited by bytes: the database reads and sends no more, and together the pages
// have all runs.
func TestPagesEndByBytes(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		var want []string
		add := func(change func(r *store.NewRun)) string {
			r := mustCreate(t, s, change)
			want = append(want, r.ID)
			return r.ID
		}
		for i := range 40 {
			add(func(r *store.NewRun) {
				r.CreatedAt = penstock.Time(1000 + i)
				r.Config = &penstock.Config{Env: map[string]string{"A": strings.Repeat("é", 125<<10)}}
			})
		}
		huge := add(func(r *store.NewRun) {
			r.CreatedAt = 2000
			r.Config = &penstock.Config{Env: map[string]string{"A": strings.Repeat("x", store.MaxPageBytes+1)}}
		})
		withArtifacts := add(func(r *store.NewRun) { r.CreatedAt = 3000 })
		for i := range 100 {
			write(t, s, func(tx *store.Tx) error {
				_, err := tx.Files().AddArtifact(t.Context(), store.Artifact{
					UID: fmt.Sprint(i), RunID: withArtifacts, Team: store.DefaultTeam, Type: penstock.ArtifactReference,
					Data: penstock.ArtifactData{Title: strings.Repeat("x", 64<<10)},
				})
				return err
			})
		}
		long := strings.Repeat("é", store.MaxListedPrompt) + "€"
		add(func(r *store.NewRun) { r.CreatedAt, r.Prompt = 4000, "a"+long })
		slices.Sort(want)
		for _, limit := range []int{1, 7, 500} {
			q := penstock.RunQuery{SortBy: "created_at", Ascending: true, Limit: limit}
			var got []string
			for pages := 0; ; pages++ {
				list, err := s.Runs.List(t.Context(), everything, q)
				if err != nil || len(list.Rows) == 0 || len(list.Rows) > limit {
					t.Fatalf("page %d of %d has %d runs: %v", pages, limit, len(list.Rows), err)
				}
				bytes := 0
				for _, r := range list.Rows {
					bytes += len(r.Prompt) + len(r.Config.Env["A"])
					got = append(got, r.ID)
				}
				if last := list.Rows[len(list.Rows)-1].ID; bytes > store.MaxPageBytes && (last != huge || len(list.Rows) > 1) {
					t.Errorf("page %d of %d: %d runs have %d bytes", pages, limit, len(list.Rows), bytes)
				}
				if int64(bytes) > list.Bytes {
					t.Errorf("page %d of %d: %d bytes are counted as %d", pages, limit, bytes, list.Bytes)
				}
				for _, r := range list.Rows {
					if r.ID == withArtifacts && len(list.Rows) > 1 {
						t.Errorf("page %d of %d: a run with 6 MB of artifacts is one of %d", pages, limit, len(list.Rows))
					}
				}
				if !list.More {
					last := list.Rows[len(list.Rows)-1]
					if want := ("a" + long)[:store.MaxListedPrompt-1]; last.Prompt != want || !last.PromptCut {
						t.Errorf("the prompt has %d bytes, cut %v; want %d", len(last.Prompt), last.PromptCut, len(want))
					}
					break
				}
				q.Cursor = list.After(len(list.Rows))
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("in pages of %d: %s", limit, diff)
			}
		}
	})
}

func TestCursorBelongsToItsQuery(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		for range 3 {
			mustCreate(t, s, nil)
		}
		list, err := s.Runs.List(t.Context(), everything, penstock.RunQuery{Limit: 1})
		if err != nil || !list.More {
			t.Fatalf("no cursor: %v", err)
		}
		next := list.After(1)
		for name, q := range map[string]penstock.RunQuery{
			"another sort":   {Cursor: next, SortBy: "title"},
			"another filter": {Cursor: next, Name: "x"},
			"other way":      {Cursor: next, Ascending: true},
			"garbage":        {Cursor: "garbage"},
		} {
			if _, err := s.Runs.List(t.Context(), everything, q); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
				t.Errorf("%s: got %v, want an invalid request", name, err)
			}
		}
		if _, err := s.Runs.List(t.Context(), everything, penstock.RunQuery{Cursor: next, Limit: 2}); err != nil {
			t.Errorf("another page size: %v", err)
		}
	})
}

func TestSearch(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		for _, c := range [][3]string{
			{"Fix the Login page", "users see 100% of \"quoted\" errors_here", ""},
			{"Über alles", "ÄÖÜ straße", ""},
			{"go vet", "logins fail", "acme/app:review"},
		} {
			mustCreate(t, s, func(r *store.NewRun) { r.Title, r.Prompt, r.SkillSpec = c[0], c[1], c[2] })
		}
		texts, err := s.Runs.Unindexed(t.Context(), "", 100)
		if err != nil || len(texts) != 3 {
			t.Fatalf("%d to index: %v", len(texts), err)
		}
		if err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.Runs().Index(t.Context(), texts) }); err != nil {
			t.Fatal(err)
		}
		if left, err := s.Runs.Unindexed(t.Context(), "", 100); len(left) != 0 || err != nil {
			t.Errorf("%d are left to index: %v", len(left), err)
		}
		for q, want := range map[string][]string{
			"login":           {"go vet", "Fix the Login page"},
			"LOGIN page":      {"Fix the Login page"},
			"ogi":             {"go vet", "Fix the Login page"},
			"über":            {"Über alles"},
			"STRASSE":         {},
			"ÄÖÜ":             {"Über alles"},
			"100%":            {"Fix the Login page"},
			`"quoted"`:        {"Fix the Login page"},
			"errors_here":     {"Fix the Login page"},
			"errorsxhere":     {},
			"go":              {"go vet"}, // short: the title's start
			"et":              {},
			"go ve":           {}, // both short: each begins the title
			"login go":        {"go vet"},
			"login pa":        {"Fix the Login page"},
			"fail et":         {"go vet"},
			"login 0%":        {"Fix the Login page"},
			"login zz":        {},
			"pa login vet":    {},
			"review":          {"go vet"},
			"login AND OR *":  {},
			"fix login users": {"Fix the Login page"},
		} {
			if diff := cmp.Diff(want, listed(t, s, everything, penstock.RunQuery{Text: q})); diff != "" {
				t.Errorf("%q: %s", q, diff)
			}
		}
	})
}

// If more runs contain a word than the index returns, other words narrow the search, including
// short ones.
func TestSearchOfCommonWords(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		var created sync.WaitGroup
		for i := range 1001 {
			created.Go(func() {
				mustCreate(t, s, func(r *store.NewRun) {
					r.Title, r.Prompt, r.CreatedAt = fmt.Sprintf("Run number %d", i), "fix the login", penstock.Time(i)
				})
			})
		}
		created.Wait()
		for {
			texts, err := s.Runs.Unindexed(t.Context(), "", 1000)
			if err != nil {
				t.Fatal(err)
			}
			if len(texts) == 0 {
				break
			}
			write(t, s, func(tx *store.Tx) error { return tx.Runs().Index(t.Context(), texts) })
		}
		all := make([]string, 1001)
		for i := range all {
			all[i] = fmt.Sprintf("Run number %d", i)
		}
		holding := func(part string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(title string) bool { return !strings.Contains(title, part) })
		}
		for q, want := range map[string][]string{
			"number":         all,
			"number u":       all, // more than the index is asked for
			"number 77":      holding("77"),
			"7 number 9":     slices.DeleteFunc(holding("7"), func(title string) bool { return !strings.Contains(title, "9") }),
			"number login 5": holding("5"),
			"number 1000":    {"Run number 1000"},
			"number 1000 2":  {},
			"number zz":      {},
			"login zz 1":     {},
			"ru":             all,
			"u":              {},
		} {
			got := []string{}
			query := penstock.RunQuery{Text: q, SortBy: "created_at", Ascending: true, Limit: 500}
			for more := true; more; {
				list, err := s.Runs.List(t.Context(), everything, query)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range list.Rows {
					got = append(got, r.Title)
				}
				if more = list.More; more {
					query.Cursor = list.After(len(list.Rows))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q: %s", q, diff)
			}
		}
	})
}

func TestUnindexed(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		long := strings.Repeat("long ", 40_000)
		var ids []string
		for _, prompt := range []string{"first", long, long, long, long, long, "last"} {
			ids = append(ids, mustCreate(t, s, func(r *store.NewRun) { r.Prompt = prompt }).ID)
		}
		tests := []struct {
			name  string
			from  string
			limit int
			want  []string
		}{
			{"a limit", "", 2, ids[:2]},
			{"as much as is indexed at once", "", 100, ids[:4]},
			{"from an id on", ids[5], 100, ids[5:]},
			{"from a moment on", store.FirstID(penstock.Now().Add(time.Hour)), 100, nil},
			{"from long ago on", store.FirstID(penstock.Now().Add(-time.Hour)), 1, ids[:1]},
		}
		for _, test := range tests {
			texts, err := s.Runs.Unindexed(t.Context(), test.from, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, text := range texts {
				got = append(got, text.RunID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	})
}

// Runs that have something in common that few runs have are found by it, whatever else a list asks for.
func TestRareRunsAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	for column, rare := range map[string]struct {
		set   func(r *store.NewRun, value string)
		query penstock.RunQuery
	}{
		"subject":       {func(r *store.NewRun, v string) { r.Subject = v }, penstock.RunQuery{Subject: "seven"}},
		"automation_id": {func(r *store.NewRun, v string) { r.AutomationID = v }, penstock.RunQuery{AutomationID: "seven"}},
		"schedule_id": {func(r *store.NewRun, v string) {
			r.Schedule = &penstock.RunSchedule{ID: v}
		}, penstock.RunQuery{ScheduleID: "seven"}},
		"environment_id": {func(r *store.NewRun, v string) {
			r.Config.EnvironmentID = v
		}, penstock.RunQuery{EnvironmentID: "seven"}},
	} {
		for _, sorted := range []string{"updated_at", "created_at"} {
			for _, states := range [][]penstock.State{nil, {penstock.StateQueued, penstock.StateFailed}} {
				t.Run(fmt.Sprint(column, " ", sorted, " ", states), func(t *testing.T) {
					t.Parallel()
					url := "sqlite://" + filepath.Join(t.TempDir(), "penstock.db")
					s := testkit.OpenStore(t, url)
					for _, value := range []string{"seven", "eight"} {
						mustCreate(t, s, func(r *store.NewRun) {
							r.Title = "about " + value
							rare.set(r, value)
						})
					}
					q := rare.query
					q.SortBy, q.States = sorted, states
					if got := listed(t, s, everything, q); !slices.Equal(got, []string{"about seven"}) {
						t.Errorf("got %v", got)
					}
					wantIndex(t, s, url, column)
				})
			}
		}
	}
}

// More than a thousand runs are not sorted for each page: they are read in the order of an index.
func TestCommonRunsAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	s := testkit.OpenStore(t, "sqlite://"+filepath.Join(t.TempDir(), "penstock.db"))
	var runs []*store.NewRun
	for range 1001 {
		runs = append(runs, newRun(func(r *store.NewRun) { r.AutomationID = "busy" }))
	}
	write(t, s, func(tx *store.Tx) error { return tx.CreateRuns(t.Context(), runs...) })
	if got := listed(t, s, everything, penstock.RunQuery{AutomationID: "busy", Limit: 5}); len(got) != 5 {
		t.Errorf("a page of 5 has %d runs", len(got))
	}
	for _, text := range s.Statements() {
		if strings.Contains(text, "automation_id") && strings.Contains(text, " + 0 ") {
			t.Errorf("all runs of a busy automation are sorted: %s", text)
		}
	}
}

// wantIndex wants each statement with a condition on a column of runs to find them by the index of the column.
func wantIndex(t *testing.T, s *store.Store, url, column string) {
	t.Helper()
	found := 0
	for _, text := range s.Statements() {
		if !strings.Contains(text, column+" <> ''") {
			continue
		}
		text = regexp.MustCompile(`\$\d+`).ReplaceAllString(text, "''")
		for _, row := range testkit.Rows(t, url, "EXPLAIN QUERY PLAN "+text) {
			if plan := row[3]; strings.Contains(plan, column+"=?") {
				found++
			} else if strings.Contains(plan, " INDEX runs_") && !strings.Contains(plan, "sqlite_autoindex") {
				t.Errorf("SQLite reads other runs, too: %s", plan)
			}
		}
	}
	if found < 2 { // the count, and the list
		t.Errorf("%d searches use the index of %s", found, column)
	}
}
