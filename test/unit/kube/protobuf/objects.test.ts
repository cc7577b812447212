import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readLine } from '../../../../src/controller/wire.ts';
import { examinedNodeDecoder } from '../../../../src/kube/protobuf/nodes.ts';
import {
  decodeEnvelope,
  decodeMetadata,
  decodeNode,
  decodePod,
  decodeStatus,
  decodeWatchEvent,
} from '../../../../src/kube/protobuf/objects.ts';
import { UnknownFieldError } from '../../../../src/kube/protobuf/schema.ts';
import { encode, envelope, frame, node } from './encode.ts';

describe('protobuf objects equal JSON objects', () => {
  test('reads name and labels of an object without spec and status', () => {
    assert.deepEqual(decodeMetadata(node('n')), { name: 'n', labels: { 'a.b/c': 'käse', empty: '' } });
    assert.deepEqual(decodeMetadata(encode({})), {});
  });

  test('reads the used fields of a node only', () => {
    const taints = [
      encode({ 1: 'key', 2: '', 3: 'NoSchedule' }),
      encode({ 1: 'late', 2: 'v', 3: 'NoExecute', 4: encode({ 1: 1_700_000_001, 2: 0 }) }),
    ];
    const status = encode({
      1: encode({ 1: 'cpu', 2: encode({ 1: '9' }) }),
      2: [encode({ 1: 'cpu', 2: encode({ 1: '3920m' }) }), encode({ 1: 'pods', 2: encode({ 1: '110' }) })],
      4: [encode({ 1: 'Ready', 2: 'True', 3: encode({ 1: 5 }), 5: 'KubeletReady' })],
      8: [encode({ 2: 1_000_000 }), encode({ 2: 2 })],
    });
    assert.deepEqual(decodeNode(node('n', taints, { 3: status })), {
      metadata: {
        name: 'n',
        uid: 'uid-n',
        resourceVersion: '7',
        creationTimestamp: '2023-11-14T22:13:20Z',
        labels: { 'a.b/c': 'käse', empty: '' },
      },
      spec: {
        unschedulable: true,
        taints: [
          { key: 'key', effect: 'NoSchedule' },
          { key: 'late', value: 'v', effect: 'NoExecute', timeAdded: '2023-11-14T22:13:21Z' },
        ],
      },
      status: { allocatable: { cpu: '3920m', pods: '110' }, conditions: [{ type: 'Ready', status: 'True' }] },
    });
  });

  test('ignores a time that JSON cannot represent, which a kubelet may store', () => {
    for (const seconds of [
      253_402_300_800,
      8_640_000_000_001,
      Number.MAX_SAFE_INTEGER,
      -62_135_596_801,
      -8_640_000_000_001,
    ]) {
      const condition = encode({ 1: 'Ready', 2: 'True', 4: encode({ 1: seconds }) });
      const taint = encode({ 1: 'key', 2: '', 3: 'NoExecute', 4: encode({ 1: seconds }) });
      const { spec, status } = decodeNode(node('n', [taint], { 3: encode({ 4: [condition] }) }));
      assert.deepEqual(spec?.taints, [{ key: 'key', effect: 'NoExecute' }]);
      assert.deepEqual(status?.conditions, [{ type: 'Ready', status: 'True' }]);
    }
  });

  test('reads the runtime handlers of a node for `doctor`', () => {
    const handlers = [encode({ 2: encode({ 1: 1 }) }), encode({ 1: 'gvisor', 2: encode({ 1: 1, 2: 1 }) })];
    const status = encode({ 2: encode({ 1: 'cpu', 2: encode({ 1: '4' }) }), 12: handlers, 13: encode({ 1: 1 }) });
    const decoded = examinedNodeDecoder(new Set())(node('n', [], { 3: status }));
    assert.deepEqual(decoded.status, { allocatable: { cpu: '4' }, runtimeHandlers: [{}, { name: 'gvisor' }] });
    assert.deepEqual(decoded.metadata, decodeNode(node('n')).metadata);
    assert.equal(decodeNode(node('n', [], { 3: status })).status?.runtimeHandlers, undefined);
  });

  test('omits zero values, as JSON does', () => {
    const taint = encode({ 1: 'key', 2: '', 3: 'NoSchedule', 4: encode({}) });
    const bare = encode({
      1: encode({ 1: 'n', 2: '', 8: encode({}) }),
      2: encode({ 1: '', 4: 0, 5: [taint] }),
      3: encode({}),
    });
    assert.deepEqual(decodeNode(bare), {
      metadata: { name: 'n' },
      spec: { taints: [{ key: 'key', effect: 'NoSchedule' }] },
      status: {},
    });
    const epoch = encode({ 1: encode({ 1: 'n', 8: encode({ 1: 0, 2: 0 }) }) });
    assert.deepEqual(decodeNode(epoch), { metadata: { name: 'n', creationTimestamp: '1970-01-01T00:00:00Z' } });
  });

  test('reads the node of a pod', () => {
    const pod = encode({ 1: encode({ 1: 'p', 3: 'team', 5: 'u', 6: '9' }), 2: encode({ 1: '', 10: 'node-a' }) });
    assert.deepEqual(decodePod(pod), {
      metadata: { name: 'p', namespace: 'team', uid: 'u', resourceVersion: '9' },
      spec: { nodeName: 'node-a' },
    });
  });

  test('reads a Status instead of the requested object', () => {
    const cause = encode({ 1: 'FieldValueInvalid', 2: 'no', 3: 'metadata.labels' });
    const details = encode({ 1: 'x', 2: '', 3: 'nodes', 4: [cause], 5: 3 });
    const status = encode({ 1: encode({}), 2: 'Failure', 3: 'nodes "x" is wrong', 4: 'Invalid', 5: details, 6: 422 });
    const expected = {
      kind: 'Status',
      status: 'Failure',
      message: 'nodes "x" is wrong',
      reason: 'Invalid',
      details: {
        name: 'x',
        kind: 'nodes',
        causes: [{ reason: 'FieldValueInvalid', message: 'no', field: 'metadata.labels' }],
        retryAfterSeconds: 3,
      },
      code: 422,
    };
    assert.deepEqual(decodeStatus(envelope('Status', status)), expected);
    assert.deepEqual(decodeEnvelope(envelope('Status', status), decodeNode), expected);
    const event = frame('ERROR', envelope('Status', status)).subarray(4);
    assert.deepEqual(decodeWatchEvent(event, decodeNode), { type: 'ERROR', object: expected });
    const expired = envelope('Status', encode({ 2: 'Failure', 3: 'too old', 4: 'Expired', 6: 410 }));
    assert.deepEqual(readLine(decodeWatchEvent(frame('ERROR', expired).subarray(4), decodeNode)), { type: 'expired' });
  });

  test('keeps the annotation of a bookmark', () => {
    const mark = encode({ 1: 'k8s.io/initial-events-end', 2: 'true' });
    const object = envelope('Node', encode({ 1: encode({ 6: '12', 12: [mark] }) }));
    assert.deepEqual(decodeWatchEvent(frame('BOOKMARK', object).subarray(4), decodeNode), {
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: '12', annotations: { 'k8s.io/initial-events-end': 'true' } } },
    });
  });
});

