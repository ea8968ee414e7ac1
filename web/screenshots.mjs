// A picture of a run in the dashboard, light and dark: node web/screenshots.mjs FOLDER.
// scripts/screenshots starts the server that has the run.
import { chromium } from 'playwright-core';
import { server, signedIn } from './bench/browser.mjs';

const { PENSTOCK_RUN: run, CHROMIUM: executablePath } = process.env;
const folder = process.argv[2];

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const page = await signedIn(browser);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(`${server}/runs/${run}`);
  await page.getByText('Running').first().waitFor();
  await page.getByText('Ran grep').first().click();
  await page.getByText('got 99.49, want 99.50').first().waitFor();
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.waitForFunction((scheme) => document.documentElement.dataset.mantineColorScheme === scheme, colorScheme);
    await page.waitForFunction(() => document.querySelectorAll('[aria-busy="true"]').length === 0);
    await page.mouse.move(0, 0);
    await page.screenshot({ path: `${folder}/run-${colorScheme}.png`, animations: 'disabled' });
  }
} finally {
  await browser.close();
}
