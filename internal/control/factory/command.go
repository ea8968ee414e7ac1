package factory

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

var login = penstock.LazyRegexp(`^[A-Za-z0-9_.-]{1,100}$`)

// command reads a new comment to the bot below an issue or a pull request that has a run. refused says why its author
// may tell the run nothing. Both are empty for every other event.
func (s *Receiver) command(
	ctx context.Context, p *Plan, document *trigger.Document, d *store.NewDelivery,
) (command *store.ForgeCommand, refused string, err error) {
	payload, _ := document.Root()
	at := func(object, member string) string { return payload.At([]string{object, member}).Scalar() }
	number, comment := idOf(at("issue", "number")), idOf(at("comment", "id"))
	if !p.OfConnection() || payload.Member("action").Scalar() != "created" || number <= 0 || comment <= 0 {
		return nil, "", nil
	}
	word, message, addressed := forge.Addressed(p.bot, at("comment", "body"))
	if !addressed {
		return nil, "", nil
	}
	what := readForgeEvent(payload)
	name := store.RepositoryName{ForgeUID: p.row.UID, Path: what.Repository, ID: what.RepositoryID}
	author := idOf(payload.At([]string{"comment", "user", "id"}).Scalar())
	if penstock.CheckForgePath(name.Path) != "" || name.ID <= 0 || author != what.SenderID || !login().MatchString(what.Sender) {
		return nil, "", nil
	}
	runs, err := s.connections.RunsBelow(ctx, penstock.Forge{UID: p.row.UID, URL: p.url}, p.row.Team, name, number)
	if err != nil || len(runs) == 0 {
		return nil, "", err
	}
	if _, refused, err = s.connections.Refuses(ctx, p.row.Team, p.row.UID, what); err != nil || refused != "" {
		return nil, refused, err
	}
	return &store.ForgeCommand{
		Team: p.row.Team, Place: fmt.Sprintf("%s %d", p.url, name.ID), Comment: comment, Connection: p.row.UID,
		Repository: name.Path, Number: number, Author: what.Sender, Command: word, Message: message,
		CreatedAt: d.ReceivedAt,
	}, "", nil
}
