package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
)

// ErrStale is returned for a delivery if its webhook, secret, automation or anything else of its
// team has changed since it was evaluated.
var ErrStale = errors.New("the team has changed since the delivery was evaluated")

// NewDelivery is a delivery that was evaluated and is about to be recorded.
type NewDelivery struct {
	// Delivery is its entry in the log. Its outcome is OutcomeAccepted, which may still
	// turn out to be a duplicate, or a rejection. Label and Runs are not stored.
	Delivery
	Team          string
	WebhookNumber int64         // see [WebhookRow]
	Version       int64         // of the team, read together with everything that evaluated the delivery
	Identity      string        // its key, which it claims; "": it claims none
	IdentityUntil penstock.Time // when the claim ends; 0: with the log entry
	Guard         string        // the key of the signed bytes, which it also claims; "": it claims none
	GuardUntil    penstock.Time // when that claim ends; 0: with the log entry, if Guard is the key of the body
	Body          []byte        // of an accepted delivery: its JSON
	Raw           []byte        // the bytes as they were sent; nil: the same as Body
	Retried       bool          // without anything to do, it claims neither, so that its sender may send it again
	PaidBy        []string      // keys that pay for its runs: somebody sent it through the API
	Command       *ForgeCommand // what it tells the runs of a thread if it is accepted; nil: nothing
	Starts        []*NewRun     // the runs that it starts if it is accepted, or what stands for one: see [Claim]
	Rate          int           // maximum per minute; 0: no limit, and it does not count
	Logged        int           // maximum of equal rejections that are logged in a minute; 0: no limit
	Last          bool          // it becomes the last delivery of its webhook
	Sender        bool          // ClientIP is recorded as a sender of accepted deliveries
}

// Delivered is the result of a delivery.
type Delivered struct {
	Outcome     penstock.Outcome
	DuplicateOf string
	// Limited: it exceeds the rate and was not stored. Wait is the time until one is admitted.
	Limited bool
	// Unlogged: it was counted, but not logged, because of Logged. Wait is the time until one
	// is logged.
	Unlogged bool
	Wait     time.Duration
}

var sendersTable = table{
	name: "webhook_senders", columns: columns("webhook_uid text, client_ip text, last_at bigint"),
	conflict: "ON CONFLICT (webhook_uid, client_ip) DO UPDATE SET last_at = excluded.last_at WHERE " +
		"webhook_senders.last_at < excluded.last_at",
}

// deliveryRow is an entry of the log of deliveries.
type deliveryRow struct {
	Delivery
	n        int64 // its position in the log
	webhook  int64 // the number of its webhook
	identity string
	body     []byte // nil: none is stored
	raw      []byte // nil: the bytes of body were sent
	runs     int    // how many of the runs that it started still exist
}

// deliveryFields are the columns of an entry.
var deliveryFields = newResource("deliveries", "d",
	numberColumn("n", func(d *deliveryRow) *int64 { return &d.n }).unset(),
	storedNumber("webhook", func(d *deliveryRow) int64 { return d.webhook }),
	columnOf[deliveryRow]{
		column: column{"outcome", "bigint"},
		value:  func(d *deliveryRow) any { return outcomeNumber(d.Outcome) },
		dest:   func(d *deliveryRow) any { return (*numberedOutcome)(&d.Outcome) },
	},
	textColumn("id", func(d *deliveryRow) *string { return &d.ID }),
	numberColumn("received_at", func(d *deliveryRow) *penstock.Time { return &d.ReceivedAt }),
	textColumn("reason", func(d *deliveryRow) *string { return &d.Reason }),
	textColumn("detail", func(d *deliveryRow) *string { return &d.Detail }),
	numberColumn("size", func(d *deliveryRow) *int64 { return &d.Size }),
	numberColumn("http_status", func(d *deliveryRow) *int { return &d.HTTPStatus }),
	textColumn("identity_source", func(d *deliveryRow) *penstock.IdentitySource { return &d.IdentitySource }),
	storedText("identity", func(d *deliveryRow) string { return d.identity }),
	textColumn("duplicate_of", func(d *deliveryRow) *string { return &d.DuplicateOf }),
	textColumn("replay_of", func(d *deliveryRow) *string { return &d.ReplayOf }),
	jsonColumn("matches", func(d *deliveryRow) *[]DeliveryMatch { return &d.Matches }),
	jsonColumn("headers", func(d *deliveryRow) *map[string]string { return &d.Headers }),
	textColumn("sha256", func(d *deliveryRow) *string { return &d.PayloadSHA256 }),
	textColumn("client_ip", func(d *deliveryRow) *string { return &d.ClientIP }),
	bytesOrNull("body", func(d *deliveryRow) []byte { return d.body }),
	bytesOrNull("raw", func(d *deliveryRow) []byte { return d.raw }),
	storedNumber("runs", func(d *deliveryRow) int { return d.runs }),
)

