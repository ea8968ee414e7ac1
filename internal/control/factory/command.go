package factory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

var login = penstock.LazyRegexp(`^[A-Za-z0-9_.-]{1,100}$`)

// oldComment is for how long a comment counts that comes late, or again.
const oldComment = 7 * 24 * time.Hour

// command reads a new comment to the bot below an issue or a pull request that has a run. refused says why its author
// may tell the run nothing. Both are empty for every other event.
func (s *Receiver) command(
	ctx context.Context, p *Plan, document *trigger.Document, d *store.NewDelivery,
) (command *store.ForgeCommand, refused string, err error) {
	payload, _ := document.Root()
	at := func(object, member string) string { return payload.At([]string{object, member}).Scalar() }
	number, comment, body := idOf(at("issue", "number")), idOf(at("comment", "id")), at("comment", "body")
	if !p.OfConnection() || payload.Member("action").Scalar() != "created" || number <= 0 || comment <= 0 ||
		!strings.Contains(body, "@") {
		return nil, "", nil
	}
	what := readForgeEvent(payload)
	author := idOf(payload.At([]string{"comment", "user", "id"}).Scalar())
	if penstock.CheckForgePath(what.Repository) != "" || author != what.SenderID || !login().MatchString(what.Sender) {
		return nil, "", nil
	}
	var written penstock.Time
	if written.UnmarshalText([]byte(at("comment", "created_at"))) == nil && written < d.ReceivedAt.Add(-oldComment) {
		return nil, "", nil
	}
	connection, err := s.store.Forges.Find(ctx, p.row.Team, p.row.UID) // the plan may have another name of the bot
	if err != nil || connection.Bot == nil {
		return nil, "", err
	}
	word, message, addressed := forge.Addressed(connection.Bot.Login, body)
	if !addressed {
		return nil, "", nil
	}
	runs, err := s.connections.RunsBelow(ctx, connection, what.Repository, what.RepositoryID, number)
	if err != nil || len(runs) == 0 {
		return nil, "", err
	}
	if _, refused, err = s.connections.Refuses(ctx, p.row.Team, p.row.UID, what); err != nil || refused != "" {
		return nil, refused, err
	}
	return &store.ForgeCommand{
		Team: p.row.Team, Place: fmt.Sprintf("%s %d", connection.UID, what.RepositoryID), Comment: comment,
		Connection: connection.UID, Repository: what.Repository, Number: number, Author: what.Sender, Command: word,
		Message: message, CreatedAt: d.ReceivedAt,
	}, "", nil
}

// hear lets a delivery tell a run of the thread what its comment says, unless an automation without a subject starts a
// run of its own for it.
func hear(d *store.NewDelivery, command *store.ForgeCommand) {
	for _, run := range d.Starts {
		if run.Claim == nil {
			return
		}
	}
	d.Starts, d.Command, d.Detail = nil, command, "It is a message to the run."
	for i := range d.Matches {
		if m := &d.Matches[i]; m.WouldTrigger {
			m.WouldTrigger, m.RunID, m.Fate = false, "", store.FateSkipped
			m.FailedAt, m.Reason = new(""), "The comment is a message to the run of its thread."
		}
	}
}
