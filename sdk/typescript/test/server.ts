import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, vi } from 'vitest';
import { type ClientOptions, Penstock } from '../src/index.js';

/** How {@link Server.start} starts one. */
export interface ServerOptions {
  args?: string[];
}

/** Polls until f does not throw. */
export const eventually = <T>(f: () => T | Promise<T>): Promise<T> => vi.waitFor(f, { timeout: 240_000, interval: 20 });

/** The real `penstock serve`, with a folder of its own on a free port. The agent is the built-in one, its model demo/offline. */
export class Server {
  readonly key = `psk_test${crypto.randomUUID().replaceAll('-', '')}`;
  url = '';
  readonly #dir: string;
  readonly #args: string[];
  #process: ChildProcess | undefined;

  private constructor(dir: string, args: string[]) {
    this.#dir = dir;
    this.#args = args;
  }

  static async start(options: ServerOptions = {}): Promise<Server> {
    const server = new Server(await mkdtemp(join(tmpdir(), 'penstock-sdk-')), options.args ?? []);
    await server.restart();
    return server;
  }

  /** Starts it again, on the same folder and port. */
  async restart(): Promise<void> {
    const binary = process.env.PENSTOCK_TEST_BINARY;
    if (!binary) {
      throw new Error('PENSTOCK_TEST_BINARY must name the binary: make test-typescript sets it');
    }
    const log = join(this.#dir, `log-${crypto.randomUUID()}`);
    const file = openSync(log, 'a');
    const listen = this.url ? new URL(this.url).host : '127.0.0.1:0';
    const args = [
      'serve',
      '--listen',
      listen,
      '--data',
      join(this.#dir, 'data'),
      '--sandbox',
      'process',
      '--allow-open-network',
      '--demo-directives',
    ];
    const child = spawn(binary, [...args, '--limit-requests-per-minute', '0', ...this.#args], {
      env: { PATH: process.env.PATH, HOME: this.#dir, PENSTOCK_BOOTSTRAP_KEY: this.key },
      stdio: ['ignore', file, file],
    });
    this.#process = child;
    process.once('exit', () => child.kill('SIGKILL'));
    this.url = await eventually(async () => {
      const text = await readFile(log, 'utf8');
      if (child.exitCode !== null) {
        throw new Error(`the server has ended: ${text}`);
      }
      const url = /msg=serving.* url=(http:\S+)/.exec(text)?.[1];
      if (!url) {
        throw new Error(`the server is not ready: ${text}`);
      }
      return url;
    });
  }

  /** Ends it gracefully, or at once by SIGKILL. */
  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child && child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await once(child, 'exit');
    }
  }

  /** Ends it and removes its folder. */
  async remove(): Promise<void> {
    await this.end();
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** Holds it up, so that it accepts connections and says nothing. Returns when each of its threads has stopped. */
  async pause(): Promise<void> {
    const tasks = `/proc/${this.#process?.pid}/task`;
    this.#process?.kill('SIGSTOP');
    await eventually(async () => {
      for (const task of await readdir(tasks)) {
        const status = await readFile(join(tasks, task, 'status'), 'utf8');
        if (!/^State:\tT/m.test(status)) {
          throw new Error(`the server is not stopped: ${status}`);
        }
      }
    });
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Takes its database away while it runs. */
  async loseDatabase(): Promise<void> {
    const data = join(this.#dir, 'data');
    for (const name of await readdir(data)) {
      if (/\.db(-\w+)?$/.test(name)) {
        await truncate(join(data, name));
      }
    }
  }

  client(options: ClientOptions = {}): Penstock {
    return new Penstock({ baseURL: this.url, apiKey: this.key, ...options });
  }
}

/** A server for all tests of a file. */
export function useServer(options: ServerOptions = {}): () => Server {
  let server: Server | undefined;
  beforeAll(async () => {
    server = await Server.start(options);
  });
  afterAll(async () => {
    await server?.remove();
  });
  return () => {
    if (!server) {
      throw new Error('the server is there within tests only');
    }
    return server;
  };
}
