import { expect, test } from './world.ts';

/** The log of a run that has worked for long, as a stream that has not ended. */
function longLog(events: number): string {
  return Array.from({ length: events }, (_, i) => {
    const id = i + 1;
    const message = {
      message_id: `m${id}`,
      role: 'assistant',
      content: [{ type: 'text', text: `Line ${id}\n\n${'word '.repeat(id % 40)}` }],
    };
    const action = { type: 'action', id: `a${id}`, category: 'command', name: 'run_command', input: { command: `step ${id}` } };
    const [event, data] = id % 2 ? ['message', message] : ['action', action];
    return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  }).join('');
}

test('a run of 5,000 events scrolls smoothly', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'x', title: 'Long', config: { worker_host: 'nowhere' } });
  let sent = 0;
  await page.route(`**/runs/${run_id}/events*`, (route) =>
    sent++ === 0
      ? route.fulfill({ status: 200, contentType: 'text/event-stream', body: longLog(5000) })
      : route.fulfill({ status: 200, contentType: 'text/event-stream', body: ': nothing more\n\n' }),
  );
  await world.signIn(`/runs/${run_id}`);
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await transcript.getByText('step 5000').waitFor();
  await expect.poll(() => transcript.getByRole('listitem').count()).toBeLessThan(100);

  // The longest frame of the best of three ways up: a machine that is busy does not delay the same frame each time.
  const worst = await transcript.evaluate(async (box) => {
    const frame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));
    const ways: number[] = [];
    while (ways.length < 3) {
      let longest = 0;
      for (let at = box.scrollHeight, before = await frame(); at > 0; at -= 2000) {
        box.scrollTop = at;
        const now = await frame();
        longest = Math.max(longest, now - before);
        before = now;
      }
      ways.push(longest);
    }
    return Math.min(...ways);
  });
  // Lines that are measured for the first time move what is seen: who wants to the top may have to ask again.
  await expect
    .poll(async () => {
      await transcript.press('Home');
      return transcript.getByText('Line 1', { exact: true }).count();
    })
    .toBe(1);
  await page.getByRole('button', { name: 'Jump to the end' }).click();
  await transcript.getByText('step 5000').waitFor();
  expect(worst, 'milliseconds of the longest frame').toBeLessThan(2000);
});

test('a reader at the end of a transcript stays there while more comes, until they scroll up', async ({ world }) => {
  const { page, server } = world;
  const { run_id } = await server.api.runs.create({ prompt: 'x', title: 'Followed', config: { worker_host: 'nowhere' } });
  let sent = 0;
  await page.route(`**/runs/${run_id}/events*`, (route) =>
    route.fulfill({ status: 200, contentType: 'text/event-stream', body: sent++ === 0 ? longLog(200) : ': nothing more\n\n' }),
  );
  await world.signIn(`/runs/${run_id}`);
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await transcript.getByText('step 200').waitFor();
  const toTheEnd = page.getByRole('button', { name: 'Jump to the end' });
  // What has come since is there by the time that the browser tells of the scrolling before.
  await transcript.evaluate((box) => {
    const list = box.querySelector('ol') as HTMLElement;
    list.style.height = `${list.offsetHeight + 500}px`;
    box.dispatchEvent(new Event('scroll'));
  });
  await page.evaluate(() => new Promise(requestAnimationFrame));
  expect(await toTheEnd.count()).toBe(0);
  await transcript.hover();
  await page.mouse.wheel(0, -900);
  await toTheEnd.waitFor();
  await toTheEnd.click();
  await toTheEnd.waitFor({ state: 'hidden' });
  await transcript.getByText('step 200').waitFor();
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 844 });
    const below = (): Promise<number> => transcript.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
    await expect.poll(below, { message: `at ${width} px` }).toBeLessThan(48);
    expect(await toTheEnd.count()).toBe(0);
  }
});
