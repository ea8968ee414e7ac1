import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Known, SignaturePreset, SignatureScheme, Webhook } from '@penstock/sdk';
import type { Route } from 'playwright-core';
import { firstDelivery } from '../src/pages/webhooks/command.ts';
import { choose, expect, test, type World } from './world.ts';

const run = promisify(execFile);

/** A factory with a name of its own. */
async function factoryOf({ server }: World, name: string): Promise<string> {
  return (await server.api.factories.create({ name })).uid;
}

/** Opens the form, and fills in what every kind has. */
async function begin({ page }: World, factory: string, name: string): Promise<void> {
  await page.getByRole('button', { name: 'New webhook' }).first().click();
  const dialog = page.getByRole('dialog');
  await choose(dialog.getByRole('combobox', { name: 'Factory' }), { name: factory, exact: true });
  await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
}

async function pickSender({ page }: World, sender: string): Promise<void> {
  await choose(page.getByRole('combobox', { name: 'Sender' }), { name: sender, exact: true }, sender);
}

/** Runs a command for a first delivery, which must be accepted. */
async function deliver(command: string, name: string): Promise<void> {
  const { stdout } = await run('sh', ['-c', command.replace('curl ', 'curl -s ')]);
  expect(stdout, name).toMatch(/^\{"delivery_id":"[0-9a-f-]{36}"\}/);
}

/** Runs the command that the page shows for a first delivery. */
async function runShown({ page }: World, name: string): Promise<void> {
  await deliver((await page.getByRole('region', { name: 'a delivery with curl' }).textContent()) ?? '', name);
}

/** A secret of the form that a sender's keys have. */
function secretFor({ forms }: SignaturePreset): string {
  const secrets: Record<string, string> = { hex: 'c0ffee00'.repeat(8), base64: 'wP/u'.repeat(8), whsec: `whsec_${'wP/u'.repeat(8)}` };
  return secrets[forms[0]?.key_form ?? ''] ?? "it's a long $ecret";
}

test('a webhook of each kind is made, and the command that is shown is accepted', async ({ world }) => {
  const { page, server } = world;
  const uid = await factoryOf(world, 'kinds');
  await world.signIn('/webhooks');
  await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
  await world.look('webhooks-empty');
  const dialog = page.getByRole('dialog');
  const kinds: { name: string; fill?: () => Promise<void> }[] = [
    { name: 'Deploy events' },
    { name: 'by url', fill: () => pickSender(world, 'Any sender, with a token in the URL') },
    { name: 'standard', fill: () => pickSender(world, 'Standard Webhooks') },
    {
      name: 'from GitHub',
      fill: async () => {
        await pickSender(world, 'GitHub');
        await dialog.getByLabel('Secret', { exact: true }).fill("it's a long $ecret");
      },
    },
    {
      name: 'own',
      fill: async () => {
        await pickSender(world, 'Any sender, with its own signature');
        await dialog.getByLabel('Signature header').fill('X-Own-Signature');
        await dialog.getByLabel('Prefix').fill('"$(touch /tmp/no)`v1=');
        await dialog.getByLabel('Signed text').fill('{method}:{timestamp}:{body}');
        await dialog.getByLabel('Timestamp header').fill('X-Own-Time');
        await dialog.getByLabel('Secret', { exact: true }).fill('an-example-value');
        await world.look('webhook-new');
      },
    },
  ];
  for (const { name, fill } of kinds) {
    await begin(world, 'kinds', name);
    await fill?.();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('region', { name: 'URL', exact: true }).waitFor();
    await runShown(world, name);
    if (name === 'standard') {
      await world.look('webhook-reveal');
    }
    await dialog.getByRole('status', { name: 'Last delivery' }).getByText('Accepted').waitFor();
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('link', { name, exact: true }).waitFor();
  }
  await expect.poll(() => page.getByRole('cell', { name: '1 accepted' }).count()).toBe(kinds.length);
  await world.look('webhooks');
  expect((await server.api.webhooks.list(uid)).webhooks).toHaveLength(kinds.length);
});

