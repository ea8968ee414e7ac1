package definition

import (
	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
)

// Forge is what runs may do on the forges of their repositories.
type Forge struct {
	Push      *Push      `json:"push,omitzero" about:"What runs may push."`
	Outputs   *Outputs   `json:"outputs,omitzero" about:"What runs may do there besides pushing."`
	Followups *Followups `json:"followups,omitzero" about:"What continues runs that have opened a pull request."`
}

// Followups are what continues runs that have opened a pull request.
type Followups struct {
	Checks *int `json:"checks,omitzero" rule:"checks" about:"How many commits whose checks fail a run is told of, without a person in between. 0: none." default:"3"`
}

// Push is what runs may push.
type Push struct {
	Branches       []string        `json:"branches,omitzero" rule:"glob" about:"Patterns of branches, such as penstock/**; [] allows no branch." default:"[\"penstock/**\"]"`
	ProtectedPaths *PathProtection `json:"protectedPaths,omitzero" about:"Files that a push must not change, such as workflows and the instructions of agents."`
	Limits         *PushBounds     `json:"limits,omitzero" about:"How much a push may change, compared with the base branch."`
	Secrets        string          `json:"secrets,omitzero" rule:"pushSecrets" about:"Whether a push with a secret in a new commit is refused." default:"\"refuse\""`
}

// PathProtection says which paths a push must not change.
type PathProtection struct {
	Policy string   `json:"policy,omitzero" rule:"pathPolicy" about:"What becomes of a push that changes a protected path." default:"\"refuse\""`
	Add    []string `json:"add,omitzero" rule:"glob" about:"Patterns of protected paths, in addition to the default ones."`
	Except []string `json:"except,omitzero" rule:"glob" about:"Patterns of paths that are not protected."`
}

// PushBounds limits what a push changes.
type PushBounds struct {
	Files  *int `json:"files,omitzero" rule:"pushFiles" about:"Changed files." default:"300"`
	Bytes  *int `json:"bytes,omitzero" rule:"pushBytes" about:"Bytes of all changed files." default:"10485760"`
	Binary *int `json:"binary,omitzero" rule:"pushBinary" about:"Bytes of one binary file; 0 allows none." default:"1048576"`
}

// Outputs is what runs may do on forges besides pushing.
type Outputs struct {
	PullRequest *PullRequests `json:"pullRequest,omitzero" about:"The pull requests of runs."`
	Limits      *OutputBounds `json:"limits,omitzero" about:"How many outputs a turn can declare; 20 of all kinds together."`
	Approval    string        `json:"approval,omitzero" rule:"approval" about:"Which outputs wait until a person releases them. The outputs of a fork always do." default:"\"protected\""`
	Status      string        `json:"status,omitzero" rule:"status" about:"Whether a comment in the issue or pull request whose event has started a run says how it is." default:"\"comment\""`
}

// PullRequests is about the pull requests of runs.
type PullRequests struct {
	OpenLimit *int     `json:"openLimit,omitzero" rule:"openLimit" about:"How many pull requests of the factory may be open. At this number, automations start no runs. 0 allows none." default:"5"`
	Base      []string `json:"base,omitzero" rule:"glob" about:"Patterns of the branches that a pull request may be against. [] means the ref of the repository in the run, or its default branch."`
	Draft     *bool    `json:"draft,omitzero" about:"Whether a pull request is a draft unless its declaration says otherwise." default:"true"`
	Labels    []string `json:"labels,omitzero" rule:"label" about:"Labels of new pull requests, besides the one of the factory."`
	Reviewers []string `json:"reviewers,omitzero" rule:"reviewer" about:"Who is asked to review a new pull request: logins, or owner/team."`
}

// OutputBounds limits the outputs of a turn.
type OutputBounds struct {
	PullRequest *int `json:"pullRequest,omitzero" rule:"outputs" about:"Pull requests; 0 allows none." default:"1"`
	Comment     *int `json:"comment,omitzero" rule:"outputs" about:"Comments; 0 allows none." default:"3"`
}

// Settings returns f in the vocabulary of the server, or nil if f is empty.
func (f *Forge) Settings() *penstock.ForgeSettings {
	if f == nil {
		return nil
	}
	settings := &penstock.ForgeSettings{}
	if p := f.Push; p != nil {
		settings.Push = &penstock.PushSettings{
			Branches: p.Branches, ProtectedPaths: (*penstock.PathProtection)(p.ProtectedPaths),
			Limits: (*penstock.PushBounds)(p.Limits), Secrets: p.Secrets,
		}
	}
	if o := f.Outputs; o != nil {
		settings.Outputs = &penstock.OutputSettings{
			PullRequest: (*penstock.PullRequestSettings)(o.PullRequest), Limits: (*penstock.OutputBounds)(o.Limits),
			Approval: o.Approval, Status: o.Status,
		}
	}
	settings.Followups = (*penstock.FollowupSettings)(f.Followups)
	if settings.IsZero() {
		return nil
	}
	return settings
}

// ForgeOf returns settings as they are in a file.
func ForgeOf(s *penstock.ForgeSettings) *Forge {
	if s.IsZero() {
		return nil
	}
	f := Forge{Followups: (*Followups)(s.Followups)}
	if p := s.Push; p != nil {
		f.Push = &Push{
			Branches: p.Branches, ProtectedPaths: (*PathProtection)(p.ProtectedPaths), Limits: (*PushBounds)(p.Limits),
			Secrets: p.Secrets,
		}
	}
	if o := s.Outputs; o != nil {
		f.Outputs = &Outputs{
			PullRequest: (*PullRequests)(o.PullRequest), Limits: (*OutputBounds)(o.Limits),
			Approval: o.Approval, Status: o.Status,
		}
	}
	return &f
}

// forge checks settings of forges with the rules of the API.
func (p *parser) forge(d *document, f *Forge, path ...any) {
	at := d.find(path...)
	if at == nil || at.Kind != yaml.MappingNode {
		return
	}
	for _, problem := range f.Settings().Check("") {
		pointer := fileKeys.Replace(problem.Pointer)
		if node := pointed(at, pointer); !p.reported(d, node) {
			d.badf(node, InvalidValue, "forge: %s%s", spaced(lastKey(pointer)), problem.Detail)
		}
	}
}
