package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// CheckSubject checks what a request for a run is about.
func CheckSubject(subject string, busy penstock.WhenBusy) []penstock.FieldError {
	subject = strings.TrimSpace(subject)
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	switch {
	case len(subject) > penstock.MaxSubject:
		bad("/subject", "must have at most %d bytes", penstock.MaxSubject)
	case !utf8.ValidString(subject) || strings.ContainsFunc(subject, unicode.IsControl):
		bad("/subject", "must have no control characters")
	case subject == penstock.SubjectAuto:
		bad("/subject", "must name what the run is about, such as acme/shop#7; auto is for events of a provider")
	}
	switch {
	case !busy.Valid():
		bad("/when_busy", "must be coalesce, queue, replace or parallel")
	case busy != "" && subject == "":
		bad("/when_busy", "needs subject")
	}
	return errs
}

// checkSubject checks the subject of a request for a run, and what a request with one cannot have.
func checkSubject(req penstock.RunRequest) []penstock.FieldError {
	errs := CheckSubject(req.Subject, req.WhenBusy)
	if strings.TrimSpace(req.Subject) == "" || req.WhenBusy == penstock.WhenBusyParallel {
		return errs
	}
	for _, other := range []struct {
		given        bool
		pointer, why string
	}{
		{req.ConversationID != "", "/conversation_id", "cannot be used with subject, which says what continues"},
		{req.ParentID != "", "/parent_run_id", "cannot be used with subject: the run on a subject has no parent"},
		{req.Team != nil && !*req.Team, "/team", "must be true with subject: its runs are the team's"},
		{
			len(req.Attachments) > 0, "/attachments",
			"cannot be used with subject: a run that works already would not have them; send them in a follow-up",
		},
		{strings.TrimSpace(req.Prompt) == "", "/prompt", "is required with subject: a run that works already receives it"},
	} {
		if other.given {
			errs = append(errs, penstock.FieldError{Pointer: other.pointer, Detail: other.why})
		}
	}
	return errs
}

// Call is a request for a run that may be about a subject.
type Call struct {
	store.SubjectCall
	Kind     store.OccurrenceKind
	Scope    string // within which the subject is claimed
	Subject  string // as it was checked; "": it is about nothing
	WhenBusy penstock.WhenBusy
}

// About sets what a new run is about.
func (c Call) About(run *store.NewRun) {
	run.Subject = strings.TrimSpace(c.Subject)
	if run.Subject == "" || c.WhenBusy == penstock.WhenBusyParallel {
		return
	}
	run.Claim = &store.Claim{
		Key: store.ClaimKey(run.Team, c.Scope, "", run.Subject), Subject: run.Subject, Kind: c.Kind,
		Rules: penstock.SubjectRules{WhenBusy: c.WhenBusy, Quiet: "0"}, At: run.CreatedAt, Call: &c.SubjectCall,
	}
}

// Called is what became of a call about a subject.
type Called struct {
	RunID      string
	State      penstock.State
	AtCapacity bool
	Outcome    CallOutcome
}

// StartOn starts the run of a call about a subject, or gives the call to the run that works on the subject. answer
// makes the response, which is stored for a repeated request.
func StartOn[T any](
	ctx context.Context, s *Runs, p penstock.Principal, run *store.NewRun, answer func(Called) T,
) (T, error) {
	for attempt := 1; ; attempt++ {
		done, err := tryOn(ctx, s, p, run, answer)
		if !errors.Is(err, errSubjectMoved) || attempt == 3 {
			return done, err
		}
	}
}

func tryOn[T any](
	ctx context.Context, s *Runs, p penstock.Principal, run *store.NewRun, answer func(Called) T,
) (done T, err error) {
	seen, err := s.store.Subjects.RunOf(ctx, run.Claim.Key)
	if err != nil {
		return done, err
	}
	if seen.ID != "" {
		if err := s.checkSenderPrice(ctx, p, seen); err != nil {
			return done, err
		}
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (T, error) {
		called, err := startOn(ctx, tx, p, run, seen.ID)
		return answer(called), err
	})
}

