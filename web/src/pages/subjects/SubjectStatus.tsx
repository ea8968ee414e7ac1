import type { Subject } from '@penstock/sdk';
import { RunStatus, Status } from '../../ui/Status.tsx';

/** The state of a subject: closed, or the state of its newest run. */
export function SubjectStatus({ subject: { closed_at, run_state } }: { subject: Subject }) {
  if (closed_at) {
    return <Status tone="calm">Closed</Status>;
  }
  return run_state ? <RunStatus state={run_state} /> : null;
}
