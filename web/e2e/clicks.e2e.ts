import type { Page } from 'playwright-core';
import { expect, test, type World } from './world.ts';

/** The most clicks that each task may take from Home. */
const aims = {
  'start a run': 1,
  'steer a run': 2,
  'answer a blocked run': 1,
  'cancel a run': 2,
  'create a webhook and see its test delivery': 4,
  'see why an automation did not fire': 2,
  'replay a delivery': 2,
  'test a filter with stored deliveries': 2,
  'rotate a secret': 3,
  'run a failed run again': 1,
} as const;

type Task = keyof typeof aims;

interface Hands {
  page: Page;
  /** Fails if the task took more clicks than it may, or none. */
  done: () => void;
}

/**
 * Begins a task on Home. Each press of a button of the pointer counts, also one into a field. Keys do not: text is typed, Tab goes to the next
 * field, and Ctrl+Enter sends a form.
 */
async function fromHome(world: World, task: Task): Promise<Hands> {
  let count = 0;
  await world.context.exposeFunction('counted', () => {
    count++;
  });
  await world.context.addInitScript(() => {
    const counted = (event: Event): void => {
      if (event.isTrusted) {
        (window as unknown as { counted: () => void }).counted();
      }
    };
    addEventListener('pointerdown', counted, { capture: true });
  });
  await world.signIn('/');
  await world.page.getByRole('region', { name: 'Needs attention' }).waitFor();
  return {
    page: world.page,
    done: () => {
      expect(count, `clicks to ${task}`).toBeGreaterThan(0);
      expect(count, `clicks to ${task}`).toBeLessThanOrEqual(aims[task]);
    },
  };
}

const stateOf = async (world: World, id: string): Promise<string> => (await world.server.api.runs.get(id)).state;

test('a run is started with one click', async ({ world }) => {
  const { page, done } = await fromHome(world, 'start a run');
  await page.getByRole('textbox', { name: 'Prompt' }).click();
  await page.keyboard.type('Say hello');
  await page.keyboard.press('Control+Enter');
  await page.waitForURL('**/runs/*-*');
  await page.getByRole('heading', { name: 'Say hello' }).waitFor();
  done();
});

test('a run is steered with two clicks', async ({ world }) => {
  const wait = 'demo: run while [ ! -e go ]; do sleep 0.05; done';
  const { run_id } = await world.server.api.runs.create({ prompt: `Wait\n${wait}`, title: 'Steer me' });
  const { page, done } = await fromHome(world, 'steer a run');
  await page.getByRole('link', { name: 'Steer me' }).click();
  await page.getByLabel('Follow-up').click();
  await page.keyboard.type('demo: say Steered');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Queued: delivered after this turn').waitFor();
  world.server.write(run_id, 'go');
  await page.getByRole('region', { name: 'Transcript' }).getByText('Steered', { exact: true }).waitFor();
  await expect.poll(() => stateOf(world, run_id)).toBe('SUCCEEDED');
  done();
});

test('a blocked run is answered with one click', async ({ world }) => {
  const { run_id } = await world.server.api.runs.create({ prompt: 'demo: ask Which one?', title: 'Answer me' });
  await expect.poll(() => stateOf(world, run_id)).toBe('BLOCKED');
  const { page, done } = await fromHome(world, 'answer a blocked run');
  await page.getByRole('group', { name: 'Answer me' }).getByRole('textbox').click();
  await page.keyboard.type('The second');
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => stateOf(world, run_id)).toBe('SUCCEEDED');
  done();
});