describe('malformed and unknown input', () => {
  test('refuses a taint with an unknown field, which a write would lose', () => {
    const taint = encode({ 1: 'key', 3: 'NoSchedule', 9: 'new' });
    assert.throws(() => decodeNode(node('n', [taint])), UnknownFieldError);
    assert.throws(() => decodeNode(node('n', [taint])), /^UnknownFieldError: a taint has the unknown field 9/);
  });

  test('skips unknown fields everywhere else', () => {
    assert.equal(decodeNode(node('n', [], { 99: 'new', 98: 7 })).metadata?.name, 'n');
  });

  test('throws or returns less for a message cut at any byte, and never hangs', () => {
    const whole = node('n', [encode({ 1: 'key', 2: 'value', 3: 'NoSchedule' })]);
    const full = JSON.stringify(decodeNode(whole)).length;
    for (let end = 0; end < whole.length; end++) {
      const read = () => JSON.stringify(decodeNode(whole.subarray(0, end)));
      try {
        assert.ok(read().length < full);
      } catch (error) {
        assert.ok(error instanceof Error && !(error instanceof assert.AssertionError), String(error));
      }
    }
  });

  test('does not read beyond the end of the outer message', () => {
    const reachingOut = Uint8Array.from([0x0a, 0x03, 0x0a, 0x05, 0x61, 0x62, 0x63, 0x64, 0x65]);
    assert.throws(() => decodeNode(reachingOut), RangeError);
  });

  test('refuses a body without the envelope', () => {
    assert.throws(() => decodeEnvelope(Buffer.from('{"kind":"Node"}'), decodeNode), /no protobuf envelope/);
  });
});