// bytesOrNull is a column that is only stored: nil is NULL.
func bytesOrNull(name string, field func(*deliveryRow) []byte) columnOf[deliveryRow] {
	return columnOf[deliveryRow]{column: column{name, "bytea"}, value: func(d *deliveryRow) any {
		if b := field(d); b != nil {
			return b
		}
		return nil
	}}
}

// deliver is a delivery in a batch. Its rows are made before, so that a batch only claims, admits
// and inserts.
type deliver struct {
	result
	*NewDelivery
	entry deliveryRow
	row   []any // of entry
	runs  []*createRun

	got    Delivered
	logged []any                    // row, or the row of a duplicate, or of an event that has joined a run
	events map[int]*SubjectEventRow // of Starts that are about a subject
}

func (d *deliver) key() string   { return d.WebhookUID }
func (d *deliver) join(g *group) { g.delivers = append(g.delivers, d) }

// fail resets the member for another attempt.
func (d *deliver) fail(err error) {
	d.result.fail(err)
	d.got, d.logged, d.events = Delivered{Outcome: d.Outcome}, d.row, nil
}

// Deliver records a delivery through the group commit, in one transaction with the claim of its
// identity, its payload and the runs that it starts. ErrStale: nothing was done, because the version
// of the team has changed.
func (ds Deliveries) Deliver(ctx context.Context, d *NewDelivery) (Delivered, error) {
	m := newDeliver(d)
	if err := ds.s.commits.do(ctx, m); err != nil {
		return Delivered{}, err
	}
	return m.got, nil
}

// Deliver records a delivery within the transaction.
func (ds DeliveriesTx) Deliver(ctx context.Context, d *NewDelivery) (Delivered, error) {
	m := newDeliver(d)
	m.fail(nil)
	runs, err := ds.deliverBatch(ctx, []*deliver{m})
	if err == nil {
		err = ds.tx.Runs().createAll(ctx, runs)
	}
	if err == nil {
		err = m.err
	}
	return m.got, err
}

func newDeliver(d *NewDelivery) *deliver {
	m := &deliver{
		NewDelivery: d, runs: make([]*createRun, len(d.Starts)),
		entry: deliveryRow{
			Delivery: d.Delivery, webhook: d.WebhookNumber, identity: d.Identity, runs: len(d.Starts),
		},
	}
	if d.Outcome == penstock.OutcomeAccepted {
		m.entry.body, m.entry.raw = d.Body, d.Raw
	}
	m.row = deliveryFields.row(&m.entry)
	for i, run := range d.Starts {
		if run.Claim == nil || run.Claim.Does != EventCloses {
			m.runs[i] = newCreateRun(run)
		}
	}
	return m
}

// deliverBatch records the members' deliveries and returns the runs that they start. It locks rows in
// this order, each sorted, so that no two transactions deadlock: rates, keys, subjects, runs, senders,
// counts.
func (ds DeliveriesTx) deliverBatch(ctx context.Context, members []*deliver) ([]*createRun, error) {
	if len(members) == 0 {
		return nil, nil
	}
	if err := ds.checkVersions(ctx, members); err != nil {
		return nil, err
	}
	if err := ds.admit(ctx, members); err != nil {
		return nil, err
	}
	if err := ds.claimIdentities(ctx, members); err != nil {
		return nil, err
	}
	if err := ds.tx.Subjects().claim(ctx, members); err != nil {
		return nil, err
	}
	if err := ds.giveBack(ctx, members); err != nil {
		return nil, err
	}
	runs, err := ds.record(ctx, members)
	if err != nil {
		return nil, err
	}
	return runs, ds.countDeliveries(ctx, members)
}

// checkVersions fails the members that were evaluated with another version of their team. It locks
// nothing: a change that commits later comes after these deliveries.
func (ds DeliveriesTx) checkVersions(ctx context.Context, members []*deliver) error {
	versions := map[string]int64{}
	for _, m := range members {
		version, known := versions[m.Team]
		if !known {
			if err := ds.tx.row(ctx, `SELECT `+teamVersion+`
				FROM teams t
				WHERE t.uid = $1`, m.Team).Scan(&version); err != nil {
				return fmt.Errorf("read the version of team %s: %w", m.Team, err)
			}
			versions[m.Team] = version
		}
		if m.Version != version {
			m.fail(ErrStale)
		}
	}
	return nil
}

// maxBodies bounds the bytes of bodies that are sent to the database at once, because the driver
// copies them.
const maxBodies = 2 << 20

// record writes the log and returns the runs to create.
func (ds DeliveriesTx) record(ctx context.Context, members []*deliver) (runs []*createRun, err error) {
	var log, commands [][]any
	size := 0
	for _, m := range members {
		if m.err != nil || m.got.Limited || m.got.Unlogged {
			continue
		}
		if size += len(m.entry.body) + len(m.entry.raw); size > maxBodies && len(log) > 0 {
			if err := ds.tx.insert(ctx, deliveryFields.table, log); err != nil {
				return nil, err
			}
			if _, err := ds.tx.flush(ctx); err != nil {
				return nil, err
			}
			log, size = nil, len(m.entry.body)+len(m.entry.raw)
		}
		log = append(log, m.logged)
		if m.got.Outcome == penstock.OutcomeAccepted {
			runs = append(runs, m.started()...)
			if m.Command != nil {
				commands = append(commands, commandFields.row(m.Command))
			}
		}
	}
	if err := ds.tx.insert(ctx, deliveryFields.table, log); err != nil || len(commands) == 0 {
		return runs, err
	}
	slices.SortFunc(commands, func(a, b []any) int { // the same comment may come to several servers
		return cmp.Compare(fmt.Sprint(a[:3]), fmt.Sprint(b[:3]))
	})
	ds.tx.Nudge(TopicCommands)
	return runs, ds.tx.insert(ctx, commandsTable, commands)
}

