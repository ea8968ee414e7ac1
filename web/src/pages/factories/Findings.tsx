import { Anchor, List } from '@mantine/core';
import type { Diagnostic } from '@penstock/sdk';
import { Status } from '../../ui/Status.tsx';

/** Findings in files; each leads to its line where there is somewhere to go. */
export function Findings({ diagnostics, go }: { diagnostics: readonly Diagnostic[]; go?: (diagnostic: Diagnostic) => void }) {
  return (
    <List listStyleType="none" spacing={4} size="sm" aria-label="Findings">
      {diagnostics.map((one) => {
        const place = `${one.path}:${one.line}:${one.column}`;
        return (
          <List.Item key={`${place} ${one.code} ${one.message}`}>
            <Status tone={one.severity === 'warning' ? 'warn' : 'bad'}>{one.severity === 'warning' ? 'Warning' : 'Error'}</Status>{' '}
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
