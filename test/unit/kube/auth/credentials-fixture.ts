/** Loads credentials of a kubeconfig user: a temporary folder, a CA, a client certificate and exec plugins. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { loadCredentials } from '../../../../src/kube/auth/credentials.ts';
import type { UserEntry } from '../../../../src/kube/auth/kubeconfig-file.ts';
import type { RequestLog } from '../../../../src/kube/transport/request-log.ts';
import { clientCertificate, createAuthority } from '../../../cluster/certificates.ts';

export const folder = mkdtempSync(path.join(tmpdir(), 'credentials-'));
after(() => rmSync(folder, { recursive: true }));

export const authority = createAuthority('test');
export const ends = new Date('2031-02-03T04:05:06Z');
export const client = clientCertificate(authority, 'someone', [], { notAfter: ends });
export const base64 = (text: string) => Buffer.from(text).toString('base64');

export function credentials(user: Omit<UserEntry, 'name'>, server = 'https://s', log?: RequestLog) {
  const cluster = { name: 'c', server, skipTlsVerify: false, caData: base64(authority.cert) };
  const env = { PATH: process.env.PATH };
  return loadCredentials(
    { cluster, user: { name: 'u', ...user }, source: '/k' },
    { env, ...(log === undefined ? {} : { log }) },
  );
}

export function plugin(name: string, script: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}
