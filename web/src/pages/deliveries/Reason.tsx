import type { DeliveryMatch } from '@penstock/sdk';
import { partsOf } from './sentence.ts';

/** Why a delivery did not fire an automation, as the server says it. Entries of earlier versions also need the key that failed. */
export function Reason({ match }: { match: DeliveryMatch }) {
  const { failed_at, operator, reason } = match;
  return <Why path={operator || failed_at === 'automation' ? undefined : failed_at} reason={reason} />;
}

/** A sentence of the server, after the key that failed unless the sentence names it. */
export function Why({ path, reason = '' }: { path?: string | undefined; reason: string | undefined }) {
  return (
    <span className="plain">
      {path && (
        <>
          <code>{path}</code>{' '}
        </>
      )}
      {partsOf(reason).map(({ text, code }, i) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one sentence
        code ? <code key={i}>{text}</code> : text,
      )}
    </span>
  );
}
