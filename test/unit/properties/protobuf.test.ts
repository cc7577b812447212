/** Protobuf of an API server compared with JSON, in any chunks, and any bytes. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { readLine } from '../../../src/controller/wire.ts';
import { UnreadableError, unreadable } from '../../../src/kube/api/page.ts';
import { decodeDrainedPod, decodeToleratingPod } from '../../../src/kube/protobuf/evicted-pod.ts';
import { ListReader, readFrames } from '../../../src/kube/protobuf/list-reader.ts';
import { decodeNodeMetrics, examinedNodeDecoder } from '../../../src/kube/protobuf/nodes.ts';
import {
  decodeMetadata,
  decodeNode,
  decodePod,
  decodeStatus,
  decodeWatchEvent,
} from '../../../src/kube/protobuf/objects.ts';
import { decodePodDemand } from '../../../src/kube/protobuf/pod-demand.ts';
import { UnknownFieldError } from '../../../src/kube/protobuf/schema.ts';
import { readLines } from '../../../src/kube/transport/stream.ts';
import { RECORD_ANNOTATION } from '../../../src/nodepool/types.ts';
import { encode, envelope, frame, nodeList } from '../kube/protobuf/encode.ts';
import { cutAt, places, property, unit } from './property.ts';

const text = fc.string({ unit, minLength: 1, maxLength: 80 });
const map = fc.dictionary(
  text.filter(key => key !== '__proto__'),
  text,
  { minKeys: 1, maxKeys: 4 },
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

/** The fields of a node that are read. */
const node = fc.record({
  metadata: fc.record({ name: text, uid: maybe(text), labels: maybe(map), record: maybe(text) }),
  unschedulable: fc.boolean(),
  taints: maybe(fc.array(fc.record({ key: text, value: maybe(text), effect: text }), { minLength: 1, maxLength: 4 })),
  allocatable: maybe(map),
  conditions: maybe(fc.array(fc.record({ type: text, status: text }), { minLength: 1, maxLength: 3 })),
});
type Model = typeof node extends fc.Arbitrary<infer T> ? T : never;

const entries = (values: Record<string, string> = {}) =>
  Object.entries(values).map(([key, value]) => encode({ 1: key, 2: value }));
const given = <T>(value: T | undefined, written: (value: T) => object) => (value === undefined ? {} : written(value));

function bytesOf({ metadata: { name, uid, labels, record }, unschedulable, taints, allocatable, conditions }: Model) {
  const annotations = { 'a.b/long': 'x'.repeat(100), ...given(record, value => ({ [RECORD_ANNOTATION]: value })) };
  return encode({
    1: encode({
      1: name,
      2: 'skipped',
      ...given(uid, value => ({ 5: value })),
      11: entries(labels),
      12: entries(annotations),
    }),
    2: encode({
      4: unschedulable ? 1 : 0,
      5: (taints ?? []).map(({ key, value, effect }) =>
        encode({ 1: key, ...given(value, v => ({ 2: v })), 3: effect }),
      ),
    }),
    3: encode({
      2: Object.entries(allocatable ?? {}).map(([key, value]) => encode({ 1: key, 2: encode({ 1: value }) })),
      4: (conditions ?? []).map(({ type, status }) => encode({ 1: type, 2: status, 5: 'skipped' })),
    }),
  });
}

function jsonOf({ metadata: { name, uid, labels, record }, unschedulable, taints, allocatable, conditions }: Model) {
  const whole = {
    metadata: { name, uid, labels, annotations: given(record, value => ({ [RECORD_ANNOTATION]: value })) },
    spec: { unschedulable: unschedulable || undefined, taints },
    status: { allocatable, conditions },
  };
  return JSON.parse(JSON.stringify(whole)) as unknown;
}

const json = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;

property(
  'reads a node in protobuf as in JSON',
  fc.property(node, model => {
    assert.deepEqual(json(decodeNode(bytesOf(model))), jsonOf(model));
  }),
);

const chunked = (bytes: Buffer, cuts: readonly number[]) => Readable.from(cutAt(bytes, cuts)) as IncomingMessage;

property(
  'reads a list for any chunk boundaries',
  fc.property(fc.array(node, { maxLength: 4 }), places, (models, cuts) => {
    const items: unknown[] = [];
    const reader = new ListReader({ onItem: raw => items.push(json(decodeNode(raw))) });
    for (const chunk of cutAt(nodeList(models.map(bytesOf), 'token'), cuts)) reader.push(chunk);
    assert.deepEqual(reader.end(), { kind: 'list', meta: { resourceVersion: '42', continue: 'token' } });
    assert.deepEqual(items, models.map(jsonOf));
  }),
);

property(
  'reads a watch for any chunk boundaries, in protobuf and JSON',
  fc.asyncProperty(fc.array(node, { maxLength: 4 }), places, async (models, cuts) => {
    const events: unknown[] = [];
    const frames = models.map(model => frame('ADDED', envelope('Node', bytesOf(model))));
    await readFrames(chunked(Buffer.concat(frames), cuts), bytes =>
      events.push(json(decodeWatchEvent(bytes, decodeNode))),
    );
    const expected = models.map(model => ({ type: 'ADDED', object: jsonOf(model) }));
    assert.deepEqual(events, expected);
    const lines: unknown[] = [];
    const body = Buffer.from(expected.map(event => `${JSON.stringify(event)}\n`).join(''));
    await readLines(chunked(body, cuts), line => lines.push(JSON.parse(line)));
    assert.deepEqual(lines, expected);
  }),
);

const DECODERS = [
  decodeNode,
  decodePod,
  decodeMetadata,
  examinedNodeDecoder(new Set()),
  decodeNodeMetrics,
  decodePodDemand,
  decodeDrainedPod,
  decodeToleratingPod,
  decodeStatus,
  (raw: Uint8Array) => decodeWatchEvent(raw, decodeNode),
];

/** Any bytes, and messages with some changed bytes. */
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc
    .tuple(node, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 5 }))
    .map(([model, changes]) => {
      const message = Uint8Array.from(bytesOf(model));
      for (const [at, value] of changes) message[at % message.length] = value;
      return message;
    }),
);

/** As a caller gets it. */
function isReported(error: unknown): void {
  const reported = unreadable(error);
  assert.ok(reported instanceof UnreadableError || reported instanceof UnknownFieldError, String(error));
  assert.ok(error instanceof Error && !(error instanceof TypeError), String(error));
}

property(
  'reads any bytes as an object, or throws an Error',
  fc.property(bytes, places, (raw, cuts) => {
    for (const decode of DECODERS) {
      try {
        JSON.stringify(readLine({ type: 'ADDED', object: decode(raw) }));
      } catch (error) {
        isReported(error);
      }
    }
    for (const body of [Buffer.from(raw), nodeList([raw]), Buffer.concat([Buffer.from('k8s\0'), raw])]) {
      try {
        const reader = new ListReader({ onItem: item => decodeNode(item) });
        for (const chunk of cutAt(body, cuts)) reader.push(chunk);
        reader.end();
      } catch (error) {
        isReported(error);
      }
    }
  }),
  500,
);

property(
  'reads any bytes as a watch, or throws an Error',
  fc.asyncProperty(bytes, places, async (raw, cuts) => {
    for (const body of [
      Buffer.from(raw),
      frame('ADDED', raw),
      Buffer.concat([Buffer.from([0, 0, 0, raw.length]), raw]),
    ]) {
      await readFrames(chunked(body, cuts), one => decodeWatchEvent(one, decodeNode)).catch(isReported);
      await readLines(chunked(body, cuts), () => {}).catch(isReported);
    }
  }),
);
