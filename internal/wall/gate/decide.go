package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

// Limits of one push that no setting changes.
const (
	maxCommits = 2000
	maxName    = 255 // bytes of the name of a branch
)

// examined is what is known about one update.
type examined struct {
	git.Update
	branch  string
	commits int
	known   []string // commits that are not new
	forced  bool
	refusal string // without the name of the product
}

// decide returns for each update why it is refused, or "". It pushes the others.
func (g *Gate) decide(ctx context.Context, updates []git.Update, atomic bool) []string {
	list := make([]examined, len(updates))
	for i, u := range updates {
		list[i].Update = u
		list[i].branch = strings.TrimPrefix(u.Name, "refs/heads/")
	}
	if err := g.examineAll(ctx, list); err != nil {
		g.refuseUnchecked(list, err)
	}
	refuseAtomic(list, atomic)
	if err := g.claimRest(ctx, list); err != nil {
		g.refuseUnchecked(list, err)
	}
	refuseAtomic(list, atomic)
	g.pushRest(ctx, list, atomic)
	reasons := make([]string, len(updates))
	for i, v := range list {
		if v.refusal != "" {
			reasons[i] = "Penstock: " + v.refusal
		}
		g.Report(Result{
			Repository: g.Repository, Branch: v.branch[:min(len(v.branch), maxName)], Before: v.Old, After: v.New,
			Commits: v.commits, Forced: v.forced, Refusal: v.refusal,
		})
	}
	return reasons
}

func (g *Gate) refuseUnchecked(list []examined, err error) {
	g.Log.Info("a push cannot be checked", "repository", g.Repository, "error", err)
	reason := "the push cannot be checked"
	if own, ok := errors.AsType[*Error](err); ok {
		reason += ": " + own.Sentence
	}
	refuseRest(list, reason)
}

func refuseRest(list []examined, reason string) {
	for i := range list {
		if list[i].refusal == "" {
			list[i].refusal = reason
		}
	}
}

func refuseAtomic(list []examined, atomic bool) {
	if atomic && slices.ContainsFunc(list, func(v examined) bool { return v.refusal != "" }) {
		refuseRest(list, "another branch of this atomic push is refused")
	}
}

// pushRest pushes what is not refused yet.
func (g *Gate) pushRest(ctx context.Context, list []examined, atomic bool) {
	var updates []git.Update
	var at []int
	for i, v := range list {
		if v.refusal == "" {
			updates, at = append(updates, v.Update), append(at, i)
		}
	}
	if updates == nil {
		return
	}
	refusals, err := g.at.Push(ctx, updates, atomic)
	if err != nil {
		g.Log.Info("a forge refuses a push", "repository", g.Repository, "error", err)
		refusals = g.outcome(updates, err)
	}
	for i, reason := range refusals {
		if reason != "" {
			list[at[i]].refusal = g.Connection + " refuses the branch: " + reason
		}
	}
}

// outcome asks the forge what has become of a push without an answer.
func (g *Gate) outcome(updates []git.Update, cause error) []string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.done), askTime)
	defer cancel()
	heads := map[string]string{}
	err := g.at.Refresh(ctx)
	if err == nil {
		heads, _, err = g.at.Branches(ctx)
	}
	refusals := make([]string, len(updates))
	for i, u := range updates {
		switch {
		case err != nil:
			refusals[i] = fmt.Sprintf("it is unknown whether the branch has arrived: fetch it (%s)", cause)
		case heads[strings.TrimPrefix(u.Name, "refs/heads/")] != u.New:
			refusals[i] = cause.Error()
		}
	}
	return refusals
}

