import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder of a project that has the package from its tarball. */
    project: string;
  }
}

export const root = fileURLToPath(new URL('..', import.meta.url));

const exec = promisify(execFile);

/** Runs a program to its end and returns what it printed; an error has all of it. */
export async function run(program: string, args: string[], env: Record<string, string> = {}, cwd?: string): Promise<string> {
  try {
    const { stdout } = await exec(program, args, { env: { ...process.env, ...env }, ...(cwd ? { cwd } : {}) });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')}: ${stdout ?? ''}${stderr ?? String(error)}`);
  }
}

/** Builds and packs the package, and installs the tarball into a project of its own, before any test. */
export default function setup(vitest: TestProject): () => void {
  const project = mkdtempSync(join(tmpdir(), 'penstock-sdk-project-'));
  const npm = (args: string[], cwd: string) =>
    execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd,
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
    });
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs')], { stdio: 'inherit' });
  const packed = JSON.parse(npm(['pack', '--ignore-scripts', '--json', '--pack-destination', project], root)) as { filename: string }[];
  writeFileSync(join(project, 'package.json'), '{ "name": "project", "private": true }');
  npm(['install', '--offline', '--ignore-scripts', `./${packed[0]?.filename}`], project);
  vitest.provide('project', project);
  return () => rmSync(project, { recursive: true, force: true });
}
