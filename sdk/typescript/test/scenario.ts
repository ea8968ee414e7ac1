import type { ClientOptions, NotFoundError, Penstock, verify } from '../src/index.js';

/** What the scenario needs of the package, however it was loaded. */
export interface SDK {
  Penstock: typeof Penstock;
  NotFoundError: typeof NotFoundError;
  verify: typeof verify;
}

/** What a program does with the SDK, in words that every runtime knows. */
export async function scenario({ Penstock, NotFoundError, verify }: SDK, options?: ClientOptions): Promise<typeof want> {
  const client = new Penstock(options);
  const { run_id } = await client.runs.create({ prompt: 'Look around.', metadata: { from: 'scenario' } });
  const events: string[] = [];
  for await (const event of client.runs.events(run_id)) {
    events.push(event.event);
  }
  const run = await client.runs.wait(run_id);
  const listed: string[] = [];
  for await (const item of client.runs.list({ limit: 1, metadata: { from: 'scenario' } })) {
    listed.push(item.run_id);
  }
  const file = new Blob(['hello'], { type: 'text/plain' });
  const artifact = await client.runs.addArtifact(run_id, { file, filename: 'hello.txt' });
  const bytes = await client.artifacts.download((artifact.data as { artifact_uid: string }).artifact_uid);
  const missing = await client.runs.get('019c1f7e-0000-7000-8000-000000000000').catch((error: unknown) => error);
  const aborted = await client.me.get({ signal: AbortSignal.abort() }).catch((error: unknown) => error);
  const { response, requestId } = await client.me.get().withResponse();
  const signature = 'v1,Uczu78maiw/CLQBBFLZcm/ePU4VyZfpyiCUfLSUsGY4=';
  const headers = new Headers({ 'webhook-id': 'msg_1', 'webhook-timestamp': '1770024600', 'webhook-signature': signature });
  const secret = `whsec_${'A'.repeat(43)}=`;
  const message = await verify('{"type":"endpoint.ping","data":{}}', headers, secret, { receivedAt: 1_770_024_600_000 });
  return {
    state: run.state,
    last: events.at(-1) ?? '',
    isListed: listed.includes(run_id),
    text: await bytes.text(),
    isMissing: missing instanceof NotFoundError && missing.code === 'resource_not_found',
    aborted: (aborted as Error).name,
    status: response.status,
    hasRequestId: typeof requestId === 'string',
    verified: message.type as string,
  };
}

/** What must come of it. */
export const want = {
  state: 'SUCCEEDED',
  last: 'done',
  isListed: true,
  text: 'hello',
  isMissing: true,
  aborted: 'AbortError',
  status: 200,
  hasRequestId: true,
  verified: 'endpoint.ping',
};