// examineAll examines each update.
func (g *Gate) examineAll(ctx context.Context, list []examined) error {
	if len(list) > penstock.MaxPushedBranches {
		return &Error{fmt.Sprintf("it has %d branches, and at most %d are allowed", len(list), penstock.MaxPushedBranches)}
	}
	heads, byDefault, err := g.at.Branches(ctx)
	if err != nil {
		return err
	}
	base := strings.TrimPrefix(g.Base, "refs/heads/")
	if heads[base] == "" { // a tag or a commit
		base = byDefault
	}
	s := survey{gate: g, heads: heads, base: base, byDefault: byDefault}
	for name, id := range heads {
		if name == base || !g.Policy.AllowsBranch(name) {
			s.known = append(s.known, id)
		}
	}
	names := map[string]bool{}
	for i := range list {
		folded := strings.ToLower(list[i].branch)
		if names[folded] {
			list[i].refusal = "another branch of this push has the same name, in upper or lower case"
			continue
		}
		names[folded] = true
		if err := s.examine(ctx, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// claimRest claims the branches that are not refused yet.
func (g *Gate) claimRest(ctx context.Context, list []examined) error {
	var claims []penstock.PushedBranch
	var at []int
	for i, v := range list {
		if v.refusal == "" {
			claims = append(claims, penstock.PushedBranch{Name: v.branch, Current: v.Old, New: v.New})
			at = append(at, i)
		}
	}
	if claims == nil {
		return nil
	}
	refusals, err := g.Claim(ctx, claims)
	if err != nil {
		return err
	}
	for i, reason := range refusals {
		list[at[i]].refusal = reason
	}
	return nil
}

// survey is what the updates of one push are compared with.
type survey struct {
	gate            *Gate
	heads           map[string]string // branches of the forge
	base, byDefault string
	known           []string // commits of branches that no run can have pushed
}

// examine sets the refusal of an update that the policy does not allow.
func (s *survey) examine(ctx context.Context, v *examined) error {
	if v.refusal = s.checkName(v.Update, v.branch); v.refusal != "" {
		return nil
	}
	if current := s.heads[v.branch]; current != v.Old {
		v.refusal = changedMeanwhile
		return nil
	} else if current != "" {
		v.known = append(slices.Clone(s.known), current) // a run has pushed it here, or somebody who may write
	} else {
		v.known = s.known
	}
	if what := findSecret(s.gate.Known, v.branch); what != "" && !s.gate.Policy.AllowSecrets {
		v.refusal = "the name of the branch has " + what
		return nil
	}
	news, err := s.readNews(ctx, v)
	if err != nil || v.refusal != "" {
		return err
	}
	v.commits = news.commits
	if err := s.checkForce(ctx, v); err != nil || v.refusal != "" {
		return err
	}
	if err := s.checkFiles(ctx, v, news); err != nil || v.refusal != "" {
		return err
	}
	v.refusal = news.secret
	return nil
}

// allowed says what a run may push.
func (s *survey) allowed() string {
	var parts []string
	for _, list := range s.gate.Policy.Branches {
		if len(list) == 0 {
			return "no branches"
		}
		parts = append(parts, strings.Join(list, " or "))
	}
	return strings.Join(parts, ", and also ") + ". Push a branch with such a name"
}

func (s *survey) checkName(u git.Update, branch string) string {
	switch {
	case !strings.HasPrefix(u.Name, "refs/heads/"):
		return "this run may push branches only, no tags and no other refs"
	case u.New == "":
		return "this run may not delete branches"
	case strings.EqualFold(branch, s.base), strings.EqualFold(branch, s.byDefault), !s.gate.Policy.AllowsBranch(branch):
		return "this run may push " + s.allowed()
	case strings.ContainsFunc(branch, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }):
		return "the name of the branch has a character that cannot be printed"
	case git.CheckRef(branch) != nil:
		return git.CheckRef(branch).Error()
	}
	for name := range s.heads {
		if name != branch && strings.EqualFold(name, branch) {
			return "a branch exists whose name differs only in upper and lower case: " + name
		}
	}
	return ""
}

// changedMeanwhile is the refusal of a push that is based on another commit than the forge has.
const changedMeanwhile = "the branch has changed on the forge since it was fetched: fetch and rebase"

// checkPeople refuses a commit in the name of somebody else.
func (g *Gate) checkPeople(id, commit string) string {
	people, odd := readPeople(commit)
	if odd != "" {
		return fmt.Sprintf("the commit %.10s %s", id, odd)
	}
	for _, p := range people {
		if !strings.EqualFold(p.email, g.Bot.Email) || !strings.EqualFold(p.name, g.Bot.Login) {
			return fmt.Sprintf("the commit %.10s is by %.80q <%.100s>, and this run commits as %s <%s>. Set user.name "+
				"and user.email, and amend it with --reset-author", id, p.name, p.email, g.Bot.Login, g.Bot.Email)
		}
	}
	return ""
}

// checkForce refuses to remove commits of others from a branch.
func (s *survey) checkForce(ctx context.Context, v *examined) error {
	if v.Old == "" {
		return nil
	}
	const others = "the branch has commits of somebody else, which this push would remove: fetch it and build on it"
	lost, err := s.gate.at.Commits(ctx, v.Old, append(slices.Clone(s.known), v.New), maxCommits)
	if errors.Is(err, git.ErrManyFiles) {
		v.refusal = others
		return nil
	}
	if err != nil || len(lost) == 0 {
		return err
	}
	v.forced = true
	return s.gate.at.Read(ctx, lost, func(i int, content []byte) {
		if s.gate.checkPeople(lost[i], string(content)) != "" {
			v.refusal = others
		}
	})
}

// checkFiles refuses what the change to the base branch must not have.
func (s *survey) checkFiles(ctx context.Context, v *examined, news *news) error {
	p := s.gate.Policy
	changes, err := s.gate.at.Compare(ctx, s.heads[s.base], v.New)
	switch {
	case errors.Is(err, git.ErrManyFiles):
		v.refusal = fmt.Sprintf("it changes more files than allowed: at most %d", p.Limits.Files)
		return nil
	case err != nil:
		return err
	case int64(len(changes)) > p.Limits.Files:
		v.refusal = fmt.Sprintf("it changes %d files, and at most %d are allowed. Are files among them that should be "+
			"ignored by git?", len(changes), p.Limits.Files)
		return nil
	}
	targets, err := s.linked(ctx)
	if err != nil {
		return err
	}
	if v.refusal = checkPaths(p, changes, targets); v.refusal != "" && v.Old != "" {
		// What somebody who may write has put on the branch is no change of this push.
		since, err := s.gate.at.Differ(ctx, v.Old, v.New)
		if err != nil {
			return err
		}
		mine := map[string]bool{}
		for _, c := range since {
			mine[c.Path] = true
		}
		v.refusal = checkPaths(p, slices.DeleteFunc(slices.Clone(changes), func(c git.Change) bool {
			return !mine[c.Path]
		}), targets)
	}
	if v.refusal != "" {
		return nil
	}
	return s.checkSizes(ctx, v, changes, news)
}

// checkSizes refuses files that are too large.
func (s *survey) checkSizes(ctx context.Context, v *examined, changes []git.Change, news *news) error {
	limits := s.gate.Policy.Limits
	if err := news.read(ctx, s.gate.at, changes); err != nil {
		return err
	}
	total, largest := int64(0), git.Change{}
	for _, c := range changes {
		total += news.files[c.ID].size
		if news.files[c.ID].size > news.files[largest.ID].size {
			largest = c
		}
	}
	if total > limits.Bytes {
		v.refusal = fmt.Sprintf("its changed files have %d bytes, and at most %d are allowed. The largest is %s",
			total, limits.Bytes, shown(largest.Path))
		return nil
	}
	for _, c := range changes {
		if f := news.files[c.ID]; f.binary && f.size > limits.Binary {
			v.refusal = fmt.Sprintf("the binary file %s has %d bytes, and at most %d are allowed",
				shown(c.Path), f.size, limits.Binary)
			return nil
		}
	}
	return nil
}

// linked returns the paths, in lower case, to which links at protected paths of the base branch point.
func (s *survey) linked(ctx context.Context) (map[string]bool, error) {
	base := s.heads[s.base]
	if base == "" {
		return nil, nil //nolint:nilnil // no files
	}
	links, err := s.gate.at.Links(ctx, base)
	targets := map[string]bool{}
	for at, to := range links {
		if s.gate.Policy.Protects(at) != "" {
			targets[strings.ToLower(path.Join(path.Dir(at), to))] = true
		}
	}
	return targets, err
}

// checkPaths refuses submodules and protected paths.
func checkPaths(p penstock.PushPolicy, changes []git.Change, targets map[string]bool) string {
	protected := map[string]bool{}
	for _, c := range changes {
		if c.Mode == git.ModeSubmodule || c.OldMode == git.ModeSubmodule {
			return "it changes the submodule " + shown(c.Path) + ", and a run may not change submodules"
		}
		if targets[strings.ToLower(c.Path)] || isProtected(p, c) {
			protected[c.Path] = true
		}
	}
	if len(protected) == 0 {
		return ""
	}
	paths := slices.Sorted(maps.Keys(protected))
	const most = 5
	var names []string
	for _, p := range paths[:min(len(paths), most)] {
		names = append(names, shown(p))
	}
	text := strings.Join(names, ", ")
	if len(paths) > most {
		text += fmt.Sprintf(" and %d more", len(paths)-most)
	}
	return "it changes protected files: " + text + ". Leave them as they are on the base branch"
}

// isProtected reports whether a change is to a protected path, or puts a link in the place of a folder of
// one.
func isProtected(p penstock.PushPolicy, c git.Change) bool {
	if p.Protects(c.Path) != "" {
		return true
	}
	if c.Mode != git.ModeSymlink {
		return false
	}
	return slices.ContainsFunc(slices.Concat(p.Protected, p.Always), func(pattern string) bool {
		folders := strings.Split(pattern, "/")
		for n := 1; n < len(folders) && folders[n-1] != "**"; n++ {
			if penstock.MatchPattern(strings.Join(folders[:n], "/"), c.Path, true) {
				return true
			}
		}
		return false
	})
}

// shown is a path in a sentence.
func shown(path string) string {
	const most = 200
	if len(path) > most {
		path = strings.ToValidUTF8(path[:most], "") + "…"
	}
	return path
}
