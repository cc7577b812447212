/** The rules of node affinity (k8s.io/component-helpers scheduling/corev1/nodeaffinity), and the selector as text. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Requirement } from '../../../../src/nodepool/membership/label-query.ts';
import {
  keysOf,
  matches,
  memberLabels,
  membershipSelector,
  requiredLabel,
  selectorText,
} from '../../../../src/nodepool/membership/selector.ts';
import { isSelectorKnown } from '../../../../src/nodepool/spec/validation.ts';
import { aPool } from '../fixtures.ts';

const has = (key: string, operator: string, ...values: string[]): Requirement => ({ key, operator, values });
const labels = { zone: 'a', cpu: '8', empty: '', big: '9223372036854775808', word: 'x8', padded: '008' };

describe('a node meets', () => {
  const cases: [Requirement, boolean][] = [
    [has('zone', 'In', 'b', 'a'), true],
    [has('zone', 'In', 'b'), false],
    [has('none', 'In', 'a'), false],
    [has('none', 'In', ''), false],
    [has('empty', 'In', ''), true],
    [has('zone', 'NotIn', 'a', 'b'), false],
    [has('zone', 'NotIn', 'b'), true],
    [has('none', 'NotIn', 'a'), true],
    [has('empty', 'NotIn', 'a'), true],
    [has('empty', 'Exists'), true],
    [has('none', 'Exists'), false],
    [has('toString', 'Exists'), false],
    [has('none', 'DoesNotExist'), true],
    [has('empty', 'DoesNotExist'), false],
    [has('cpu', 'Gt', '7'), true],
    [has('cpu', 'Gt', '8'), false],
    [has('cpu', 'Gt', '10'), false],
    [has('padded', 'Gt', '7'), true],
    [has('cpu', 'Lt', '9'), true],
    [has('cpu', 'Lt', '8'), false],
    [has('cpu', 'Lt', '10'), true],
    [has('none', 'Lt', '10'), false],
    [has('none', 'Gt', '0'), false],
    [has('empty', 'Lt', '10'), false],
    [has('word', 'Lt', '10'), false],
    [has('big', 'Gt', '10'), false],
    [has('cpu', 'Gt', '4', '5'), true],
    [has('zone', 'Near', 'a'), false],
  ];
  for (const [expression, expected] of cases) {
    const selector = { labels: {}, expressions: [expression] };
    test(`${selectorText(selector)}: ${expected}`, () => assert.equal(matches(selector, labels), expected));
  }

  test('a node must match every label and expression; an empty selector matches nothing', () => {
    const selector = { labels: { zone: 'a' }, expressions: [has('cpu', 'Gt', '4'), has('cpu', 'Lt', '16')] };
    assert.equal(matches(selector, labels), true);
    assert.equal(matches({ ...selector, labels: { zone: 'b' } }, labels), false);
    assert.equal(matches(selector, { zone: 'a', cpu: '16' }), false);
    assert.equal(matches({ labels: {}, expressions: [] }, labels), false);
  });
});

test('the role label is the default when the spec has neither labels nor expressions', () => {
  const expressions = [has('spot', 'DoesNotExist')];
  assert.deepEqual(membershipSelector(aPool()), { labels: { 'node-role.kubernetes.io/worker': '' }, expressions: [] });
  assert.deepEqual(membershipSelector(aPool({ matchExpressions: expressions })), { labels: {}, expressions });
  assert.deepEqual(membershipSelector(aPool({ nodeSelector: { a: 'b' }, matchExpressions: expressions })), {
    labels: { a: 'b' },
    expressions,
  });
});

test('selectorText() returns a selector in the syntax of kubectl', () => {
  const expressions = [
    has('zone', 'In', 'a', 'b'),
    has('tier', 'NotIn', 'x'),
    has('one', 'In', ''),
    has('two', 'NotIn', ''),
    has('three', 'In', '', 'c'),
    has('gpu', 'Exists'),
    has('spot', 'DoesNotExist'),
    has('cpu', 'Gt', '4'),
    has('cpu', 'Lt', '16'),
  ];
  assert.equal(
    selectorText({ labels: { b: '', a: 'x' }, expressions }),
    'a=x,b=,zone in (a,b),tier notin (x),one in (),two notin (),three in (,c),gpu,!spot,cpu>4,cpu<16',
  );
  assert.deepEqual(keysOf({ labels: { cpu: '8' }, expressions }), [
    'cpu',
    'zone',
    'tier',
    'one',
    'two',
    'three',
    'gpu',
    'spot',
  ]);
});

test('finds a label that every member has', () => {
  const required = (expressions: Requirement[], wanted = {}) => requiredLabel({ labels: wanted, expressions });
  assert.deepEqual(required([has('z', 'In', 'a')], { b: 'c' }), { key: 'b', values: ['c'] });
  assert.deepEqual(required([has('y', 'Exists'), has('z', 'In', 'a', 'b', 'a')]), { key: 'z', values: ['a', 'b'] });
  assert.deepEqual(required([has('x', 'NotIn', 'a'), has('y', 'Lt', '4')]), { key: 'y' });
  assert.equal(required([has('x', 'NotIn', 'a'), has('y', 'DoesNotExist')]), undefined);
});

test('a selector with an unreadable part or an unknown operator is unknown', () => {
  const errors = (field: string) => ({ ...aPool(), unreadable: [{ field, message: 'no' }] });
  assert.equal(isSelectorKnown(errors('spec.matchExpressions')), false);
  assert.equal(isSelectorKnown(errors('spec.matchExpressions[0].values')), false);
  assert.equal(isSelectorKnown(errors('spec.taints')), true);
  assert.equal(isSelectorKnown(aPool({ matchExpressions: [has('a', 'Exists')] })), true);
  assert.equal(isSelectorKnown(aPool({ matchExpressions: [has('a', 'Exists'), has('b', 'Near', 'c')] })), false);
});

test('only members of a pool with expressions get the pool label', () => {
  assert.deepEqual(memberLabels(aPool({ labels: { a: 'b' } })), { a: 'b' });
  assert.deepEqual(memberLabels(aPool({ labels: { a: 'b' }, matchExpressions: [has('c', 'Exists')] })), {
    a: 'b',
    'nodes.lailin.xyz/pool': 'worker',
  });
});
