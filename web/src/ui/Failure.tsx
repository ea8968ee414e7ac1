import { Alert, Anchor, Button, Group, List, Text } from '@mantine/core';
import { APIConnectionError, APIError } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import type { Params } from '../search.ts';
import { CopyButton } from './CopyButton.tsx';

/** The texts of an error: from the API, or from the dashboard if the API has none. */
export interface Told {
  title: string;
  detail: string;
  requestId: string | undefined;
  fields: { pointer: string; detail: string }[];
}

/** Names the field of a form as the form does: "Time zone" for "/time_zone". Deeper pointers stay as they are. */
function nameOfField(pointer: string): string {
  const name = /^\/([a-z0-9_]+)$/.exec(pointer)?.[1]?.replaceAll('_', ' ');
  return name ? name.charAt(0).toUpperCase() + name.slice(1) : pointer;
}

/** Describes an error. */
export function describe(error: unknown): Told {
  if (error instanceof APIError) {
    const detail = error.detail ?? (error.title ? '' : error.message);
    const field = error.errors.find(({ pointer, detail: own }) => pointer && detail === `${pointer}: ${own}`);
    return {
      title: error.title ?? `The server returned ${error.statusCode}`,
      detail: field ? `${nameOfField(field.pointer)}: ${field.detail}` : detail,
      requestId: error.requestId,
      fields: [...error.errors],
    };
  }
  const detail = error instanceof Error ? error.message : String(error);
  if (error instanceof APIConnectionError) {
    return { title: 'Cannot reach the server', detail, requestId: undefined, fields: [] };
  }
  return { title: 'Something went wrong on this page', detail, requestId: undefined, fields: [] };
}

/** What the server says about one field of a request; undefined if nothing. */
export function errorAt(error: unknown, pointer: string): string | undefined {
  return error instanceof APIError ? error.errors.find((one) => one.pointer === pointer)?.detail : undefined;
}

/** Describes an error in one line. */
export function describeInLine(error: unknown): string {
  const { title, detail, requestId } = describe(error);
  return [`${title}${detail && ': '}${detail}`, requestId && `(request ${requestId})`].filter(Boolean).join(' ');
}

/** Whether a retry can help. A missing or forbidden resource stays so. */
export function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof APIError) || error.retryable;
}

/** The object of a page, and the list that has the others. */
export interface Wanted {
  /** Such as "webhook". */
  noun: string;
  /** The name of the list, such as "Webhooks", and its address. */
  list: string;
  to: string;
  search?: Params;
}

interface FailureProps {
  error: unknown;
  retry?: (() => void) | undefined;
  /** What the page shows. If it does not exist, or the key may not read it, a link leads to the others. */
  wanted?: Wanted;
}

/** Shows an error with its title, its details, and the request ID for the server's log. */
export function Failure({ error, retry, wanted }: FailureProps) {
  if (!error) {
    return null;
  }
  const status = error instanceof APIError ? error.statusCode : undefined;
  const described = describe(error);
  const { title, detail, requestId, fields } =
    wanted && status === 404
      ? { ...described, title: `This ${wanted.noun} does not exist`, detail: 'It may have been deleted, or the link may be incomplete.' }
      : described;
  return (
    <Alert role="alert" variant="default" title={title} styles={{ root: { borderColor: 'var(--bad)' }, title: { color: 'var(--bad)' } }}>
      {detail && <Text className="plain">{detail}</Text>}
      {(fields.length > 1 || !fields.every((field) => detail.endsWith(field.detail))) && (
        <List size="sm" mt="xs">
          {fields.map((field) => (
            <List.Item key={field.pointer + field.detail}>
              {field.pointer && (
                <>
                  <strong>{nameOfField(field.pointer)}</strong>:{' '}
                </>
              )}
              {field.detail}
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
        {wanted && (status === 404 || status === 403) && (
          <Anchor component={Link} to={wanted.to as never} search={(wanted.search ?? {}) as never} size="sm">
            Go to {wanted.list}
          </Anchor>
        )}
        {requestId && (
          <Text size="xs" c="dimmed" component="span">
            Request <span className="mono">{requestId}</span> <CopyButton value={requestId} label="Copy the request ID" />
          </Text>
        )}
      </Group>
    </Alert>
  );
}
