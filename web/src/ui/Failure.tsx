import { Alert, Button, Group, List, Text } from '@mantine/core';
import { APIConnectionError, APIError } from '@penstock/sdk';
import { CopyButton } from './CopyButton.tsx';

/** What is shown of an error: the API's own words, or ours where there are none. */
export interface Told {
  title: string;
  detail: string;
  requestId: string | undefined;
  fields: { pointer: string; detail: string }[];
}

/** Puts an error into words. */
export function tell(error: unknown): Told {
  if (error instanceof APIError) {
    return {
      title: error.title ?? `The server returned ${error.statusCode}`,
      detail: error.detail ?? (error.title ? '' : error.message),
      requestId: error.requestId,
      fields: [...error.errors],
    };
  }
  const detail = error instanceof Error ? error.message : String(error);
  if (error instanceof APIConnectionError) {
    return { title: 'The server cannot be reached', detail, requestId: undefined, fields: [] };
  }
  return { title: 'Something went wrong on this page', detail, requestId: undefined, fields: [] };
}

/** An error in one line, for where there is room for no more. */
export function tellInLine(error: unknown): string {
  const { title, detail, requestId } = tell(error);
  return [`${title}${detail && ': '}${detail}`, requestId && `(request ${requestId})`].filter(Boolean).join(' ');
}

/** Whether the same request may go better: what is missing or forbidden stays so. */
export function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof APIError) || error.retryable;
}

/** An error of the API with its title, what is wrong, and the id by which the server's log knows the request. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  if (!error) {
    return null;
  }
  const { title, detail, requestId, fields } = tell(error);
  return (
    <Alert role="alert" variant="default" title={title} styles={{ root: { borderColor: 'var(--bad)' }, title: { color: 'var(--bad)' } }}>
      {detail && <Text className="plain">{detail}</Text>}
      {(fields.length > 1 || !fields.every((field) => detail.endsWith(field.detail))) && (
        <List size="sm" mt="xs">
          {fields.map((field) => (
            <List.Item key={field.pointer + field.detail}>
              <code>{field.pointer || '/'}</code> {field.detail}
            </List.Item>
          ))}
        </List>
      )}
      <Group mt="xs" gap="sm">
        {retry && isWorthRetrying(error) && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
        {requestId && (
          <Text size="xs" c="dimmed" component="span">
            Request <span className="mono">{requestId}</span> <CopyButton value={requestId} label="Copy the request id" />
          </Text>
        )}
      </Group>
    </Alert>
  );
}
