import { type FilterCheck, NotFoundError } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { logOfWebhook } from '../../deliverylog.ts';
import { layOut } from '../../json.ts';
import { payloadQuery } from '../../queries.ts';
import { Code } from '../../ui/Code.tsx';
import { linesOf } from '../deliveries/lines.ts';
import { Why } from '../deliveries/Reason.tsx';

interface ChosenPayloadProps {
  factory: string;
  webhook: string;
  delivery: string;
  /** The check of the payload, if it failed. */
  failed: FilterCheck | undefined;
}

/** The payload of the delivery with which a filter is edited: why the filter does not match, and the line. */
export function ChosenPayload({ factory, webhook, delivery, failed }: ChosenPayloadProps) {
  const { path = '', reason } = failed ?? {};
  const payload = useQuery(payloadQuery(logOfWebhook(factory, webhook), delivery));
  if (payload.error instanceof NotFoundError) {
    return 'The payload is no longer stored.';
  }
  if (payload.data === undefined) {
    return null;
  }
  const text = layOut(payload.data);
  return (
    <>
      {reason && <Why reason={reason} />}
      <Code key={path} label="payload of the delivery" marks={path ? linesOf(text, [{ pointer: path, note: '' }]) : undefined}>
        {text}
      </Code>
    </>
  );
}
