/** manifests/born-in-pool.yaml and pools with an invalid spec: nodes register into the pool that reconcile would choose. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Requirement } from '../../src/nodepool/membership/label-query.ts';
import { PoolIndex } from '../../src/nodepool/membership/membership.ts';
import { coercePool } from '../../src/nodepool/spec/coerce.ts';
import { keyProblem, valueProblem } from '../../src/nodepool/spec/syntax.ts';
import type { NodePool } from '../../src/nodepool/types.ts';
import { before } from '../cluster/minor.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { POOL_CASES } from '../contract/pool-cases.ts';
import { aNode } from '../unit/nodepool/fixtures.ts';
import { apply, inForce, markOf, POLICY, withoutRules } from './birth.ts';
import { type LiveNode, statuses, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const skip = before(36, 'MutatingAdmissionPolicy is not in v1');
const { cluster } = testEnv;
const api = () => raw(cluster());
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const ROLE = 'node-role.kubernetes.io/';

interface Case {
  title: string;
  name?: string;
  spec: object;
}

/** Fields of a wrong type, which no rule of the CRD lets through. */
const UNREADABLE: Case[] = Object.entries({
  labels: [['a'], { a: 1 }],
  taints: [['a'], [{ key: 'a' }], [{ key: 'a', value: 1, effect: 'NoSchedule' }]],
  startupTaints: [[{ key: 'a', effect: 'NoSchedule', until: {} }]],
  annotations: [{ a: 1 }, ['a']],
  handler: [1],
  unmanaged: [true],
  noExecute: [1, ''],
  paused: ['yes'],
  rollout: ['x', { maxConcurrent: 1.5 }, { maxConcurrent: true }, { settleSeconds: '1' }, { stopOnNotReady: 'x' }],
}).flatMap(([field, values]) =>
  values.map(value => ({ title: `${field} ${JSON.stringify(value)}`, spec: { [field]: value } })),
);

/** The case as a pool that selects nodes which hardly another one does, with a name of its own. */
function poolOf({ name, spec }: Case, at: number): NodePool {
  const own = name ?? `c${at}c`;
  const text = JSON.stringify(spec).replaceAll(`${ROLE}gpu`, `${ROLE}${own}`);
  const { nodeSelector, ...rest } = JSON.parse(text) as { nodeSelector?: object; matchExpressions?: unknown };
  const isFull = Object.keys(nodeSelector ?? {}).length >= 20;
  const isNamed = nodeSelector === undefined && rest.matchExpressions === undefined;
  const selector = isFull || isNamed ? nodeSelector : { ...nodeSelector, case: own };
  const all = { ...rest, ...(selector === undefined ? {} : { nodeSelector: selector }) };
  return { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: own }, spec: all } as NodePool;
}

/** Labels by which the pool selects a node, as far as a node can have them. */
function selected({ metadata, spec }: NodePool): Record<string, string> {
  const { nodeSelector = {}, matchExpressions } = spec as { nodeSelector?: object; matchExpressions?: unknown };
  const expressions = (Array.isArray(matchExpressions) ? matchExpressions : []) as Requirement[];
  const values = { Exists: () => 'x', Gt: () => '9223372036854775807', Lt: () => '0' } as Record<string, () => string>;
  const pairs: [string, unknown][] = [
    [`${ROLE}${metadata.name}`, ''],
    ...expressions.flatMap(({ key, operator, values: some }): [string, unknown][] => {
      const value = operator === 'In' ? some?.[0] : values[operator]?.();
      return value === undefined ? [] : [[key, value]];
    }),
    ...Object.entries(nodeSelector),
  ];
  const isValid = ([key, value]: [string, unknown]) =>
    keyProblem(key) === undefined && typeof value === 'string' && valueProblem(value) === undefined;
  return Object.fromEntries(pairs.filter(isValid)) as Record<string, string>;
}

/** Cases of one name are not in one round. */
function rounds(cases: readonly Case[]): NodePool[][] {
  const all: NodePool[][] = [];
  for (const [at, each] of cases.entries()) {
    const pool = poolOf(each, at);
    const isFree = (round: NodePool[]) =>
      round.length < 150 && round.every(({ metadata }) => metadata.name !== pool.metadata.name);
    const round = all.find(isFree);
    if (round === undefined) all.push([pool]);
    else round.push(pool);
  }
  return all;
}

test('unvalidated pools set the same as reconcile, and leave nodes to a younger pool', {
  skip,
  timeout: 400_000,
}, async () => {
  await withoutRules(testEnv);
  await apply(cluster(), POLICY);
  let invalid = 0;
  for (const round of rounds([...POOL_CASES, ...UNREADABLE])) {
    await testEnv.clean();
    const made: NodePool[] = [];
    for (const pool of round) {
      const { status } = await api().request('POST', POOLS, pool);
      if (status === 201) made.push(pool);
    }
    // Gets the nodes of the pools that are invalid.
    await testEnv.pool('younger', { matchExpressions: [{ key: 'any', operator: 'Exists' }] }, { younger: true });
    await testEnv.pool('last', { nodeSelector: { last: 'x' } });
    await inForce(testEnv, 'last', { last: 'x' });
    const { items } = (await api().expect('GET', POOLS)) as { items: NodePool[] };
    const index = new PoolIndex(items.map(coercePool));
    for (const pool of made) {
      const labels = { any: 'x', ...selected(pool) };
      const body = nodeObject({ name: 'n', labels });
      const { owner } = index.ownership(aNode({ labels }));
      const node = (await api().expect('POST', '/api/v1/nodes?dryRun=All', body)) as LiveNode;
      const isWaiting = owner !== undefined && items.some(p => p.metadata.name === owner && p.spec.paused === true);
      const message = `${pool.metadata.name} ${JSON.stringify(pool.spec).slice(0, 500)}`;
      assert.equal(markOf(node)?.pool, isWaiting ? undefined : owner, message);
      const isInvalid = index.errors(pool.metadata.name).length > 0;
      if (!isInvalid) continue;
      invalid++;
      // Nor does the node get only a part of the pool's values.
      assert.deepEqual(taintsOf(node), [], message);
      assert.notEqual(owner, pool.metadata.name);
    }
  }
  assert.ok(invalid > 100, `${invalid}`);
});

test('a pool that becomes invalid sets nothing, and status 422 names the reason', { skip }, async () => {
  await withoutRules(testEnv);
  await apply(cluster(), POLICY);
  const taints = [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' as const }];
  await testEnv.pool('one', { nodeSelector: { group: 'one' }, labels: { ok: 'x' }, taints, handler: 'Not valid' });
  await testEnv.pool('last', { nodeSelector: { last: 'x' } });
  await inForce(testEnv, 'last', { last: 'x' });
  await testEnv.nodes({ name: 'a', labels: { group: 'one' } });
  const node = await testEnv.node('a');
  assert.deepEqual([taintsOf(node), node.metadata.labels.ok, markOf(node)], [[], undefined, undefined]);
  assert.equal(statuses(await testEnv.reconcile()).one, 422);
  assert.equal((await testEnv.node('a')).metadata.resourceVersion, node.metadata.resourceVersion);
  await testEnv.edit('one', { spec: { handler: null } });
  await inForce(testEnv, 'one', { group: 'one' });
  await testEnv.nodes({ name: 'b', labels: { group: 'one' } });
  await testEnv.reconcile();
  for (const name of ['a', 'b']) assert.deepEqual(taintsOf(await testEnv.node(name)), ['dedicated=x:NoSchedule']);
});
