import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from './server.ts';
import { choose, expect, test as plain } from './world.ts';

/** A receiver of messages on this machine, which answers with a status and a text that a test sets, and with 410 at /gone. */
interface Receiver {
  url: string;
  got: { headers: IncomingHttpHeaders; body: string }[];
  answer: { status: number; text: string };
}

const test = plain.extend<{ receiver: Receiver; server: Server }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of what a fixture needs
    async ({}, use) => {
      const server = await Server.start('--event-private-network', '127.0.0.0/8');
      await use(server);
      await server.end();
    },
    { scope: 'file' },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of what a fixture needs
  receiver: async ({}, use) => {
    const receiver: Receiver = { url: '', got: [], answer: { status: 200, text: 'ok' } };
    const listener = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) {
        body += chunk;
      }
      receiver.got.push({ headers: request.headers, body });
      const { status, text } = request.url?.startsWith('/gone') ? { status: 410, text: 'gone' } : receiver.answer;
      response.writeHead(status).end(text);
    });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    receiver.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/in?key=t0ken`;
    await use(receiver);
    listener.closeAllConnections();
    listener.close();
  },
});

/** Whether a message has a signature of a secret, as Standard Webhooks describe. */
function isSigned({ headers, body }: Receiver['got'][number], secret: string): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const mac = createHmac('sha256', key).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
  return String(headers['webhook-signature'])
    .split(' ')
    .includes(`v1,${mac.digest('base64')}`);
}

test('an endpoint is made, tried, rotated, disabled and deleted', async ({ world, receiver }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'payments' });
  await world.signIn('/');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Event endpoints' }).click();
  await page.getByRole('heading', { name: 'No event endpoints' }).waitFor();
  await page.getByRole('button', { name: 'New endpoint' }).first().click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
  await dialog.getByLabel('URL').fill('http://10.1.2.3/');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText(/not public/).waitFor();
  await dialog.getByLabel('URL').fill(receiver.url);
  for (const [field, choice] of [
    ['Events', 'run.failed'],
    ['Events', 'run.created'],
    ['Factories', 'payments'],
  ] as const) {
    await choose(dialog.getByRole('combobox', { name: field }), { name: choice }, choice);
    await page.keyboard.press('Tab');
  }
  await dialog.getByLabel('Description').fill('Pages <b>the</b> people on call');
  await world.look('endpoint-new');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const first = (await dialog.getByRole('region', { name: 'Secret' }).textContent()) ?? '';
  expect(first).toMatch(/^whsec_/);
  const [endpoint] = (await server.api.eventEndpoints.list()).endpoints;
  expect(endpoint).toMatchObject({ events: ['run.failed', 'run.created'], factory_uids: [uid], format: 'standard', enabled: true });
  await world.look('endpoint-secret');
  await dialog.getByRole('link', { name: 'Open the endpoint' }).click();
  await page.getByRole('heading', { name: 'Pages <b>the</b> people on call' }).waitFor();
  await dialog.waitFor({ state: 'detached' });
  expect(await page.content()).not.toContain('whsec_');
  await page.getByText('Nothing was sent yet.').waitFor();

  await page.getByRole('button', { name: 'Send a ping' }).click();
  const attempts = page.getByRole('table', { name: 'Attempts' });
  await attempts
    .getByRole('row', { name: /endpoint\.ping/ })
    .getByText('Delivered')
    .waitFor();
  expect(isSigned(receiver.got[0] as Receiver['got'][number], first)).toBe(true);

  await page.getByRole('button', { name: 'Rotate secret' }).click();
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  const second = (await dialog.getByRole('region', { name: 'Secret' }).textContent()) ?? '';
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByText('valid until').waitFor();
  await attempts.getByRole('button', { name: 'Replay endpoint.ping' }).click();
  await expect.poll(() => receiver.got.length).toBe(2);
  const [before, again] = receiver.got;
  expect(again?.headers['webhook-id']).toBe(before?.headers['webhook-id']);
  expect([first, second].map((secret) => isSigned(again as Receiver['got'][number], secret))).toEqual([true, true]);

  receiver.answer = { status: 503, text: 'try <i>later</i>' };
  await page.getByRole('button', { name: 'Send a ping' }).click();
  await attempts.getByText('503').first().waitFor();
  await page.getByRole('heading', { name: /Failing/ }).waitFor();
  await world.look('endpoint');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Event endpoints' }).click();
  const row = page.getByRole('row', { name: /people on call/ });
  await row.getByText('Failing').waitFor();

  const gone = await server.api.eventEndpoints.create({ url: receiver.url.replace('/in', '/gone'), description: 'archived' });
  await server.api.eventEndpoints.ping(gone.uid);
  await page
    .getByRole('row', { name: /archived/ })
    .getByText('410 Gone')
    .waitFor();
  await world.look('endpoints');

  receiver.answer = { status: 200, text: 'ok' };
  await row.getByRole('link', { name: /people on call/ }).click();
  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Description').fill('pager');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: /^pager/ }).waitFor();
  expect(await server.api.eventEndpoints.get(endpoint?.uid ?? '')).toMatchObject({
    description: 'pager',
    events: ['run.failed', 'run.created'],
    factory_uids: [uid],
  });
  await page.getByLabel('Enabled').click();
  await page.getByRole('heading', { name: /Disabled/ }).waitFor();
  expect(await page.getByRole('button', { name: 'Send a ping' }).isDisabled()).toBe(true);
  expect(
    await attempts
      .getByRole('button', { name: /^Replay/ })
      .first()
      .isDisabled(),
  ).toBe(true);
  await page.getByLabel('Enabled').click();
  await page.getByRole('button', { name: 'Send a ping' }).and(page.locator(':enabled')).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete event endpoint' }).click();
  await page.getByRole('row', { name: /archived/ }).waitFor();
  expect((await server.api.eventEndpoints.list()).endpoints.map(({ uid: one }) => one)).toEqual([gone.uid]);
  await page.goto(`${server.url}/event-endpoints/${endpoint?.uid}`);
  await page.getByRole('alert').getByText('This event endpoint does not exist').waitFor();
});

test('the link of a line in Slack leads to the run', async ({ world, receiver }) => {
  const { page, server } = world;
  await world.signIn('/event-endpoints');
  await page.getByRole('button', { name: 'New endpoint' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('URL').fill(receiver.url);
  await choose(dialog.getByRole('combobox', { name: 'Format' }), { name: /Mattermost/ });
  await dialog.getByText('The channel sees titles of runs.').waitFor();
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('Its messages are not signed').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await server.api.runs.create({ prompt: 'demo: say fixed', title: 'Fix <!channel>' });
  await expect.poll(() => receiver.got.length).toBeGreaterThan(0);
  const { text } = JSON.parse(receiver.got[0]?.body ?? '{}');
  const link = /^<([^|>]+)\|Run created>: Fix &lt;!channel&gt;$/.exec(text)?.[1] ?? '';
  expect(link, text).toMatch(`${server.url}/runs/`);
  await page.goto(link);
  await page.getByRole('heading', { name: 'Fix <!channel>' }).waitFor();
});

test('a Slack app is set up and changed, and its secrets are never shown', async ({ world, receiver }) => {
  const { page, server } = world;
  receiver.answer.text = '{"ok":true,"channel":"C024BE91L","ts":"1700000000.000001"}';
  const api = `${new URL(receiver.url).origin}/api`;
  await world.signIn('/event-endpoints');
  await page.getByRole('button', { name: 'New endpoint' }).first().click();
  const dialog = page.getByRole('dialog');
  await choose(dialog.getByRole('combobox', { name: 'Format' }), { name: /Slack app/ });
  await dialog.getByLabel('URL').fill(api);
  await dialog.getByLabel('Description').fill('questions');
  await dialog.getByLabel('Channel').fill('C024BE91L');
  expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Bot token').fill('xoxb-t0ken');
  await dialog.getByLabel('Signing secret').fill('s1gning');
  await dialog.getByLabel('May answer').fill('@bob');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText(/must be the id of a Slack user/).waitFor();
  await dialog.getByLabel('May answer').focus();
  await page.keyboard.press('Backspace');
  await dialog.getByLabel('May answer').fill('U024BE7LH');
  await page.keyboard.press('Enter');
  await world.look('endpoint-slack-app-new');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const address = dialog.getByRole('region', { name: 'Request URL' });
  await address.waitFor(); // the endpoint exists now
  const [endpoint] = (await server.api.eventEndpoints.list()).endpoints.filter(({ format }) => format === 'slack_app');
  await address.getByText(`${server.url}/webhooks/e/${endpoint?.uid}`).waitFor();
  await dialog.getByRole('link', { name: 'Open the endpoint' }).click();
  await page.getByRole('heading', { name: 'questions' }).waitFor();
  await page.getByText('U024BE7LH').waitFor();
  await page.getByRole('button', { name: 'Send a ping' }).click();
  await page.getByRole('table', { name: 'Attempts' }).getByText('Delivered').waitFor();
  expect(receiver.got[0]?.headers.authorization).toBe('Bearer xoxb-t0ken');

  await page.getByRole('button', { name: 'Edit' }).click();
  expect(await dialog.getByLabel('New bot token').inputValue()).toBe('');
  await dialog.getByLabel('Channel').fill('C0THER');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('C0THER').waitFor();
  await world.look('endpoint-slack-app');
  await page.getByRole('button', { name: 'Send a ping' }).click();
  await expect.poll(() => receiver.got.length).toBe(2);
  expect(receiver.got[1]?.headers.authorization).toBe('Bearer xoxb-t0ken');
  expect(JSON.parse(receiver.got[1]?.body ?? '{}')).toMatchObject({ channel: 'C0THER' });
  expect(await page.content()).not.toMatch(/t0ken|s1gning/);
});

test('only a key with events:manage sees the endpoints', async ({ world }) => {
  const { page, server } = world;
  const { key: reader = '' } = await server.api.keys.create({ name: 'reader', scopes: ['runs:read'] });
  await world.signIn('/event-endpoints', page, reader);
  await expect(page.getByRole('alert').textContent()).resolves.toMatch(/events:manage/);
  expect(await page.getByRole('button', { name: 'New endpoint' }).count()).toBe(0);
  expect(await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Event endpoints' }).count()).toBe(0);
  const { key: manager = '' } = await server.api.keys.create({ name: 'manager', scopes: ['events:manage'] });
  const other = await world.newPage();
  await world.signIn('/event-endpoints', other, manager);
  await other.getByRole('button', { name: 'New endpoint' }).first().click();
  await other.getByRole('dialog').getByRole('combobox', { name: 'Format' }).click();
  for (const name of [/Mattermost/, /Slack app/]) {
    expect(await other.getByRole('option', { name }).getAttribute('data-combobox-disabled')).toBe('true');
  }
});

test('all messages since a time are sent once more', async ({ world, receiver }) => {
  const { page, server } = world;
  const { uid } = await server.api.eventEndpoints.create({ url: receiver.url, events: ['run.created'] });
  await server.api.runs.create({ prompt: 'one' });
  await server.api.runs.create({ prompt: 'two' });
  await expect.poll(() => receiver.got.length).toBe(2);
  await world.signIn(`/event-endpoints/${uid}`);
  await page.getByRole('button', { name: 'Replay since…' }).click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByRole('button', { name: 'Replay' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Since').fill('2099-01-01T00:00');
  await dialog.getByRole('button', { name: 'Replay' }).click();
  await dialog.getByText('0 messages wait to be sent.').waitFor();
  await dialog.getByLabel('Since').fill('2026-01-01T00:00');
  await dialog.getByRole('button', { name: 'Replay' }).click();
  await dialog.getByText('2 messages wait to be sent.').waitFor();
  await world.look('replay-since');
  await expect.poll(() => receiver.got.length).toBe(4);
  const ids = receiver.got.map(({ headers }) => headers['webhook-id']);
  expect(new Set(ids).size).toBe(2);
});
