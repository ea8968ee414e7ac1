import { Button, Group, Stack, Text, Textarea } from '@mantine/core';
import type { Webhook, WebhookVerification } from '@penstock/sdk';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { client } from '../../api.ts';
import { AppliedTime } from '../../ui/AppliedInput.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Status } from '../../ui/Status.tsx';
import { reasonOf } from '../deliveries/outcome.ts';
import { headersOf } from './headers.ts';

/** Checks whether the webhook would accept the credential of a pasted request. It records and starts nothing. */
export default function VerifyRequest({ webhook, factory, close }: { webhook: Webhook; factory: string; close: () => void }) {
  const [text, setText] = useState('');
  const [body, setBody] = useState('');
  const [at, setAt] = useState('');
  const { headers, wrong } = headersOf(text);
  const verifying = useMutation({
    mutationFn: () => client.webhooks.verifyRequest(factory, webhook.uid, { headers, body, ...(at ? { at } : {}) }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    verifying.mutate();
  };
  return (
    <Dialog title={`Verify a request to ${webhook.label}`} close={close} size="lg">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Text size="sm">
            Paste a request as its sender sent it. Penstock checks it with the secrets of the webhook, and neither records it nor starts
            runs.
          </Text>
          <Textarea
            label="Headers"
            description="One per line, such as X-Hub-Signature-256: sha256=…"
            required
            data-autofocus
            autosize
            minRows={4}
            maxRows={10}
            spellCheck={false}
            error={wrong && `This is not a header: ${wrong}`}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <Textarea
            label="Body"
            description="Byte for byte. A browser pastes every line end as LF."
            autosize
            minRows={4}
            maxRows={12}
            spellCheck={false}
            value={body}
            onChange={(event) => setBody(event.currentTarget.value)}
          />
          <AppliedTime
            label="Received"
            description="A signature with a timestamp is valid for a few minutes. Default: now"
            w={280}
            value={at}
            apply={setAt}
          />
          {verifying.data && <Verified {...verifying.data} />}
          <Failure error={verifying.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Close
            </Button>
            <Button type="submit" loading={verifying.isPending} disabled={text.trim() === '' || wrong !== undefined}>
              Verify
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function Verified({ valid, reason, detail, hint }: WebhookVerification) {
  return (
    <div role="status">
      <Status tone={valid ? 'good' : 'bad'}>{valid ? 'Valid' : 'Invalid'}</Status>
      <Text size="sm" mt={4}>
        {valid ? 'It matches a secret of the webhook.' : reasonOf(reason ? { reason } : {})}
      </Text>
      {[detail, hint].map(
        (line) =>
          line && (
            <Text key={line} size="sm" className="plain">
              {line}
            </Text>
          ),
      )}
    </div>
  );
}
