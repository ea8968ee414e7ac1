package run

// The types of timeline events that only the rules of runs write.
const (
	TimelineDone              = "run_done"
	timelineErrored           = "run_errored"
	timelineCancelled         = "run_cancelled"
	timelineFollowupDelivered = "followup_delivered"
	timelineAnyWorker         = "any_worker"          // hosted execution was requested: any worker may claim it
	timelineMCPNotUsed        = "mcp_server_not_used" // managed MCP servers are not supported
	timelineStatusNotShown    = "status_not_shown"    // the forge refuses the comment that says how the run is
	timelineOutputApproved    = "output_approved"     // a person has released an output
	timelinePodStarted        = "pod_started"         // the worker in the Pod has adopted the execution
	timelinePodLost           = "pod_lost"            // the Pod is gone, and why
)
