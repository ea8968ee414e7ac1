import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import axe, { type AxeResults, type RunOptions } from 'axe-core';
import { type Browser, type BrowserContext, chromium, errors, type Locator, type Page } from 'playwright-core';
import { test as base, expect } from 'vitest';
import { onPostgres, Server } from './server.ts';

export { expect };

const screenshots = fileURLToPath(new URL('../test-results/screenshots', import.meta.url));

export const fullChromium = '/usr/bin/chromium';
const headlessShell = '/usr/bin/chromium-headless-shell';

/** The browser of most tests. The headless shell takes a third less of the machine than the full browser. */
const executable = process.env.CHROMIUM ?? (existsSync(headlessShell) ? headlessShell : fullChromium);

/** Whether `make test` runs, which leaves out what takes long. */
const short = process.env.PENSTOCK_TEST_SHORT !== undefined;

/** How long something may take that a person waits for; a busy machine takes longer than they would. */
export const patience = 180_000;

/** What a test has: a server of its file's own, and a browser that nobody has signed in with yet. */
export interface World {
  server: Server;
  context: BrowserContext;
  page: Page;
  /** Signs the browser in beside the page, which is quicker than by its form, and goes to an address of the dashboard. */
  signIn(to?: string, page?: Page, key?: string): Promise<void>;
  /** Opens another tab. */
  newPage(): Promise<Page>;
  /**
   * Looks at the whole page as it is now: screenshots NAME-light, -dark and -narrow in test-results/screenshots, and no serious finding of axe
   * in any of them; nothing stands out of the page, and no cell or button cuts off what is in it. Waits until nothing is being loaded. It does nothing on PostgreSQL, since pages look the same on both engines, and in `make test`, since it takes a third of the tests' time.
   */
  look(name: string, page?: Page): Promise<void>;
}

/**
 * Holds the requests to an address, as a slow network does, until they are let go. A page may show that it sends
 * before the request is here, so those that come later are let go, too.
 */
export async function hold(page: Page, address: string): Promise<{ release(): void; requests(): number }> {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let requests = 0;
  await page.route(address, async (route) => {
    requests += 1;
    await released;
    await route.continue();
  });
  return { release, requests: () => requests };
}

/**
 * Chooses an option of a field's list, after typing into the field. A list is hidden while its field is out of sight, and a click that
 * has to be tried again scrolls; so the field is shown and the list opened again.
 */
export async function choose(field: Locator, option: { name: string | RegExp; exact?: boolean }, typed?: string): Promise<void> {
  for (let left = 9; ; left -= 1) {
    await field.scrollIntoViewIfNeeded();
    if (typed !== undefined) {
      await field.fill(typed);
    } else if ((await field.getAttribute('aria-expanded')) !== 'true') {
      await field.click();
    }
    try {
      await field
        .page()
        .getByRole('option', option)
        .click({ timeout: patience / 10 });
      return;
    } catch (error) {
      if (left === 0 || !(error instanceof errors.TimeoutError)) {
        throw error;
      }
    }
  }
}

/** A fixture: a browser. */
export function browserAt(executablePath: string) {
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of what a fixture needs
  return async ({}: object, use: (browser: Browser) => Promise<void>): Promise<void> => {
    const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    await use(browser);
    await browser.close();
  };
}

/** Tests with a {@link World}. They fail, too, when the page breaks its own Content-Security-Policy, throws, or asks another host. */
export const test = base.extend<{ world: World; browser: Browser; server: Server }>({
  browser: [browserAt(executable), { scope: 'worker' }],
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of what a fixture needs
    async ({}, use) => {
      const server = await Server.start();
      await use(server);
      await server.end();
    },
    { scope: 'file' },
  ],
  world: async ({ browser, server, task }, use) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', locale: 'en-GB' });
    context.setDefaultTimeout(patience);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const wrong = watch(context, server);
    const page = await context.newPage();
    await use(worldOf(server, context, page));
    for (const error of task.result?.errors ?? []) {
      for (const open of context.pages()) {
        error.message += `\n${open.url()} says:\n${await open.locator('body').innerText()}`;
      }
    }
    // A page asks now and then: what a route of the test still fetches would fail with the context.
    await Promise.all(context.pages().map((one) => one.unrouteAll({ behavior: 'ignoreErrors' })));
    await context.close();
    expect(wrong).toEqual([]);
  },
});