test('a run is cancelled with two clicks', async ({ world }) => {
  const { run_id } = await world.server.api.runs.create({ prompt: 'Wait\ndemo: run sleep 600', title: 'Cancel me' });
  const { page, done } = await fromHome(world, 'cancel a run');
  await page.getByRole('button', { name: 'Cancel run Cancel me' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel run' }).click();
  await expect.poll(() => stateOf(world, run_id)).toBe('CANCELLED');
  done();
});

test('a failed run is run again with one click', async ({ world }) => {
  const { run_id } = await world.server.api.runs.create({ prompt: 'demo: error it broke', title: 'Run me again' });
  await expect.poll(() => stateOf(world, run_id)).toBe('FAILED');
  const { page, done } = await fromHome(world, 'run a failed run again');
  await page.getByRole('button', { name: 'Run again Run me again' }).click();
  await page.waitForURL('**/runs/*-*');
  expect(page.url()).not.toContain(run_id);
  await page.getByRole('heading', { name: 'Run me again' }).waitFor();
  done();
});

test('two clicks show why an automation did not fire', async ({ world }) => {
  const { api } = world.server;
  const { uid } = await api.factories.create({ name: 'orders' });
  const hook = await api.webhooks.create(uid, { name: 'shop' });
  const filter = { webhook_ids: ['shop'], payload: { type: ['order.refunded'] } };
  await api.automations.create(uid, { name: 'refund', prompt: 'x', triggers: [{ provider: 'webhook', event: 'received', filter }] });
  const sent = await fetch(hook.ingress_url, {
    method: 'POST',
    body: '{"type": "order.created"}',
    headers: { Authorization: `Bearer ${hook.secret}` },
  });
  expect(sent.status).toBe(202);
  const { page, done } = await fromHome(world, 'see why an automation did not fire');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Automations' }).click();
  await page.getByRole('link', { name: 'refund' }).click();
  const activity = page.getByRole('region', { name: 'Activity' });
  await activity.getByText('Did not fire').waitFor();
  await activity.getByText('type is order.created; expects order.refunded').waitFor();
  done();
});

test('a webhook is created and tested with four clicks', async ({ world }) => {
  await world.server.api.factories.create({ name: 'payments' });
  const { page, done } = await fromHome(world, 'create a webhook and see its test delivery');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Webhooks' }).click();
  await page.getByRole('button', { name: 'New webhook' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'Sender' }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.type('stripe');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByRole('button', { name: 'Send test' }).click();
  await dialog.getByText('HTTP 202, no run started').waitFor();
  done();
});

test('a secret is rotated with three clicks, and the old one stays valid for a day', async ({ world }) => {
  const { uid } = await world.server.api.factories.create({ name: 'rotations' });
  const hook = await world.server.api.webhooks.create(uid, { name: 'rotated' });
  const { page, done } = await fromHome(world, 'rotate a secret');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Webhooks' }).click();
  await page.getByRole('button', { name: 'Rotate secret of rotated' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  const secret = await dialog.getByRole('region', { name: 'Secret' }).textContent();
  done();
  const send = async (value: string | null | undefined): Promise<number> =>
    (await fetch(hook.ingress_url, { method: 'POST', body: '{}', headers: { Authorization: `Bearer ${value}` } })).status;
  expect([await send(hook.secret), await send(secret)]).toEqual([202, 202]);
});

test('a filter is tested against stored deliveries with two clicks', async ({ world }) => {
  const { uid } = await world.server.api.factories.create({ name: 'filters' });
  const hook = await world.server.api.webhooks.create(uid, { name: 'orders' });
  const filter = { webhook_ids: [hook.uid], payload: { type: ['order.refunded'] } };
  const triggers = [{ provider: 'webhook', event: 'received', filter }];
  await world.server.api.automations.create(uid, { name: 'filtered', prompt: 'x', triggers });
  const headers = { Authorization: `Bearer ${hook.secret}` };
  expect((await fetch(hook.ingress_url, { method: 'POST', body: '{"type": "order.created"}', headers })).status).toBe(202);
  const { page, done } = await fromHome(world, 'test a filter with stored deliveries');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Automations' }).click();
  await page.getByRole('link', { name: 'filtered' }).click();
  const tested = page.getByRole('region', { name: 'Tested deliveries' }).getByRole('listitem');
  await tested.getByText('Does not match').waitFor();
  await tested.getByText('type is order.created; expects order.refunded').waitFor();
  done();
});

test('a delivery is replayed with two clicks', async ({ world }) => {
  const { api } = world.server;
  const { uid } = await api.factories.create({ name: 'replays' });
  const hook = await api.webhooks.create(uid, { name: 'invoices' });
  const headers = { Authorization: `Bearer ${hook.secret}` };
  const body = '{"type": "invoice.paid"}';
  expect((await fetch(hook.ingress_url, { method: 'POST', body, headers })).status).toBe(202);
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: ['invoices'] } }];
  await api.automations.create(uid, { name: 'book', prompt: 'demo: say booked', triggers });
  const { page, done } = await fromHome(world, 'replay a delivery');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Webhooks' }).click();
  const last = page.getByRole('region', { name: 'Last deliveries' });
  await last.getByRole('button', { name: 'Replay invoice.paid to invoices' }).click();
  await last.getByText(/^Replayed as .* 1 run started\.$/).waitFor();
  done();
  await expect.poll(async () => (await api.runs.list({ webhook_uid: hook.uid })).items.length).toBe(1);
});
