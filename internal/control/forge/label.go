package forge

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// labelColor is the color of labels that are created: the one that GitHub gives them.
const labelColor = "#ededed"

type labelJSON struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Archived bool   `json:"is_archived"`
}

// addLabels adds labels to an issue or a pull request, and removes none. Those that do not exist are created.
func (a api) addLabels(ctx context.Context, path string, n int64, names []string) *failure {
	if len(names) == 0 {
		return nil
	}
	segments := []string{"issues", number(n), "labels"}
	if a.forge.Provider == penstock.HostGitHub { // it creates the others
		_, failed := a.in(ctx, http.MethodPost, path, segments, nil, map[string]any{"labels": names}, nil)
		return failed
	}
	ids, failed := a.labelIDs(ctx, path, segments, names)
	if failed == nil && len(ids) > 0 {
		_, failed = a.in(ctx, http.MethodPost, path, segments, nil, map[string]any{"labels": ids}, nil)
	}
	return failed
}

// labelIDs returns the labels of a repository, or else of its organization, that have names, and creates the others.
// Gitea may accept the names of the organization's labels: then they are added, and not among the result.
func (a api) labelIDs(ctx context.Context, path string, segments, names []string) (ids []int64, failed *failure) {
	var known []labelJSON
	collect := func(text json.RawMessage) bool {
		var l labelJSON
		if json.Unmarshal(text, &l) == nil && l.ID > 0 {
			known = append(known, l)
		}
		return false
	}
	if failed = a.pages(ctx, path, []string{"labels"}, url.Values{}, searchPages, collect); failed != nil {
		return nil, failed
	}
	ids, missing := choose(known, names)
	if len(missing) == 0 {
		return ids, nil
	}
	// A token that reads no organizations cannot list their labels, but can use them by name (go-gitea/gitea#32891).
	// Older servers refuse names, and the label is created.
	var now []labelJSON
	_, failed = a.in(ctx, http.MethodPost, path, segments, nil, map[string]any{"labels": missing}, &now)
	switch {
	case failed == nil:
		_, missing = choose(now, missing)
	case failed.kind != lacking || failed.status == http.StatusForbidden || failed.status == http.StatusNotFound:
		return nil, failed
	}
	for _, name := range missing {
		var created labelJSON
		_, failed := a.in(ctx, http.MethodPost, path, []string{"labels"}, nil,
			map[string]string{"name": name, "color": labelColor}, &created)
		switch {
		case failed != nil:
			return nil, failed
		case created.ID <= 0:
			return nil, a.odd()
		}
		ids = append(ids, created.ID)
	}
	return ids, nil
}

// choose returns the labels with names: the exact one before one in other letters, one in use before one that is
// archived. Names need not be unique on Gitea (go-gitea/gitea#14012).
func choose(known []labelJSON, names []string) (ids []int64, missing []string) {
	for _, name := range names {
		best := -1
		rank := func(l labelJSON) int {
			r := 0
			if l.Name == name {
				r += 2
			}
			if !l.Archived {
				r++
			}
			return r
		}
		for i, l := range known {
			if strings.EqualFold(l.Name, name) && (best < 0 || rank(l) > rank(known[best])) {
				best = i
			}
		}
		switch {
		case best >= 0 && !slices.Contains(ids, known[best].ID):
			ids = append(ids, known[best].ID)
		case best < 0 && !slices.ContainsFunc(missing, func(m string) bool { return strings.EqualFold(m, name) }):
			missing = append(missing, name)
		}
	}
	return ids, missing
}
