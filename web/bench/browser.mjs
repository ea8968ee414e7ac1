import { chromium } from 'playwright-core';
import { probe } from './probe.mjs';

const { PENSTOCK_BASE_URL: url, PENSTOCK_API_KEY: key, CHROMIUM: executablePath } = process.env;

export const server = url;

/** Runs a measurement in Chromium, and prints what it returns as one JSON object. */
export async function measure(what) {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    process.stdout.write(JSON.stringify(await what(browser)));
  } catch (error) {
    process.stderr.write(`${error}\n`);
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}

/** A page with the probe in it and nothing in its cache. */
export async function freshPage(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
  await context.addInitScript(probe);
  return context.newPage();
}

/** A {@link freshPage} that has signed in to Penstock. */
export async function signedIn(browser) {
  const page = await freshPage(browser);
  const response = await page.request.post(`${server}/api/v1/session`, { data: { api_key: key } });
  if (!response.ok()) {
    throw new Error(`sign in: ${response.status()} ${await response.text()}`);
  }
  const { secret } = await response.json();
  const other = await page.context().newPage(); // the page that is measured has never been anywhere
  await other.goto(`${server}/healthz`);
  await other.evaluate((value) => localStorage.setItem('penstock.session', value), secret);
  await other.close();
  return page;
}

/** Begins to count, and returns a function for the milliseconds that the page's main thread has been on a processor since. */
export async function countCPU(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const used = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration').value * 1000;
  };
  const before = await used();
  return async () => (await used()) - before;
}

/** The first page of the list of runs, as the dashboard asks for it: the body of the response. */
export async function firstRuns() {
  const path = '/api/v1/agent/runs?limit=50&sort_by=created_at&sort_order=desc';
  const response = await fetch(server + path, { headers: { Authorization: `Bearer ${key}` } });
  if (!response.ok) {
    throw new Error(`list the runs: ${response.status}`);
  }
  return response.text();
}
