package worker

// The types of timeline events that only a worker writes.
const (
	timelineSessionStarted       = "shared_session_started"
	timelineAgentStarted         = "agent_started"
	timelineImageNotUsed         = "image_not_used"
	timelineUnbornBranch         = "unborn_branch"          // a repository was checked out on a branch without commits
	timelineSkillNote            = "skill_note"             // a skill that is odd, or left out
	timelineWorkspaceReady       = "workspace_ready"        // whether a new workspace comes from a layer
	timelineImageReady           = "image_ready"            // the container image is pulled, or was in the cache
	timelineWorkspaceRestored    = "workspace_restored"     // a new workspace has the files of a saved turn
	timelineWorkspaceNotRestored = "workspace_not_restored" // the files of a saved turn are gone
	timelineCheckpointSkipped    = "checkpoint_skipped"     // the workspace of a turn is not saved
	timelinePushAccepted         = "push_accepted"          // a branch was pushed to a forge
	timelinePushRefused          = "push_refused"           // a branch was not pushed, and why
	timelineWorkspaceReused      = "workspace_reused"       // a follow-up reused the files of the previous execution
)
