import assert from 'node:assert/strict';
import { test } from 'node:test';
import { omittedTexts, readResources } from '../../../../src/nodepool/quantity/node-resources.ts';
import { formatQuantity } from '../../../../src/nodepool/quantity/quantity.ts';
import { ResourceTotals } from '../../../../src/nodepool/quantity/resource-usage.ts';
import { computeStatus, type PoolObservation } from '../../../../src/nodepool/status/status.ts';
import type { Condition, ResourceList } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, EMPTY_OBSERVATION } from '../fixtures.ts';

const NATIVE = { cpu: '4', memory: '1Gi', 'ephemeral-storage': '1Gi', pods: '110' };
const NONE_OMITTED = { unqualified: 0, example: '', oversized: 0, oversizedExample: '', excess: 0 };
const NOW = '2026-03-01T00:00:00Z';

function many(count: number, name: (at: number) => string): ResourceList {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [name(at), '1']));
}

function memberOf(name: string, reported: ResourceList) {
  const { allocatable, omitted } = readResources(reported);
  return aNode({ name, allocatable, ...(omitted === undefined ? {} : { omittedResources: omitted }) });
}

const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

test('reads the resources of an ordinary node unchanged', () => {
  const list = { ...NATIVE, 'hugepages-2Mi': '0', 'nvidia.com/mig-1g.5gb': '7', 'attachable-volumes-csi': '1' };
  assert.equal(readResources(list).allocatable, list);
});

test('drops and counts names that are not qualified names', () => {
  const bad = ['', 'a b', 'a/b/c', '/a', 'a/', 'A.com/x', '$(x)', '\u001b[31m', 'x'.repeat(64), `${'d'.repeat(254)}/x`];
  const list = { ...NATIVE, ...Object.fromEntries(bad.map(name => [name, '1'])) };
  const { allocatable, omitted } = readResources(list);
  assert.deepEqual(allocatable, NATIVE);
  assert.deepEqual(omitted, { ...NONE_OMITTED, unqualified: bad.length });
  const node = memberOf('n', { ...NATIVE, 'y z': '1', 'a b': '1' });
  assert.deepEqual(omittedTexts(node), ['node n: 2 resources without a qualified name, such as "a b"']);
});

test('drops quantities with too many digits, and names one; status.status stays 200', () => {
  const digits = '9'.repeat(509);
  const list = {
    ...NATIVE,
    'a.example.com/e': '1e501',
    cpu: digits,
    'b.example.com/x': '1e9999999',
    pods: '9'.repeat(500),
  };
  const evil = memberOf('evil', list);
  assert.deepEqual(Object.keys(evil.allocatable).toSorted(), ['ephemeral-storage', 'memory', 'pods']);
  assert.deepEqual(evil.omittedResources, {
    ...NONE_OMITTED,
    oversized: 3,
    oversizedExample: 'a.example.com/e "1e501"',
  });
  const other = memberOf('other', { ...NATIVE, cpu: digits });
  const members = [evil, other, memberOf('good', NATIVE)];
  const status = computeStatus(aPool(), { ...EMPTY_OBSERVATION, members }, NOW);
  assert.deepEqual([status.status, status.allocatable?.cpu, status.allocatable?.memory], [200, '4', '3Gi']);
  assert.equal(
    status.conditions?.find(({ type }) => type === 'ResourcesOmitted')?.message,
    'left out of allocatable: node evil: 3 resources with a quantity of more than 500 digits, such as a.example.com/e "1e501"; ' +
      `node other: 1 resource with a quantity of more than 500 digits, such as cpu "${'9'.repeat(57)}…"`,
  );
});

test('sums of the largest accepted quantities can be summed again', () => {
  const members = ['a', 'b'].map(name => memberOf(name, { cpu: '9'.repeat(500) }));
  const tally = new ResourceTotals(['cpu'], false);
  const onProblem = (problem: string) => assert.fail(problem);
  tally.addAllocatable(members, { onProblem });
  tally.addAll(tally);
  assert.match(formatQuantity(tally.figures.get('cpu')?.allocatable ?? assert.fail()), /^39{498,}6$/);
});

