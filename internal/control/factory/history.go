package factory

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// HistoryPage is a page of a factory's history, newest first.
type HistoryPage struct {
	Revisions []Revision     `json:"revisions"`
	PageInfo  store.PageInfo `json:"page_info"`
}

// Revision is one change of a factory's files, or a commit that changed nothing or was rejected.
type Revision struct {
	definition.Plan

	Revision    int64                 `json:"revision"` // for a commit without changes, the active revision
	Result      store.CommitResult    `json:"result"`
	Commit      *store.Commit         `json:"commit,omitempty"`      // only if the factory comes from a repository
	Detail      string                `json:"detail,omitempty"`      // why it was rejected
	Diagnostics []penstock.Diagnostic `json:"diagnostics,omitempty"` // of the commit
	Author      *penstock.Actor       `json:"author,omitempty"`
	CreatedAt   penstock.Time         `json:"created_at"`
	Diff        string                `json:"diff"` // of the files, unified
}

// maxDiff limits the text of one revision's changes, in bytes.
const maxDiff = 64 << 10

// History lists the revisions of a factory's files, newest first. For a factory that comes from a
// repository, it lists the checked commits. The cursor is the number before which a page begins; ""
// is the newest.
func (s *Factories) History(
	ctx context.Context, p penstock.Principal, uid string, limit int, cursor string,
) (HistoryPage, error) {
	if err := access.Require(p, penstock.ScopeFactoriesRead); err != nil {
		return HistoryPage{}, err
	}
	factory, err := s.store.Factories.Find(ctx, p.Team, uid)
	if err != nil {
		return HistoryPage{}, err
	}
	var before int64
	if cursor != "" {
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before < 1 {
			return HistoryPage{}, penstock.Errorf(
				penstock.CodeInvalidRequest,
				"query parameter cursor: does not belong to this list; use next_cursor of a page of it",
			)
		}
	}
	if factory.Source == store.FactoryRepository {
		return s.commits(ctx, factory.UID, limit, before)
	}
	rows, err := s.store.Definitions.Revisions(ctx, factory.UID, before, limit+1)
	if err != nil {
		return HistoryPage{}, err
	}
	page := HistoryPage{Revisions: []Revision{}}
	if len(rows) > limit {
		rows = rows[:limit]
		page.PageInfo = store.PageInfo{HasNext: true, NextCursor: strconv.FormatInt(rows[limit-1].Number, 10)}
	}
	for _, row := range rows {
		r, err := s.revision(ctx, factory.UID, row)
		if err != nil {
			return HistoryPage{}, err
		}
		page.Revisions = append(page.Revisions, r)
	}
	return page, nil
}

// commits returns a page of the results of commits of a factory's repository.
func (s *Factories) commits(ctx context.Context, factoryUID string, limit int, before int64) (HistoryPage, error) {
	rows, err := s.store.Repositories.Commits(ctx, factoryUID, before, limit+1)
	if err != nil {
		return HistoryPage{}, err
	}
	page := HistoryPage{Revisions: []Revision{}}
	if len(rows) > limit {
		rows = rows[:limit]
		page.PageInfo = store.PageInfo{HasNext: true, NextCursor: strconv.FormatInt(rows[limit-1].N, 10)}
	}
	for _, row := range rows {
		r := Revision{
			Plan: definition.Plan{
				Created: []definition.Change{}, Changed: []definition.Change{}, Removed: []definition.Change{},
			},
			Revision: row.Revision,
		}
		if row.Result == store.CommitApplied {
			revisions, err := s.store.Definitions.Revisions(ctx, factoryUID, row.Revision+1, 1)
			if err != nil {
				return HistoryPage{}, err
			}
			if len(revisions) > 0 {
				if r, err = s.revision(ctx, factoryUID, revisions[0]); err != nil {
					return HistoryPage{}, err
				}
			}
		}
		r.Result, r.Commit, r.Detail = row.Result, &row.Commit, row.Detail
		r.Diagnostics, r.CreatedAt = row.Diagnostics, row.CreatedAt
		page.Revisions = append(page.Revisions, r)
	}
	return page, nil
}

func (s *Factories) revision(ctx context.Context, factoryUID string, row store.Revision) (Revision, error) {
	r := Revision{Revision: row.Number, Result: store.CommitApplied, Author: row.Author, CreatedAt: row.CreatedAt}
	if err := json.Unmarshal([]byte(row.Summary), &r.Plan); err != nil {
		return r, fmt.Errorf("read revision %d of factory %s: %w", row.Number, factoryUID, err)
	}
	changes, err := s.store.Definitions.Changes(ctx, factoryUID, row.Number)
	if err != nil {
		return r, err
	}
	var text strings.Builder
	for _, c := range changes {
		one := diff(c)
		if text.Len()+len(one) > maxDiff {
			fmt.Fprintf(&text, "# %s and all later files are omitted\n", c.Path)
			break
		}
		text.WriteString(one)
	}
	r.Diff = text.String()
	return r, nil
}

// diff returns the change of a file as a unified diff with one hunk, from the first line that
// differs to the last.
func diff(c store.FileChange) string {
	from, to := "a/"+c.Path, "b/"+c.Path
	if c.Before == nil {
		from = "/dev/null"
	}
	if c.After == nil {
		to = "/dev/null"
	}
	old, now := lines(c.Before), lines(c.After)
	start := 0
	for start < len(old) && start < len(now) && old[start] == now[start] {
		start++
	}
	end := 0
	for end < len(old)-start && end < len(now)-start && old[len(old)-1-end] == now[len(now)-1-end] {
		end++
	}
	removed, added := old[start:len(old)-end], now[start:len(now)-end]
	var text strings.Builder
	fmt.Fprintf(&text, "--- %s\n+++ %s\n@@ -%s +%s @@\n", from, to, span(start, len(removed)), span(start, len(added)))
	write := func(mark string, list []string) {
		for _, line := range list {
			text.WriteString(mark + line)
			if !strings.HasSuffix(line, "\n") {
				text.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	write("-", removed)
	write("+", added)
	return text.String()
}

// lines returns the lines of a file with their ends.
func lines(content []byte) []string {
	list := strings.SplitAfter(string(content), "\n")
	if list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// span returns the range of a hunk. A range without lines names the line before it.
func span(start, n int) string {
	if n > 0 {
		start++
	}
	return fmt.Sprintf("%d,%d", start, n)
}
