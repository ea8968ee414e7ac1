package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// Commit is a commit of a repository. Its values come from the author.
type Commit struct {
	ID          string        `json:"id"`
	Author      string        `json:"author"`  // name and email address
	Message     string        `json:"message"` // its first line
	CommittedAt penstock.Time `json:"committed_at,omitzero"`
}

// CommitResult is the result of reading a commit of a factory's repository.
type CommitResult string

// The results. Every revision of a factory that is edited on this server is applied.
const (
	CommitApplied   CommitResult = "applied"
	CommitUnchanged CommitResult = "unchanged" // the files did not change
	CommitRejected  CommitResult = "rejected"
)

// RepositoryRow is the repository of a factory, and its state.
type RepositoryRow struct {
	penstock.Repository

	FactoryUID, Team string
	Place            string   // the name of the repository in push notices; "": it has none
	PaidBy           []string // the keys that pay for the runs of its automations
	ByAgent          bool     // the key of an agent has named it, so its files cannot name repositories for runs
	NamesSecrets     bool     // the caller who connected it may manage secrets, so its webhooks may name any secret

	Head                      string // the branch that was last followed
	Commit                    string // the newest commit whose result is known, or ""
	Applied                   string // the active one
	Result                    CommitResult
	Detail                    string
	Diagnostics               []penstock.Diagnostic
	Version                   int64         // of the team when the commit was checked
	Problem                   string        // why the last attempt to read it failed
	Failures                  int64         // consecutive failed attempts
	CheckedAt                 penstock.Time // when it was last polled, 0: never
	PollsRequested, PollsDone int64         // numbers of polls that were requested, and of those that are done

	TeamVersion int64  // of the team now
	Token       string // of the lease
}

// definition returns the repository's part of a factory's definition.
func (r *RepositoryRow) definition(revision int64) penstock.FactoryDefinition {
	d := penstock.FactoryDefinition{
		Revision: revision, Status: penstock.DefinitionApplied, Commit: r.Applied, Detail: r.Detail,
		Diagnostics: r.Diagnostics,
		Problem:     r.Problem, CheckedAt: r.CheckedAt,
	}
	if r.Result == CommitRejected {
		d.Status, d.Rejected = penstock.DefinitionInvalid, r.Commit
	}
	if r.Commit == "" || r.PollsRequested > r.PollsDone {
		d.Status = penstock.DefinitionSyncing
	}
	return d
}

// repositoryFields are the columns of a factory's source, and repositoryResult those that a poll
// stores.
var (
	repositoryFields = newResource("repositories", "r",
		textColumn("factory_uid", func(r *RepositoryRow) *string { return &r.FactoryUID }),
		textColumn("team", func(r *RepositoryRow) *string { return &r.Team }),
		textColumn("url", func(r *RepositoryRow) *string { return &r.URL }).editable(),
		textColumn("place", func(r *RepositoryRow) *string { return &r.Place }).editable(),
		textColumn("branch", func(r *RepositoryRow) *string { return &r.Branch }).editable(),
		textColumn("path", func(r *RepositoryRow) *string { return &r.Path }).editable(),
		textColumn("secret", func(r *RepositoryRow) *string { return &r.Secret }).editable(),
		flagColumn("names_secrets", func(r *RepositoryRow) *bool { return &r.NamesSecrets }).editable(),
		listColumn("paid_by", func(r *RepositoryRow) *[]string { return &r.PaidBy }).editable(),
		flagColumn("by_agent", func(r *RepositoryRow) *bool { return &r.ByAgent }).editable(),
		numberColumn("asked", func(r *RepositoryRow) *int64 { return &r.PollsRequested }).unset(),
		numberColumn("done", func(r *RepositoryRow) *int64 { return &r.PollsDone }).unset(),
	)
	repositoryResult = newResource("repositories", "r",
		textColumn("head", func(r *RepositoryRow) *string { return &r.Head }).editable(),
		textColumn("commit_id", func(r *RepositoryRow) *string { return &r.Commit }).editable(),
		textColumn("applied", func(r *RepositoryRow) *string { return &r.Applied }).editable(),
		textColumn("result", func(r *RepositoryRow) *CommitResult { return &r.Result }).editable(),
		textColumn("detail", func(r *RepositoryRow) *string { return &r.Detail }).editable(),
		jsonColumn("findings", func(r *RepositoryRow) *[]penstock.Diagnostic { return &r.Diagnostics }).editable(),
		numberColumn("version", func(r *RepositoryRow) *int64 { return &r.Version }).editable(),
		textColumn("problem", func(r *RepositoryRow) *string { return &r.Problem }).editable(),
		numberColumn("failures", func(r *RepositoryRow) *int64 { return &r.Failures }).editable(),
		numberColumn("checked_at", func(r *RepositoryRow) *penstock.Time { return &r.CheckedAt }).editable(),
	)
	repositoryOrZero = repositoryFields.orZero + ", " + repositoryResult.orZero
)

