/** Transient states while `reconcile --watch` is killed repeatedly, and the pool is edited and deleted. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Taint } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { type LiveNode, role, taintsOf } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { startChild, useFaultEnv } from './fault-env.ts';
import { seeded } from './random.ts';
import { row } from './row.ts';

const testEnv = useFaultEnv();
const NODES = 12;
const ROUNDS = 4;
const KILLS = 4;
const STATES: readonly Taint[] = [
  { key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' },
  { key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' },
  { key: 'UpdateInProgress', effect: 'PreferNoSchedule' },
];
const LABEL = 'nvidia.com/gpu-driver-upgrade-state';
/** Of no list: the pool takes it away, and never sets it again. */
const OTHER: Taint = { key: 'agent.example.com/starting', effect: 'NoExecute' };
const nameOf = (index: number) => `n${index}`;

/** As their owners do: read, change, write, again after a conflict. */
async function mark(name: string, states: readonly Taint[], label: string): Promise<void> {
  const path = `/api/v1/nodes/${name}`;
  for (;;) {
    const { metadata, spec } = (await raw(testEnv.cluster()).expect('GET', path)) as LiveNode;
    const keys = STATES.map(({ key }) => key);
    const taints = [...(spec.taints ?? []).filter(({ key }) => !keys.includes(key)), ...states];
    const { resourceVersion } = metadata;
    const patch = { metadata: { resourceVersion, labels: { [LABEL]: label } }, spec: { taints } };
    const { status } = await raw(testEnv.cluster()).request('PATCH', path, patch);
    if (status < 300) return;
    assert.equal(status, 409);
  }
}

row(
  {
    fault: 'killed during its writes',
    how: `SIGKILL ${KILLS} times while other software marks ${NODES} nodes of a pool with unmanaged: Remove`,
    holds: 'every mark stays as its owner set it; no NoExecute taint comes back',
  },
  async (t, facts) => {
    const random = seeded(Number(process.env.SEED ?? 3));
    const names = Array.from({ length: NODES }, (_, index) => nameOf(index));
    await testEnv.pool('p', { unmanaged: 'Remove', labels: { tier: 'p' } });
    await testEnv.nodes(
      ...names.map(name => ({ name, labels: { ...role('p'), [LABEL]: 'new' }, taints: [...STATES, OTHER] })),
    );
    let child = startChild(t, testEnv.cluster());
    await child.synced(100_000);
    const all = async (is: (node: LiveNode) => boolean) => (await Promise.all(names.map(testEnv.node))).every(is);
    await eventually('the taint of no list is taken away', () =>
      all(node => !taintsOf(node).some(text => text.startsWith(OTHER.key))),
    );
    const lives = names.map(async (name, index) => {
      for (let round = 1; round <= ROUNDS; round++) {
        await sleep(random() * 1_500);
        await mark(name, round === ROUNDS && index % 2 === 0 ? [] : STATES.slice(round % 2), `round-${round}`);
      }
    });
    const kill = async () => {
      await child.end('SIGKILL');
      child = startChild(t, testEnv.cluster());
      await child.synced(100_000);
    };
    for (let kills = 0; kills < KILLS - 1; kills++) {
      await testEnv.edit('p', { spec: { unmanaged: kills % 2 === 0 ? 'Keep' : 'Remove' } });
      await sleep(random() * 300);
      await kill();
    }
    await Promise.all(lives);
    await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/p');
    await kill();
    await eventually('the pool is released', async () => (await testEnv.getPool('p')) === undefined);
    for (const [index, name] of names.entries()) {
      const node = await testEnv.node(name);
      const left = index % 2 === 0 ? [] : STATES.slice(ROUNDS % 2);
      const texts = left.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`);
      assert.deepEqual(taintsOf(node).toSorted(), texts.toSorted(), name);
      assert.equal(node.metadata.labels[LABEL], `round-${ROUNDS}`);
      assert.equal(node.metadata.labels.tier, undefined);
    }
    facts.kills = KILLS;
    await child.end();
  },
);
