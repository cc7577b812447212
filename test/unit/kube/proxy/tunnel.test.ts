import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTunnel } from '../../../../src/kube/proxy/tunnel.ts';
import { httpProxy } from '../../../cluster/proxies.ts';

test('limits the wait for a silent proxy, and hides its password', async t => {
  const { address, open } = await httpProxy(t, { port: 1, silent: true });
  const proxy = { url: new URL(`http://joe:secret@${address}`), source: 'HTTPS_PROXY' };
  const target = { host: 'api.example', port: 6443 };
  await assert.rejects(openTunnel(proxy, target, {}, new AbortController().signal, 50), {
    message: `cannot reach the server api.example:6443 through the proxy http://${address}: no answer within 0.05 s`,
    next: 'check HTTPS_PROXY',
  });
  while (open() > 0) await new Promise(resolve => setTimeout(resolve, 5));
});