// into returns the destinations for the columns of both, and then more.
func (r *RepositoryRow) into(more ...any) []any {
	return repositoryFields.into(r, repositoryResult.into(r, more...)...)
}

var claimedRepository = "SELECT " + repositoryFields.selected + ", " + repositoryResult.selected + `, t.version
	FROM repositories r
	JOIN teams t ON t.uid = r.team
	WHERE r.factory_uid = $1`

var moveRepository = repositoryFields.update(
	`head = '', commit_id = '', result = '', detail = '', findings = '', problem = '', failures = 0, checked_at = 0,
		token = '', lease_until = 0, next_at = 0`, "factory_uid = ?",
)

// Add stores the repository of a factory that was just added. It is due
// at once.
func (rs RepositoriesTx) Add(ctx context.Context, r RepositoryRow) error {
	if err := repositoryFields.add(ctx, rs.tx, &r); err != nil {
		return fmt.Errorf("store the repository of factory %s: %w", r.FactoryUID, err)
	}
	rs.tx.Nudge(TopicRepositories)
	return nil
}

// Move changes the repository of a factory. A server that is reading the old one loses
// its lease.
func (rs RepositoriesTx) Move(ctx context.Context, r RepositoryRow) error {
	if _, err := rs.tx.exec(ctx, moveRepository, repositoryFields.changes(&r, r.FactoryUID)...); err != nil {
		return fmt.Errorf("move the repository of factory %s: %w", r.FactoryUID, err)
	}
	rs.tx.Nudge(TopicRepositories)
	return nil
}

// LetNameSecrets lets the webhooks of a factory's repository name any secret, and
// makes the repository due at once if they could not before.
func (rs RepositoriesTx) LetNameSecrets(ctx context.Context, factoryUID string) error {
	n, err := rs.tx.exec(ctx, `UPDATE repositories
		SET names_secrets = 1
		WHERE factory_uid = $1 AND names_secrets = 0`, factoryUID)
	if err != nil {
		return fmt.Errorf("let the repository of factory %s name secrets: %w", factoryUID, err)
	}
	if n == 0 {
		return nil
	}
	return rs.RequestPolls(ctx, factoryUID)
}

// LetNameRepositories lets the files of a factory's repository name repositories for runs, and makes the
// repository due at once if they could not before.
func (rs RepositoriesTx) LetNameRepositories(ctx context.Context, factoryUID string) error {
	n, err := rs.tx.exec(ctx, `UPDATE repositories
		SET by_agent = 0
		WHERE factory_uid = $1 AND by_agent = 1`, factoryUID)
	if err != nil {
		return fmt.Errorf("let the repository of factory %s name repositories: %w", factoryUID, err)
	}
	if n == 0 {
		return nil
	}
	return rs.RequestPolls(ctx, factoryUID)
}

// RequestPolls makes repositories due at once, even while they are claimed.
func (rs RepositoriesTx) RequestPolls(ctx context.Context, factoryUIDs ...string) error {
	for _, uid := range factoryUIDs {
		if _, err := rs.tx.exec(ctx, `UPDATE repositories
			SET asked = asked + 1, next_at = 0
			WHERE factory_uid = $1`, uid); err != nil {
			return fmt.Errorf("ask for the repository of factory %s: %w", uid, err)
		}
		rs.tx.Nudge(RepositoryTopic(uid))
	}
	rs.tx.Nudge(TopicRepositories)
	return nil
}

// Any reports whether factories of the team come from repositories. The result is valid
// for one version of the team.
func (rs Repositories) Any(ctx context.Context, team string) (has bool, err error) {
	var n int
	err = rs.s.row(ctx, `SELECT count(*)
		FROM (SELECT 1 FROM repositories WHERE team = $1 LIMIT 1) AS one`, team).Scan(&n)
	return n > 0, rs.s.d.mapError(err)
}

