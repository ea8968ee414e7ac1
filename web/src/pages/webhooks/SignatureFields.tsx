import { Select, SimpleGrid, TextInput } from '@mantine/core';
import type { Signature } from '@penstock/sdk';

/** How a sender signs that no preset knows; of Grafana, the header that its contact point gives the time in. */
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
    return text('timestamp_header', 'Timestamp header', 'Where the contact point names one');
  }
  if (scheme !== 'custom_hmac') {
    return null;
  }
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" role="group" aria-label="How it signs">
      {text('header', 'Signature header', 'Holds the signature, such as X-Signature')}
      {text('prefix', 'Prefix', 'Stands before the signature, such as sha256=')}
      {choice('hash', 'Hash', ['sha1', 'sha256', 'sha512'])}
      {choice('encoding', 'Encoding', ['hex', 'base64'])}
      {choice('key_form', 'Secret is written as', ['text', 'base64', 'hex', 'whsec'])}
      {text('timestamp_header', 'Timestamp header', 'Where the signed text has {timestamp}')}
      {text('template', 'Signed text', 'Has {body} once, and may have {timestamp}, {method}, {url}, {path} and {header:Name}')}
    </SimpleGrid>
  );
}
