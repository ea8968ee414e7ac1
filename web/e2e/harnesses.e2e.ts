import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { Server } from './server.ts';
import { test as base, patience } from './world.ts';

const test = base.extend<{ server: Server }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of what a fixture needs
    async ({}, use) => {
      const server = await Server.start('--sandbox', 'process', '--allow-open-network');
      await use(server);
      await server.end();
    },
    { scope: 'file' },
  ],
});

/** An agent in the place of OpenCode: it runs the commands that the model asks for, and passes on what the model says. */
const agent = `
const { execSync } = require('node:child_process');
const { options } = JSON.parse(process.env.OPENCODE_CONFIG_CONTENT).provider.penstock;
const model = JSON.parse(process.env.OPENCODE_CONFIG_CONTENT).model.replace('penstock/', '');
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const update = (sessionId, update) => send({ method: 'session/update', params: { sessionId, update } });
const tools = [{ type: 'function', function: { name: 'bash', description: 'Run', parameters: { type: 'object' } } }];
async function prompt({ sessionId, prompt }) {
  const messages = [{ role: 'user', content: prompt.map(({ text }) => text ?? '').join('') }];
  for (;;) {
    const response = await fetch(options.baseURL + '/chat/completions', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + options.apiKey },
      body: JSON.stringify({ model, messages, tools }),
    });
    const { message } = (await response.json()).choices[0];
    messages.push(message);
    if (!message.tool_calls?.length) {
      update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: message.content } });
      return { stopReason: 'end_turn' };
    }
    for (const { id, function: { arguments: input } } of message.tool_calls) {
      const rawInput = JSON.parse(input);
      update(sessionId, { sessionUpdate: 'tool_call', toolCallId: id, title: 'bash', kind: 'execute', status: 'in_progress', rawInput });
      const text = execSync(rawInput.command).toString();
      const content = [{ type: 'content', content: { type: 'text', text } }];
      update(sessionId, { sessionUpdate: 'tool_call_update', toolCallId: id, status: 'completed', content });
      messages.push({ role: 'tool', tool_call_id: id, content: text });
    }
  }
}
const methods = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new': () => ({ sessionId: 's' }),
  'session/prompt': prompt,
};
require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) send({ id, result: (await methods[method]?.(params)) ?? {} });
});
`;

/** Puts an agent where penstock harness install puts OpenCode. */
function install(data: string): void {
  const program = process.arch === 'arm64' ? 'opencode-linux-arm64' : 'opencode-linux-x64-baseline';
  const harness = path.join(data, 'harnesses', 'opencode');
  const bin = path.join(harness, '0.0.7', 'node_modules', program, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(bin, 'agent.cjs'), agent);
  writeFileSync(path.join(bin, 'opencode'), `#!/bin/sh\nexec '${process.execPath}' "$(dirname "$0")/agent.cjs"\n`, { mode: 0o755 });
  symlinkSync('0.0.7', path.join(harness, 'current'));
}

/** What penstock doctor prints about the harnesses. */
function doctor({ data, url }: Server): Promise<string> {
  const args = ['doctor', '--data', data, '--listen', new URL(url).host, '--sandbox', 'process', '--allow-open-network'];
  return new Promise((resolve) => {
    execFile(process.env.PENSTOCK_TEST_BINARY ?? '', args, { env: { PATH: process.env.PATH } }, (_, out) =>
      resolve(
        out
          .split('\n')
          .filter((line) => /harness|opencode/.test(line))
          .join('\n'),
      ),
    );
  });
}

test('a harness that is installed later becomes ready, in an open form and for penstock doctor', async ({ world }) => {
  const { page, server } = world;
  expect(await doctor(server)).toContain('no harness is installed');
  await world.signIn('/runs');
  await page.getByRole('button', { name: 'New run' }).first().click();
  await page.getByLabel('Prompt').fill('Later');
  const choose = page.getByRole('combobox', { name: 'Harness' });
  const opencode = page.getByRole('option', { name: /^OpenCode/ });
  await choose.click();
  await opencode.getByText('penstock harness install opencode').waitFor();
  expect(await opencode.getAttribute('data-combobox-disabled')).toBe('true');

  install(server.data);
  await expect
    .poll(() => opencode.getAttribute('data-combobox-disabled'), { timeout: patience, message: 'the form is still open' })
    .toBeNull();
  expect(await doctor(server)).toContain('opencode 0.0.7 works: the running server has checked it');
  await opencode.click();
  expect(await choose.inputValue()).toBe('OpenCode');
});