// At lists the factories of a team that come from a place, by uid. Each has the branch
// that it follows, or "" if that is not known yet.
func (rs Repositories) At(ctx context.Context, team, place string) (branches map[string]string, err error) {
	rows, err := rs.s.query(ctx, `SELECT factory_uid, CASE WHEN branch <> '' THEN branch ELSE head END
		FROM repositories
		WHERE team = $1 AND place = $2`, team, place)
	type at struct{ uid, branch string }
	list, err := collect(rs.s, rows, err, "repositories of a place", func(a *at) []any { return []any{&a.uid, &a.branch} })
	branches = map[string]string{}
	for _, a := range list {
		branches[a.uid] = a.branch
	}
	return branches, err
}

// PollRequests returns how many polls of a repository were requested, and how many of them are
// done; absence is penstock.CodeNotFound.
func (rs Repositories) PollRequests(ctx context.Context, factoryUID string) (requested, done int64, err error) {
	err = rs.s.row(ctx, `SELECT asked, done
		FROM repositories
		WHERE factory_uid = $1`, factoryUID).Scan(&requested, &done)
	if errors.Is(err, sql.ErrNoRows) {
		err = penstock.NotFound("factory", factoryUID)
	}
	return requested, done, rs.s.d.mapError(err)
}

// Claim claims at most limit due repositories of all teams, under a lease of ms
// milliseconds, longest due first. Other replicas do not get them meanwhile.
func (rs Repositories) Claim(ctx context.Context, limit int, ms int64) ([]RepositoryRow, error) {
	due := fmt.Sprintf("next_at <= %[1]s AND lease_until <= %[1]s", rs.s.d.now)
	uids, err := rs.s.strings(ctx, `SELECT factory_uid
		FROM repositories
		WHERE `+due+`
		ORDER BY next_at, factory_uid
		LIMIT $1`, limit)
	if err != nil || len(uids) == 0 {
		return nil, err
	}
	var list []RepositoryRow
	err = rs.s.Write(ctx, func(tx *Tx) error {
		list = nil
		for _, uid := range uids {
			token := penstock.NewID()
			n, err := tx.exec(ctx, `UPDATE repositories
				SET token = $1, lease_until = `+rs.s.d.now+` + $2
				WHERE factory_uid = $3 AND `+due, token, ms, uid)
			if err != nil {
				return fmt.Errorf("claim the repository of factory %s: %w", uid, err)
			}
			if n == 0 {
				continue // another replica was first
			}
			r := RepositoryRow{Token: token}
			err = tx.row(ctx, claimedRepository, uid).Scan(r.into(&r.TeamVersion)...)
			if err != nil {
				return fmt.Errorf("read the repository of factory %s: %w", uid, err)
			}
			list = append(list, r)
		}
		return nil
	})
	return list, err
}

