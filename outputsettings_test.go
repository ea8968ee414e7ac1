package penstock_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

func outputs(s penstock.OutputSettings) *penstock.ForgeSettings {
	return &penstock.ForgeSettings{Outputs: &s}
}

func pulls(s penstock.PullRequestSettings) penstock.OutputSettings {
	return penstock.OutputSettings{PullRequest: &s}
}

func TestEachValueOfOutputsIsInheritedByItself(t *testing.T) {
	t.Parallel()
	weak := outputs(penstock.OutputSettings{
		PullRequest: &penstock.PullRequestSettings{
			OpenLimit: new(7), Base: []string{"main"}, Draft: new(true), Labels: []string{"a"}, Reviewers: []string{"x"},
		},
		Limits: &penstock.OutputBounds{PullRequest: new(2), Comment: new(4)}, Approval: "always", Status: "none",
	})
	strong := outputs(penstock.OutputSettings{
		PullRequest: &penstock.PullRequestSettings{OpenLimit: new(0), Draft: new(false), Reviewers: []string{}},
		Limits:      &penstock.OutputBounds{Comment: new(0)},
	})
	strong.Push = &penstock.PushSettings{Secrets: "off"}
	merged := strong.Over(weak)
	want := penstock.OutputPolicy{
		OpenLimit: 0, Base: [][]string{{"main"}}, Labels: []string{"a"},
		Limits: penstock.OutputLimits{PullRequest: 2, Comment: 0}, Approval: "always", Status: "none",
		Followups: penstock.FollowupPolicy{Checks: 3},
	}
	if diff := cmp.Diff(want, merged.PolicyOfOutputs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"push/secrets", "outputs/pull_request/open_limit", "outputs/pull_request/draft", "outputs/pull_request/reviewers",
		"outputs/limits/comment",
	}, strong.Values()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(penstock.DefaultPushPolicy(), weak.PushPolicy()); diff != "" {
		t.Errorf("settings of outputs change pushes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(penstock.DefaultOutputPolicy(), (*penstock.ForgeSettings)(nil).PolicyOfOutputs()); diff != "" {
		t.Errorf("without settings (-want +got):\n%s", diff)
	}
}

func TestARequestOnlyNarrowsAnOutputPolicy(t *testing.T) {
	t.Parallel()
	none := penstock.DefaultOutputPolicy()
	some := outputs(penstock.OutputSettings{
		PullRequest: &penstock.PullRequestSettings{
			OpenLimit: new(3), Base: []string{"release/*"}, Draft: new(false), Labels: []string{"a", "b"},
			Reviewers: []string{"x", "acme/core"},
		}, Approval: "never",
	}).PolicyOfOutputs()
	silent := outputs(penstock.OutputSettings{Status: "none"}).PolicyOfOutputs()
	for _, test := range []struct {
		about  string
		policy penstock.OutputPolicy
		req    penstock.OutputSettings
		errs   []string
		change func(*penstock.OutputPolicy)
	}{
		{"nothing", none, penstock.OutputSettings{}, nil, func(*penstock.OutputPolicy) {}},
		{
			"lower limits", none,
			penstock.OutputSettings{
				PullRequest: &penstock.PullRequestSettings{OpenLimit: new(0)},
				Limits:      &penstock.OutputBounds{PullRequest: new(0), Comment: new(3)},
			},
			nil, func(p *penstock.OutputPolicy) { p.OpenLimit, p.Limits.PullRequest = 0, 0 },
		},
		{
			"higher limits", none,
			penstock.OutputSettings{
				PullRequest: &penstock.PullRequestSettings{OpenLimit: new(6)},
				Limits:      &penstock.OutputBounds{PullRequest: new(2), Comment: new(4)},
			},
			[]string{"/outputs/pull_request/open_limit", "/outputs/limits/pull_request", "/outputs/limits/comment"},
			nil,
		},
		{
			"a base that the layers do not have", none,
			pulls(penstock.PullRequestSettings{Base: []string{"release/*"}}),
			nil,
			func(p *penstock.OutputPolicy) { p.Base = [][]string{{}, {"release/*"}} },
		},
		{
			"only the usual base", some, pulls(penstock.PullRequestSettings{Base: []string{}}),
			nil,
			func(p *penstock.OutputPolicy) { p.Base = [][]string{{"release/*"}, {}} },
		},
		{
			"no draft", none,
			pulls(penstock.PullRequestSettings{Draft: new(false)}),
			[]string{"/outputs/pull_request/draft"},
			nil,
		},
		{
			"a draft", some, pulls(penstock.PullRequestSettings{Draft: new(true)}),
			nil,
			func(p *penstock.OutputPolicy) { p.Draft = true },
		},
		{
			"fewer names", some,
			pulls(penstock.PullRequestSettings{Labels: []string{"B"}, Reviewers: []string{}}),
			nil,
			func(p *penstock.OutputPolicy) { p.Labels, p.Reviewers = []string{"B"}, []string{} },
		},
		{
			"other names", some,
			pulls(penstock.PullRequestSettings{Labels: []string{"a", "deploy"}, Reviewers: []string{"everybody"}}),
			[]string{"/outputs/pull_request/labels/1", "/outputs/pull_request/reviewers/0"},
			nil,
		},
		{"less approval", none, penstock.OutputSettings{Approval: "never"}, []string{"/outputs/approval"}, nil},
		{
			"more approval", some,
			penstock.OutputSettings{Approval: "always"},
			nil,
			func(p *penstock.OutputPolicy) { p.Approval = "always" },
		},
		{
			"no status", none,
			penstock.OutputSettings{Status: "none"},
			nil, func(p *penstock.OutputPolicy) { p.Status = "none" },
		},
		{"a status", silent, penstock.OutputSettings{Status: "comment"}, []string{"/outputs/status"}, nil},
		{"the same status", none, penstock.OutputSettings{Status: "comment"}, nil, func(*penstock.OutputPolicy) {}},
		{"the same approval", none, penstock.OutputSettings{Approval: "protected"}, nil, func(*penstock.OutputPolicy) {}},
	} {
		got, errs := test.policy.Narrow(outputs(test.req), "")
		var pointers []string
		for _, e := range errs {
			pointers = append(pointers, e.Pointer)
		}
		if diff := cmp.Diff(test.errs, pointers); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", test.about, diff)
		}
		if test.change == nil {
			continue
		}
		want := test.policy
		if test.change(&want); cmp.Diff(want, got) != "" {
			t.Errorf("%s (-want +got):\n%s", test.about, cmp.Diff(want, got))
		}
	}
}