test('the command for each known sender is accepted', async ({ server }) => {
  const { uid } = await server.api.factories.create({ name: 'senders' });
  const { signature_schemes: presets } = await server.api.webhooks.listSignatureSchemes();
  const untried: string[] = [];
  for (const preset of presets) {
    const scheme = preset.scheme as Known<SignatureScheme>;
    const secret = secretFor(preset);
    const command = firstDelivery({ auth_mode: 'signature', ingress_url: server.url, secret } as Webhook, preset);
    if (!command) {
      untried.push(scheme);
      continue;
    }
    const webhook = await server.api.webhooks.create(uid, {
      name: preset.sender,
      auth_mode: 'signature',
      signature_scheme: scheme,
      secret,
    });
    await deliver(firstDelivery({ ...webhook, secret }, preset) ?? '', scheme);
    await server.api.webhooks.delete(uid, webhook.uid); // a factory has at most 20
  }
  // By a private key, over headers that only the sender knows, and as the user describes.
  expect(untried).toEqual(['discord', 'contentful', 'custom_hmac']);
});

test('the secret of a sender that makes it after the URL is entered later', async ({ world }) => {
  const { page, server } = world;
  const uid = await factoryOf(world, 'later');
  await world.signIn(`/webhooks?factory=${uid}`);
  await begin(world, 'later', 'payments');
  await pickSender(world, 'Stripe');
  await page.getByRole('region', { name: 'About Stripe' }).getByText('Signing secret').waitFor();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('1. Register this URL with Stripe').waitFor();
  await world.look('webhook-finish');
  await dialog.getByRole('button', { name: 'Later' }).click();
  await page.getByRole('button', { name: 'Finish setup' }).click();
  await dialog.getByLabel('2. Enter the secret that it shows').fill('whsec_long+example');
  await dialog.getByRole('button', { name: 'Finish setup' }).click();
  await page.getByRole('heading', { name: 'payments', level: 1 }).waitFor();
  await page.getByRole('switch', { name: 'Enabled', checked: true }).waitFor();
  const [hook] = (await server.api.webhooks.list(uid)).webhooks;
  expect(hook).toMatchObject({ pending_secret: false, enabled: true });
});

