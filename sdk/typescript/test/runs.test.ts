import { describe, expect, test } from 'vitest';
import { BadRequestError, NotFoundError, type RunEvent, UnprocessableEntityError, WaitTimeoutError } from '../src/index.js';
import { eventually, Server, useServer } from './server.js';

const server = useServer({ args: ['--concurrency', '8'] });

/** Prompts of a run that works until it is cancelled or told to go on. */
const endless = 'Take your time.\ndemo: run sleep 600';
const question = 'Ask first.\ndemo: ask Which branch?';

async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) {
    items.push(item);
  }
  return items;
}

describe('a run', () => {
  test('is created, watched to its end, and read', async () => {
    const client = server().client();
    const created = await client.runs.create({ prompt: 'Look around.', metadata: { from: 'sdk' } });
    const events = await collect(client.runs.events(created.run_id));
    const run = await client.runs.get(created.run_id);
    const conversation = await client.runs.conversation(created.run_id);
    const timeline = await client.runs.timeline(created.run_id);

    expect(created.state).toBe('QUEUED');
    expect(run).toMatchObject({ state: 'SUCCEEDED', metadata: { from: 'sdk' }, source: 'API' });
    expect(events.at(-1)).toMatchObject({ event: 'done', data: { state: 'SUCCEEDED' } });
    const ids = events.flatMap((event) => ('id' in event ? [event.id] : []));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(new Set(ids).size).toBe(events.length - 1);
    expect(conversation.steps.length).toBeGreaterThan(0);
    expect(timeline.events.map((event) => event.event_type)).toContain('run_done');
  });

  test('is one of several attempts', async () => {
    const client = server().client();
    const { run_id, fork_group, runs } = await client.runs.create({ prompt: 'Look around.', attempts: 2 });
    const group = await client.runs.compare(fork_group ?? '');

    expect(runs?.[0]?.run_id).toBe(run_id);
    expect(group.runs.map((run) => run.run_id)).toEqual(runs?.map((run) => run.run_id));
    expect(group.runs).toHaveLength(2);
    await expect(client.runs.create({ prompt: 'Look around.', attempts: 0 })).rejects.toThrow(BadRequestError);
  });

  test('says what made it', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: 'Look around.' }, { source: 'GITHUB_ACTION' });
    expect((await client.runs.get(run_id)).source).toBe('GITHUB_ACTION');
  });

  test('is steered and cancelled', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: endless });
    await client.runs.followUp(run_id, { message: 'Then stop.' });
    const cancelled = await client.runs.cancel(run_id, { cascade: true });
    const run = await client.runs.wait({ run_id });

    expect(cancelled).toBe(run_id);
    expect(run.state).toBe('CANCELLED');
    await expect(client.runs.cancel(run_id)).rejects.toThrow(BadRequestError);
  });

  test('is interrupted and goes on with an uploaded file', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: endless });
    await eventually(() => client.runs.interrupt(run_id));
    const { attachments } = await client.runs.prepareAttachments(run_id, { files: [{ filename: 'a.txt', mime_type: 'text/plain' }] });
    const slot = attachments[0];
    if (!slot) {
      throw new Error('nothing was prepared');
    }
    const message = { message: 'demo: run cat .penstock/attachments/a.txt', attachments: [{ attachment_id: slot.attachment_id }] };
    await expect(client.runs.followUp(run_id, message)).rejects.toThrow(UnprocessableEntityError);
    await client.uploads.put(slot.upload_url.replace(/.*\//, ''), new Blob(['what a says'], { type: 'text/plain' }));
    expect(await client.runs.followUp(run_id, message)).toMatchObject({ outcome: 'live_session' });
    const run = await client.runs.wait({ run_id });

    expect(run.state).toBe('SUCCEEDED');
    expect(await (await client.runs.transcript(run_id)).text()).toContain('what a says');
    await expect(client.conversations.interrupt(run.conversation_id ?? '')).rejects.toThrow(BadRequestError);
  });

  test('keeps what it makes, to be downloaded', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: endless });
    const file = new File(['a,b\n'], 'table.csv', { type: 'text/csv' });
    const uploaded = await client.runs.addArtifact(run_id, { file, title: 'A table', filename: undefined });
    const linked = await client.runs.addArtifact(run_id, {
      artifact_type: 'PULL_REQUEST',
      data: { branch: 'fix', url: 'https://example.com/pull/1' },
    });
    const found = await client.runs.findByExternalReference({ url: 'https://example.com/pull/1' });
    await client.runs.cancel(run_id);

    if (uploaded.artifact_type !== 'FILE') {
      throw new Error(`got ${uploaded.artifact_type}, want FILE`);
    }
    expect(uploaded.data).toMatchObject({ filename: 'table.csv', title: 'A table', size_bytes: 4 });
    const { data, response } = await client.artifacts.download(uploaded.data.artifact_uid).withResponse();
    expect(await data.text()).toBe('a,b\n');
    expect(response.headers.get('Content-Disposition')).toContain('attachment');
    expect(linked).toMatchObject({ artifact_type: 'PULL_REQUEST', data: { branch: 'fix' } });
    expect(found.run_id).toBe(run_id);
  });

  test('has a transcript', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: 'Look around.' });
    await client.runs.wait(run_id);
    const transcript = await client.runs.transcript(run_id);
    const lines = (await transcript.text()).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line)).length).toBeGreaterThan(3);
  });
});

