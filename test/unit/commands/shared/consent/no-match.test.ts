import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noMatchWarnings } from '../../../../../src/commands/shared/consent/no-match.ts';
import type { NodePoolSpec } from '../../../../../src/nodepool/types.ts';
import { aPool } from '../../../nodepool/fixtures.ts';

type Labels = Record<string, string>;

/** Of pool `edge`, without what is the same in each. */
function missed(spec: NodePoolSpec, ...labels: Labels[]): string[] {
  return noMatchWarnings(
    [aPool(spec, { name: 'edge' })],
    labels.map(each => ({ labels: each })),
  ).map(warning => {
    assert.ok(typeof warning === 'object');
    assert.equal(warning.next, 'label nodes, or change the selector with `kubectl nodepool edit edge`');
    return warning.message.replace('no node matches pool edge ', '');
  });
}

const times = (count: number, labels: Labels) => Array.from({ length: count }, () => labels);
const expression = (key: string, operator: string, ...values: string[]): NodePoolSpec => ({
  matchExpressions: [{ key, operator, values }],
});
const EDGE = 'node-role.kubernetes.io/edge';

test('names the values that nodes have instead of the required value', () => {
  assert.deepEqual(missed({}, ...times(2, { [EDGE]: 'true' })), [`(${EDGE}=): 2 nodes have ${EDGE}=true`]);
  const nvidia = { nodeSelector: { accelerator: 'nvidia' } };
  const a100 = { accelerator: 'nvidia-a100' };
  assert.deepEqual(missed(nvidia, ...times(3, a100)), ['(accelerator=nvidia): 3 nodes have accelerator=nvidia-a100']);
  assert.deepEqual(missed(nvidia, { accelerator: '' }), ['(accelerator=nvidia): 1 node has accelerator=""']);
  const others = ['a', 'b', 'c', 'd'].map(accelerator => ({ accelerator }));
  assert.deepEqual(missed(nvidia, ...others, { accelerator: 'd' }), [
    '(accelerator=nvidia): 2 nodes have accelerator=d, 1 node has accelerator=a, 1 node has accelerator=b and 1 more',
  ]);
});

test('names a similar key, compared without its prefix', () => {
  const one = (key: string, ...keys: string[]) =>
    missed({ nodeSelector: { [key]: 'x' } }, ...keys.map(each => ({ [each]: 'x' })))[0]?.replace(/^\S+ /, '');
  const none = (key: string) => `no node has the label ${key}`;
  assert.equal(one('acelerator', 'accelerator', 'zone'), `${none('acelerator')}, 1 node has accelerator`);
  assert.equal(one('example.com/gpus', 'example.com/gpu'), `${none('example.com/gpus')}, 1 node has example.com/gpu`);
  assert.equal(one('exmple.com/gpu', 'example.com/gpu'), `${none('exmple.com/gpu')}, 1 node has example.com/gpu`);
  assert.equal(one('gpu', 'example.com/gpu'), `${none('gpu')}, 1 node has example.com/gpu`);
  assert.equal(one('example.com/gpu', 'gpu'), `${none('example.com/gpu')}, 1 node has gpu`);
  // Every other role is similar as a whole.
  assert.equal(one(EDGE, 'node-role.kubernetes.io/worker', 'node-role.kubernetes.io/gpu'), `(${EDGE}=x)`);
  assert.equal(one('accelerator', 'constructor'), '(accelerator=x)');
});

test('evaluates expressions', () => {
  assert.deepEqual(missed(expression('size', 'Gt', '4'), { size: '2' }, { size: 'big' }), [
    "('size>4'): 1 node has size=2, 1 node has size=big",
  ]);
  assert.deepEqual(missed(expression('zone', 'In', 'a', 'b'), { zone: 'c' }), ["('zone in (a,b)'): 1 node has zone=c"]);
  assert.deepEqual(missed(expression('os', 'DoesNotExist'), ...times(2, { os: 'linux' })), [
    "('!os'): 2 nodes have os=linux",
  ]);
  assert.deepEqual(missed(expression('gpu', 'Exists'), { zone: 'a' }), ['(gpu)']);
});

test('names the requirements that exclude nodes when each alone is met by some node', () => {
  const spec = { nodeSelector: { gpu: '', zone: 'a' } };
  assert.deepEqual(missed(spec, { gpu: '', zone: 'b' }, { zone: 'a' }, { zone: 'a' }), [
    '(gpu=,zone=a): 1 node matches all but zone=a; 2 nodes match all but gpu=',
  ]);
  // One that no node meets is the reason, whatever the others do.
  assert.deepEqual(missed(spec, { zone: 'a' }), ['(gpu=,zone=a): no node has the label gpu']);
  const three = { nodeSelector: { a: '', b: '', c: '' } };
  assert.deepEqual(missed(three, { a: '' }, { b: '' }, { c: '' }), ['(a=,b=,c=)']);
});

test('prints nothing without nodes, and for a matching, empty or unknown selector', () => {
  assert.deepEqual(missed({}), []);
  assert.deepEqual(missed({}, { [EDGE]: '' }, {}), []);
  assert.deepEqual(missed({ nodeSelector: {} }, {}), []);
  assert.deepEqual(missed(expression('size', 'Gt', '4Gi'), {}), []);
  assert.deepEqual(missed(expression('size', 'Near', '4'), {}), []);
});
