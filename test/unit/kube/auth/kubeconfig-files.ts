/** Kubeconfig files in a temporary folder. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { type AccessOptions, loadAccess } from '../../../../src/kube/auth/kubeconfig.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';

export const folder = mkdtempSync(path.join(tmpdir(), 'kubeconfig-'));
after(() => rmSync(folder, { recursive: true }));

export function write(name: string, text: string): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** A file with a cluster, a user and a context of each name; servers are `https://<file>-<name>`. */
export function config(name: string, names: string[], current?: string): string {
  const list = (member: string, body: (one: string) => object) =>
    names.map(one => ({ name: one, [member]: body(one) }));
  return write(
    name,
    JSON.stringify({
      'current-context': current,
      clusters: list('cluster', one => ({ server: `https://${name}-${one}` })),
      users: list('user', one => ({ token: `${name}-${one}` })),
      contexts: list('context', one => ({ cluster: one, user: one })),
    }),
  );
}

export const one = config('one', ['a', 'b'], 'a');
export const two = config('two', ['b', 'c'], 'c');
export const noCurrent = config('no-current', ['a']);

/** The error that loadAccess() throws. */
export function failure(options: AccessOptions): string {
  try {
    loadAccess(options);
  } catch (error) {
    assert.ok(error instanceof NodepoolError, String(error));
    return `${error.message}; next: ${error.next}`;
  }
  return assert.fail('it was accepted');
}
