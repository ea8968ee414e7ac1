package forge

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// FailedChecks are the checks of a commit, all done, of which some have failed.
type FailedChecks struct {
	Pull   store.SeenPull
	Path   string // of the repository: owner/name
	Commit string
	All    int
	Failed []FailedCheck // at least one, by name
}

// FailedCheck is a check that has failed, as the forge describes it.
type FailedCheck struct {
	Name    string `json:"name"`
	Result  string `json:"result"`
	Summary string `json:"summary,omitempty"`
	Text    string `json:"text,omitempty"`
	URL     string `json:"url,omitempty"`
}

// ChecksFollower continues runs whose checks have failed.
type ChecksFollower interface {
	// Waits reports whether the run of a pull request may want to be told of failed checks.
	Waits(ctx context.Context, pull store.SeenPull) (bool, error)
	// Follow tells the run.
	Follow(ctx context.Context, checks FailedChecks) error
}

// Limits of what is read about checks.
const (
	maxCheckPages = 5
	maxChecks     = 100       // that have failed
	maxCheckText  = 64 << 10  // characters of a check
	maxCheckTexts = 256 << 10 // bytes of all checks together
	maxCheckLine  = 200
)

// check is one check of a commit, of either API.
type check struct {
	FailedCheck

	of     string // what distinguishes it: the last one of several counts
	began  string
	done   bool
	failed bool
}

// statusJSON is a commit status. Gitea names its state status, and GitHub state.
type statusJSON struct {
	ID          int64  `json:"id"`
	State       string `json:"state"`
	Status      string `json:"status"`
	Context     string `json:"context"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url"`
}

// checkRunJSON is a check run of GitHub.
type checkRunJSON struct {
	Name       string `json:"name"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	StartedAt  string `json:"started_at"`
	HTMLURL    string `json:"html_url"`
	App        *struct {
		ID int64 `json:"id"`
	} `json:"app"`
	Output *struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
		Text    string `json:"text"`
	} `json:"output"`
}

// failedChecks returns the checks of a commit that have failed, and how many there are, or 0 while one is not done.
// The state of all together is not used: it is pending for a commit without any, and a failure where Gitea has a
// warning.
func (a api) failedChecks(ctx context.Context, path, commit string) (failed []FailedCheck, all int, problem *failure) {
	checks, problem := a.statuses(ctx, path, commit)
	if a.forge.Provider == penstock.HostGitHub && (problem == nil || problem.kind == lacking) {
		var runs []check
		runs, problem = a.checkRuns(ctx, path, commit)
		if problem != nil && problem.kind == lacking { // a token may be able to read only statuses
			problem = nil
		}
		checks = append(checks, runs...)
	}
	if problem != nil {
		return nil, 0, problem
	}
	texts := 0
	for _, one := range checks {
		if !one.done {
			return nil, 0, nil
		}
		if one.failed && len(failed) < maxChecks {
			if texts+len(one.Text) > maxCheckTexts {
				one.Text = ""
			}
			texts += len(one.Text)
			failed = append(failed, one.FailedCheck)
		}
	}
	slices.SortStableFunc(failed, func(a, b FailedCheck) int { return cmp.Compare(a.Name, b.Name) })
	return failed, len(checks), nil
}

// newest returns the last one of the checks that have the same name. A check that ran again for the same commit
// leaves the earlier result behind.
func newest(checks []check) []check {
	slices.SortStableFunc(checks, func(a, b check) int {
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(b.began, a.began))
	})
	return slices.CompactFunc(checks, func(a, b check) bool { return a.of == b.of })
}

func (a api) statuses(ctx context.Context, path, commit string) (checks []check, failed *failure) {
	for page := 1; page <= maxCheckPages; page++ {
		var found struct {
			Statuses []statusJSON `json:"statuses"`
		}
		last, failed := a.checkPage(ctx, path, []string{"commits", commit, "status"}, page, &found)
		if failed != nil {
			return nil, failed
		}
		for _, s := range found.Statuses {
			state := strings.ToLower(cmp.Or(s.State, s.Status))
			checks = append(checks, check{
				FailedCheck: FailedCheck{
					Name: line(s.Context, maxCheckLine), Result: line(state, maxCheckLine),
					Summary: line(s.Description, maxCheckLine), URL: link(s.TargetURL),
				},
				of:    "status " + s.Context,
				began: strconv.FormatInt(s.ID+1<<62, 10), // of one length, to be compared as text
				// States that are not known wait for nobody, and are no failures: warning, skipped.
				done:   state != "pending" && state != "running",
				failed: state == "failure" || state == "error",
			})
		}
		if last(len(found.Statuses), len(checks)) {
			break
		}
	}
	return newest(checks), nil
}

// failures are the conclusions of check runs that have failed. A cancelled one says nothing about the commit.
var failures = []string{"failure", "timed_out", "startup_failure"}

func (a api) checkRuns(ctx context.Context, path, commit string) (checks []check, failed *failure) {
	for page := 1; page <= maxCheckPages; page++ {
		var found struct {
			CheckRuns []checkRunJSON `json:"check_runs"`
		}
		last, failed := a.checkPage(ctx, path, []string{"commits", commit, "check-runs"}, page, &found)
		if failed != nil {
			return nil, failed
		}
		for _, r := range found.CheckRuns {
			one := check{
				FailedCheck: FailedCheck{
					Name: line(r.Name, maxCheckLine), Result: line(r.Conclusion, maxCheckLine), URL: link(r.HTMLURL),
				},
				of: "run " + r.Name, began: r.StartedAt,
				// One that waits has to be let go by a person, perhaps never.
				done:   r.Status == "completed" || r.Status == "waiting",
				failed: r.Status == "completed" && slices.Contains(failures, r.Conclusion),
			}
			if !one.done && one.began == "" {
				one.began = "later" // than all times, as text
			}
			if r.App != nil {
				one.of += " " + number(r.App.ID)
			}
			if r.Output != nil {
				one.Summary = line(cmp.Or(r.Output.Title, r.Output.Summary), maxCheckLine)
				text := visible(strings.TrimSpace(r.Output.Summary + "\n\n" + r.Output.Text))
				one.Text = cut(withoutComments(text, nil), maxCheckText)
			}
			checks = append(checks, one)
		}
		if last(len(found.CheckRuns), len(checks)) {
			break
		}
	}
	return newest(checks), nil
}

// checkPage reads a page of the checks of a commit. last tells from what the page has, and what all pages so far have,
// whether it is the last one: a Gitea may allow fewer on a page. A commit that the forge does not know has none.
func (a api) checkPage(
	ctx context.Context, path string, segments []string, page int, into any,
) (last func(here, all int) bool, failed *failure) {
	query := url.Values{
		"page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(pageSize)}, "limit": {strconv.Itoa(pageSize)},
	}
	header, failed := a.in(ctx, http.MethodGet, path, segments, query, nil, into)
	if failed != nil && failed.status == http.StatusNotFound {
		failed = nil
	}
	total, err := strconv.Atoi(header.Get("X-Total-Count"))
	return func(here, all int) bool {
		return here == 0 || err == nil && all >= total || err != nil && here < pageSize
	}, failed
}

// link returns a URL that a forge names if it is one of the web, or "".
func link(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || len(text) > maxCheckLine*10 {
		return ""
	}
	return u.String()
}
