import { Anchor, List } from '@mantine/core';
import type { Diagnostic } from '@penstock/sdk';
import type { Tone } from '../../states.ts';
import { Status } from '../../ui/Status.tsx';

const severities: Record<string, { tone: Tone; word: string }> = {
  error: { tone: 'bad', word: 'Error' },
  warning: { tone: 'warn', word: 'Warning' },
  note: { tone: 'calm', word: 'Note' },
};

/** Findings in files. Each links to its line, if go is set. */
export function Findings({ diagnostics, go }: { diagnostics: readonly Diagnostic[]; go?: (diagnostic: Diagnostic) => void }) {
  return (
    <List listStyleType="none" spacing={4} size="sm" aria-label="Findings">
      {diagnostics.map((one) => {
        const place = `${one.path}:${one.line}:${one.column}`;
        const { tone, word } = severities[one.severity] ?? { tone: 'bad' as const, word: one.severity };
        return (
          <List.Item key={`${place} ${one.code} ${one.message}`}>
            <Status tone={tone}>{word}</Status>{' '}
            {go ? (
              <Anchor component="button" type="button" className="mono" onClick={() => go(one)}>
                {place}
              </Anchor>
            ) : (
              <span className="mono">{place}</span>
            )}{' '}
            <span className="plain">
              {one.message}
              {one.nearest && `. Did you mean ${one.nearest}?`}
            </span>{' '}
            <span className="mono">{one.code}</span>
          </List.Item>
        );
      })}
    </List>
  );
}
