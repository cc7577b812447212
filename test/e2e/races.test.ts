/**
 * No label or taint of others is lost while commands write the same nodes. Beside reconcile, another writer adds and
 * removes its own taints and labels as fast as it can. It sends the whole list with a resourceVersion and retries on a
 * conflict. Whatever the server confirmed to it must be there at the end.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Taint } from '../../src/nodepool/types.ts';
import { cli } from '../cluster/harness.ts';
import { labelNode } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { type LiveNode, role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const ROUNDS = 50;
const NODES = ['a', 'b', 'c', 'd'];
const OWNED = { key: 'dedicated', value: 'worker', effect: 'NoSchedule' } as const;

/** What the server confirmed to the other writer, by node. */
type Expected = Map<string, { taints: Set<string>; labels: Map<string, string> }>;

test(`loses neither foreign nor owned keys in ${ROUNDS} rounds`, { timeout: 300_000 }, async t => {
  await testEnv.nodes(...NODES.map(name => ({ name, labels: role('worker') })));
  await testEnv.pool('worker', { labels: { tier: 'gold', round: 'none' }, taints: [OWNED] });
  await testEnv.reconcile();

  const expected: Expected = new Map(NODES.map(name => [name, { taints: new Set(), labels: new Map() }]));
  let over = false;
  const writer = writeForeignKeys(expected, () => over);
  let conflicts = 0;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      // A label and a taint of the spec change every round: every write carries the whole list of taints.
      const turning = { key: 'round', value: String(round), effect: 'PreferNoSchedule' };
      await testEnv.edit('worker', { spec: { labels: { round: String(round) }, taints: [OWNED, turning] } });
      const [summary] = await testEnv.reconcile();
      assert.deepEqual(summary?.outcome?.failures, []);
      assert.equal(summary?.outcome?.status?.status, 200);
    }
  } finally {
    over = true;
    conflicts = await writer;
  }
  await testEnv.reconcile();
  for (const [name, { taints, labels }] of expected) {
    const node = await testEnv.node(name);
    const foreign = taintsOf(node).filter(taint => taint.startsWith('foreign-'));
    assert.deepEqual(foreign.toSorted(), [...taints].toSorted(), `foreign taints of ${name}`);
    const foreignLabels = Object.entries(node.metadata.labels).filter(([key]) => key.startsWith('foreign-'));
    assert.deepEqual(foreignLabels.toSorted(), [...labels].toSorted(), `foreign labels of ${name}`);
    for (const owned of ['dedicated=worker:NoSchedule', `round=${ROUNDS - 1}:PreferNoSchedule`]) {
      assert.ok(taintsOf(node).includes(owned), `owned taint ${owned} of ${name}`);
    }
    assert.deepEqual([node.metadata.labels.tier, node.metadata.labels.round], ['gold', String(ROUNDS - 1)]);
  }
  t.diagnostic(`the foreign writer met ${conflicts} conflicts`);
  assert.ok(conflicts > 0, 'the two never met: this proves nothing');
});

test('add keeps labels and taints that others set at the same time', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `n${index}`);
  await testEnv.nodes(...names.map(name => ({ name })));
  await testEnv.pool('gpu', { labels: { tier: 'gold' }, taints: [OWNED] });
  const others = async () => {
    for (let round = 0; round < 5; round++) {
      await Promise.all(names.map(name => labelNode(testEnv.cluster(), name, { [`round-${round}`]: 'x' })));
    }
  };
  const [added] = await Promise.all([cli(testEnv.cluster(), ['add', 'gpu', ...names]), others()]);
  assert.deepEqual([added.code, added.stderr], [0, '']);
  for (const name of names) {
    const { metadata, spec } = await testEnv.node(name);
    assert.deepEqual(
      [Object.keys(metadata.labels).filter(key => key.startsWith('round-')).length, metadata.labels.tier],
      [5, 'gold'],
    );
    assert.equal(spec.taints?.length, 1);
  }
});

/** Runs two writers at a time; returns their number of conflicts. */
async function writeForeignKeys(expected: Expected, over: () => boolean): Promise<number> {
  const api = raw(testEnv.cluster());
  let conflicts = 0;
  const work = async (which: number) => {
    for (let turn = which; !over(); turn += 2) {
      const name = NODES[turn % NODES.length] ?? '';
      const key = `foreign-${which}-${turn % 5}`;
      const node = (await api.expect('GET', `/api/v1/nodes/${name}`)) as LiveNode;
      const had = (node.spec.taints ?? []).some(taint => taint.key === key);
      const others = (node.spec.taints ?? []).filter(taint => taint.key !== key);
      const taints: Taint[] = had ? others : [...others, { key, effect: 'NoSchedule' }];
      const value = had ? null : String(turn);
      const patch = {
        metadata: { resourceVersion: node.metadata.resourceVersion, labels: { [key]: value } },
        spec: { taints },
      };
      const { status } = await api.request('PATCH', `/api/v1/nodes/${name}`, patch);
      if (status === 409) {
        conflicts++;
        continue;
      }
      assert.equal(status, 200);
      const known = expected.get(name);
      if (had) {
        known?.taints.delete(`${key}:NoSchedule`);
        known?.labels.delete(key);
      } else {
        known?.taints.add(`${key}:NoSchedule`);
        known?.labels.set(key, String(turn));
      }
    }
  };
  await Promise.all([work(0), work(1)]);
  return conflicts;
}