describe('a wait', () => {
  test('ends with the run, and is over at once for one that is', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: 'Look around.' });
    expect((await client.runs.wait(run_id)).state).toBe('SUCCEEDED');
    expect((await client.runs.wait(run_id)).state).toBe('SUCCEEDED');
  });

  test('may end at a question, and goes on after the answer', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: question });
    const blocked = await client.runs.wait(run_id, { untilBlocked: true });
    const waiting = client.runs.wait(run_id);
    await client.runs.followUp(run_id, { message: 'main' });
    const run = await waiting;
    const again = await client.runs.wait(run_id, { untilBlocked: true });

    expect(blocked).toMatchObject({ state: 'BLOCKED', status_message: { message: expect.stringContaining('Which branch?') } });
    expect(run.state).toBe('SUCCEEDED');
    expect(again.state).toBe('SUCCEEDED');
  });

  test('has a timeout, and the run goes on', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: endless });
    const error = await client.runs.wait(run_id, { timeout: 50 }).catch((error: unknown) => error);
    const { state } = await client.runs.get(run_id);
    await client.runs.cancel(run_id);

    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(String(error)).toContain(run_id);
    expect(state).not.toBe('CANCELLED');
  });

  test('can be aborted', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: endless });
    const abort = new AbortController();
    const waiting = client.runs.wait(run_id, { signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await client.runs.cancel(run_id);
  });

  test('for a run that is not there fails', async () => {
    await expect(server().client().runs.wait('019c1f7e-0000-7000-8000-000000000000')).rejects.toThrow(NotFoundError);
  });
});

