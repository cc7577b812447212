import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { serve } from '../../../../src/commands/reconcile/servers.ts';

const PAGE = { status: 200, contentType: 'text/plain', body: 'ok' };

test('serves pages by path, and 404 for others', async () => {
  const server = await serve('127.0.0.1:0', '--flag', { '/a': () => PAGE });
  const get = async (path: string) => (await fetch(`http://${server.address}${path}`)).status;
  assert.deepEqual([await get('/a'), await get('/a?b'), await get('/')], [200, 200, 404]);
  server.close();
});

test('closes without waiting for idle connections', { timeout: 5_000 }, async () => {
  const server = await serve('127.0.0.1:0', '--flag', {});
  const [host = '', port = ''] = server.address.split(':');
  const socket = connect(Number(port), host).on('error', () => {});
  await once(socket, 'connect');
  socket.write('GET / HT');
  // once() would reject on a reset socket, which happens when the server had not read yet.
  const closed = new Promise(resolve => socket.once('close', resolve));
  await new Promise(resolve => setTimeout(resolve, 50));
  server.close();
  await closed;
});

test('reports an invalid or used address with its flag', async () => {
  await assert.rejects(serve('here', '--flag', {}), /--flag "here" is not an address/);
  const bare = await serve('0', '--flag', {});
  assert.match(bare.address, /^127\.0\.0\.1:\d+$/, 'a port alone is on the loopback address');
  bare.close();
  const server = await serve('127.0.0.1:0', '--flag', {});
  await assert.rejects(serve(server.address, '--flag', {}), /--flag 127\.0\.0\.1:\d+: .*EADDRINUSE/);
  server.close();
});