func startOn(
	ctx context.Context, tx *store.Tx, p penstock.Principal, run *store.NewRun, seen string,
) (called Called, err error) {
	event, atCapacity, err := tx.Subjects().Receive(ctx, run)
	if err != nil {
		return called, err
	}
	if event.Fate == store.FateStarted {
		return Called{run.ID, run.State, atCapacity, CallStarted}, nil
	}
	subject, err := tx.Subjects().Lock(ctx, event.SubjectUID)
	if err != nil {
		return called, err
	}
	if subject.RunID != seen {
		return called, errSubjectMoved
	}
	works, err := tx.Runs().Lock(ctx, subject.RunID)
	if err != nil {
		return called, err
	}
	called = Called{RunID: works.ID, State: works.State, Outcome: CallContinued}
	if event.Fate == store.FateMerged {
		called.Outcome = CallMerged
		if err := mayCall(ctx, tx, p, works); err != nil {
			return called, err
		}
		if err := chargeSender(ctx, tx, p, works); err != nil {
			return called, err
		}
		return called, hasPlace(ctx, tx, subject, works.ID)
	}
	err = GiveEvents(ctx, tx, EventsFrom{Event: event}, subject, run.CreatedAt)
	switch {
	case errors.Is(err, ErrEventsStay):
		return called, mayWait(ctx, tx, p, subject, works)
	case errors.Is(err, ErrEventsRefused):
		return startInstead(ctx, tx, run, subject, works, event)
	case err != nil:
		return called, err
	}
	works, err = tx.Runs().Lock(ctx, works.ID)
	called.State = works.State
	return called, err
}

// startInstead starts the run of a call that must not reach the one before, which has ended.
func startInstead(
	ctx context.Context, tx *store.Tx, run *store.NewRun, subject store.SubjectRow, before store.RunRow,
	event store.SubjectEventRow,
) (Called, error) {
	if !before.State.Done() {
		return Called{}, errMayNotCall(before)
	}
	waiting, err := tx.Subjects().Waiting(ctx, subject.UID, 2)
	if err != nil {
		return Called{}, err
	}
	if len(waiting) != 1 || waiting[0].UID != event.UID {
		return Called{}, errSubjectMoved
	}
	if err := tx.Subjects().Start(ctx, subject, run, before, waiting, run.CreatedAt); err != nil {
		return Called{}, err
	}
	return Called{RunID: run.ID, State: run.State, Outcome: CallStarted}, nil
}

var errSubjectMoved = &penstock.Error{
	Code: penstock.CodeConflict, Retryable: true,
	Detail: "another run is about to work on the subject; try again",
}

func errMayNotCall(run store.RunRow) error {
	return &penstock.Error{
		Code: penstock.CodeConflict, Retryable: true,
		Detail: fmt.Sprintf("run %s works on the subject, and a request for a run of its conversation named managed "+
			"secrets, so calls cannot reach it; try again when it has ended", run.ID),
	}
}

// mayCall reports whether a call may reach the run that works on its subject.
func mayCall(ctx context.Context, tx *store.Tx, p penstock.Principal, run store.RunRow) error {
	_, err := floorFor(ctx, tx, run, callerOf(p))
	if errors.Is(err, ErrEventsRefused) {
		return errMayNotCall(run)
	}
	return err
}

// mayWait reports whether a call may wait for the run that works on its subject.
func mayWait(
	ctx context.Context, tx *store.Tx, p penstock.Principal, subject store.SubjectRow, run store.RunRow,
) error {
	err := mayCall(ctx, tx, p, run)
	if errors.Is(err, ErrEventsStay) { // another run of the conversation works
		err = nil
	}
	if err != nil {
		return err
	}
	if err := senderHasRoom(ctx, tx, p, run); err != nil {
		return err
	}
	return hasPlace(ctx, tx, subject, "")
}