test('the form begins with the sender, which names the webhook, and what can change later is edited on its page', async ({ world }) => {
  const { page, server } = world;
  const uid = await factoryOf(world, 'editing');
  await world.signIn(`/webhooks?factory=${uid}`);
  await page.getByRole('button', { name: 'New webhook' }).first().press('Enter');
  const dialog = page.getByRole('dialog');
  const name = dialog.getByRole('textbox', { name: 'Name', exact: true });
  await expect.poll(() => dialog.getByRole('combobox', { name: 'Sender' }).evaluate((one) => one === document.activeElement)).toBe(true);
  expect(await dialog.getByRole('textbox', { name: 'Managed secret' }).isVisible()).toBe(false);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('gith');
  // Enter chooses the option that the list has marked, not the first that it shows.
  await page.locator('[role=option][data-combobox-selected]', { hasText: 'GitHub' }).waitFor();
  await page.keyboard.press('Enter');
  await expect.poll(() => name.inputValue()).toBe('GitHub');
  await world.look('webhook-sender');
  await dialog.getByText('Advanced').click();
  await dialog.getByRole('textbox', { name: 'Managed secret' }).waitFor();
  await world.look('webhook-advanced');
  const generated = await dialog.getByLabel('Secret', { exact: true }).inputValue();
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByRole('region', { name: 'Secret' }).getByText(generated, { exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('heading', { name: 'GitHub', level: 1 }).waitFor();

  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
  await dialog.getByRole('textbox', { name: 'Delivery ID header' }).fill('X-Own-Id');
  await dialog.getByRole('checkbox', { name: /^Replay guard/ }).check();
  await world.look('webhook-edit');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByText('the header X-Own-Id').waitFor();
  const [hook] = (await server.api.webhooks.list(uid)).webhooks;
  expect(hook).toMatchObject({ label: 'GitHub', signature_scheme: 'github', delivery_id_header: 'X-Own-Id', replay_guard: true });
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await dialog.getByRole('textbox', { name: 'Delivery ID header' }).fill('Authorization');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').waitFor(); // the server's reason; the form stays
  await dialog.getByRole('button', { name: 'Close' }).last().click();
});

test('a signed delivery appears without a reload, with why each automation did or did not fire', async ({ world }) => {
  const { page, server } = world;
  const uid = await factoryOf(world, 'live');
  const secret = 'an-example-value';
  const hook = await server.api.webhooks.create(uid, { name: 'ci', auth_mode: 'signature', signature_scheme: 'github', secret });
  const trigger = (payload: Record<string, unknown>) => [
    { provider: 'webhook', event: 'received', filter: { webhook_ids: ['ci'], payload } },
  ];
  await server.api.automations.create(uid, { name: 'fix', prompt: 'demo: say x', triggers: trigger({ status: ['failed'] }) });
  await server.api.automations.create(uid, { name: 'cheer', prompt: 'demo: say x', triggers: trigger({ status: ['passed'] }) });
  await world.signIn(`/factory/${uid}/webhooks/${hook.uid}`);
  await page.getByText('Waiting for the first delivery…').waitFor();
  await page.getByRole('region', { name: 'a delivery with curl' }).getByText('YOUR-SECRET').waitFor();
  await world.look('deliveries-empty');
  const attack = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>';
  const body = JSON.stringify({ status: 'failed', id: 9007199254740993n.toString(), log: attack, [attack]: true });
  const send = (id: string, key = secret): Promise<Response> =>
    fetch(hook.ingress_url, {
      method: 'POST',
      body,
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': attack,
        'X-GitHub-Event': 'check_run',
        'X-GitHub-Delivery': id,
        'X-Hub-Signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
      },
    });
  expect((await send('first')).status).toBe(202);
  const list = page.getByRole('list', { name: 'Deliveries' });
  const entry = list.getByRole('button', { name: /^Accepted/ });
  await entry.click();
  const detail = list.getByRole('listitem').filter({ has: page.getByRole('button', { name: /^Accepted/ }) });
  await detail.getByRole('link', { name: 'fix' }).waitFor();
  await detail.getByText('Did not fire', { exact: true }).waitFor();
  await detail.getByText(/^status is failed; expects passed$/).waitFor();
  const edit = await detail.getByRole('link', { name: 'Edit the filter' }).getAttribute('href');
  expect(edit).toMatch(new RegExp(`/automations/[^?]+\\?webhook=${hook.uid}&delivery=`));
  const marked = detail.getByRole('region', { name: 'payload' }).locator('mark');
  await expect.poll(() => marked.allTextContents()).toEqual(['  "status": "failed",']);
  await detail.getByText('← cheer: status is failed; expects passed').waitFor();
  await detail.getByRole('region', { name: 'payload' }).getByText('window.hacked').waitFor();
  expect(await detail.getByText(attack).count()).toBeGreaterThan(0);
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  expect(await page.locator('main img').count()).toBe(0);
  await world.look('deliveries');

  expect((await send('first')).status).toBe(202);
  await list.getByRole('button', { name: /^Duplicate/ }).waitFor();
  expect((await send('second', 'another')).status).toBe(401);
  await list.getByRole('button', { name: /^Rejected \(auth\)/ }).click();
  await list.getByText('The secret or signature does not match.').waitFor();
  await page.getByRole('link', { name: 'Duplicate', exact: true }).click();
  await page.waitForURL('**?outcome=duplicate');
  await expect.poll(() => list.getByRole('listitem').count()).toBe(1);

  await page.getByRole('link', { name: 'Accepted', exact: true }).click();
  await entry.click();
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText(/^Replayed as .* 1 run started\.$/).waitFor();
  await expect.poll(() => list.getByText('Replay of check_run', { exact: true }).count()).toBe(1);

  const { items } = await server.api.runs.list({ webhook_uid: hook.uid });
  expect(items).toHaveLength(2);
  await page.goto(items.at(-1)?.trigger_url ?? '');
  await page.getByRole('link', { name: 'ci', exact: true }).waitFor();
  await page.getByText('check_run', { exact: true }).first().waitFor();
  await page.getByRole('region', { name: 'payload' }).getByText('9007199254740993').waitFor();
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  const saved = await saving;
  expect(saved.suggestedFilename()).toMatch(/\.json$/);
  expect(await readFile(await saved.path(), 'utf8')).toBe(body);
  await world.look('delivery');
  await page.getByRole('link', { name: 'View run' }).click();
  const about = page.getByRole('complementary', { name: 'About the run' });
  await about.getByRole('link', { name: 'fix' }).waitFor();
  await about.getByRole('link', { name: 'live', exact: true }).waitFor();
  await page.getByRole('status').filter({ hasText: 'This run did nothing' }).getByText('without an action').waitFor();
  await about.getByText('Actions: 0').waitFor();
  await world.look('run-webhook');
  await about.getByRole('link', { name: 'Delivery', exact: true }).click();
  await page.getByText('check_run', { exact: true }).first().waitFor();
});

test('a secret is rotated, and the old one is refused at once or after its overlap', async ({ world }) => {
  const { page, server } = world;
  const uid = await factoryOf(world, 'rotating');
  const hook = await server.api.webhooks.create(uid, { name: 'deploys' });
  const send = async (secret: string | null): Promise<number> => {
    const response = await fetch(hook.ingress_url, {
      method: 'POST',
      body: `${Math.random()}`,
      headers: { Authorization: `Bearer ${secret}` },
    });
    return response.status;
  };
  await world.signIn(`/factory/${uid}/webhooks/${hook.uid}`);
  const dialog = page.getByRole('dialog');
  const rotate = async (overlap?: string): Promise<string | null> => {
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    if (overlap) {
      await choose(dialog.getByRole('combobox', { name: 'The old secret' }), { name: overlap });
      await world.look('webhook-rotate');
    }
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    const secret = await dialog.getByRole('region', { name: 'Secret' }).textContent();
    await dialog.getByText('Try the new secret').waitFor();
    expect(await dialog.getByText('first delivery').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Copy: Secret' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret);
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await dialog.waitFor({ state: 'hidden' });
    return secret;
  };
  const second = await rotate('Stops at once');
  expect([await send(hook.secret ?? ''), await send(second)]).toEqual([401, 202]);
  const third = await rotate('Stays valid for 1 hour');
  expect([await send(second), await send(third)]).toEqual([202, 202]);
  const fourth = await rotate(); // the form proposes a day
  expect([await send(third), await send(fourth)]).toEqual([202, 202]);
  await page.getByText('Old secret').first().waitFor();
});

test('a webhook that is switched off, suspended or deleted returns 404', async ({ world }) => {
  const { page, server } = world;
  const uid = await factoryOf(world, 'off');
  const hook = await server.api.webhooks.create(uid, { name: 'switched' });
  const send = async (): Promise<number> =>
    (await fetch(hook.ingress_url, { method: 'POST', body: '{}', headers: { Authorization: `Bearer ${hook.secret}` } })).status;
  await world.signIn(`/webhooks?factory=${uid}`);
  expect(await send()).toBe(202);
  const row = page.getByRole('row', { name: /switched/ });
  await row.getByRole('switch').press('Space');
  await expect.poll(send).toBe(404);
  await row.getByRole('switch', { checked: false, disabled: false }).waitFor();
  await world.look('webhooks-disabled');
  await row.getByRole('switch').press('Space');
  await expect.poll(send).toBe(202);
  await row.getByRole('switch', { checked: true, disabled: false }).waitFor();

  // On a slow connection, somebody who changes their mind does not wait for the response.
  let respond = (): void => {};
  const responds = new Promise<void>((resolve) => {
    respond = resolve;
  });
  const slow = async (route: Route): Promise<void> => {
    const response = await route.fetch();
    await responds;
    await route.fulfill({ response });
  };
  await page.route(`**/webhooks/${hook.uid}`, slow, { times: 1 });
  await row.getByRole('switch').press('Space');
  await expect.poll(send).toBe(404);
  await row.getByRole('switch').press('Space');
  await expect.poll(send).toBe(202);
  respond();
  await row.getByRole('switch', { checked: true, disabled: false }).waitFor();
  await row.getByRole('link', { name: 'switched' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete webhook' }).click();
  await page.waitForURL('**/webhooks');
  expect(await send()).toBe(404);
});

test('a new webhook waits for its first delivery, and a test delivery shows its outcome', async ({ world }) => {
  const { page, server } = world;
  const uid = await factoryOf(world, 'trying');
  await world.signIn('/webhooks');
  await begin(world, 'trying', 'shop');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('Waiting for the first delivery…').waitFor();
  await dialog.getByRole('button', { name: 'Send test' }).click();
  const outcome = dialog.getByRole('status', { name: 'Last delivery' });
  await outcome.getByText('HTTP 202, no run started').waitFor();
  await outcome.getByText('No automation used this webhook when the delivery arrived.').waitFor();
  await world.look('webhook-first-delivery');

  const [hook] = (await server.api.webhooks.list(uid)).webhooks;
  const other = await server.api.webhooks.create(uid, { name: 'orders', auth_mode: 'signature', signature_scheme: 'standard_webhooks' });
  const trigger = (payload: Record<string, unknown>) => [
    { provider: 'webhook', event: 'received', filter: { webhook_ids: ['orders'], payload } },
  ];
  await server.api.automations.create(uid, { name: 'all', prompt: 'demo: say tested', triggers: trigger({}) });
  await server.api.automations.create(uid, { name: 'paid', prompt: 'demo: say paid', triggers: trigger({ type: ['order.paid'] }) });
  await page.goto(`${server.url}/factory/${uid}/webhooks/${other.uid}`);
  await page.getByText('Waiting for the first delivery…').waitFor();
  await page.getByRole('region', { name: 'URL', exact: true }).getByText(other.ingress_url).waitFor();
  await page.getByRole('button', { name: 'Send test' }).click();
  const sent = page.getByRole('status', { name: 'Test delivery' });
  await sent.getByText('HTTP 202, 1 run started').waitFor();
  await sent.getByRole('link', { name: 'View run' }).waitFor();
  await sent.getByText(/^type is .*; expects order\.paid$/).waitFor();
  await sent.getByRole('link', { name: 'Edit the filter' }).waitFor();
  await page
    .getByRole('list', { name: 'Deliveries' })
    .getByRole('button', { name: /all fired.*paid did not fire/ })
    .waitFor();
  await world.look('webhook-test');
  await server.api.webhooks.update(uid, other.uid, { enabled: false });
  await page.reload();
  await expect.poll(() => page.getByRole('button', { name: 'Send test' }).isDisabled()).toBe(true);
  expect((await server.api.deliveries.list(uid, hook?.uid ?? '')).items).toHaveLength(1);
});

test('a test delivery has the payload that was chosen', async ({ world }) => {
  const { page, server } = world;
  const uid = await factoryOf(world, 'choosing');
  const hook = await server.api.webhooks.create(uid, {
    name: 'hub',
    auth_mode: 'signature',
    signature_scheme: 'github',
    secret: 'an-example-value',
  });
  const triggers = [{ provider: 'github', event: 'pull_request_opened' }];
  await server.api.automations.create(uid, { name: 'review', prompt: 'demo: say reviewed', triggers });
  await world.signIn(`/factory/${uid}/webhooks/${hook.uid}`);
  const dialog = page.getByRole('dialog');
  const outcome = page.getByRole('status', { name: 'Test delivery' });
  const sent = async () => (await server.api.deliveries.list(uid, hook.uid)).items;
  const choosePayload = async (payload?: string) => {
    await page.getByRole('button', { name: 'Choose a payload…' }).click();
    if (payload) {
      await choose(dialog.getByRole('combobox', { name: 'Payload' }), { name: payload, exact: true });
    }
  };
  const send = () => dialog.getByRole('button', { name: 'Send test' }).click();

  await choosePayload();
  await send();
  await dialog.getByText('The webhook has accepted no delivery yet.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();

  await choosePayload('pull_request_opened');
  await send();
  await outcome.getByText('HTTP 202, 1 run started').waitFor();
  expect(await sent()).toHaveLength(1);

  await choosePayload('A payload to paste');
  expect(await dialog.getByRole('button', { name: 'Send test' }).isDisabled()).toBe(true);
  await dialog.getByRole('textbox', { name: 'JSON' }).fill('{"action": "closed"');
  await send();
  await dialog.getByRole('alert').waitFor();
  expect(await sent()).toHaveLength(1);
  await dialog.getByRole('textbox', { name: 'X-GitHub-Event' }).fill('pull_request');
  await dialog.getByRole('textbox', { name: 'JSON' }).fill('{"action": "opened", "pull_request": {"id": 9007199254740993, "number": 41}}');
  await send();
  await outcome.getByText('HTTP 202, 1 run started').waitFor();
  await expect.poll(async () => (await sent()).length).toBe(2);

  await choosePayload();
  await send();
  await expect.poll(async () => (await sent()).length).toBe(3);
  const [last] = await sent();
  const payload = await server.api.deliveries.payload(uid, hook.uid, last?.delivery_id ?? '');
  // It is the pasted text: no number lost digits.
  expect(await payload.text()).toMatch(/^\{"action": ?"opened", ?"pull_request": ?\{"id": ?9007199254740993, ?"number": ?41\}\}$/);
  expect(last?.runs).toHaveLength(1);
});

test('a pasted request is verified, with what is wrong with it', async ({ world }) => {
  const { page, server } = world;
  const uid = await factoryOf(world, 'verifying');
  const secret = 'an-example-value';
  const hook = await server.api.webhooks.create(uid, { name: 'ci', auth_mode: 'signature', signature_scheme: 'github', secret });
  await world.signIn(`/factory/${uid}/webhooks/${hook.uid}`);
  await page.getByRole('button', { name: 'Verify a request' }).click();
  const dialog = page.getByRole('dialog');
  const body = '{"action": "opened",\n "title": "Zürich"}';
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const headers = dialog.getByRole('textbox', { name: 'Headers' });
  await headers.fill('{"no": "header"}');
  await dialog.getByText('This is not a header: {"no": "header"}').waitFor();
  expect(await dialog.getByRole('button', { name: 'Verify' }).isDisabled()).toBe(true);
  await headers.fill(`POST /webhooks HTTP/1.1\nX-GitHub-Event: issues\nX-Hub-Signature-256: sha256=${signature}`);
  await dialog.getByRole('textbox', { name: 'Body' }).fill(body);
  await dialog.getByRole('button', { name: 'Verify' }).click();
  await dialog.getByText('Valid', { exact: true }).waitFor();
  await dialog.getByRole('textbox', { name: 'Body' }).fill(`${body} `);
  await dialog.getByRole('button', { name: 'Verify' }).click();
  await dialog.getByText('Invalid', { exact: true }).waitFor();
  await dialog.getByText('The secret or signature does not match.').waitFor();
  await world.look('webhook-verify');
  await headers.fill('X-GitHub-Event: issues');
  await dialog.getByRole('button', { name: 'Verify' }).click();
  await dialog.getByText('The header with the credential or signature is missing.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await page.getByText('Waiting for the first delivery…').waitFor(); // nothing was recorded
});

test('a secret is shown as used a few seconds after its first delivery', async ({ world }) => {
  const { page, server } = world;
  const { uid } = await server.api.factories.create({ name: 'used' });
  const hook = await server.api.webhooks.create(uid, { name: 'in', secret_name: 'USED_IN' });
  await world.signIn(`/factory/${uid}/webhooks/${hook.uid}`);
  const used = page
    .getByRole('region', { name: 'About the webhook' })
    .getByRole('definition')
    .filter({ hasText: /never|ago|just now/ });
  await used.getByText('never', { exact: true }).waitFor();
  const sent = await fetch(hook.ingress_url, { method: 'POST', body: '{}', headers: { Authorization: `Bearer ${hook.secret}` } });
  expect(sent.status).toBe(202);
  await expect.poll(() => page.getByText('never', { exact: true }).count()).toBe(0);
  await page.goto(`${server.url}/secrets`);
  const row = page.getByRole('row', { name: /USED_IN/ });
  await row.waitFor();
  expect(await row.locator('time').count(), 'the times of its last use and of its update').toBe(2);
});