// Hasten makes repositories due at once if their next poll is more than ms milliseconds
// away. Such a time comes from a longer poll interval.
func (rs Repositories) Hasten(ctx context.Context, ms int64) error {
	return rs.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE repositories
			SET next_at = 0
			WHERE next_at > `+tx.s.d.now+" + $1", ms)
		return wrapf(err, "hasten repositories")
	})
}

// Renew extends the lease under which r was claimed. It returns false if the lease is
// lost or the factory is gone.
func (rs Repositories) Renew(ctx context.Context, r RepositoryRow, ms int64) (held bool, err error) {
	err = rs.s.Write(ctx, func(tx *Tx) error {
		held, err = tx.Repositories().Hold(ctx, r, ms)
		return err
	})
	return held, err
}

// Release ends the lease and changes nothing else, so the repository is still due.
func (rs Repositories) Release(ctx context.Context, r RepositoryRow) error {
	return rs.s.Write(ctx, func(tx *Tx) error {
		if _, err := tx.exec(ctx, `UPDATE repositories
			SET token = '', lease_until = 0
			WHERE factory_uid = $1 AND token = $2`, r.FactoryUID, r.Token); err != nil {
			return fmt.Errorf("release the repository of factory %s: %w", r.FactoryUID, err)
		}
		tx.Nudge(TopicRepositories)
		return nil
	})
}

// Hold is [Repositories.Renew] within a transaction. Nobody can claim the repository
// until the transaction ends.
func (rs RepositoriesTx) Hold(ctx context.Context, r RepositoryRow, ms int64) (bool, error) {
	n, err := rs.tx.exec(ctx, `UPDATE repositories
		SET lease_until = `+rs.tx.s.d.now+` + $1
		WHERE factory_uid = $2 AND token = $3`, ms, r.FactoryUID, r.Token)
	return n > 0, wrapf(err, "hold the repository of factory %s", r.FactoryUID)
}

// Finish stores the result of a poll and ends the lease. The repository is due again
// after ms milliseconds, or at once if another poll was requested meanwhile. It returns false, and
// stores nothing, if the lease was lost.
func (rs RepositoriesTx) Finish(ctx context.Context, r RepositoryRow, ms int64) (bool, error) {
	var requested int64
	finish := repositoryResult.update(
		"done = ?, next_at = CASE WHEN asked > ? THEN 0 ELSE "+rs.tx.s.d.now+" + ? END, token = '', lease_until = 0",
		"factory_uid = ? AND token = ? RETURNING asked",
	)
	err := rs.tx.row(ctx, finish,
		repositoryResult.changes(&r, r.PollsRequested, r.PollsRequested, ms, r.FactoryUID, r.Token)...).Scan(&requested)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("give back the repository of factory %s: %w", r.FactoryUID, err)
	}
	if r.PollsRequested > r.PollsDone { // a caller waits for this poll
		rs.tx.Nudge(RepositoryTopic(r.FactoryUID))
	}
	if requested > r.PollsRequested {
		rs.tx.Nudge(TopicRepositories)
	}
	return true, nil
}

// CommitRow is the result of a commit of a factory's repository.
type CommitRow struct {
	Commit

	N           int64 // counts the commits that were checked
	Result      CommitResult
	Detail      string
	Diagnostics []penstock.Diagnostic
	Revision    int64 // the active one at that time
	CreatedAt   penstock.Time
}

// commitRecord is the row of a commit.
type commitRecord struct {
	CommitRow
	factoryUID string
}

// commitFields are the columns of a commit.
var commitFields = newResource("repository_commits", "c",
	storedText("factory_uid", func(c *commitRecord) string { return c.factoryUID }),
	numberColumn("n", func(c *commitRecord) *int64 { return &c.N }),
	textColumn("commit_id", func(c *commitRecord) *string { return &c.ID }),
	textColumn("author", func(c *commitRecord) *string { return &c.Author }),
	textColumn("message", func(c *commitRecord) *string { return &c.Message }),
	numberColumn("committed_at", func(c *commitRecord) *penstock.Time { return &c.CommittedAt }),
	textColumn("result", func(c *commitRecord) *CommitResult { return &c.Result }),
	textColumn("detail", func(c *commitRecord) *string { return &c.Detail }),
	jsonColumn("findings", func(c *commitRecord) *[]penstock.Diagnostic { return &c.Diagnostics }),
	numberColumn("revision", func(c *commitRecord) *int64 { return &c.Revision }),
	numberColumn("created_at", func(c *commitRecord) *penstock.Time { return &c.CreatedAt }),
)

// maxCommits is how many commits without a revision of their own are kept.
const maxCommits = 1000

// AddCommit stores the result of a commit, as the newest one.
func (rs RepositoriesTx) AddCommit(ctx context.Context, factoryUID string, c CommitRow) error {
	if err := rs.tx.row(ctx, `SELECT COALESCE(max(n), 0) + 1
		FROM repository_commits
		WHERE factory_uid = $1`, factoryUID).Scan(&c.N); err != nil {
		return fmt.Errorf("count the commits of factory %s: %w", factoryUID, err)
	}
	if err := commitFields.add(ctx, rs.tx, &commitRecord{c, factoryUID}); err != nil {
		return fmt.Errorf("store a commit of factory %s: %w", factoryUID, err)
	}
	_, err := rs.tx.exec(ctx, `DELETE FROM repository_commits
		WHERE factory_uid = $1 AND n <= $2 AND result <> $3`, factoryUID, c.N-maxCommits, string(CommitApplied))
	return wrapf(err, "forget old commits of factory %s", factoryUID)
}

// Commits lists the results of the commits of a factory's repository, newest first. If before is
// not 0, it lists only results with a lower number.
func (rs Repositories) Commits(ctx context.Context, factoryUID string, before int64, limit int) ([]CommitRow, error) {
	rows, err := rs.s.query(ctx, "SELECT "+commitFields.selected+`
		FROM repository_commits c
		WHERE c.factory_uid = $1 AND ($2 = 0 OR c.n < $2)
		ORDER BY c.n DESC
		LIMIT $3`, factoryUID, before, limit)
	records, err := collect(
		rs.s, rows, err, "commits of a factory", func(c *commitRecord) []any { return commitFields.into(c) },
	)
	list := make([]CommitRow, len(records))
	for i, c := range records {
		list[i] = c.CommitRow
	}
	return list, err
}
