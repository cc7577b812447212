import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import { readFrames } from '../../../../src/kube/protobuf/list-reader.ts';
import { retryAfterMs } from '../../../../src/kube/transport/response.ts';
import { readBody, readLines } from '../../../../src/kube/transport/stream.ts';

/** Reads these chunks as the body of a response, which then ends or breaks. */
async function read(pieces: (string | Buffer)[], error?: Error): Promise<string[]> {
  const body = new PassThrough();
  const lines: string[] = [];
  const reading = readLines(body as unknown as IncomingMessage, line => lines.push(line));
  for (const piece of pieces) body.write(piece);
  if (error === undefined) body.end();
  else setImmediate(() => body.destroy(error));
  await reading;
  return lines;
}

test('returns whole lines for any chunk boundaries, including inside a character', async () => {
  const text = '{"a":"é"}\n{"b":"日本"}\n\n{"c":1}\n';
  const bytes = Buffer.from(text);
  for (let size = 1; size <= bytes.length; size++) {
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
    assert.deepEqual(await read(pieces), ['{"a":"é"}', '{"b":"日本"}', '{"c":1}']);
  }
});

test('fails on an end inside a line, on a cut, and on a too long line', async () => {
  await assert.rejects(read(['{"a":1}\n{"b"']), /inside a line/);
  await assert.rejects(read(['{"a":1}\n'], new Error('ECONNRESET')), /ECONNRESET/);
  await assert.rejects(
    read(Array.from({ length: 17 }, () => 'x'.repeat(1024 * 1024))),
    /more than 16777216 characters/,
  );
});

test('needs no more memory for a line, frame or refusal that arrives byte by byte', async () => {
  /** Sent one by one, as buffered chunks are read together. */
  const dripping = () => Readable.from(bytes(), { objectMode: true }) as unknown as IncomingMessage;
  function* bytes() {
    const frame = Buffer.from([0, 0x80, 0, 0, ...Array(70_000).fill(120)]);
    for (let at = 0; at < frame.length; at++) yield frame.subarray(at, at + 1);
  }
  const texts = Readable.from(
    (function* () {
      for (const byte of bytes()) yield byte.toString();
    })(),
  );
  const lines = Object.assign(texts, { setEncoding() {} }) as unknown as IncomingMessage;
  await assert.rejects(
    readLines(lines, () => {}),
    /came in more than 65536 pieces/,
  );
  // Its bytes are joined in one buffer.
  await assert.rejects(
    readFrames(dripping(), () => {}),
    /broke off inside a frame/,
  );
  assert.equal((await readBody(dripping())).length, 65_536);
});

test('reads a refusal without a final newline, up to a cut, and with a time limit', async () => {
  const textOf = async (body: PassThrough) => (await readBody(body as unknown as IncomingMessage)).toString();
  const whole = new PassThrough();
  whole.end('{"message":\n"no"}');
  assert.equal(await textOf(whole), '{"message":\n"no"}');
  const broken = new PassThrough();
  broken.write('too many');
  setImmediate(() => broken.destroy(new Error('ECONNRESET')));
  assert.equal(await textOf(broken), 'too many');
  const endless = new PassThrough();
  const feed = setInterval(() => endless.write('x'.repeat(256 * 1024)));
  assert.ok((await textOf(endless)).length > 1024 * 1024);
  clearInterval(feed);
  assert.ok(endless.destroyed);
});

test('reads Retry-After in seconds', () => {
  assert.equal(retryAfterMs({ 'retry-after': '7' }), 7_000);
  assert.equal(retryAfterMs({ 'retry-after': '0' }), 0);
  assert.equal(retryAfterMs({ 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }), undefined);
  assert.equal(retryAfterMs({}), undefined);
});
