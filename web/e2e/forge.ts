import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/** A forge on this machine with the parts of Gitea's API that connections use. It checks scopes before it looks for a repository. */
export class Forge {
  /** The scopes of each token that it knows. */
  readonly tokens = new Map<string, string[]>();
  readonly #dir: string;
  readonly #listener: HttpsServer;

  private constructor(dir: string) {
    this.#dir = dir;
    this.#listener = createServer({ cert: readFileSync(this.certificate), key: readFileSync(path.join(dir, 'key.pem')) });
    this.#listener.on('request', (request, response) => {
      const [status, body] = this.#answer(request.method ?? '', request.url ?? '', request.headers.authorization ?? '');
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    });
  }

  /** Starts a forge with a certificate of its own. */
  static async start(): Promise<Forge> {
    const dir = mkdtempSync(path.join(tmpdir(), 'penstock-e2e-forge-'));
    const request =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=forge -addext subjectAltName=IP:127.0.0.1';
    await promisify(execFile)('openssl', [...request.split(' '), '-keyout', path.join(dir, 'key.pem'), '-out', path.join(dir, 'cert.pem')]);
    const forge = new Forge(dir);
    forge.#listener.listen(0, '127.0.0.1');
    await once(forge.#listener, 'listening');
    return forge;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  /** The file with the certificate, which a server must trust. */
  get certificate(): string {
    return path.join(this.#dir, 'cert.pem');
  }

  end(): void {
    this.#listener.closeAllConnections();
    this.#listener.close();
    rmSync(this.#dir, { recursive: true });
  }

  #answer(method: string, address: string, authorization: string): [number, unknown] {
    const scopes = this.tokens.get(authorization.replace('Bearer ', ''));
    const { pathname, searchParams } = new URL(address, this.url);
    const place = pathname.replace('/api/v1', '');
    const isUser = place === '/user';
    const need = isUser
      ? 'read:user'
      : place.includes('/issues/')
        ? 'write:issue'
        : method === 'GET'
          ? 'read:repository'
          : 'write:repository';
    if (!scopes) {
      return [401, { message: 'invalid username, password or token' }];
    }
    if (!scopes.includes(need) && !scopes.includes(need.replace('read', 'write'))) {
      return [
        403,
        { message: `token does not have at least one of required scope(s), required=[${need}], token scope=${scopes.join(',')}` },
      ];
    }
    if (isUser) {
      return [200, { id: 42, login: 'penstock-bot', email: 'bot@example.com' }];
    }
    if (place === '/user/repos') {
      return [200, searchParams.get('page') === '1' ? repositories : []];
    }
    if (place.endsWith('/assignees')) {
      return [200, [{ id: 3, login: 'ada' }]]; // all who may write
    }
    if (place.endsWith('/permission')) {
      return [403, { message: 'Only admins can query all permissions' }];
    }
    const repository = repositories.find(({ full_name }) => place === `/repos/${full_name}`);
    if (repository) {
      return [200, repository];
    }
    return place === '/repos/search' ? [200, { ok: true, data: [] }] : [404, { message: "The target couldn't be found." }];
  }
}

const repositories = ['acme/shop', 'acme/till', 'tools/lint'].map((full_name, i) => ({
  id: i + 1,
  full_name,
  default_branch: 'main',
  private: i < 2,
  archived: i === 1,
  permissions: { push: i < 2 },
}));
