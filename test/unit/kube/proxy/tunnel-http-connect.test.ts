import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { httpConnect } from '../../../../src/kube/proxy/tunnel.ts';

/** A proxy that answers with this text and keeps the connection open. */
function connectThrough(answer: string): Promise<void> {
  const socket = new Duplex({
    read() {},
    write(_bytes, _encoding, done) {
      done();
      setImmediate(() => socket.push(answer));
    },
  });
  return httpConnect(socket, { username: '', password: '' }, { host: 'api.example', port: 6443 });
}

test('ignores the length and encoding of a successful response, as RFC 9110 demands', async () => {
  await connectThrough('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n');
});

test('refuses a response that is not HTTP, and one with an endless head', async () => {
  await assert.rejects(connectThrough('SSH-2.0-OpenSSH_9.2\r\n\r\n'), {
    message: 'it answered with something other than HTTP',
  });
  const endless = `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(70_000)}\r\n\r\n`;
  await assert.rejects(connectThrough(endless), { message: 'its answer headers have more than 65536 bytes' });
});
