package store

// The types of timeline events that the store writes. The others are in the root package and where
// they are written.
const (
	TimelineCreated             = "run_created"
	timelineRequeued            = "run_requeued"         // the lease was lost, or the worker requeued the run
	TimelineFollowupUndelivered = "followup_undelivered" // the run ended before it reached the agent
	TimelineOutputWaiting       = "output_waiting"       // an output could not be done yet
	TimelineBudgetThreshold     = "budget_threshold"     // a call brought a budget to one of its notify_at
)
