package forge

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// askReviewers asks accounts, and teams as owner/team, to review a pull request. If it refuses one, GitHub asks none,
// and Gitea none after that one.
func (a api) askReviewers(ctx context.Context, path string, n int64, names []string) *failure {
	owner, _, _ := strings.Cut(path, "/")
	body := map[string][]string{}
	for _, name := range names {
		of, team, isTeam := strings.Cut(name, "/")
		switch {
		case !isTeam:
			body["reviewers"] = append(body["reviewers"], name)
		case strings.EqualFold(of, owner):
			body["team_reviewers"] = append(body["team_reviewers"], team)
		default: // a forge would look for a team of this name in another organization
			return &failure{kind: lacking, text: fmt.Sprintf("%s is no team of %s", name, owner)}
		}
	}
	_, failed := a.in(ctx, http.MethodPost, path, []string{"pulls", number(n), "requested_reviewers"}, nil, body, nil)
	if failed != nil && failed.status == http.StatusUnprocessableEntity {
		failed.text = "no collaborators of the repository (422)"
	}
	return failed
}
