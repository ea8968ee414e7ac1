package penstock

// Occurrence is one event that was due to start work, and what became of it. An event has one for each
// automation that it concerns, and a time of a schedule has one for each run that it could start.
type Occurrence struct {
	UID           string         `json:"occurrence_uid"`
	Kind          OccurrenceKind `json:"kind"`
	AutomationUID string         `json:"automation_uid,omitempty"`
	ScheduleID    string         `json:"schedule_id,omitempty"`
	WebhookUID    string         `json:"webhook_uid,omitempty"`
	DeliveryID    string         `json:"delivery_id,omitempty"`
	Subject       string         `json:"subject,omitempty"`
	DueAt         Time           `json:"due_at"`
	DecidedAt     Time           `json:"decided_at,omitzero"` // absent while it waits
	Fate          Fate           `json:"fate"`
	Reason        string         `json:"reason,omitempty"` // why this fate, in words
	Missed        *MissedTicks   `json:"missed,omitempty"` // with the fate missed
	RunIDs        []string       `json:"run_ids"`          // that it started, or joined
}

// MissedTicks says which times of a schedule passed without a run.
type MissedTicks struct {
	Count   int  `json:"count"`
	AtLeast bool `json:"at_least,omitempty"` // there were more than Count
	First   Time `json:"first"`
	Last    Time `json:"last"`
}

// OccurrenceKind is what an occurrence was.
type OccurrenceKind string

// OccurrenceTick is a time of a schedule, or of an automation's own clock.
const (
	OccurrenceTick     OccurrenceKind = "tick"
	OccurrenceDelivery OccurrenceKind = "delivery" // to a webhook
	OccurrenceCall     OccurrenceKind = "call"     // of the API, for a run
	OccurrenceDispatch OccurrenceKind = "dispatch" // of work to a factory
)

// OccurrenceKinds lists the kinds.
func OccurrenceKinds() []OccurrenceKind {
	return []OccurrenceKind{OccurrenceTick, OccurrenceDelivery, OccurrenceCall, OccurrenceDispatch}
}

// Fate is what became of an occurrence. It waits first, or has its final fate at once. A final fate
// never changes.
type Fate string

// The fates.
const (
	FateWaiting    Fate = "waiting"
	FateStarted    Fate = "started"
	FateContinued  Fate = "continued"   // a follow-up gave it to a run
	FateMerged     Fate = "merged_into" // joined the run that another one started
	FateSuperseded Fate = "superseded"  // a later one replaced it before it started anything
	FateNoMatch    Fate = "no_match"    // the automation waits for something else
	FateDuplicate  Fate = "duplicate"   // the same delivery had come before
	FateRejected   Fate = "rejected"    // the webhook did not accept it
	FateSkipped    Fate = "skipped"     // a run was still live, or nothing may start
	FateMissed     Fate = "missed"      // no server was there in time
	FateFailed     Fate = "failed"      // no run could be made
)

// Fates lists the fates.
func Fates() []Fate {
	return []Fate{
		FateWaiting, FateStarted, FateContinued, FateMerged, FateSuperseded, FateNoMatch, FateDuplicate, FateRejected,
		FateSkipped, FateMissed, FateFailed,
	}
}

// CatchUp is what a schedule does about times that passed while no server ran.
type CatchUp string

// CatchUpOnce starts one run for all of them. It is the default.
const (
	CatchUpOnce CatchUp = "once"
	CatchUpAll  CatchUp = "all" // a run for each, for the latest 100
	CatchUpNone CatchUp = "none"
)

// CatchUps lists the values of CatchUp.
func CatchUps() []CatchUp { return []CatchUp{CatchUpOnce, CatchUpAll, CatchUpNone} }

// Overlap is what a schedule does when a run of it is still live.
type Overlap string

// OverlapAllow starts another one beside it. It is the default.
const (
	OverlapAllow   Overlap = "allow"
	OverlapQueue   Overlap = "queue" // start once it has ended
	OverlapSkip    Overlap = "skip"
	OverlapReplace Overlap = "replace" // cancel it
)

// Overlaps lists the values of Overlap.
func Overlaps() []Overlap { return []Overlap{OverlapAllow, OverlapQueue, OverlapSkip, OverlapReplace} }
