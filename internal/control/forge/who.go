package forge

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Event is who has done what a forge reports, and where.
type Event struct {
	Repository string // owner/name
	Private    bool
	Sender     string // the login
	SenderID   int64
	Bot        bool // the forge says that it is no person
}

// permission is whether somebody may write to a repository, as the forge has said.
type permission struct {
	write bool
	until time.Time
}

// permissions remembers answers for a short time. The zero value is ready.
type permissions struct {
	mu    sync.Mutex
	known map[string]permission
}

const (
	permissionFor  = time.Minute
	permissionWait = 4 * time.Second // forges wait 5 to 10 seconds for the answer to a delivery
	maxPermissions = 10_000
)

func (k *permissions) find(key string, now time.Time) (write, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, known := k.known[key]
	return p.write, known && now.Before(p.until)
}

func (k *permissions) keep(key string, write bool, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxPermissions {
		k.known = map[string]permission{}
	}
	k.known[key] = permission{write, now.Add(permissionFor)}
}

// Refuses returns why an event of a connection may not start or direct a run, with a pointer to what is at fault,
// or two empty texts. In a public repository everybody can write comments, so there the forge is asked whether the
// sender may write to it. What it does not say is refused.
func (c *Connections) Refuses(ctx context.Context, team, uid string, e Event) (pointer, reason string, err error) {
	row, err := c.store.Forges.Find(ctx, team, uid)
	if err != nil {
		return "", "", err
	}
	sender := line(e.Sender, maxName)
	switch {
	case row.Bot != nil && (e.SenderID == row.Bot.ID || strings.EqualFold(e.Sender, row.Bot.Login)):
		return "/sender", fmt.Sprintf("The connection's own account %s has caused the event.", sender), nil
	case e.Sender == "" || e.SenderID <= 0:
		return "/permission", "The event does not say who has caused it.", nil
	case e.Bot:
		return "/permission", sender + " is a bot. Events of bots start no runs.", nil
	case e.Private: // who can act there was let in
		return "", "", nil
	}
	write, failed, err := c.mayWrite(ctx, row, e)
	switch {
	case err != nil:
		return "", "", err
	case failed != nil:
		return "/permission", fmt.Sprintf(
			"%s did not say whether %s may write to %s: %s.", row.Name, sender, e.Repository, failed.text,
		), nil
	case !write:
		return "/permission", fmt.Sprintf(
			"%s may not write to %s, which is public. Events of others start no runs.", sender, e.Repository,
		), nil
	}
	return "", "", nil
}

func (c *Connections) mayWrite(ctx context.Context, row store.ForgeRow, e Event) (bool, *failure, error) {
	key := fmt.Sprintf("%s %s %d", row.UID, strings.ToLower(e.Repository), e.SenderID)
	now := time.Now()
	if write, known := c.permissions.find(key, now); known {
		return write, nil, nil
	}
	t, err := c.open(row)
	if err != nil {
		return false, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, permissionWait)
	defer cancel()
	write, failed := c.api(row.Forge, t.Token).mayWrite(ctx, e)
	if failed == nil {
		c.permissions.keep(key, write, now)
	}
	return write, failed, nil
}

// mayWrite asks whether the sender of an event may write to its repository. Accounts are compared by their ids.
func (a api) mayWrite(ctx context.Context, e Event) (bool, *failure) {
	if penstock.CheckForgePath(e.Repository) != "" {
		return false, &failure{kind: foreign, text: "the event has no name of a repository"}
	}
	at := "/repos/" + e.Repository
	type account struct {
		ID int64 `json:"id"`
	}
	if a.forge.Provider == penstock.HostGitea { // whose list has those who may write
		var list []account
		if _, failed := a.call(ctx, "GET", at+"/assignees", nil, &list); failed != nil {
			return false, failed
		}
		for _, one := range list {
			if one.ID == e.SenderID {
				return true, nil
			}
		}
		return false, nil
	}
	var answer struct {
		Permission string  `json:"permission"` // maintain is write here, and triage is read
		User       account `json:"user"`
	}
	_, failed := a.call(ctx, "GET", at+"/collaborators/"+url.PathEscape(e.Sender)+"/permission", nil, &answer)
	if failed != nil {
		return false, failed
	}
	return answer.User.ID == e.SenderID && (answer.Permission == "admin" || answer.Permission == "write"), nil
}
