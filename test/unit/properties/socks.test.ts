/** What is said to a SOCKS proxy can be read by one, and whatever it answers ends in an Error. */
import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { socksConnect } from '../../../src/kube/proxy/socks.ts';
import { property } from './property.ts';

/** A socket that answers with these pieces, as soon as anything is written to it, and closes; and what was written. */
function answering(...pieces: Uint8Array[]) {
  const written: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    async write(bytes: Buffer, _encoding, done) {
      done();
      if (written.push(bytes) > 1) return;
      for (const piece of pieces) {
        await new Promise(resolve => setImmediate(resolve));
        socket.push(piece);
      }
      setImmediate(() => socket.destroy());
    },
  });
  return { socket, written };
}

const login = fc.record({
  username: fc.string({ unit: 'binary', maxLength: 300, size: 'max' }),
  password: fc.string({ unit: 'binary', maxLength: 300, size: 'max' }),
});
const port = fc.integer({ min: 0, max: 65_535 });
const host = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.domain(),
  fc.integer({ min: 1, max: 300 }).map(length => 'a'.repeat(length)),
);

property(
  'whatever a proxy answers is a connection or an Error',
  fc.asyncProperty(
    fc.array(fc.uint8Array({ maxLength: 20 })),
    login,
    host,
    port,
    async (answers, who, name, number) => {
      const [first = Uint8Array.of(), ...others] = answers;
      const { socket, written } = answering(Uint8Array.from([5, ...first]), ...others);
      await socksConnect(socket, who, { host: name, port: number }).catch((error: unknown) => {
        assert.ok(error instanceof Error && error.constructor === Error, String(error));
      });
      assert.ok(written.length <= 3);
    },
  ),
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
  'a proxy is asked for the host and the port that are meant, or not at all',
  fc.asyncProperty(host, port, async (name, number) => {
    const { socket, written } = answering(Uint8Array.of(5, 0), Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
    try {
      await socksConnect(socket, { username: '', password: '' }, { host: name, port: number });
    } catch (error) {
      assert.ok(Buffer.byteLength(name) > 255, String(error));
      return;
    }
    const meant = name.includes(':') ? new URL(`http://[${name}]`).hostname : name;
    assert.deepEqual(requested(written.at(-1) ?? Buffer.alloc(0)), { host: meant, port: number });
  }),
  500,
);
