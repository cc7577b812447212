/** The answer of an HTTP proxy, in any chunks. */
import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { httpConnect } from '../../../src/kube/proxy/tunnel.ts';
import { cutAt, places, property } from './property.ts';

const LOGIN = { username: '', password: '' };
const TARGET = { host: 'api.example', port: 6443 };

/** A socket that answers with these pieces, whatever is written to it, and closes where it is to. */
function answering(pieces: Buffer[], closes: boolean): Duplex {
  const socket = new Duplex({
    read() {},
    async write(_bytes, _encoding, done) {
      done();
      for (const piece of pieces) {
        await new Promise(resolve => setImmediate(resolve));
        if (piece.length > 0) socket.push(piece);
      }
      if (closes) socket.push(null);
    },
  });
  return socket;
}

property(
  'reads the response to CONNECT for any chunk boundaries, and keeps what follows',
  fc.asyncProperty(
    fc.stringMatching(/^[!-~]{0,60}$/),
    fc.uint8Array({ minLength: 1 }),
    places,
    async (text, after, cuts) => {
      const answer = Buffer.concat([Buffer.from(`HTTP/1.1 200 ${text}\r\nX-A: ${text}\r\n\r\n`), after]);
      const socket = answering(cutAt(answer, cuts), false);
      await httpConnect(socket, LOGIN, TARGET);
      let rest = Buffer.alloc(0);
      for await (const chunk of socket) {
        rest = Buffer.concat([rest, chunk]);
        if (rest.length >= after.length) break;
      }
      assert.deepEqual(rest, Buffer.from(after));
    },
  ),
);

property(
  'any response of a proxy gives a connection or an Error',
  fc.asyncProperty(
    fc.constantFrom('', 'HTTP/1.1 ', 'HTTP/1.1 200', 'HTTP/1.1 200 OK\r\n'),
    fc.uint8Array({ maxLength: 40 }),
    places,
    async (start, bytes, cuts) => {
      const answer = Buffer.concat([Buffer.from(start), bytes]);
      await httpConnect(answering(cutAt(answer, cuts), true), LOGIN, TARGET).catch((error: unknown) => {
        assert.ok(error instanceof Error && /^it (answered|closed)/.test(error.message), String(error));
      });
    },
  ),
  500,
);
