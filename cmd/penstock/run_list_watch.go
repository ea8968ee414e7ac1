package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"

	"github.com/penstock-dev/penstock"
)

// watchInterval is the time between two requests of run list --watch.
const watchInterval = 2 * time.Second

// watch lists the runs again and again, until it is interrupted. On a terminal, it redraws the table. Otherwise,
// and for data, it prints a line for each run that is new in the list or has another state or title.
func (cmd *runListCmd) watch(ctx context.Context, std *stdio, c *client, query url.Values) error {
	seen := map[string]string{}
	for {
		page, err := c.pages(ctx, runNoun.path, runNoun.key, maps.Clone(query), cmd.Limit)
		var runs []penstock.Run
		if err == nil {
			runs, err = itemsOf[penstock.Run](page, runNoun.name)
		}
		exit, ours := errors.AsType[*exitError](err)
		switch {
		case ctx.Err() != nil:
		case ours && exit.code == exitUnavailable:
			std.notef("%v; trying again", err)
		case err != nil:
			return err
		case !c.data && isTerminal(std.out):
			err = std.redraw(cmd.columns(), page.info.HasNext, runs)
		default:
			err = c.printChanged(ctx, seen, page.items, runs)
		}
		if err != nil && !ours && ctx.Err() == nil {
			return err
		}
		if sleep(ctx, watchInterval) != nil {
			return &exitError{code: exitInterrupted}
		}
	}
}

// redraw shows the table on the whole terminal.
func (s *stdio) redraw(columns *noun[penstock.Run], more bool, runs []penstock.Run) error {
	_, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || height < 5 {
		height = 24
	}
	shown := min(len(runs), height-3) // below a table are a line of ours and the cursor
	rows := make([][]string, shown)
	for i := range rows {
		rows[i] = columns.row(runs[i])
	}
	fmt.Fprint(s.out, "\x1b[H\x1b[J")
	if err := s.table(columns.head, rows); err != nil {
		return err
	}
	text := "at " + clock(penstock.Now()) + "; Ctrl-C ends it"
	if more || shown < len(runs) {
		text = "more runs exist; " + text
	}
	_, err = fmt.Fprintln(s.out, text)
	return err
}

// clock returns the time of day with its zone.
func clock(t penstock.Time) string { return t.Std().Local().Format("15:04:05 MST") }

// printChanged prints the runs that differ from what was printed of them, the last of the list first: by default,
// that is the one that changed first.
func (c *client) printChanged(
	ctx context.Context, seen map[string]string, items []jsontext.Value, runs []penstock.Run,
) error {
	for i, r := range slices.Backward(runs) {
		now := listedState(r) + "\n" + r.Title
		if seen[r.ID] == now {
			continue
		}
		seen[r.ID] = now
		if c.data {
			if err := c.std.resultLine(ctx, items[i]); err != nil {
				return err
			}
			continue
		}
		at := penstock.Now().Std().UTC().Format(time.RFC3339)
		line := fmt.Sprintf("%s  %s  %-10s  %s", at, cleanLine(r.ID), listedState(r), cleanLine(r.Title))
		if _, err := fmt.Fprintln(c.std.out, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}
