/** Errors of requests that got no response. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionError } from '../../../../src/kube/transport/connection-error.ts';

const access = {
  cluster: { name: 'c', server: 'https://s:6443', skipTlsVerify: false },
  user: { name: 'u' },
  source: '/k',
};

for (const [code, ofFile, ofFlag] of [
  ['ECONNREFUSED', 'that it is running and that /k names', 'that it is running and that --server names'],
  ['ENOTFOUND', "the server's name in /k ", "the server's name in --server "],
  ['EPROTO', 'server of cluster "c" in /k: ', '--server: '],
  ['EOTHER', 'the server in /k ', 'the server in --server '],
] as const) {
  test(`${code}: says where the address is`, () => {
    const next = (isServerFlag: boolean) =>
      connectionError(Object.assign(new Error('x'), { code }), { ...access, isServerFlag }, 1, false).next ?? '';
    assert.ok(next(false).startsWith(`check ${ofFile}`), next(false));
    assert.ok(next(true).startsWith(`check ${ofFlag}`), next(true));
  });
}
