/** Requests to a SOCKS proxy are valid, and any response gives a connection or an Error. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { readerOf } from '../../../src/kube/proxy/socket-reader.ts';
import { socksConnect } from '../../../src/kube/proxy/socks.ts';
import { cutAt, places, property, unit } from './property.ts';

/** A socket that responds with these bytes and closes, and what was written to it. */
function answering(answer: Uint8Array) {
  const written: Buffer[] = [];
  let at = 0;
  const reader = {
    async bytes(count: number) {
      if (at + count > answer.length) throw new Error('it closed the connection');
      at += count;
      return Buffer.from(answer.subarray(at - count, at));
    },
    until: () => Promise.reject(new Error('nobody asks for that')),
  };
  const socket = { write: (bytes: Buffer) => written.push(bytes) } as unknown as Socket;
  return { socket, reader, written, used: () => at };
}

const login = fc.record({
  username: fc.string({ unit, maxLength: 300, size: 'max' }),
  password: fc.string({ unit, maxLength: 300, size: 'max' }),
});
const port = fc.integer({ min: 0, max: 65_535 });
const host = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.domain(),
  fc.integer({ min: 1, max: 300 }).map(length => 'a'.repeat(length)),
);

property(
  'any response of a proxy gives a connection or an Error',
  fc.asyncProperty(fc.uint8Array({ maxLength: 40 }), login, host, port, async (answer, who, name, number) => {
    const { socket, reader, used } = answering(Uint8Array.from([5, answer[0] ?? 0, ...answer]));
    await socksConnect(socket, reader, who, { host: name, port: number }).catch((error: unknown) => {
      assert.ok(error instanceof Error && error.constructor === Error, String(error));
    });
    assert.ok(used() <= 300);
  }),
  500,
);

/** The host and port of a request, by RFC 1928, 4. */
function requested(bytes: Buffer): { host: string; port: number } {
  assert.deepEqual([...bytes.subarray(0, 3)], [5, 1, 0]);
  const kind = bytes[3];
  const length = kind === 1 ? 4 : kind === 4 ? 16 : 1 + (bytes[4] ?? 0);
  assert.equal(bytes.length, 4 + length + 2);
  const address = bytes.subarray(4, 4 + length);
  const port = bytes.readUInt16BE(4 + length);
  if (kind === 1) return { host: address.join('.'), port };
  if (kind === 3) return { host: address.subarray(1).toString(), port };
  const groups = Array.from({ length: 8 }, (_, at) => address.readUInt16BE(at * 2).toString(16));
  return { host: new URL(`http://[${groups.join(':')}]`).hostname, port };
}

property(
  'requests the given host and port from a proxy, or nothing',
  fc.asyncProperty(host, port, async (name, number) => {
    const { socket, reader, written } = answering(Uint8Array.from([5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
    try {
      await socksConnect(socket, reader, { username: '', password: '' }, { host: name, port: number });
    } catch (error) {
      assert.ok(Buffer.byteLength(name) > 255, String(error));
      return;
    }
    const meant = name.includes(':') ? new URL(`http://[${name}]`).hostname : name;
    assert.deepEqual(requested(written.at(-1) ?? Buffer.alloc(0)), { host: meant, port: number });
  }),
  500,
);

property(
  'reads a response head for any chunk boundaries, and keeps what follows',
  fc.asyncProperty(
    fc.uint8Array({ maxLength: 60 }),
    fc.uint8Array({ maxLength: 60 }),
    places,
    async (before, after, cuts) => {
      const head = Buffer.from(before).toString('latin1').replaceAll('\r', '');
      const stream = new PassThrough();
      const reader = readerOf(stream as unknown as Socket);
      const found = reader.until('\r\n\r\n', 1_000);
      for (const chunk of cutAt(
        Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), after, Buffer.from('end')]),
        cuts,
      )) {
        if (chunk.length > 0) stream.write(chunk);
        await new Promise(resolve => setImmediate(resolve));
      }
      assert.equal(await found, head);
      assert.deepEqual(await reader.bytes(after.length), Buffer.from(after));
      assert.equal((await reader.bytes(3)).toString(), 'end');
    },
  ),
  100,
);
