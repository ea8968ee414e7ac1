import { Select, SimpleGrid, TextInput } from '@mantine/core';
import type { Signature } from '@penstock/sdk';

/** The signature settings of a custom sender. For Grafana, only the timestamp header of its contact point. */
export function SignatureFields({
  scheme,
  signature,
  change,
}: {
  scheme: string;
  signature: Signature;
  change: (signature: Signature) => void;
}) {
  const text = (key: 'header' | 'prefix' | 'template' | 'timestamp_header', label: string, description: string) => (
    <TextInput
      label={label}
      description={description}
      value={signature[key] ?? ''}
      onChange={(event) => change({ ...signature, [key]: event.currentTarget.value })}
    />
  );
  const choice = (key: 'hash' | 'encoding' | 'key_form', label: string, data: string[]) => (
    <Select
      label={label}
      allowDeselect={false}
      data={data}
      value={signature[key] ?? null}
      onChange={(value) => change({ ...signature, [key]: value ?? undefined })}
    />
  );
  if (scheme === 'grafana') {
    return text('timestamp_header', 'Timestamp header', 'If the contact point sets one');
  }
  if (scheme !== 'custom_hmac') {
    return null;
  }
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" role="group" aria-label="Signature">
      {text('header', 'Signature header', 'The header with the signature, such as X-Signature')}
      {text('prefix', 'Prefix', 'The text before the signature, such as sha256=')}
      {choice('hash', 'Hash', ['sha1', 'sha256', 'sha512'])}
      {choice('encoding', 'Encoding', ['hex', 'base64'])}
      {choice('key_form', 'Secret format', ['text', 'base64', 'hex', 'whsec'])}
      {text('timestamp_header', 'Timestamp header', 'Required if the signed text contains {timestamp}')}
      <div style={{ gridColumn: '1 / -1' }}>
        {text('template', 'Signed text', 'Contains {body} once. Can also contain {timestamp}, {method}, {url}, {path} and {header:Name}')}
      </div>
    </SimpleGrid>
  );
}
