package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/penstock-dev/penstock"
)

// reserveCall is a member of the group commit.
type reserveCall struct {
	result
	lease penstock.Lease
	penstock.Reservation

	payer  payer
	limits []limit
	got    penstock.Reserved
}

func (m *reserveCall) key() string   { return m.lease.RunID }
func (m *reserveCall) join(g *group) { g.reserves = append(g.reserves, m) }

// fail resets the member.
func (m *reserveCall) fail(err error) {
	m.result.fail(err)
	m.payer, m.limits, m.got = payer{}, nil, penstock.Reserved{}
}

// Reserve counts a call before it is sent, through the group commit. A repeated request with the same id gets
// the same grant. A lease that is lost or has ended is penstock.ErrLeaseLost.
func (cs Calls) Reserve(ctx context.Context, l penstock.Lease, r penstock.Reservation) (penstock.Reserved, error) {
	m := &reserveCall{lease: l, Reservation: r}
	if err := cs.s.commits.do(ctx, m); err != nil {
		return penstock.Reserved{}, err // m may still be the committer's
	}
	return m.got, nil
}

// openCall is what a call that is not settled has reserved.
type openCall struct {
	at penstock.Time
	held
}

// openCalls are the calls of executions that are not settled, as far as they were read.
type openCalls map[penstock.Lease][]openCall

func runsOf(members []*reserveCall) []string {
	runs := map[string]bool{}
	for _, m := range members {
		runs[m.lease.RunID] = true
	}
	return slices.Sorted(maps.Keys(runs))
}

// reserve applies the members. The budgets of their teams must be shared.
func (cs CallsTx) reserve(ctx context.Context, members []*reserveCall) error {
	if len(members) == 0 {
		return nil
	}
	now, err := cs.readPayers(ctx, members)
	if err != nil {
		return err
	}
	members = slices.DeleteFunc(slices.Clone(members), func(m *reserveCall) bool { return m.payer.run == "" })
	if len(members) == 0 {
		return nil
	}
	if err := cs.readLimits(ctx, members, now); err != nil {
		return err
	}
	var rows [][]any
	open, changed := openCalls{}, map[AccountKey]*Account{}
	granted := map[string]*reserveCall{} // a request may be in a batch twice
	for _, m := range members {
		if first := granted[m.ID]; first != nil {
			m.repeat(first)
			continue
		}
		if err := cs.decide(ctx, m, open); err != nil {
			return err
		}
		if m.got.Wait || m.got.Refusal != nil {
			if err := cs.readTwin(ctx, m); err != nil {
				return err
			}
			continue
		}
		call := m.call(now)
		for _, l := range m.limits {
			l.ReservedCost += call.Cost
			l.ReservedTokens += call.total
			changed[l.AccountKey] = l.Account
		}
		granted[m.ID] = m
		if len(m.limits) > 0 { // so that later members of the batch see it
			if err := cs.readOpen(ctx, m.lease, open); err != nil {
				return err
			}
			open[m.lease] = append(open[m.lease], openCall{now, held{call.Cost, call.total}})
		}
		rows = append(rows, callFields.row(call))
	}
	if err := cs.tx.Budgets().saveAccounts(ctx, changed); err != nil {
		return err
	}
	return cs.tx.insert(ctx, callFields.table, rows)
}

// readLimits reads the caps that apply to the members, and locks their accounts.
func (cs CallsTx) readLimits(ctx context.Context, members []*reserveCall, now penstock.Time) error {
	payers := make([]payer, len(members))
	for i, m := range members {
		payers[i] = m.payer
	}
	applied, err := cs.tx.Budgets().readCaps(ctx, payers)
	if err != nil {
		return err
	}
	var keys []AccountKey
	for _, m := range members {
		if m.limits, err = cs.tx.Budgets().limits(applied, m.payer, now); err != nil {
			return err
		}
		for _, l := range m.limits {
			keys = append(keys, l.AccountKey)
		}
	}
	accounts, err := cs.tx.Budgets().lockAccounts(ctx, keys)
	if err != nil {
		return err
	}
	for _, m := range members {
		withAccounts(m.limits, accounts)
	}
	return nil
}

// repeat returns the result of an earlier member of the batch with the same id.
func (m *reserveCall) repeat(first *reserveCall) {
	if first.lease != m.lease {
		m.fail(errCallTaken(m.ID))
		return
	}
	m.got = first.got
}

