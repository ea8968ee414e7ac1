// Measures how evenly the page of a run is drawn while events come; `make bench` runs it.
//
//     PENSTOCK_BASE_URL=… PENSTOCK_API_KEY=… CHROMIUM=… node frames.mjs RUN
//
// The texts of the run's events hold their numbers: event-1, event-2, …, and more of them come all the time. Prints one JSON object: the
// milliseconds between the frames of that page and of an empty one, how many events a second were shown, and what share of the time the
// page's main thread was on a processor.
import { countCPU, freshPage, measure, server, signedIn } from './browser.mjs';

const watched = 10_000; // milliseconds
const compared = 5_000;

const frames = (page, milliseconds) => page.evaluate((milliseconds) => window.bench.frames(milliseconds), milliseconds);

/** The highest number of an event that can be seen, with the time. */
const newest = (page) =>
  page.evaluate(() => {
    const text = document.querySelector('[aria-label="Transcript"]').textContent;
    return { n: Math.max(0, ...Array.from(text.matchAll(/event-(\d+)/g), (match) => Number(match[1]))), at: performance.now() };
  });

await measure(async (browser) => {
  const empty = await freshPage(browser);
  await empty.goto('about:blank');
  const bare = await frames(empty, compared);
  await empty.context().close();

  const page = await signedIn(browser);
  await page.goto(`${server}/runs/${process.argv[2]}`);
  await page
    .getByRole('region', { name: 'Transcript' })
    .getByText(/event-\d+/)
    .first()
    .waitFor();
  await frames(page, 1000); // what had come before is drawn by now
  const used = await countCPU(page);
  const before = await newest(page);
  const gaps = await frames(page, watched);
  const after = await newest(page);
  const time = after.at - before.at;
  return { frames: gaps, bare, rate: ((after.n - before.n) / time) * 1000, busy: (await used()) / time };
});
