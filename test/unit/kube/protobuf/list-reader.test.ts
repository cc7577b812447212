/** Lists and watches in protobuf, cut at every byte. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { ListReader, readFrames } from '../../../../src/kube/protobuf/list-reader.ts';
import { decodeNode } from '../../../../src/kube/protobuf/objects.ts';
import { encode, envelope, frame, node, nodeList } from './encode.ts';

function pieces(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

function readList(chunks: Buffer[]) {
  const names: (string | undefined)[] = [];
  const reader = new ListReader({ onItem: raw => names.push(decodeNode(raw).metadata?.name) });
  for (const chunk of chunks) reader.push(chunk);
  return { names, end: reader.end() };
}

describe('reading a list', () => {
  const long = node('long', [], { 3: encode({ 3: 'x'.repeat(5_000) }) });
  const body = nodeList([node('a'), long, node('c')], 'token');

  test('gives the same result for any chunk boundaries', () => {
    for (const size of [1, 2, 3, 7, 100, 4_096, body.length]) {
      const { names, end } = readList(pieces(body, size));
      assert.deepEqual(names, ['a', 'long', 'c'], `pieces of ${size}`);
      assert.deepEqual(end, { kind: 'list', meta: { resourceVersion: '42', continue: 'token' } });
    }
  });

  test('returns items as they arrive, in blocks', () => {
    const names: (string | undefined)[] = [];
    const reader = new ListReader({ onItem: raw => names.push(decodeNode(raw).metadata?.name) });
    const many = nodeList(
      Array.from({ length: 200 }, (_, at) => node(`${at}`, [], { 3: encode({ 3: 'x'.repeat(1_000) }) })),
    );
    for (const piece of pieces(many.subarray(0, 150_000), 4_096)) reader.push(piece);
    assert.ok(names.length > 100 && names.length < 150, `${names.length} items`);
    for (const piece of pieces(many.subarray(150_000), 4_096)) reader.push(piece);
    assert.deepEqual([reader.end().kind, names.length, names.at(-1)], ['list', 200, '199']);
  });

  test('reads an item that is longer than a block', () => {
    const longest = node('longest', [], { 3: encode({ 3: 'x'.repeat(500_000) }) });
    const list = nodeList([node('a'), longest, node('c')]);
    for (const size of [4_096, 200_000, list.length]) {
      assert.deepEqual(readList(pieces(list, size)).names, ['a', 'longest', 'c'], `pieces of ${size}`);
    }
  });

  test('reads an empty list', () => {
    assert.deepEqual(readList([nodeList([])]).end, { kind: 'list', meta: { resourceVersion: '42' } });
    assert.deepEqual(readList([envelope('NodeList', encode({}))]).end, { kind: 'list', meta: {} });
  });

  test('throws wherever the list breaks off', () => {
    const short = nodeList([node('a'), node('b')]);
    // The last four bytes are empty strings of the envelope.
    for (let end = 4; end < short.length - 4; end++) {
      assert.throws(() => readList([short.subarray(0, end)]), /ended early|EOF|longer/, `after ${end} bytes`);
    }
  });

  test('ends at an item that exceeds the limit, before buffering it', () => {
    const reader = new ListReader({ onItem: () => {} });
    const head = Buffer.from([
      ...Buffer.from('k8s\0'),
      0x12,
      0xff,
      0xff,
      0xff,
      0xff,
      0x0f,
      0x12,
      0xff,
      0xff,
      0xff,
      0x7f,
    ]);
    assert.throws(() => reader.push(Buffer.concat([head, Buffer.alloc(128 * 1024)])), /more than 16777216 bytes/);
  });

  test('returns a body that is not protobuf unchanged', () => {
    const json = Buffer.from(JSON.stringify({ kind: 'NodeList', items: ['x'.repeat(3_000)] }));
    for (const size of [1, 10, json.length]) {
      assert.deepEqual(readList(pieces(json, size)).end, { kind: 'other', body: json });
    }
    assert.deepEqual(readList([]).end, { kind: 'other', body: Buffer.alloc(0) });
  });
});

describe('reading a watch', () => {
  const frames = ['a', 'b', 'c'].map(name => frame('ADDED', envelope('Node', node(name))));
  const read = async (chunks: Iterable<Buffer>) => {
    const got: Buffer[] = [];
    await readFrames(Readable.from(chunks) as unknown as IncomingMessage, each => got.push(Buffer.from(each)));
    return got;
  };

  test('gives the same result for any chunk boundaries', async () => {
    const body = Buffer.concat(frames);
    for (const size of [1, 3, 5, 64, body.length]) {
      assert.deepEqual(
        await read(pieces(body, size)),
        frames.map(each => each.subarray(4)),
      );
    }
  });

  test('reports an end inside a frame as broken', async () => {
    const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = frames;
    await assert.rejects(read([first, second.subarray(0, 9)]), /broke off inside a frame/);
    await assert.rejects(read([first, second.subarray(0, 2)]), /broke off inside a frame/);
  });

  test('ends at a frame that exceeds the limit, before buffering it', async () => {
    const body = new PassThrough();
    body.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
    await assert.rejects(
      readFrames(body as unknown as IncomingMessage, () => {}),
      /more than 16777216 bytes/,
    );
    assert.ok(body.destroyed);
  });
});
