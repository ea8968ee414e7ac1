package delivery

import "github.com/penstock-dev/penstock"

// pushEvents are the deliveries by which Git hosts tell of a push, by the scheme of
// the webhook: a header, in lower case as it is recorded, and its value.
var pushEvents = map[penstock.SignatureScheme]struct{ header, event string }{
	"github":              {"x-github-event", "push"},
	penstock.SchemeGitLab: {"x-gitlab-event", "Push Hook"},
	"bitbucket":           {"x-event-key", "repo:push"},
}

// tellsPush reports whether an accepted delivery tells of a push to a repository
// that factories may come from.
func (p *Plan) tellsPush(a *penstock.Arrival) bool {
	told := pushEvents[p.row.SignatureScheme]
	return p.pushes && a.Headers[told.header] == told.event
}
