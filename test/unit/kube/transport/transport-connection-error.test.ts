/** Errors of requests that got no response. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionError } from '../../../../src/kube/transport/transport.ts';

const access = {
  cluster: { name: 'c', server: 'https://s:6443', skipTlsVerify: false },
  user: { name: 'u' },
  source: '/k',
};

for (const [code, ofFile, ofFlag] of [
  [
    'ECONNREFUSED',
    'that the server is running, and the address in /k',
    'that the server is running, and the address in --server',
  ],
  ['ENOTFOUND', "the server's name in /k ", "the server's name in --server "],
  [
    'EPROTO',
    'https:// or http:// and the port in server of cluster "c" in /k',
    'https:// or http:// and the port in --server',
  ],
  ['EOTHER', 'the server in /k ', 'the server in --server '],
] as const) {
  test(`${code}: names where the address is set`, () => {
    const next = (isServerFlag: boolean) =>
      connectionError(Object.assign(new Error('x'), { code }), { ...access, isServerFlag }, 1, false).next ?? '';
    assert.ok(next(false).startsWith(`check ${ofFile}`), next(false));
    assert.ok(next(true).startsWith(`check ${ofFlag}`), next(true));
  });
}

test('suggests --tls-server-name for a wrong certificate name if that flag set the name', () => {
  const error = Object.assign(new Error('x'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  const next = (isNameFlag: boolean) => connectionError(error, { ...access, isNameFlag }, 1, false).next;
  assert.equal(next(false), "correct the server's name, or set tls-server-name in /k");
  assert.equal(next(true), 'set --tls-server-name to a name in the certificate');
});
