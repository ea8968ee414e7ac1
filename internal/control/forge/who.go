package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Event is who has done what a forge reports, and where.
type Event struct {
	Repository   string // owner/name
	RepositoryID int64
	Sender       string // the login
	SenderID     int64
	Bot          bool // the forge says that it is no person
}

// answer is what a forge has said, or why it has not.
type answer struct {
	yes    bool
	failed *failure
}

// answers remembers answers for a short time. The zero value is ready.
type answers struct {
	mu    sync.Mutex
	known map[string]knownAnswer
}

type knownAnswer struct {
	answer

	until time.Time
}

const (
	answerFor    = time.Minute
	failureFor   = 10 * time.Second // unless the forge wants no requests for longer
	questionWait = 3 * time.Second  // forges wait 5 to 10 seconds for the response to a delivery
	maxAnswers   = 10_000
)

func (k *answers) find(key string, now time.Time) (answer, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a, known := k.known[key]
	return a.answer, known && now.Before(a.until)
}

func (k *answers) keep(key string, a answer, now time.Time) {
	valid := answerFor
	if a.failed != nil {
		valid = max(failureFor, a.failed.wait)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxAnswers {
		k.known = map[string]knownAnswer{}
	}
	k.known[key] = knownAnswer{a, now.Add(valid)}
}

// Refuses returns why an event of a connection may not start or direct a run, with a pointer to what is at fault,
// or two empty texts. The forge is asked which repository has the name, and whether it is private: then, who can act
// there was let in. Everybody can write comments in a public one, so the forge is asked whether the sender may
// write to it. What it does not say is refused.
func (c *Connections) Refuses(ctx context.Context, team, uid string, e Event) (pointer, reason string, err error) {
	rows, err := c.store.Forges.List(ctx, team)
	if err != nil {
		return "", "", err
	}
	i := slices.IndexFunc(rows, func(r store.ForgeRow) bool { return r.UID == uid })
	if i < 0 {
		return "", "", penstock.NotFound("connection", uid)
	}
	row, sender := rows[i], line(e.Sender, maxName)
	own := func(r store.ForgeRow) bool { // also another connection to the same forge
		return r.URL == row.URL && r.Bot != nil && (e.SenderID == r.Bot.ID || strings.EqualFold(e.Sender, r.Bot.Login))
	}
	switch {
	case slices.ContainsFunc(rows, own):
		return "/sender", fmt.Sprintf("The connection's own account %s has caused the event.", sender), nil
	case e.Bot || e.SenderID < 0: // Gitea's own accounts have negative ids
		return "/permission", sender + " is a bot. Events of bots start no runs.", nil
	case e.Sender == "" || e.SenderID == 0:
		return "/permission", "The event does not say who has caused it.", nil
	case penstock.CheckForgePath(e.Repository) != "":
		return "/permission", "The event has no name of a repository.", nil
	}
	private, err := c.ask(ctx, row, fmt.Sprintf("%s %d", e.Repository, e.RepositoryID),
		func(ctx context.Context, a api) (bool, *failure) {
			return a.isPrivate(ctx, e.Repository, e.RepositoryID)
		})
	if err == nil && private.failed == nil && !private.yes {
		private, err = c.ask(ctx, row, fmt.Sprintf("%s %d writer", e.Repository, e.SenderID),
			func(ctx context.Context, a api) (bool, *failure) { return a.mayWrite(ctx, e) })
	}
	switch {
	case err != nil:
		return "", "", err
	case private.failed != nil:
		return "/permission", fmt.Sprintf(
			"%s did not say whether %s may write to %s: %s.", row.Name, sender, e.Repository, private.failed.text,
		), nil
	case !private.yes:
		return "/permission", fmt.Sprintf(
			"%s may not write to %s, which is public. Events of others start no runs.", sender, e.Repository,
		), nil
	}
	return "", "", nil
}

// ask asks a forge a question unless it has answered it a moment ago. Callers with the same question share one
// request.
func (c *Connections) ask(
	ctx context.Context, row store.ForgeRow, question string, put func(context.Context, api) (bool, *failure),
) (answer, error) {
	key := row.UID + " " + strings.ToLower(question)
	if a, known := c.answers.find(key, time.Now()); known {
		return a, nil
	}
	return c.asking.Ask(ctx, key, func(ctx context.Context) (answer, error) {
		if a, known := c.answers.find(key, time.Now()); known {
			return a, nil
		}
		t, err := c.open(row)
		if err != nil {
			return answer{}, err
		}
		ctx, cancel := context.WithTimeout(ctx, questionWait)
		defer cancel()
		var a answer
		a.yes, a.failed = put(ctx, c.api(row.Forge, t.Token))
		c.answers.keep(key, a, time.Now())
		return a, nil
	})
}

// identity is a repository as a forge describes it.
type identity struct {
	ID      int64 `json:"id"`
	Private bool  `json:"private"`
}

// isPrivate asks whether only some can read a repository, which must have this id.
func (a api) isPrivate(ctx context.Context, path string, id int64) (bool, *failure) {
	var found identity
	if _, failed := a.call(ctx, http.MethodGet, "/repos/"+path, nil, &found); failed != nil {
		return false, failed
	}
	if found.ID != id {
		return false, &failure{kind: lacking, text: "another repository has this name"}
	}
	return found.Private, nil
}

// mayWrite asks whether the sender of an event may write to its repository. Accounts are compared by their ids.
func (a api) mayWrite(ctx context.Context, e Event) (bool, *failure) {
	type account struct {
		ID int64 `json:"id"`
	}
	var role struct {
		Permission string  `json:"permission"` // on GitHub, maintain is write here, and triage is read
		User       account `json:"user"`
	}
	at := "/repos/" + e.Repository
	_, failed := a.call(ctx, http.MethodGet, at+"/collaborators/"+url.PathEscape(e.Sender)+"/permission", nil, &role)
	if failed == nil {
		return role.User.ID == e.SenderID && slices.Contains([]string{"owner", "admin", "write"}, role.Permission), nil
	}
	if a.forge.Provider != penstock.HostGitea || failed.status != http.StatusForbidden {
		return false, failed
	}
	// Gitea says it only to administrators of the repository. To others, it lists the accounts to which issues can be
	// assigned: who may write, and members of teams of the organization that may read pull requests.
	var list []account
	if _, failed := a.call(ctx, http.MethodGet, at+"/assignees", nil, &list); failed != nil {
		return false, failed
	}
	return slices.ContainsFunc(list, func(one account) bool { return one.ID == e.SenderID }), nil
}
