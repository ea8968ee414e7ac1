import { createHmac } from 'node:crypto';
import { expect, test, type World } from './world.ts';

/** Something of every kind, so that no list is empty. */
async function fill({ server: { api } }: World) {
  const { uid } = await api.factories.create({ name: 'payments' });
  const hook = await api.webhooks.create(uid, { name: 'ci' });
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: ['ci'], payload: { status: ['failed'] } } }];
  const automation = await api.automations.create(uid, { name: 'fix', prompt: 'demo: say fixed', triggers, subject: '{{status}}' });
  const send = (status: string): Promise<Response> =>
    fetch(hook.ingress_url, { method: 'POST', body: JSON.stringify({ status }), headers: { Authorization: `Bearer ${hook.secret}` } });
  await Promise.all(['failed', 'passed', 'skipped'].map(send));
  await api.environments.create({ name: 'linux', setup_commands: ['true'] });
  await api.schedules.create({ name: 'nightly', cron_schedule: '0 0 29 2 *', prompt: 'x' });
  await api.secrets.create({ name: 'DEPLOY_TOKEN', value: 'a-value' });
  const endpoint = await api.eventEndpoints.create({ url: 'https://hooks.example.com/in', events: ['endpoint.disabled'] });
  const connection = await api.forges.create({ name: 'acme', provider: 'gitea', url: 'https://git.invalid', token: 't0ken' });
  const signature = createHmac('sha256', connection.secret ?? '')
    .update('{}')
    .digest('hex');
  await fetch(connection.ingress_url ?? '', { method: 'POST', body: '{}', headers: { 'X-Hub-Signature-256': `sha256=${signature}` } });
  const [event] = (await api.forges.deliveries(connection.uid)).items;
  await api.runs.create({ prompt: 'Break it\ndemo: error it broke' });
  const { run_id } = await api.runs.create({
    prompt: 'Look around\ndemo: plan Look; Ask\ndemo: run echo hello\ndemo: ask Which one?',
    metadata: { ticket: 'OPS-1' },
  });
  await expect.poll(async () => (await api.runs.get(run_id)).state).toBe('BLOCKED');
  const [subject] = (await api.subjects.list({ subject: 'failed' })).items;
  return {
    uid,
    wuid: hook.uid,
    auid: automation.uid,
    run: run_id,
    subject: subject?.uid,
    endpoint: endpoint.uid,
    forge: connection.uid,
    event: event?.delivery_id,
  };
}

/** How far things may have moved, as Chromium sums it up (CLS): the best pages of the web stay below a tenth. */
const still = 0.02;

test('nothing jumps while a page loads', async ({ world }) => {
  const { page, server, context } = world;
  const { uid, wuid, auid, run, subject, endpoint, forge, event } = await fill(world);
  await context.addInitScript(() => {
    const shifts: { value: number; moved: string | undefined }[] = [];
    Object.assign(window, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & { value: number; sources?: { node?: Node }[] })[]) {
        const [first] = entry.sources ?? [];
        const element = first?.node instanceof Element ? first.node : first?.node?.parentElement;
        shifts.push({ value: entry.value, moved: element?.outerHTML.slice(0, 200) });
      }
    }).observe({ type: 'layout-shift', buffered: true });
  });
  await world.signIn('/');
  const devtools = await context.newCDPSession(page);
  // What a network takes shows what is drawn before the responses arrive.
  await devtools.send('Network.emulateNetworkConditions', { offline: false, latency: 100, downloadThroughput: -1, uploadThroughput: -1 });
  const open = async (place: string, text: RegExp): Promise<void> => {
    await page.goto(server.url + place);
    await page.locator('main').getByText(text).first().waitFor();
    await page.waitForFunction(() => document.querySelectorAll('[aria-busy="true"]').length === 0);
    const shifts = await page.evaluate(async () => {
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      return (window as unknown as { shifts: { value: number; moved: string | undefined }[] }).shifts;
    });
    const sum = shifts.reduce((total, { value }) => total + value, 0);
    expect(sum, `${place} at ${page.viewportSize()?.width} px: ${JSON.stringify(shifts)}`).toBeLessThan(still);
  };
  const webhook = `/factory/${uid}/webhooks/${wuid}`;
  await open('/', /Runs by status/);
  await open('/runs', /Look around/);
  await open(`/runs/${run}`, /Which one\?/);
  await open('/factories', /payments/);
  await open(`/factory/${uid}`, /^Foreman/);
  await open(`/factory/${uid}/files`, /No problems found/);
  await open(`/factory/${uid}/history`, /Revision 1/);
  await open('/webhooks', /; expects /);
  await open(webhook, /did not fire/);
  await open('/automations', /fix/);
  await open(`/factory/${uid}/automations/${auid}`, /^"failed"$/);
  await open('/subjects', /failed/);
  await open(`/subjects/${subject}`, /View delivery/);
  await open('/schedules', /nightly/);
  await open('/environments', /linux/);
  await open('/spend', /No budgets yet/);
  await open('/workers', /No worker/);
  await open('/secrets', /DEPLOY_TOKEN/);
  await open('/event-endpoints', /hooks\.example\.com/);
  await open(`/event-endpoints/${endpoint}`, /Nothing was sent yet/);
  await open('/forges', /git\.invalid/);
  await open(`/forges/${forge}`, /cannot|Unavailable|Try again/i);
  await open(`/forges/${forge}/deliveries/${event}`, /No automation got the event/);
  await open('/people', /Admin/);
  await open('/keys', /psk_/);
  await open('/settings', /builtin/);
  await page.setViewportSize({ width: 390, height: 844 });
  await open('/runs', /Look around/);
  await open(`/runs/${run}`, /Which one\?/);
  await open(`/factory/${uid}`, /^Foreman/);
  await open(webhook, /did not fire/);
  await open('/workers', /No worker/);
});
