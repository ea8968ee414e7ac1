package penstock

// Interrupted explains a run that is BLOCKED because its agent's turn was interrupted.
const Interrupted = "The agent was interrupted. Send a follow-up to continue."