func errCallTaken(id string) error {
	return penstock.Errorf(penstock.CodeConflict, "the id %q is of another call", id)
}

// readPayers reads the runs of the members, and the database's clock. It fails members without a lease, and
// returns the results of repeated requests.
func (cs CallsTx) readPayers(ctx context.Context, members []*reserveCall) (now penstock.Time, err error) {
	ids := map[string]bool{}
	for _, m := range members {
		ids[m.ID] = true
	}
	type heldRun struct {
		RunRow
		token string
	}
	found := map[string]heldRun{}
	for args := range chunks(runsOf(members), func(id string) []any { return []any{id} }) {
		rows, err := cs.tx.query(ctx, `SELECT r.id, r.execution_id, r.team, r.factory_uid, r.agent_uid, r.automation_id,
				r.key_uid, r.payers, r.senders, r.inherited, q.token, `+cs.tx.s.d.now+`
			FROM queue q
			JOIN runs r ON r.id = q.run_id
			WHERE q.token <> '' AND q.run_id IN (`+placeholders(1, len(args))+")", args...)
		list, err := collect(cs.tx.s, rows, err, "leases", func(r *heldRun) []any {
			return []any{
				&r.ID, &r.ExecutionID, &r.Team, &r.FactoryUID, &r.AgentUID, &r.AutomationID, &r.KeyUID,
				(*words)(&r.Payers), (*words)(&r.Senders), (*words)(&r.Inherited), &r.token, &now,
			}
		})
		if err != nil {
			return 0, err
		}
		for _, r := range list {
			found[r.ID] = r
		}
	}
	known, err := cs.read(ctx, slices.Sorted(maps.Keys(ids)), "")
	if err != nil {
		return 0, err
	}
	for _, m := range members {
		r := found[m.lease.RunID]
		switch call := known[m.ID]; {
		case r.ID == "" || r.token != m.lease.Token:
			m.fail(penstock.ErrLeaseLost)
		case call == nil:
			m.payer = r.payer()
		default:
			m.repeatCall(call)
		}
	}
	return now, nil
}

// repeatCall returns the result of an earlier request for the call.
func (m *reserveCall) repeatCall(c *Call) {
	switch {
	case c.RunID != m.lease.RunID || c.token != hashToken(m.lease.Token):
		m.fail(errCallTaken(m.ID))
	case c.State == CallUnsent: // the worker no longer waits for the reservation
		m.fail(penstock.Errorf(penstock.CodeConflict, "the call %q was given back", m.ID))
	default:
		m.got = penstock.Reserved{Capped: c.capped, Output: c.outputLimit}
	}
}

// readTwin returns the result of an equal request that got the room while this one waited for the accounts.
func (cs CallsTx) readTwin(ctx context.Context, m *reserveCall) error {
	known, err := cs.read(ctx, []string{m.ID}, "")
	if call := known[m.ID]; call != nil {
		m.repeatCall(call)
	}
	return err
}

// read reads calls by their ids.
func (cs CallsTx) read(ctx context.Context, ids []string, lock string) (map[string]*Call, error) {
	found := map[string]*Call{}
	for args := range chunks(ids, func(id string) []any { return []any{id} }) {
		rows, err := cs.tx.query(ctx, "SELECT "+callFields.selected+`
			FROM calls l
			WHERE l.id IN (`+placeholders(1, len(args))+`)
			ORDER BY l.id`+cs.tx.s.d.bytewise+lock, args...)
		list, err := collect(cs.tx.s, rows, err, "calls", func(c *Call) []any { return callFields.into(c) })
		if err != nil {
			return nil, err
		}
		for i := range list {
			found[list[i].ID] = &list[i]
		}
	}
	return found, nil
}

