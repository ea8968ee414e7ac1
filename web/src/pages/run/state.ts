const over = new Set(['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']);

/** Whether a run is over; a follow-up can still take it up again. */
export function isOver(state: string): boolean {
  return over.has(state);
}

/** Whether a run waits, works or is blocked, so that it can be cancelled. */
export function isActive(state: string): boolean {
  return !over.has(state);
}
