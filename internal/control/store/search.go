package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// minSearchWord is the shortest word that the trigram index can find.
const minSearchWord = 3

// fewMatches is the largest number of matches that the search reads from its index. A more common
// word is tested row by row in the order of the list, which soon fills a page.
const fewMatches = 1000

// filterText narrows w to the runs that contain every word. If all words are short, the title must
// begin with each of them.
func (rs Runs) filterText(ctx context.Context, w *where, text string) error {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return nil
	}
	before, short := "", slices.DeleteFunc(slices.Clone(words), isLong)
	if len(short) < len(words) {
		before = "%"
	}
	var holds where
	for _, word := range words {
		holds.add("s.text LIKE ? ESCAPE '\\'", before+escapeLike(word)+"%")
	}
	for _, word := range words {
		if !isLong(word) {
			continue
		}
		rare, err := rs.isRare(ctx, word)
		if err != nil {
			return err
		}
		if rare {
			w.add("r.id IN ("+rs.s.d.finds("?")+")", rs.s.d.wordArg(word))
			w.addHolds(holds)
			return nil
		}
	}
	if len(words) > 1 || len(short) > 0 { // few runs may contain all of several common or short words
		ids, err := rs.holding(ctx, holds)
		if err != nil {
			return err
		}
		if len(ids) <= fewMatches {
			w.addIDs(ids)
			return nil
		}
	}
	w.addHolds(holds)
	return nil
}

func isLong(word string) bool { return utf8.RuneCountInString(word) >= minSearchWord }

// isRare reports whether at most fewMatches runs contain a long word.
func (rs Runs) isRare(ctx context.Context, word string) (bool, error) {
	var n int
	err := rs.s.row(
		ctx, fmt.Sprintf(`SELECT count(*)
			FROM (%s LIMIT %d) AS matches`, rs.s.d.finds("$1"), fewMatches+1), rs.s.d.wordArg(word),
	).Scan(&n)
	if err != nil {
		return false, rs.s.d.mapError(fmt.Errorf("search runs: %w", err))
	}
	return n <= fewMatches, nil
}

// holding lists runs whose text meets the conditions, up to one more than fewMatches. It reads all
// texts in order, which takes a third of the time of reading them by run.
func (rs Runs) holding(ctx context.Context, holds where) ([]any, error) {
	conditions, args := holds.numbered(1)
	rows, err := rs.s.query(
		ctx, fmt.Sprintf(`SELECT s.run_id
			FROM run_search s
			WHERE %s
			LIMIT %d`, conditions, fewMatches+1), args...,
	)
	ids, err := collect(rs.s, rows, err, "runs that hold words", func(id *string) []any { return []any{id} })
	return anys(ids), err
}

func (w *where) addHolds(holds where) {
	w.add(`EXISTS (
		SELECT 1
		FROM run_search s
		WHERE s.run_id = r.id AND `+strings.Join(holds.conditions, " AND ")+`
	)`, holds.args...)
}

// addIDs narrows w to the runs with these ids. The number of placeholders is a power of two,
// because PostgreSQL keeps a prepared statement for each text.
func (w *where) addIDs(ids []any) {
	if len(ids) == 0 {
		w.add("1 = 0")
		return
	}
	for len(ids)&(len(ids)-1) != 0 {
		ids = append(ids, ids[0])
	}
	w.add("r.id IN (?"+strings.Repeat(", ?", len(ids)-1)+")", ids...)
}

func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// searchedPrompt limits how many bytes of a prompt are searched.
const searchedPrompt = 64 << 10

// indexedAtOnce limits the text that one call of Unindexed returns, because indexing it blocks
// SQLite's only writer.
const indexedAtOnce = 256 << 10

// Unindexed lists at most limit runs, from an id on, that are not in the search index yet. It lists
// fewer if their texts are long. The order of ids is the order of creation.
func (rs Runs) Unindexed(ctx context.Context, from string, limit int) ([]SearchText, error) {
	rows, err := rs.s.query(ctx, `SELECT r.id, r.created_at, r.title, r.skill, substr(r.prompt, 1, $1)
		FROM runs r
		WHERE r.id >= $2 AND NOT EXISTS (SELECT 1 FROM run_search s WHERE s.run_id = r.id)
		ORDER BY r.id
		LIMIT $3`,
		searchedPrompt, from, limit)
	texts, err := collect(rs.s, rows, err, "runs to index", func(t *SearchText) []any {
		return []any{&t.RunID, &t.CreatedAt, &t.title, &t.skill, &t.prompt}
	})
	size := 0
	for i, t := range texts {
		if size += len(t.prompt); size > indexedAtOnce && i > 0 {
			return texts[:i], err
		}
	}
	return texts, err
}

// FirstID returns an id that sorts before every id that was made at t or later (RFC 9562 §5.7: the
// first 48 bits are the milliseconds).
func FirstID(t penstock.Time) string {
	digits := fmt.Sprintf("%012x", max(0, int64(t)))
	return digits[:8] + "-" + digits[8:]
}

// SearchText is the text by which the search finds a run.
type SearchText struct {
	RunID                string
	CreatedAt            penstock.Time
	title, skill, prompt string
}

var searchTable = table{
	name: "run_search", columns: columns("run_id text, text text"), conflict: "ON CONFLICT DO NOTHING",
}

// Index adds runs to the search index.
func (rs RunsTx) Index(ctx context.Context, texts []SearchText) error {
	rows := make([][]any, len(texts))
	for i, t := range texts {
		// The title comes first, so that a short word can match its start.
		rows[i] = []any{t.RunID, strings.ToLower(t.title + "\n" + t.skill + "\n" + t.prompt)}
	}
	err := rs.tx.s.d.index(ctx, rs.tx, rows)
	return wrapf(err, "index %d runs", len(texts))
}

// indexSQLite passes all texts to FTS5 in one statement, because FTS5 writes to disk at the end of
// each statement.
func indexSQLite(ctx context.Context, tx *Tx, rows [][]any) error {
	var last int64
	if err := tx.row(ctx, "SELECT COALESCE(max(n), 0) FROM run_search").Scan(&last); err != nil {
		return err
	}
	if err := tx.s.d.insert(ctx, tx, searchTable, rows); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `INSERT INTO run_fts (rowid, text)
		SELECT n, text
		FROM run_search
		WHERE n > $1`, last)
	return err
}

func indexPostgres(ctx context.Context, tx *Tx, rows [][]any) error {
	return tx.s.d.insert(ctx, tx, searchTable, rows)
}
