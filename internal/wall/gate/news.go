package gate

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/supply/git"
)

// Limits of what is new with a push.
const (
	maxRead    = 32 << 20 // bytes of all objects, unless the policy allows files of more
	maxObjects = 100_000
)

// news is what is new with an update, read once.
type news struct {
	commits int
	files   map[string]file // by id
	secret  string          // where a secret is; "": nowhere
}

type file struct {
	size   int64
	binary bool
}

// readNews reads all objects that are new with an update: also what a later commit has removed again. It
// refuses commits of others.
func (s *survey) readNews(ctx context.Context, v *examined) (*news, error) {
	n := &news{files: map[string]file{}}
	objects, err := s.gate.at.Objects(ctx, v.New, v.known)
	if err != nil {
		return nil, err
	}
	if len(objects) > maxObjects {
		v.refusal = fmt.Sprintf("it has %d new objects of git, and at most %d are allowed", len(objects), maxObjects)
		return n, nil
	}
	objects = append(objects, git.Object{ID: v.New})
	ids := make([]string, len(objects))
	for i, o := range objects {
		ids[i] = o.ID
	}
	kinds, sizes, err := s.gate.at.Kinds(ctx, ids)
	if err != nil {
		return nil, err
	}
	last := len(ids) - 1
	if kinds[last] != "commit" {
		v.refusal = "a branch must be a commit, and this is a " + kinds[last]
		return n, nil
	}
	objects, ids, sizes, kinds = objects[:last], ids[:last], sizes[:last], kinds[:last]
	total := int64(0)
	for i, kind := range kinds {
		if total += sizes[i]; kind == "commit" {
			n.commits++
		}
	}
	switch {
	case n.commits > maxCommits:
		v.refusal = fmt.Sprintf("it has more than %d new commits", maxCommits)
		return n, nil
	case total > max(maxRead, 2*s.gate.Policy.Limits.Bytes):
		v.refusal = fmt.Sprintf("its new commits have %d bytes, and at most %d are allowed",
			total, max(maxRead, 2*s.gate.Policy.Limits.Bytes))
		return n, nil
	}
	return n, s.gate.at.Read(ctx, ids, func(i int, content []byte) {
		if v.refusal != "" || ctx.Err() != nil {
			return
		}
		switch kinds[i] {
		case "commit":
			v.refusal = s.gate.checkPeople(ids[i], string(content))
		case "blob":
			n.files[ids[i]] = file{sizes[i], isBinary(content)}
		}
		if n.secret == "" {
			n.secret = s.gate.checkSecrets(objects[i], content)
		}
	})
}

// read reads the files of changes that are not new, such as those that a commit has brought back.
func (n *news) read(ctx context.Context, from *git.Quarantine, changes []git.Change) error {
	var ids []string
	for _, c := range changes {
		if _, known := n.files[c.ID]; c.ID != "" && !known {
			ids, n.files[c.ID] = append(ids, c.ID), file{}
		}
	}
	_, sizes, err := from.Kinds(ctx, ids)
	if err != nil {
		return err
	}
	small := ids[:0:0]
	for i, id := range ids {
		if n.files[id] = (file{size: sizes[i]}); sizes[i] <= maxRead {
			small = append(small, id)
		}
	}
	return from.Read(ctx, small, func(i int, content []byte) {
		n.files[small[i]] = file{int64(len(content)), isBinary(content)}
	})
}

// isBinary reports whether git would treat content as binary.
func isBinary(content []byte) bool {
	return slices.Contains(content[:min(len(content), 8000)], 0)
}

// checkSecrets says where a new object has a secret, "" for nowhere.
func (g *Gate) checkSecrets(o git.Object, content []byte) string {
	if g.Policy.AllowSecrets {
		return ""
	}
	what := findSecret(g.Known, string(content))
	switch {
	case what != "" && o.Path == "":
		return fmt.Sprintf("the commit %.10s has %s in its message or in a name", o.ID, what)
	case what != "":
		return fmt.Sprintf("%s has %s, in a new commit (git log --all --find-object=%.10s shows it). "+
			"Remove it from that commit: a later commit does not", shown(o.Path), what, o.ID)
	}
	if what = findSecret(g.Known, o.Path); what != "" {
		return "the name of a file has " + what
	}
	return ""
}