describe('events', () => {
  test('go on after the one that was seen last', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: 'Look around.' });
    await client.runs.wait(run_id);
    const all = await collect(client.runs.events(run_id));
    const stream = client.runs.events(run_id, { after: 5 });
    const rest = await collect(stream);
    expect(rest).toEqual(all.filter((event) => !('id' in event) || event.id > 5));
    expect(await collect(client.runs.events(run_id, { after: stream.lastEventId }))).toEqual([]);
  });

  test('can be left and aborted while the run works', async () => {
    const client = server().client();
    const { run_id } = await client.runs.create({ prompt: endless });
    for await (const _ of client.runs.events(run_id)) {
      break;
    }
    const abort = new AbortController();
    const seen: RunEvent[] = [];
    const watching = (async () => {
      for await (const event of client.runs.events(run_id, {}, { signal: abort.signal })) {
        seen.push(event);
      }
    })();
    await eventually(() => expect(seen.length).toBeGreaterThan(0));
    abort.abort();
    await expect(watching).rejects.toThrow('aborted');
    await client.runs.cancel(run_id);
  });

  test('and a wait go on when the server was killed and is there again', async () => {
    const own = await Server.start();
    try {
      const client = own.client();
      const { run_id } = await client.runs.create({ prompt: question });
      const seen: RunEvent[] = [];
      const watching = (async () => {
        for await (const event of client.runs.events(run_id)) {
          seen.push(event);
        }
      })();
      const waiting = client.runs.wait(run_id);
      await client.runs.wait(run_id, { untilBlocked: true });
      await eventually(() =>
        expect(seen).toContainEqual(expect.objectContaining({ event: 'state', data: expect.objectContaining({ state: 'BLOCKED' }) })),
      );
      await own.end('SIGKILL');
      await own.restart();
      await client.runs.followUp(run_id, { message: 'main' });
      await watching;

      expect((await waiting).state).toBe('SUCCEEDED');
      const lasting = (list: RunEvent[]) => list.filter((event) => event.event !== 'message_delta');
      expect(lasting(seen)).toEqual(lasting(await collect(client.runs.events(run_id))));
    } finally {
      await own.remove();
    }
  });
});

describe('pages', () => {
  test('are iterated item by item and page by page', async () => {
    const client = server().client();
    const metadata = { batch: crypto.randomUUID() };
    const made: string[] = [];
    for (const title of ['one', 'two', 'three', 'four', 'five']) {
      made.push((await client.runs.create({ prompt: 'Look around.', title, metadata })).run_id);
    }
    const query = { limit: 2, sort_by: 'created_at', sort_order: 'asc', metadata } as const;
    const items = await collect(client.runs.list(query));
    const pages = await collect(client.runs.list(query).pages());
    const first = await client.runs.list(query);
    const second = await first.nextPage();

    expect(items.map((run) => run.run_id)).toEqual(made);
    expect(pages.map((page) => page.items.length)).toEqual([2, 2, 1]);
    expect(first.data.page_info.has_next_page).toBe(true);
    expect(second.items.map((run) => run.title)).toEqual(['three', 'four']);
    expect(pages.at(-1)?.hasNextPage()).toBe(false);
    await expect(pages.at(-1)?.nextPage()).rejects.toThrow('last page');
  });

  test('go on after a page that ended early', async () => {
    const client = server().client();
    const metadata = { batch: crypto.randomUUID() };
    const large = { worker_host: 'nowhere', env: { A: 'x'.repeat(120_000), B: 'x'.repeat(120_000) } };
    const made: string[] = [];
    for (let i = 0; i < 20; i++) {
      made.push((await client.runs.create({ prompt: 'x', config: large, metadata })).run_id);
    }
    const query = { limit: 500, sort_by: 'created_at', sort_order: 'asc', metadata } as const;
    const pages = await collect(client.runs.list(query).pages());
    const items = await collect(client.runs.list(query));
    await Promise.all(made.map((run) => client.runs.cancel(run)));
    expect(pages).toHaveLength(2);
    expect(items.map((run) => run.run_id)).toEqual(made);
  });

  test('take filters of every kind', async () => {
    const client = server().client();
    const metadata = { filter: crypto.randomUUID() };
    const { run_id } = await client.runs.create({ prompt: endless, metadata });
    const found = await client.runs.list({
      metadata,
      state: ['QUEUED', 'CLAIMED', 'PENDING', 'INPROGRESS'],
      created_after: new Date(Date.now() - 3_600_000),
      task_status: 'running',
    });
    const none = await client.runs.list({ metadata, created_before: '2020-01-01T00:00:00Z' });
    await client.runs.cancel(run_id);
    expect(found.items.map((run) => run.run_id)).toEqual([run_id]);
    expect(none.items).toEqual([]);
  });
});
