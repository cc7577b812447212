import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { decodePool, withoutServerFields } from '../../../../src/nodepool/spec/coerce.ts';

const HEAD = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool' };
const NAMED = { ...HEAD, metadata: { name: 'gpu' } };

test('decodes a complete pool unchanged', () => {
  const pool = {
    ...HEAD,
    metadata: {
      name: 'worker',
      labels: { team: 'a' },
      annotations: { note: 'x' },
      finalizers: ['node.finalizers.node-pool.lailin.xyz'],
      uid: 'u',
      resourceVersion: '7',
      generation: 2,
      creationTimestamp: '2026-01-01T00:00:00Z',
      managedFields: [{ manager: 'kubectl' }],
    },
    spec: {
      labels: { 'node-pool.lailin.xyz/worker': '10' },
      taints: [{ key: 'node-pool.lailin.xyz', value: 'worker', effect: 'NoSchedule' }],
      handler: 'runc',
      nodeSelector: { a: '' },
      unmanaged: 'Keep',
    },
    status: { status: 200, nodeCount: 2, allocatable: { cpu: '8', pods: 220 }, conditions: [{ type: 'Ready' }] },
  };
  assert.deepEqual(decodePool(pool, 'pool.yaml'), pool);
});

test('decodes a missing spec as empty, and null as absent', () => {
  assert.deepEqual(decodePool(NAMED, 'x').spec, {});
  assert.deepEqual(decodePool({ ...NAMED, spec: null }, 'x').spec, {});
  assert.deepEqual(decodePool({ ...NAMED, spec: { labels: null, handler: 'runc' } }, 'x').spec, { handler: 'runc' });
});

const NAME = 'set metadata.name';

