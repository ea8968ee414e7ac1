// Measures how soon a long list of runs shows another page, or what a filter leaves of it; `make bench` runs it.
//
//     PENSTOCK_BASE_URL=… PENSTOCK_API_KEY=… CHROMIUM=… node list.mjs
//
// The server has the runs that bench/fill.go makes. Prints one JSON object: the milliseconds of each page, each filter, each search and each
// page of a bare list, from the click or the key until the new rows are painted. Each is asked for the first time: what was seen
// before comes from memory.
import { serveBare } from './bare.mjs';
import { firstRuns, freshPage, measure, server, signedIn } from './browser.mjs';

const pages = 25;
const names = 10;
const debounce = 250; // milliseconds that the search waits for more to be typed

/** Words that one run, and words that every run has in turn, so that each search shows other runs than the one before. */
const searches = ['54321', 'failing', '12345', 'morning', '77007', 'look', '31415', 'job', '86420', 'this'];

/** The milliseconds from the event that an action ends with until the table has changed. */
async function timed(page, type, action) {
  const done = await page.evaluateHandle((type) => window.bench.change(type), type);
  await action();
  return page.evaluate((done) => done(), done);
}

const click = (page, role, name) => timed(page, 'click', () => page.getByRole(role, { name, exact: true }).click());

/** Opens a list, and waits until it shows runs. */
async function open(page, url) {
  await page.goto(url);
  await page.getByRole('table', { name: 'Runs' }).getByRole('link').nth(49).waitFor();
}

async function paging(page, bare) {
  const list = { paging: [], bare: [] };
  for (let n = 0; n < pages; n++) {
    list.paging.push(await click(page, 'button', 'Older'));
    list.bare.push(await click(bare, 'button', 'Older'));
  }
  return list;
}

/** Opens the field of a filter: by its chip, or by the menu. */
async function choose(page, chip, name) {
  if (chip) {
    await page.getByRole('button', { name: chip, exact: true }).click();
    return;
  }
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByRole('option', { name, exact: true }).click();
}

async function filtering(page) {
  const took = [];
  for (const tab of ['Active', 'Failed', 'Scheduled']) {
    took.push(await click(page, 'link', tab));
  }
  await page.getByRole('link', { name: 'All', exact: true }).click();
  for (let n = 0; n < names; n++) {
    await choose(page, n === 0 ? undefined : `Agent or configuration: nightly-${n - 1}`, 'Agent or configuration');
    const field = page.getByRole('textbox', { name: 'Agent or configuration' });
    await field.fill(`nightly-${n}`);
    took.push(await timed(page, 'keydown', () => field.press('Enter')));
    if (n % 2 === 0) {
      await choose(page, undefined, 'Task status');
      took.push(await click(page, 'option', 'Failed or error'));
    } else {
      took.push(await click(page, 'button', 'Remove filter Task status: Failed or error'));
    }
  }
  return took;
}

async function searching(page) {
  const took = [];
  const box = page.getByRole('textbox', { name: 'Search runs' });
  for (const words of searches) {
    await box.press('ControlOrMeta+a');
    took.push((await timed(page, 'keydown', () => box.pressSequentially(words))) - debounce);
  }
  return took;
}

await measure(async (browser) => {
  const page = await signedIn(browser);
  const bare = await freshPage(browser);
  await open(page, `${server}/runs`);
  await open(bare, await serveBare(await firstRuns()));
  const pages = await paging(page, bare);
  await bare.context().close();
  await open(page, `${server}/runs`);
  const filters = await filtering(page);
  await open(page, `${server}/runs`);
  return { ...pages, filtering: filters, searching: await searching(page) };
});
