const over = new Set(['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']);

/** Whether a run is finished. A follow-up can resume it. */
export function isOver(state: string): boolean {
  return over.has(state);
}

/** Whether a run can be cancelled. */
export function isActive(state: string): boolean {
  return !over.has(state);
}
