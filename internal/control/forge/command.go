package forge

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// The commands that people can write in a comment.
const (
	CommandStop   = "stop"
	CommandRetry  = "retry"
	CommandRebase = "rebase"
	CommandStatus = "status"
	CommandHelp   = "help"
	CommandReady  = "ready" // not supported yet
	CommandHold   = "hold"  // not supported yet
)

// maxAddressed is how many bytes a message in a comment has.
const maxAddressed = 64 << 10

// Addressed reads a comment that begins with the name of the bot. command is "" if it is a message for the agent, which
// then has no HTML comments and no invisible characters. ok is false if the comment is for somebody else, or is a quote
// or code. A command is the only word of its comment: "@bot stop using tabs" is a message.
func Addressed(login, comment string) (command, message string, ok bool) {
	first := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u00a0", " ", "\u3000", " ").Replace(comment)
	for {
		blank, rest, more := strings.Cut(first, "\n")
		if !more || strings.TrimSpace(blank) != "" {
			break
		}
		first = rest
	}
	text := strings.TrimLeft(first, " ")
	if login == "" || len(first)-len(text) > 3 || len(text) <= len(login) || text[0] != '@' ||
		!strings.EqualFold(text[1:1+len(login)], login) {
		return "", "", false
	}
	text = text[1+len(login):]
	if next, size := utf8.DecodeRuneInString(text); size > 0 && !strings.ContainsRune(" \t\n,:;.!?", next) {
		return "", "", false
	}
	if after := strings.TrimLeft(text, ".,:;!?"); after != "" && !strings.ContainsAny(after[:1], " \t\n") {
		return "", "", false // of a longer name
	}
	text = visible(text)
	text = visible(withoutComments(text, codeOf(text)))
	message = strings.TrimSpace(strings.TrimLeft(text, " \t\n.,:;!?"))
	alone, _, _ := strings.Cut(message+"\n", "\n-- \n") // the signature of a mail follows
	word := strings.ToLower(strings.Trim(strings.TrimSpace(alone), "`.!,;?"))
	if slices.Contains([]string{
		CommandStop, CommandRetry, CommandRebase, CommandStatus, CommandHelp, CommandReady, CommandHold,
	}, word) {
		return word, "", true
	}
	if message == "" {
		return CommandHelp, "", true
	}
	return "", cutBytes(message, maxAddressed), true
}

// cutBytes returns the first bytes of a text, without a part of a character at the end.
func cutBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// RunsBelow lists the runs of an issue or a pull request that a connection may reach, the newest first. id is the one
// of the repository, which is called path now: somebody else may have it since.
func (c *Connections) RunsBelow(
	ctx context.Context, row store.ForgeRow, path string, id, number int64,
) ([]store.ThreadRun, error) {
	runs, err := c.store.Forges.ThreadRuns(ctx, row.Team, row.UID, id, number)
	owner, _, _ := strings.Cut(path, "/")
	return slices.DeleteFunc(runs, func(r store.ThreadRun) bool {
		before := r.Repository
		if strings.Contains(before, "://") {
			before, _ = row.PathOf(before)
		}
		was, _, _ := strings.Cut(before, "/")
		return !strings.EqualFold(was, owner) || row.MayUse(r.Factory, path) != ""
	}), err
}

// RunsOf lists the runs that a command is for, the newest first. known is false if its connection was deleted since.
func (c *Connections) RunsOf(
	ctx context.Context, command store.ForgeCommand,
) (runs []store.ThreadRun, known bool, err error) {
	_, text, _ := strings.Cut(command.Place, " ")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, false, err
	}
	row, err := c.store.Forges.Find(ctx, command.Team, command.Connection)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		runs, err = c.store.Forges.ThreadRuns(ctx, command.Team, command.Connection, id, command.Number)
		return runs, false, err
	}
	if err != nil {
		return nil, false, err
	}
	runs, err = c.RunsBelow(ctx, row, command.Repository, id, command.Number)
	return runs, true, err
}

// Answered is what has come of a try to answer a command.
type Answered struct {
	Again bool          // it is worth another try
	Wait  time.Duration // for how long the forge wants none
}

// Answer reacts to the comment of a command, and answers it below. An answer whose result is unknown is looked for
// first. The error is about this server.
func (c *Connections) Answer(ctx context.Context, command store.ForgeCommand) (Answered, error) {
	row, err := c.store.Forges.Find(ctx, command.Team, command.Connection)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return Answered{}, nil
	}
	if err != nil {
		return Answered{}, err
	}
	t, err := c.open(row)
	if err != nil {
		c.log.Error("cannot answer a comment", "connection_uid", row.UID, "error", err)
		return Answered{Again: true}, nil
	}
	asking := c.api(row.Forge, t.Token)
	at := []string{"issues", "comments", number(command.Comment)}
	failed := asking.react(ctx, command.Repository, at, command.Reaction)
	if command.Answer != "" && (failed == nil || failed.kind == lacking) { // the answer is more than the reaction
		failed = asking.reply(ctx, command)
	}
	if failed == nil || failed.kind == lacking || failed.kind == foreign {
		return Answered{}, nil
	}
	return Answered{Again: true, Wait: failed.wait}, nil
}

func (a api) reply(ctx context.Context, c store.ForgeCommand) *failure {
	mark := "<!-- penstock answer " + number(c.Comment) + " -->"
	if c.Tries > 1 {
		_, has, failed := a.ownComment(ctx, c.Repository, c.Number, mark)
		if failed != nil || has {
			return failed
		}
	}
	_, failed := a.addComment(ctx, c.Repository, c.Number, c.Answer+"\n\n"+mark)
	return failed
}

// react adds a reaction to a comment or, with the segments of one, to an issue.
func (a api) react(ctx context.Context, path string, segments []string, reaction string) *failure {
	if reaction == "" {
		return nil
	}
	_, failed := a.in(ctx, http.MethodPost, path, append(segments, "reactions"), nil,
		map[string]string{"content": reaction}, nil)
	return failed
}
