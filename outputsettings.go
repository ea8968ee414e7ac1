package penstock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OutputSettings are what runs may do on forges besides pushing. What is absent comes from the next layer, and in
// the end from [DefaultOutputPolicy].
type OutputSettings struct {
	PullRequest *PullRequestSettings `json:"pull_request,omitempty"`
	Limits      *OutputBounds        `json:"limits,omitempty"`
	Approval    string               `json:"approval,omitempty"` // never, protected or always
	Status      string               `json:"status,omitempty"`   // comment or none
}

// PullRequestSettings are about the pull requests of runs.
type PullRequestSettings struct {
	OpenLimit *int     `json:"open_limit,omitempty"` // of the factory
	Base      []string `json:"base,omitzero"`        // patterns; empty: the ref of the repository, or its default branch
	Draft     *bool    `json:"draft,omitempty"`      // unless a declaration says otherwise
	Labels    []string `json:"labels,omitzero"`
	Reviewers []string `json:"reviewers,omitzero"` // logins, or owner/team
}

// OutputBounds are [OutputLimits] as they are written. nil: the limit of the next layer.
type OutputBounds struct {
	PullRequest *int `json:"pull_request,omitempty"`
	Comment     *int `json:"comment,omitempty"`
}

// FollowupSettings are what continues runs that have opened pull requests.
type FollowupSettings struct {
	// Checks is how many commits of a run whose checks fail it is told of, without a person in between.
	Checks *int `json:"checks,omitempty"`
}

// OutputPolicy says which outputs a run may declare, and what happens to them.
type OutputPolicy struct {
	// OpenLimit is how many pull requests of a factory may be open. 0: none.
	OpenLimit int64 `json:"open_limit"`
	// Base are lists of patterns. The base of a pull request must match one pattern of each list. An empty list
	// stands for the ref of the repository in the run, and its default branch.
	Base [][]string `json:"base"`
	// Draft is what a pull request is unless its declaration says otherwise.
	Draft     bool         `json:"draft"`
	Labels    []string     `json:"labels,omitempty"`
	Reviewers []string     `json:"reviewers,omitempty"`
	Limits    OutputLimits `json:"limits"`
	Approval  string       `json:"approval"`
	// Status is where the issue or pull request whose event has started the run says how it is. "": nowhere, as none.
	Status    string         `json:"status,omitempty"`
	Followups FollowupPolicy `json:"followups,omitzero"`
}

// FollowupPolicy is what [FollowupSettings] mean for a run.
type FollowupPolicy struct {
	Checks int64 `json:"checks"` // 0: none
}

// OutputLimits bound the outputs of a turn.
type OutputLimits struct {
	PullRequest int64 `json:"pull_request"`
	Comment     int64 `json:"comment"`
}

// Of returns how many outputs of a kind a turn can declare.
func (l OutputLimits) Of(kind OutputKind) int64 {
	switch kind {
	case OutputPullRequest:
		return l.PullRequest
	case OutputComment:
		return l.Comment
	}
	return 0
}

// Which outputs a person has to release.
const (
	ApprovalNever     = "never"
	ApprovalProtected = "protected"
	ApprovalAlways    = "always"
)

// Approvals lists the values of approval, from the one that holds the least.
func Approvals() []string { return []string{ApprovalNever, ApprovalProtected, ApprovalAlways} }

// Where an issue or a pull request says how the run is that its event has started.
const (
	StatusComment = "comment" // in one comment, which changes
	StatusNone    = "none"
)

// Statuses lists the values of status.
func Statuses() []string { return []string{StatusComment, StatusNone} }

// Limits of the settings of outputs.
const (
	MaxOutputs   = 20 // of a turn, of all kinds together
	MaxOpenLimit = 1000
	MaxLabel     = 50  // characters; GitHub and Gitea have this limit
	MaxChecks    = 100 // commits of a run whose checks fail
	maxLabels    = 20
	maxReviewers = 15 // GitHub asks no more
)

// DefaultOutputPolicy is the policy of a run without settings.
func DefaultOutputPolicy() OutputPolicy {
	return OutputPolicy{
		OpenLimit: 5, Base: [][]string{{}}, Draft: true, Limits: OutputLimits{PullRequest: 1, Comment: 3},
		Approval: ApprovalProtected, Status: StatusComment, Followups: FollowupPolicy{Checks: 3},
	}
}

