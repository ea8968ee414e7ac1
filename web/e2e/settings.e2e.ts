import { expect, test } from './world.ts';

test('settings show what the server can do', async ({ world }) => {
  const { page } = world;
  await world.signIn('/settings');
  await page.getByRole('table', { name: 'Models' }).getByText('demo/offline', { exact: true }).waitFor();
  await page.getByRole('table', { name: 'Harnesses' }).getByText('builtin', { exact: true }).waitFor();
  await page.getByRole('table', { name: 'Limits' }).getByText('Request body').waitFor();
  const about = page.getByRole('region', { name: 'This server' });
  const { server_version: version } = await world.server.api.limits.get();
  expect(version).toBeTruthy();
  await about.getByText(`Penstock ${version}`, { exact: true }).waitFor();
  const links = await about.getByRole('link').all();
  expect(links.length).toBe(3);
  for (const link of links) {
    const answer = await page.request.get(new URL((await link.getAttribute('href')) ?? '', world.server.url).href);
    expect(answer.status()).toBe(200);
  }
  await world.look('settings');
});