test('keeps 128 of 20,000 names, native ones first, in any order of the map', () => {
  const list = { ...many(20_000, at => `a.example.com/r${at}`), ...NATIVE };
  const { allocatable, omitted } = readResources(list);
  assert.equal(Object.keys(allocatable).length, 128);
  for (const name of Object.keys(NATIVE)) assert.ok(name in allocatable, name);
  assert.deepEqual(omitted, { ...NONE_OMITTED, excess: 20_004 - 128 });
  const reversed = Object.fromEntries(Object.entries(list).toReversed());
  assert.deepEqual(readResources(reversed), { allocatable, omitted });
});

test('keeps at most 128 resources in a status; one node cannot displace shared ones', () => {
  const good = (name: string) => memberOf(name, { ...NATIVE, 'nvidia.com/gpu': '8', 'z.example.com/fpga': '1' });
  const hostile = memberOf('evil', { ...NATIVE, ...many(1_000, at => `a.example.com/r${at}`) });
  const members = [good('a'), hostile, good('b')];
  const status = computeStatus(aPool(), { ...EMPTY_OBSERVATION, members }, NOW);
  assert.equal(status.status, 200);
  const { allocatable = {} } = status;
  assert.equal(Object.keys(allocatable).length, 128);
  assert.deepEqual(
    [allocatable.cpu, allocatable['nvidia.com/gpu'], allocatable['z.example.com/fpga']],
    ['12', '16', '2'],
  );
  const found = status.conditions?.find(({ type }) => type === 'ResourcesOmitted');
  assert.deepEqual(
    [found?.status, found?.message],
    [
      'True',
      'left out of allocatable: 2 sums beyond 128 resources or 64 KiB of status; node evil: 876 resources beyond the first 128',
    ],
  );
  assert.deepEqual(computeStatus(aPool(), { ...EMPTY_OBSERVATION, members: members.toReversed() }, NOW), status);
  const after = computeStatus(aPool({}, { status }), { ...EMPTY_OBSERVATION, members: [good('a')] }, NOW);
  assert.equal(
    after.conditions?.some(({ type }) => type === 'ResourcesOmitted'),
    false,
    'it goes when it is over',
  );
});

test('keeps a status below 64 KiB', () => {
  const longest = (at: number) => `${`${at}`.padStart(3, 'a')}${'.abcdefgh'.repeat(27)}/${'n'.repeat(63)}`;
  const members = Array.from({ length: 20 }, (_, at) =>
    memberOf(`n${at}`, { ...NATIVE, ...many(200, longest), '\u0000\u0001': '1' }),
  );
  const noise = '\u0001'.repeat(2_000);
  const observed: PoolObservation = {
    ...EMPTY_OBSERVATION,
    members,
    specErrors: Array.from({ length: 9 }, (_, at) => ({ field: `spec.labels[${at}]`, message: noise })),
    failures: Array.from({ length: 9 }, () => noise),
    conflicts: Array.from({ length: 9 }, () => ({ reason: 'NodeConflict' as const, message: noise })),
  };
  const theirs = { type: 'Theirs', status: 'True', reason: 'R', message: 'm'.repeat(10_000), lastTransitionTime: NOW };
  const pool = aPool({}, { status: { status: 200, nodeCount: 0, conditions: [theirs as unknown as Condition] } });
  const status = computeStatus(pool, observed, NOW);
  assert.ok(bytes(status) <= 64 * 1024, `${bytes(status)}`);
  assert.equal(status.allocatable?.cpu, '80');
  assert.ok(Object.keys(status.allocatable ?? {}).length > 10);
  assert.ok(status.conditions?.some(({ type }) => (type as string) === 'Theirs'));
  assert.ok(bytes(computeStatus(aPool(), { ...EMPTY_OBSERVATION, members }, NOW)) <= 64 * 1024);
});