// hasPlace bounds the calls that no agent has received yet, with the one that has just come. runID is a run that
// has not begun, or "".
func hasPlace(ctx context.Context, tx *store.Tx, subject store.SubjectRow, runID string) error {
	n, size, err := tx.Subjects().CallsAhead(ctx, subject.UID, runID)
	if err == nil && (n > maxWaiting || n > 1 && size > maxWaitingBytes) {
		err = penstock.Errorf(
			penstock.CodeConflict, "%d calls about the subject wait for run %s already", n-1, subject.RunID,
		)
	}
	return err
}

// callerOf returns a caller with the rights that its call has in a conversation: it brings no secrets.
func callerOf(p penstock.Principal) penstock.Principal {
	return penstock.Principal{
		Team: p.Team, KeyUID: p.KeyUID, Makers: p.Makers, Actor: p.Actor, Scopes: []penstock.Scope{penstock.ScopeRunsWrite},
	}
}

// speechOfCalls returns what a run is told of the first of the calls that wait. The last caller signs it, and all
// pay.
func speechOfCalls(events []store.SubjectEventRow) speech {
	s := speech{events: FittingCalls(events)}
	for _, e := range s.events {
		s.speakers = append(s.speakers, callerOf(e.Call.Caller))
		s.mode = cmp.Or(e.Call.Request.Mode, s.mode)
	}
	s.by, s.message = s.speakers[len(s.speakers)-1], textOfCalls(s.events)
	for _, other := range s.speakers {
		s.by.Makers = penstock.MorePayers(s.by.Makers, other.PaidBy()...)
	}
	return s
}

// FittingCalls returns the first of the calls that wait, whose prompts fit into one.
func FittingCalls(events []store.SubjectEventRow) []store.SubjectEventRow {
	size := 0
	for i, e := range events {
		if size += len(e.Call.Request.Prompt) + len(betweenCalls); i > 0 && size > maxPrompt {
			return events[:i]
		}
	}
	return events
}

// betweenCalls separates the prompts of calls.
const betweenCalls = "\n\n"

func textOfCalls(events []store.SubjectEventRow) string {
	var texts []string
	for _, e := range events {
		texts = append(texts, strings.TrimSpace(e.Call.Request.Prompt))
	}
	return strings.Join(texts, betweenCalls)
}

// withCalls adds the calls to the first prompt of a run that joined it before it began.
func withCalls(ctx context.Context, tx *store.Tx, run store.RunRow, followupID string, p *penstock.Prompt) error {
	if followupID != "" {
		return nil // its message has them
	}
	events, err := tx.Subjects().CallsOf(ctx, run.ID)
	if err == nil && len(events) > 0 {
		p.Text += betweenCalls + textOfCalls(events)
	}
	return err
}

// RunOfCall makes the run of a call that waited for another one.
func RunOfCall(ctx context.Context, s *Runs, c store.SubjectCall) (*store.NewRun, error) {
	run, err := s.New(ctx, c.Caller, c.Request, Origin{Source: c.Source, TriggerURL: c.TriggerURL})
	if err == nil && c.Metadata != nil {
		run.Metadata = c.Metadata
	}
	return run, err
}

// Created is the response to a [penstock.RunRequest].
type Created struct {
	ID         string         `json:"run_id"`
	TaskID     string         `json:"task_id"`
	State      penstock.State `json:"state"`
	AtCapacity bool           `json:"at_capacity"` // no worker has a free slot for it now
	// Outcome is what became of the request. With a subject, the run may be an older one.
	Outcome CallOutcome `json:"outcome"`
	// ForkGroup and Runs are set if the request was for attempts. The run is then the first of Runs.
	ForkGroup string               `json:"fork_group,omitempty"`
	Runs      []penstock.ForkedRun `json:"runs,omitempty"`

	Warnings []string `json:"-"` // in ASCII, without commas; sent in a header
}

// CallOutcome is what became of a request for a run about a subject.
type CallOutcome string

// CallStarted means that the request started a run.
const (
	CallStarted   CallOutcome = "started"
	CallContinued CallOutcome = "continued"   // a run on the subject gets its prompt in a follow-up
	CallMerged    CallOutcome = "merged_into" // its prompt joined the first one of a run that has not begun
)