func TestAnOutputPolicyWithinAnother(t *testing.T) {
	t.Parallel()
	a := penstock.OutputPolicy{
		OpenLimit: 9, Base: [][]string{{"a"}}, Labels: []string{"own"}, Reviewers: []string{"x"},
		Limits: penstock.OutputLimits{PullRequest: 1, Comment: 9}, Approval: "never", Status: "comment",
	}
	b := penstock.OutputPolicy{
		OpenLimit: 2, Base: [][]string{{}, {"a"}}, Draft: true, Labels: []string{"other"},
		Limits: penstock.OutputLimits{PullRequest: 5, Comment: 1}, Approval: "always",
	}
	want := penstock.OutputPolicy{
		OpenLimit: 2, Base: [][]string{{"a"}, {}}, Draft: true, Labels: []string{"own"}, Reviewers: []string{"x"},
		Limits: penstock.OutputLimits{PullRequest: 1, Comment: 1}, Approval: "always",
	}
	if diff := cmp.Diff(want, a.Within(b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("always", b.Within(a).Approval); diff != "" {
		t.Errorf("the other way (-want +got):\n%s", diff)
	}
}

func TestSettingsOfOutputsAreChecked(t *testing.T) {
	t.Parallel()
	settings := outputs(penstock.OutputSettings{
		PullRequest: &penstock.PullRequestSettings{
			OpenLimit: new(-1), Base: []string{"!main"},
			Labels:    []string{"good", "GOOD", "a\nb", strings.Repeat("ä", 51), "", strings.Repeat("ä", 50)},
			Reviewers: []string{"@octocat", "a/b/c", "acme/core", "Octocat", "octocat"},
		},
		Limits: &penstock.OutputBounds{PullRequest: new(21), Comment: new(-1)}, Approval: "sometimes", Status: "maybe",
	})
	settings.OutputPolicy = &penstock.OutputPolicy{}
	got := map[string]string{}
	for _, e := range settings.Check("/forge") {
		got[strings.TrimPrefix(e.Pointer, "/forge/outputs")] = e.Detail
	}
	const label = "must be the name of a label, in one line of at most 50 characters"
	want := map[string]string{
		"/approval":                 `must be never or protected or always, not "sometimes"`,
		"/status":                   `must be comment or none, not "maybe"`,
		"/limits/pull_request":      "must be from 0 to 20",
		"/limits/comment":           "must be from 0 to 20",
		"/pull_request/open_limit":  "must be from 0 to 1000",
		"/pull_request/base/0":      "begins with !: patterns cannot be negated",
		"/pull_request/labels/1":    "is in the list already",
		"/pull_request/labels/2":    label,
		"/pull_request/labels/3":    label,
		"/pull_request/labels/4":    label,
		"/pull_request/reviewers/0": "must be a login without @",
		"/pull_request/reviewers/1": "must be a login, or owner/team",
		"/pull_request/reviewers/4": "is in the list already",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if settings.OutputPolicy != nil {
		t.Error("a request can set the policy")
	}
	wide := penstock.OutputPolicy{Base: [][]string{make([]string, 501)}}
	if errs := wide.Check("/x"); len(errs) != 1 || errs[0].Pointer != "/x" {
		t.Errorf("a policy of 501 patterns: %v", errs)
	}
}

func TestBasesOfPullRequests(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		base   [][]string
		branch string
		want   bool
		usual  bool
	}{
		{[][]string{{}}, "x", true, true},
		{[][]string{{"main", "release/**"}}, "release/1/2", true, false},
		{[][]string{{"main", "release/**"}}, "release", false, false},
		{[][]string{{"release/**"}, {}, {"*/1"}}, "release/1", true, true},
		{[][]string{{"release/**"}, {"*/1"}}, "release/2", false, false},
		{[][]string{{"main"}}, "Main", false, false},
	} {
		p := penstock.OutputPolicy{Base: test.base}
		if got := p.MatchesBase(test.branch); got != test.want || p.UsualBase() != test.usual {
			t.Errorf("%v and %s: %t, %t", test.base, test.branch, got, p.UsualBase())
		}
	}
	p := penstock.OutputPolicy{Base: [][]string{{"a", "b"}, {}, {"c"}}}
	if got := p.Bases(); got != "a or b, and also c" {
		t.Errorf("in words: %s", got)
	}
}

// How often a run is told of failed checks is inherited, lowered by requests and parents, and has a bound.
func TestSettingsOfFollowups(t *testing.T) {
	t.Parallel()
	settings := func(n int) *penstock.ForgeSettings {
		return &penstock.ForgeSettings{Followups: &penstock.FollowupSettings{Checks: new(n)}}
	}
	merged := (&penstock.ForgeSettings{}).Over(settings(5))
	policy := merged.PolicyOfOutputs()
	if policy.Followups.Checks != 5 || penstock.DefaultOutputPolicy().Followups.Checks != 3 ||
		settings(0).Over(merged).PolicyOfOutputs().Followups.Checks != 0 {
		t.Errorf("got %+v", policy)
	}
	if diff := cmp.Diff([]string{"followups/checks"}, merged.Values()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if lower, errs := policy.Narrow(settings(1), "/forge"); errs != nil || lower.Followups.Checks != 1 {
		t.Errorf("a lower one: %+v, %v", lower, errs)
	}
	if _, errs := policy.Narrow(settings(6), "/forge"); len(errs) != 1 || errs[0].Pointer != "/forge/followups/checks" {
		t.Errorf("a higher one: %v", errs)
	}
	if within := policy.Within(penstock.DefaultOutputPolicy()); within.Followups.Checks != 3 {
		t.Errorf("within the default: %+v", within)
	}
	for _, n := range []int{-1, 101} {
		if errs := settings(n).Check("/forge"); len(errs) != 1 || errs[0].Pointer != "/forge/followups/checks" {
			t.Errorf("%d: %v", n, errs)
		}
	}
}