// countDeliveries counts the deliveries, and records their senders. It comes last, because batches
// share these rows and wait for each other.
func (ds DeliveriesTx) countDeliveries(ctx context.Context, members []*deliver) error {
	counts := map[Count]deliveryCount{}
	senders := map[[2]string]int64{}
	for _, m := range members {
		if m.err != nil || m.got.Limited || m.ReplayOf != "" {
			continue
		}
		of := Count{WebhookUID: m.WebhookUID, Quarter: Quarter(m.ReceivedAt), Kind: countKind(m.got.Outcome)}
		sum := counts[of]
		sum.n++
		if m.Last {
			sum.last = max(sum.last, int64(m.ReceivedAt))
		}
		counts[of] = sum
		if m.Sender {
			at := [2]string{m.WebhookUID, m.ClientIP}
			senders[at] = max(senders[at], int64(m.ReceivedAt))
		}
	}
	var rows [][]any
	for _, at := range slices.SortedFunc(
		maps.Keys(senders), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) },
	) {
		rows = append(rows, []any{at[0], at[1], senders[at]})
	}
	if err := ds.tx.insert(ctx, sendersTable, rows); err != nil {
		return err
	}
	return ds.count(ctx, counts)
}

// Count names a number of deliveries: of a webhook, in a quarter of an hour,
// of a kind such as CountAccepted.
type Count struct {
	WebhookUID string
	Quarter    int64
	Kind       string
}

// The kinds of deliveries that are counted.
const (
	CountAccepted    = "accepted"
	CountDuplicate   = "duplicate"
	CountRejected    = "rejected"
	CountRateLimited = "rate_limited"
	CountTurnedAway  = "turned_away"
)

// SetCount sets the number of deliveries of a kind. It ignores other kinds, which a later release
// may store.
func SetCount(into *penstock.DeliveryCounts, kind string, n int64) {
	switch kind {
	case CountAccepted:
		into.Accepted = n
	case CountDuplicate:
		into.Duplicate = n
	case CountRejected:
		into.Rejected = n
	case CountRateLimited:
		into.RateLimited = n
	case CountTurnedAway:
		into.TurnedAway = n
	}
}

func countKind(o penstock.Outcome) string {
	switch o {
	case penstock.OutcomeAccepted:
		return CountAccepted
	case penstock.OutcomeDuplicate:
		return CountDuplicate
	default:
		return CountRejected
	}
}

// deliveryCount is a number of deliveries, and the time of the one that counts as the last of its
// webhook; 0: none does.
type deliveryCount struct{ n, last int64 }

// countsTable stores the counts that [run.Stats] show, and the time of the last delivery. Each
// committer of a process has its own rows, and readers add them up. With one row, only one commit
// at a time could count deliveries of a webhook, which cost 0.06 of 0.34 of the bare server's rate
// on PostgreSQL.
var countsTable = table{
	name: "webhook_counts", columns: columns(
		"webhook_uid text, quarter bigint, kind text, committer bigint, n bigint, last_at bigint",
	),
	conflict: `ON CONFLICT (webhook_uid, quarter, kind, committer) DO UPDATE SET
		n = webhook_counts.n + excluded.n,
		last_at = CASE WHEN webhook_counts.last_at < excluded.last_at THEN excluded.last_at ELSE webhook_counts.last_at END`,
}

// AddCounts counts deliveries that were not recorded.
func (ds Deliveries) AddCounts(ctx context.Context, counts map[Count]int64) error {
	totals := make(map[Count]deliveryCount, len(counts))
	for c, n := range counts {
		totals[c] = deliveryCount{n: n}
	}
	return ds.s.Write(ctx, func(tx *Tx) error { return tx.Deliveries().count(ctx, totals) })
}

// count adds to the counts, in one order, so that no two transactions deadlock.
func (ds DeliveriesTx) count(ctx context.Context, counts map[Count]deliveryCount) error {
	rows := make([][]any, 0, len(counts))
	for _, c := range slices.SortedFunc(maps.Keys(counts), func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.WebhookUID, b.WebhookUID), cmp.Compare(a.Quarter, b.Quarter), cmp.Compare(a.Kind, b.Kind))
	}) {
		rows = append(rows, []any{c.WebhookUID, c.Quarter, c.Kind, ds.tx.committer, counts[c].n, counts[c].last})
	}
	return ds.tx.insert(ctx, countsTable, rows)
}