// ReviewerForm is a login of a forge, or owner/team.
const ReviewerForm = `^[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100})?$`

var reviewer = LazyRegexp(ReviewerForm)

// ValidLabel reports whether a forge may have a label of this name.
func ValidLabel(name string) bool {
	return name != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= MaxLabel &&
		strings.TrimSpace(name) == name && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (s *OutputSettings) check(at string) []FieldError {
	if s == nil {
		return nil
	}
	c := settingsCheck{at: at}
	c.word("/approval", s.Approval, Approvals()...)
	c.word("/status", s.Status, Statuses()...)
	if limits := s.Limits; limits != nil {
		c.limit("/limits/pull_request", limits.PullRequest, 0, MaxOutputs)
		c.limit("/limits/comment", limits.Comment, 0, MaxOutputs)
	}
	if p := s.PullRequest; p != nil {
		const at = "/pull_request"
		c.limit(at+"/open_limit", p.OpenLimit, 0, MaxOpenLimit)
		c.patterns(at+"/base", p.Base)
		c.names(at+"/labels", p.Labels, maxLabels, func(name string) string {
			if ValidLabel(name) {
				return ""
			}
			return fmt.Sprintf("must be the name of a label, in one line of at most %d characters", MaxLabel)
		})
		c.names(at+"/reviewers", p.Reviewers, maxReviewers, func(name string) string {
			switch {
			case strings.HasPrefix(name, "@"):
				return "must be a login without @"
			case !reviewer().MatchString(name):
				return "must be a login, or owner/team"
			}
			return ""
		})
	}
	return c.errs
}

func (s *FollowupSettings) check(at string) []FieldError {
	if s == nil {
		return nil
	}
	c := settingsCheck{at: at}
	c.limit("/checks", s.Checks, 0, MaxChecks)
	return c.errs
}

// names checks a list in which each name is once, in any case.
func (c *settingsCheck) names(pointer string, list []string, most int, wrong func(string) string) {
	if len(list) > most {
		c.badf(pointer, "has %d items; at most %d are allowed", len(list), most)
		return
	}
	for i, name := range list {
		detail := wrong(name)
		if detail == "" && hasName(list[:i], name) {
			detail = "is in the list already"
		}
		if detail != "" {
			c.badf(fmt.Sprintf("%s/%d", pointer, i), "%s", detail)
		}
	}
}

// hasName reports whether a list has a label or a login. Forges do not distinguish between upper and lower case.
func hasName(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}

// PolicyOfOutputs returns what the settings of all layers mean, without a request.
func (f *ForgeSettings) PolicyOfOutputs() OutputPolicy {
	p := DefaultOutputPolicy()
	if f == nil {
		return p
	}
	set := func(to *int64, from *int) {
		if from != nil {
			*to = int64(*from)
		}
	}
	if f.Followups != nil {
		set(&p.Followups.Checks, f.Followups.Checks)
	}
	s := f.Outputs
	if s == nil {
		return p
	}
	if pr := s.PullRequest; pr != nil {
		set(&p.OpenLimit, pr.OpenLimit)
		if pr.Base != nil {
			p.Base = [][]string{pr.Base}
		}
		if pr.Draft != nil {
			p.Draft = *pr.Draft
		}
		p.Labels = append(p.Labels, pr.Labels...) // nil if there are none, so that policies can be compared
		p.Reviewers = append(p.Reviewers, pr.Reviewers...)
	}
	if limits := s.Limits; limits != nil {
		set(&p.Limits.PullRequest, limits.PullRequest)
		set(&p.Limits.Comment, limits.Comment)
	}
	p.Approval, p.Status = cmp.Or(s.Approval, p.Approval), cmp.Or(s.Status, p.Status)
	return p
}

// Narrow returns p with what a request asks for, and an error for each value that would allow more, with JSON
// pointers below at.
func (p OutputPolicy) Narrow(req *ForgeSettings, at string) (OutputPolicy, []FieldError) {
	if req == nil {
		return p, nil
	}
	c, s := settingsCheck{at: at + "/followups"}, req.Outputs
	if req.Followups != nil {
		c.lower("/checks", &p.Followups.Checks, req.Followups.Checks)
	}
	if s == nil {
		return p, c.errs
	}
	c.at = at + "/outputs"
	if pr := s.PullRequest; pr != nil {
		c.lower("/pull_request/open_limit", &p.OpenLimit, pr.OpenLimit)
		if pr.Base != nil {
			p.Base = withList(p.Base, pr.Base)
		}
		switch {
		case pr.Draft == nil:
		case p.Draft && !*pr.Draft:
			c.badf("/pull_request/draft", "must not be false: %s, which is true", narrowRule)
		default:
			p.Draft = *pr.Draft
		}
		c.fewer("/pull_request/labels", &p.Labels, pr.Labels)
		c.fewer("/pull_request/reviewers", &p.Reviewers, pr.Reviewers)
	}
	if limits := s.Limits; limits != nil {
		c.lower("/limits/pull_request", &p.Limits.PullRequest, limits.PullRequest)
		c.lower("/limits/comment", &p.Limits.Comment, limits.Comment)
	}
	switch {
	case s.Approval == "":
	case slices.Index(Approvals(), s.Approval) < slices.Index(Approvals(), p.Approval):
		c.badf("/approval", "must not be %s: %s, which is %s", s.Approval, narrowRule, p.Approval)
	default:
		p.Approval = s.Approval
	}
	if s.Status == StatusComment && p.Status != StatusComment {
		c.badf("/status", "must not be %s: %s, which is %s", s.Status, narrowRule, StatusNone)
	} else {
		p.Status = cmp.Or(s.Status, p.Status)
	}
	return p, c.errs
}

// fewer sets a list from which a request may only leave out names.
func (c *settingsCheck) fewer(pointer string, to *[]string, names []string) {
	if names == nil {
		return
	}
	for i, name := range names {
		if !hasName(*to, name) {
			c.badf(fmt.Sprintf("%s/%d", pointer, i), "must be one of the agent or factory: %s", narrowRule)
		}
	}
	*to = names
}

// Within returns a policy that allows what both allow. Labels and reviewers come from p: they are no
// permissions.
func (p OutputPolicy) Within(q OutputPolicy) OutputPolicy {
	p.OpenLimit, p.Draft = min(p.OpenLimit, q.OpenLimit), p.Draft || q.Draft
	for _, list := range q.Base {
		p.Base = withList(p.Base, list)
	}
	p.Limits.PullRequest = min(p.Limits.PullRequest, q.Limits.PullRequest)
	p.Limits.Comment = min(p.Limits.Comment, q.Limits.Comment)
	p.Followups.Checks = min(p.Followups.Checks, q.Followups.Checks)
	if slices.Index(Approvals(), q.Approval) > slices.Index(Approvals(), p.Approval) {
		p.Approval = q.Approval
	}
	if q.Status != StatusComment {
		p.Status = q.Status
	}
	return p
}

// Check returns an error at pointer if the policy has too many patterns, which many narrowings may add.
func (p OutputPolicy) Check(pointer string) []FieldError {
	n := 0
	for _, list := range p.Base {
		n += len(list)
	}
	if n <= maxPushLists {
		return nil
	}
	return []FieldError{{pointer, fmt.Sprintf(
		"has %d patterns, with what the run inherits; at most %d are allowed", n, maxPushLists)}}
}

// UsualBase reports whether a list of Base is empty: then the base must be the ref of the repository in the run, or
// its default branch.
func (p OutputPolicy) UsualBase() bool {
	return slices.ContainsFunc(p.Base, func(list []string) bool { return len(list) == 0 })
}

// MatchesBase reports whether a branch matches one pattern of each list that is not empty.
func (p OutputPolicy) MatchesBase(branch string) bool {
	return !slices.ContainsFunc(p.Base, func(list []string) bool {
		return len(list) > 0 && !matchesBranch(list, branch)
	})
}

// Bases says in words which bases match.
func (p OutputPolicy) Bases() string {
	var all []string
	for _, list := range p.Base {
		if len(list) > 0 {
			all = append(all, strings.Join(list, " or "))
		}
	}
	return strings.Join(all, ", and also ")
}