/** Notes what must not happen on any page. */
function watch(context: BrowserContext, server: Server): string[] {
  const wrong: string[] = [];
  context.on('weberror', (error) => wrong.push(`thrown: ${error.error()}`));
  context.on('console', (message) => {
    // The browser itself logs error responses, which tests provoke.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      wrong.push(`console: ${message.text()}`);
    }
  });
  context.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${server.url}/`)) {
      wrong.push(`another host: ${request.url()}`);
    }
  });
  return wrong;
}

function worldOf(server: Server, context: BrowserContext, page: Page): World {
  return {
    server,
    context,
    page,
    newPage: () => context.newPage(),
    signIn: async (to = '/runs', at = page, key = server.key) => {
      const response = await context.request.post(`${server.url}/api/v1/session`, { data: { api_key: key } });
      expect(response.status()).toBe(201);
      const { secret } = await response.json();
      await at.addInitScript((value) => {
        if (sessionStorage.getItem('signed in') !== value) {
          // once: the test may sign out
          sessionStorage.setItem('signed in', value);
          localStorage.setItem('penstock.session', value);
        }
      }, secret);
      await at.goto(server.url + to);
      await at.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'attached' });
    },
    look: async (name, at = page) => {
      if (onPostgres || short) {
        return;
      }
      mkdirSync(screenshots, { recursive: true });
      const size = at.viewportSize();
      for (const [view, colorScheme, width, height, rules] of [
        ['light', 'light', 1280, 800, {}],
        ['dark', 'dark', 1280, 800, contrastOnly], // nothing but the colors differs
        ['narrow', 'light', 390, 844, {}],
      ] as const) {
        await at.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await at.setViewportSize({ width, height });
        await at.waitForFunction((scheme) => document.documentElement.dataset.mantineColorScheme === scheme, colorScheme);
        await at.waitForFunction(() => document.querySelectorAll('[aria-busy="true"]').length === 0);
        await at.evaluate(() => window.scrollTo(0, 0)); // else the header stands in the middle of the picture
        await at.screenshot({ path: path.join(screenshots, `${name}-${view}.png`), animations: 'disabled', fullPage: true });
        await requireAccessible(at, rules, `${name}, ${view}`);
        const wide = await at.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect(wide, `${name}, ${view}: pixels that stand out to the right`).toBeLessThanOrEqual(0);
        // What is meant to be cut has an element of its own for it, with its whole text as title.
        const cut = await at.evaluate(() =>
          Array.from(document.querySelectorAll('td, th, .mantine-Button-label'))
            .filter((box) => box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 1)
            .map((box) => box.textContent),
        );
        expect(cut, `${name}, ${view}: cut off`).toEqual([]);
      }
      await at.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      if (size) {
        await at.setViewportSize(size);
      }
    },
  };
}

const contrastOnly: RunOptions = { runOnly: { type: 'rule', values: ['color-contrast'] } };

/** Fails for each serious finding of axe. The page's policy allows no script element; an evaluation over the debugger is none. */
async function requireAccessible(page: Page, rules: RunOptions, name: string): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in window))) {
    await page.evaluate(axe.source);
  }
  const options: RunOptions = { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], ...rules };
  const results: AxeResults = await page.evaluate((how) => (window as unknown as { axe: typeof axe }).axe.run(document, how), options);
  const serious = results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary ?? ''}`));
  expect(serious, name).toEqual([]);
}
