/** A registry of npm packages on loopback, and npm as on a new machine. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { list } from 'tar';
import { type RunResult, run } from '../cluster/run.ts';

export interface NpmRegistry {
  url: string;
  /** Publishes the tarballs. Other packages do not exist. */
  publish(...tarballs: string[]): Promise<void>;
}

/** It ends with the test, or with the file when called outside of tests and hooks. */
export async function startNpmRegistry(t: { after(end: () => unknown): void }): Promise<NpmRegistry> {
  const answers = new Map<string, Buffer>();
  const server = createServer(({ url = '' }, response) => {
    const found = answers.get(decodeURIComponent(url));
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(found ?? '{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const publish = async (path: string) => {
    const bytes = await readFile(path);
    const manifest = await manifestOf(path);
    const { name, version, scripts } = manifest;
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
    const dist = { tarball: `${url}/-/${basename(path)}`, integrity };
    const versions = { [version]: { ...manifest, dist, hasInstallScript: scripts !== undefined } };
    answers.set(`/${name}`, Buffer.from(JSON.stringify({ name, 'dist-tags': { latest: version }, versions })));
    answers.set(`/-/${basename(path)}`, bytes);
  };
  return {
    url,
    publish: async (...tarballs) => {
      for (const path of tarballs) await publish(path);
    },
  };
}

interface Manifest {
  name: string;
  version: string;
  scripts?: object;
}

/** The package.json in a tarball. */
async function manifestOf(file: string): Promise<Manifest> {
  const chunks: Buffer[] = [];
  await list({
    file,
    filter: path => path === 'package/package.json',
    onReadEntry: entry => entry.on('data', chunk => chunks.push(chunk)),
  });
  return JSON.parse(Buffer.concat(chunks).toString()) as Manifest;
}

/** npm with npmEnvironment. @param extra variables of its environment */
export function npmIn(
  folder: string,
  registry: NpmRegistry,
  args: readonly string[],
  cwd = folder,
  extra: Record<string, string> = {},
): Promise<RunResult> {
  return run('npm', args, { cwd, env: { ...npmEnvironment(folder, registry), ...extra } });
}

/** For npm with an empty home and cache below the folder, and without settings of this run. */
export function npmEnvironment(folder: string, { url }: NpmRegistry): Record<string, string | undefined> {
  const home = join(folder, 'home');
  const kept = Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_'));
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    npm_config_cache: join(home, 'cache'),
    npm_config_registry: url,
    npm_config_fetch_retries: '0',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  };
}
