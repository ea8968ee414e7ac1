import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Penstock } from '@penstock/sdk';

/** Whether the servers keep their state in PostgreSQL: each in a database of its own of the cluster at PENSTOCK_TEST_POSTGRES. */
export const onPostgres = process.env.PENSTOCK_TEST_ENGINE === 'postgres';

/** The real binary, serving on a port and in a folder of its own. */
export class Server {
  /** An admin's API key. */
  readonly key = `psk_${randomBytes(24).toString('hex')}`;
  readonly url: string;
  /** A client with the admin's key: what a test does beside the browser. */
  readonly api: Penstock;
  readonly #args: string[];
  readonly #dir = mkdtempSync(path.join(tmpdir(), 'penstock-e2e-'));
  /** The data folder. */
  readonly data = path.join(this.#dir, 'data');
  readonly #database = `e2e_${randomBytes(8).toString('hex')}`;
  #bootstrap = true;
  #process: ChildProcess | undefined;
  #log = '';

  private constructor(port: number, args: string[]) {
    this.url = `http://127.0.0.1:${port}`;
    this.#args = args;
    this.api = new Penstock({ baseURL: this.url, apiKey: this.key });
  }

  /** Starts a server with more arguments of `penstock serve`, and waits until it is ready. */
  static async start(...args: string[]): Promise<Server> {
    return Server.#start(args, true);
  }

  /** Starts a server as somebody new does: it makes its first key itself, which {@link key} is not. */
  static async startFresh(): Promise<Server> {
    return Server.#start([], false);
  }

  static async #start(args: string[], bootstrap: boolean): Promise<Server> {
    const server = new Server(await freePort(), args);
    server.#bootstrap = bootstrap;
    if (onPostgres) {
      await psql(`CREATE DATABASE ${server.#database}`);
    }
    await server.up();
    return server;
  }

  /** Makes an empty file in the workspace of a run that this server executes. */
  write(run: string, file: string): void {
    writeFileSync(path.join(this.data, 'work', 'runs', run, 'work', file), '');
  }

  /** What the server has printed so far. */
  get log(): string {
    return this.#log;
  }

  /** Starts the server again, on the same folder and port. */
  async up(): Promise<void> {
    const binary = process.env.PENSTOCK_TEST_BINARY;
    if (!binary) {
      throw new Error('PENSTOCK_TEST_BINARY is not set: run make test-web');
    }
    const home = path.join(this.#dir, 'home');
    mkdirSync(home, { recursive: true });
    const child = spawn(
      binary,
      [
        'serve',
        '--listen',
        new URL(this.url).host,
        '--data',
        this.data,
        '--limit-requests-per-minute',
        '0',
        ...(onPostgres ? ['--database', cluster(this.#database)] : []),
        ...this.#args,
      ],
      {
        env: { PATH: process.env.PATH, HOME: home, ...(this.#bootstrap ? { PENSTOCK_BOOTSTRAP_KEY: this.key } : {}) },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        this.#log += chunk;
      });
    }
    await this.#ready(child);
  }

  async #ready(child: ChildProcess): Promise<void> {
    for (const end = Date.now() + 240_000; ; await pause(25)) {
      if (child.exitCode !== null || Date.now() > end) {
        throw new Error(`the server does not get ready:\n${this.#log}`);
      }
      const response = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (response?.ok) {
        return;
      }
    }
  }

  /** Stops the server as a supervisor does. */
  async down(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child && child.exitCode === null) {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await exited;
    }
  }

  /** Stops the server and removes its folder and database. */
  async end(): Promise<void> {
    await this.down();
    if (onPostgres) {
      await psql(`DROP DATABASE ${this.#database}`);
    }
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The address of a database of the tests' cluster, of the one to manage it by without a name. */
function cluster(database?: string): string {
  const given = process.env.PENSTOCK_TEST_POSTGRES;
  if (!given) {
    throw new Error('PENSTOCK_TEST_POSTGRES is not set: run scripts/with-postgres scripts/test-web');
  }
  return database ? given.replace(/\/[^/?]*(\?|$)/, `/${database}$1`) : given;
}

async function psql(statement: string): Promise<void> {
  await promisify(execFile)('psql', ['--no-psqlrc', '--quiet', '--dbname', cluster(), '--command', statement]);
}

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => (address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}