const refused: [name: string, value: unknown, message: string, next?: string][] = [
  [
    'nothing',
    undefined,
    'f: expected a NodePool, found none',
    'start the object with apiVersion, kind, metadata and spec',
  ],
  ['null', null, 'f: expected a NodePool, found nothing', 'start the object with apiVersion, kind, metadata and spec'],
  [
    'a list',
    [NAMED],
    'f: expected a NodePool, found a list',
    'start the object with apiVersion, kind, metadata and spec',
  ],
  ['text', 'kind', 'f: expected a NodePool, found "kind"', 'start the object with apiVersion, kind, metadata and spec'],
  [
    'another kind',
    { apiVersion: 'v1', kind: 'Pod' },
    'f: not a NodePool: found apiVersion "v1" and kind "Pod"',
    'use kubectl create for objects of other kinds',
  ],
  [
    'another version',
    { apiVersion: 'nodes.lailin.xyz/v2', kind: 'NodePool' },
    'f: not a NodePool: found apiVersion "nodes.lailin.xyz/v2" and kind "NodePool"',
    'use apiVersion: nodes.lailin.xyz/v1 and kind: NodePool',
  ],
  [
    'no kind',
    { apiVersion: 'nodes.lailin.xyz/v1' },
    'f: not a NodePool: found apiVersion "nodes.lailin.xyz/v1" and kind none',
    'use apiVersion: nodes.lailin.xyz/v1 and kind: NodePool',
  ],
  ['no metadata', HEAD, 'f: metadata: missing', NAME],
  ['no name', { ...HEAD, metadata: {} }, 'f: metadata.name: missing', NAME],
  ['a null name', { ...HEAD, metadata: { name: null } }, 'f: metadata.name: missing', NAME],
  ['a typing error', spec({ lables: {} }), 'f: spec.lables: unknown field', 'use spec.labels, or remove the field'],
  ['a typing error at the top', { ...NAMED, sepc: {} }, 'f: sepc: unknown field', 'use spec, or remove the field'],
  ['an unknown null', spec({ lables: null }), 'f: spec.lables: unknown field', 'use spec.labels, or remove the field'],
  ['an unknown field', spec({ colour: 'x' }), 'f: spec.colour: unknown field'],
  ['a field of Object', spec({ constructor: 'x' }), 'f: spec.constructor: unknown field'],
  [
    'an unknown field of a taint',
    spec({ taints: [{ key: 'a', effect: 'NoSchedule', operator: 'Equal' }] }),
    'f: spec.taints[0].operator: unknown field',
  ],
  ['a taint without effect', spec({ taints: [{ key: 'a' }] }), 'f: spec.taints[0].effect: missing'],
  ['a null taint', spec({ taints: [null] }), 'f: spec.taints[0]: expected a map of fields, found nothing'],
  ['taints as a map', spec({ taints: { a: 'b' } }), 'f: spec.taints: expected a list, found a map'],
  ['labels as a list', spec({ labels: ['a=b'] }), 'f: spec.labels: expected a map, found a list'],
  ['spec as text', { ...NAMED, spec: 'x' }, 'f: spec: expected a map of fields, found "x"'],
  [
    'a number for a label',
    spec({ labels: { 'a/b': 10 } }),
    'f: spec.labels[a/b]: expected a string, found the number 10',
    'quote it: label values are strings',
  ],
  [
    'true for a label',
    spec({ nodeSelector: { a: true } }),
    'f: spec.nodeSelector[a]: expected a string, found the boolean true',
    'quote it: label values are strings',
  ],
  [
    'no value for a label',
    spec({ nodeSelector: { a: null } }),
    'f: spec.nodeSelector[a]: expected a string, found nothing',
    'use "" for the empty value',
  ],
  ['a date for text', spec({ handler: new Date(0) }), 'f: spec.handler: expected a string, found a date'],
  ['a number for text', spec({ handler: 1 }), 'f: spec.handler: expected a string, found the number 1'],
  [
    'a fraction',
    { ...NAMED, status: { status: 1.5 } },
    'f: status.status: expected a whole number, found the number 1.5',
    'see the valid values with `kubectl explain npool.status`',
  ],
  [
    'labels as a text, of the pool itself',
    { ...HEAD, metadata: { name: 'gpu', labels: 'x' } },
    'f: metadata.labels: expected a map, found "x"',
    'see the valid values with `kubectl explain npool.metadata`',
  ],
];
for (const [name, value, message, next] of refused) {
  test(`refuses ${name}`, () => {
    const error = refusal(value);
    assert.equal(error.message, message);
    assert.equal(error.next, next ?? 'see the valid values with `kubectl explain npool.spec`');
  });
}

test('reports every error on its own line', () => {
  const error = refusal({ ...NAMED, metadata: { name: 1 }, spec: { lables: {}, taints: [{ key: 'a' }] } });
  assert.deepEqual(error.message.split('\n'), [
    'f has 3 errors:',
    '  metadata.name: expected a string, found the number 1',
    '  spec.lables: unknown field (use spec.labels, or remove the field)',
    '  spec.taints[0].effect: missing',
  ]);
});

test('drops fields that only the server sets', () => {
  const kept = {
    ...HEAD,
    metadata: { name: 'gpu', labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['e/f'], ownerReferences: [] },
    spec: { handler: 'runc' },
  };
  const serverSet = { uid: 'u', resourceVersion: '7', generation: 1, creationTimestamp: 'x', deletionTimestamp: 'y' };
  const pool = { ...kept, metadata: { ...kept.metadata, ...serverSet }, status: { status: 200, nodeCount: 0 } };
  assert.deepEqual(withoutServerFields(pool), kept);
  assert.deepEqual(withoutServerFields({ ...NAMED, spec: {} }), { ...NAMED, spec: {} });
});

function spec(value: Record<string, unknown>): Record<string, unknown> {
  return { ...NAMED, spec: value };
}

function refusal(value: unknown): NodepoolError {
  try {
    decodePool(value, 'f');
  } catch (error) {
    assert.ok(error instanceof NodepoolError);
    assert.equal(error.kind, 'input');
    return error;
  }
  throw new assert.AssertionError({ message: 'decoded what it should have refused' });
}
