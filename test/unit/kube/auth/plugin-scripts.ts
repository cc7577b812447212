/** Exec plugins that are small shell scripts, and run as processes. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import type { LoginSurroundings, Terminal } from '../../../../src/kube/auth/auth-info.ts';
import { ExecPlugin } from '../../../../src/kube/auth/exec-plugin.ts';
import type { ClusterEntry } from '../../../../src/kube/auth/kubeconfig-file.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';

export const V1 = 'client.authentication.k8s.io/v1';
export const V1BETA1 = 'client.authentication.k8s.io/v1beta1';
export const folder = mkdtempSync(path.join(tmpdir(), 'exec-plugin-'));
after(() => rmSync(folder, { recursive: true }));

let scripts = 0;

/** A plugin that runs the script; the test reads what the script writes to `$0.seen`. */
export function script(text: string, name = `plugin-${++scripts}`): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

export const answer = (status: object, rest: object = { apiVersion: V1, kind: 'ExecCredential' }) =>
  `echo '${JSON.stringify({ ...rest, status })}'`;
export const TOKEN = answer({ token: 't' });
export const seen = (command: string) => readFileSync(`${command}.seen`, 'utf8').trim();

export interface Given {
  cluster?: Partial<ClusterEntry>;
  ca?: string;
  terminal?: Partial<Terminal>;
  env?: LoginSurroundings['env'];
  now?: () => number;
  signal?: AbortSignal;
}

export function open(exec: object, { cluster, ca, terminal, env, now = Date.now, signal }: Given = {}) {
  const lines: string[] = [];
  const plugin = new ExecPlugin(
    {
      cluster: { name: 'c', server: 'https://s:6443', skipTlsVerify: false, ...cluster },
      user: { name: 'u', exec: { apiVersion: V1, interactiveMode: 'Never', ...exec } },
      source: '/k',
    },
    ca === undefined ? undefined : Buffer.from(ca),
    {
      env: { PATH: process.env.PATH, ...env },
      now,
      terminal: { stdin: 0, stderr: 2, stdinIsTTY: false, stdinIsSpent: () => false, ...terminal },
      signal: signal ?? new AbortController().signal,
      log: (level, text) => lines.push(`${level} ${text()}`),
    },
  );
  return { lines, authInfo: (refused = false) => plugin.authInfo({ refused }) };
}

export async function failure(exec: object, given?: Given): Promise<string> {
  try {
    await open(exec, given).authInfo();
  } catch (error) {
    assert.ok(error instanceof NodepoolError, String(error));
    return `${error.message}; next: ${error.next}`;
  }
  return assert.fail('it was accepted');
}