// hashToken is what the ledger keeps of a lease's token.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// call is the row of a granted reservation.
func (m *reserveCall) call(now penstock.Time) *Call {
	output, p := m.got.Output, m.payer
	c := &Call{
		ID: m.ID, Team: p.team, RunID: p.run, ExecutionID: m.lease.ExecutionID, token: hashToken(m.lease.Token),
		State: CallReserved, CreatedAt: now, Provider: m.Provider, Model: m.Model,
		FactoryUID: p.nearest(BudgetOfFactory), AgentUID: p.nearest(BudgetOfAgent),
		AutomationID: p.nearest(BudgetOfAutomation), KeyUID: p.nearest(BudgetOfKey),
		inherited: p.inherited, Unpriced: m.Unpriced, capped: m.got.Capped, outputLimit: output,
		Cost: m.Cost(output), total: m.Tokens(output),
		Tokens: penstock.TokenUsage{Input: m.InputTokens, Output: output * m.Completions},
	}
	if !m.Unpriced {
		c.Costs = penstock.CallCost{Input: m.InputCost, Output: c.Cost - m.InputCost}
	}
	c.reservedCost, c.reservedTotal = c.Cost, c.total
	return c
}

// decide grants or refuses the reservation, or lets it wait.
func (cs CallsTx) decide(ctx context.Context, m *reserveCall, open openCalls) error {
	if len(m.limits) == 0 {
		m.got = penstock.Reserved{Output: m.Output}
		return nil
	}
	if m.got.Refusal = m.unbounded(); m.got.Refusal != nil {
		return nil
	}
	now := m.most(func(limit) held { return held{} })
	if now < m.Output {
		if err := cs.readOpen(ctx, m.lease, open); err != nil {
			return err
		}
		// The reservations of the execution's own calls are released, except for the amounts that they
		// use.
		later := m.most(func(l limit) held { return open.in(m.lease, l) })
		if later > now && (later == m.Output || now < m.LeastOutput && later >= m.LeastOutput) {
			m.got.Wait = true
			return nil
		}
	}
	if now < m.LeastOutput {
		var err error
		m.got.Refusal, err = cs.refusal(ctx, m)
		return err
	}
	m.got = penstock.Reserved{Capped: true, Output: now}
	return nil
}

// most is the largest output for which all limits have room, if each had more.
func (m *reserveCall) most(more func(limit) held) int64 {
	output := m.Output
	for _, l := range m.limits {
		output = min(output, l.fits(&m.Reservation, more(l)))
	}
	return output
}

// unbounded refuses a call under a cap whose use has no bound.
func (m *reserveCall) unbounded() *penstock.SpendRefusal {
	capped := slices.ContainsFunc(m.limits, func(l limit) bool { return l.hasCost })
	switch {
	case m.Unbounded != "":
		return &penstock.SpendRefusal{
			Code:   penstock.CodeBudgetExceeded,
			Detail: "A budget applies to this run, and the call has no upper bound: " + m.Unbounded,
		}
	case m.Unpriced && capped:
		return &penstock.SpendRefusal{Code: penstock.CodeUnpricedModel, Detail: m.ExplainUnpriced()}
	}
	return nil
}

// refusal names the first limit without room. One that ends the run comes before those that let it wait.
func (cs CallsTx) refusal(ctx context.Context, m *reserveCall) (_ *penstock.SpendRefusal, err error) {
	var short *limit
	for i, l := range m.limits {
		if l.fits(&m.Reservation, held{}) < m.LeastOutput && (short == nil || l.refuses && !short.refuses) {
			short = &m.limits[i]
		}
	}
	shortage := short.shortage(&m.Reservation)
	if shortage.BudgetName, err = cs.tx.Budgets().name(ctx, *short); err != nil {
		return nil, err
	}
	return &penstock.SpendRefusal{
		Code: penstock.CodeBudgetExceeded, Detail: shortage.Explain(short.own), Pause: !short.refuses, Budget: shortage,
	}, nil
}

// readOpen reads the calls of an execution that are not settled. The calls of this batch are added later.
func (cs CallsTx) readOpen(ctx context.Context, l penstock.Lease, open openCalls) error {
	if _, read := open[l]; read {
		return nil
	}
	rows, err := cs.tx.query(ctx, `SELECT created_at, cost, tokens
		FROM calls
		WHERE run_id = $1 AND state = 'reserved' AND token = $2`, l.RunID, hashToken(l.Token))
	open[l], err = collect(cs.tx.s, rows, err, "open calls", func(c *openCall) []any {
		return []any{&c.at, &c.cost, &c.tokens}
	})
	return err
}

// in is what the open calls of an execution have reserved in the period of a limit.
func (o openCalls) in(lease penstock.Lease, l limit) (sum held) {
	for _, c := range o[lease] {
		if c.at >= l.Start {
			sum.cost += c.cost
			sum.tokens += c.tokens
		}
	}
	return sum
}
