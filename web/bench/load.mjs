// Measures the first load of the page Runs, beside a bare page; `make bench` runs it.
//
//     PENSTOCK_BASE_URL=… PENSTOCK_API_KEY=… CHROMIUM=… node load.mjs LOADS
//
// The server has at least 50 runs. Prints one JSON object: the bytes of script, gzipped, in how many files, and of each load the milliseconds
// until the page is interactive on a processor slowed down four times, and those that its main thread takes of one that is not.
import { serveBare } from './bare.mjs';
import { countCPU, firstRuns, freshPage, measure, server, signedIn } from './browser.mjs';

const slowdown = 4;
const rows = 50;
const quiet = 500; // milliseconds without a long task

/** Loads an address in a page that has never been anywhere, and tells when it is interactive. */
async function load(page, url) {
  await page.goto(url);
  return page.evaluate(([rows, quiet]) => window.bench.interactive(rows, quiet), [rows, quiet]);
}

async function slowly(page, url) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
  return load(page, url);
}

async function cpu(page, url) {
  const used = await countCPU(page);
  await load(page, url);
  return used();
}

/** The scripts that a page has asked for. */
const scriptsOf = (page) =>
  page.evaluate(() => {
    const names = performance.getEntriesByType('resource').map(({ name }) => name);
    return names.filter((name) => new URL(name).pathname.endsWith('.js'));
  });

/** The bytes of a file as they go over the wire, gzipped where the server has it so. */
async function gzipped(url) {
  const response = await fetch(url, { method: 'HEAD', headers: { 'Accept-Encoding': 'gzip' } });
  return Number(response.headers.get('Content-Length'));
}

await measure(async (browser) => {
  const bareURL = await serveBare(await firstRuns());
  const took = { interactive: [], bare: [], cpu: [], bareCPU: [] };
  let scripts = [];
  for (let n = 0; n < Number(process.argv[2]); n++) {
    for (const [how, ours, theirs] of [
      [slowly, took.interactive, took.bare],
      [cpu, took.cpu, took.bareCPU],
    ]) {
      const bare = await freshPage(browser);
      theirs.push(await how(bare, bareURL));
      await bare.context().close();
      const page = await signedIn(browser);
      ours.push(await how(page, `${server}/runs`));
      scripts = await scriptsOf(page);
      await page.context().close();
    }
  }
  const sizes = await Promise.all(scripts.map(gzipped));
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), files: sizes.length, ...took };
});
