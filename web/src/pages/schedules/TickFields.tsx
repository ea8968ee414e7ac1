import { Select } from '@mantine/core';
import type { CatchUp, Overlap } from './draft.ts';

interface TickFieldsProps {
  overlap: Overlap;
  catchUp: CatchUp;
  change: (fields: { overlap?: Overlap; catchUp?: CatchUp }) => void;
  readOnly?: boolean;
}

/** Edits what happens at the times of a schedule or clock that overlap with a run, or were missed. */
export function TickFields({ overlap, catchUp, change, readOnly }: TickFieldsProps) {
  return (
    <>
      <Select
        label="If a run has not ended"
        readOnly={readOnly}
        allowDeselect={false}
        value={overlap}
        onChange={(overlap) => change({ overlap: overlap ?? 'allow' })}
        data={overlaps}
      />
      <Select
        label="For times that were missed"
        readOnly={readOnly}
        allowDeselect={false}
        value={catchUp}
        onChange={(catchUp) => change({ catchUp: catchUp ?? 'once' })}
        data={catchUps}
      />
    </>
  );
}

const overlaps: { value: Overlap; label: string }[] = [
  { value: 'allow', label: 'Start another run' },
  { value: 'queue', label: 'Start once it has ended' },
  { value: 'skip', label: 'Start none' },
  { value: 'replace', label: 'Cancel it, and start' },
];

const catchUps: { value: CatchUp; label: string }[] = [
  { value: 'once', label: 'Start one run for all' },
  { value: 'all', label: 'Start one run for each' },
  { value: 'none', label: 'Start none' },
];
