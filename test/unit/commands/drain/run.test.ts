/** The plan and the drain of a pool. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DrainOptions } from '../../../../src/commands/drain/options.ts';
import { planDrain } from '../../../../src/commands/drain/plan-drain.ts';
import type { DrainPod } from '../../../../src/nodepool/drain/drain-filters.ts';
import { formatMaintenance } from '../../../../src/nodepool/drain/maintenance.ts';
import { flushPromises } from '../../controller/fake-clock.ts';
import { BUDGET, fakeDrainCluster, GONE, makePod, RULES, states } from './fake-drain-cluster.ts';

describe('planning', () => {
  test('refuses before any write, and names all obstacles', async () => {
    const bare = { controller: undefined } as unknown as Partial<DrainPod>;
    const { plan, log } = fakeDrainCluster({
      nodes: [{ name: 'a' }, { name: 'b' }],
      pods: {
        a: [
          { name: 'p', ...bare },
          { name: 'data', hasEmptyDir: true },
        ],
        b: [{ name: 'q', ...bare }],
      },
    });
    await assert.rejects(plan, {
      kind: 'input',
      message:
        'cannot drain nodepool "worker"; nothing was changed:\n' +
        '  cannot delete pods that declare no controller (use --force to override): ns/p, ns/q\n' +
        '  cannot delete pods with local storage (use --delete-emptydir-data to override): ns/data',
    });
    assert.deepEqual(log, []);
  });

  test('reads a DaemonSet once for all its pods', async () => {
    const agent = { controller: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' } };
    const { plan, log } = fakeDrainCluster({
      nodes: [{ name: 'a' }, { name: 'b' }],
      pods: { a: [{ name: 'agent-1', ...agent }], b: [{ name: 'agent-2', ...agent }] },
      options: { rules: { ...RULES, ignoreDaemonSets: true } },
    });
    const { warnings, pools } = await plan();
    assert.deepEqual(warnings, ['ignoring DaemonSet-managed pods: ns/agent-1, ns/agent-2']);
    assert.deepEqual(
      pools[0]?.nodes.map(({ pods }) => pods),
      [[], []],
    );
    assert.deepEqual(log, ['daemonset ns/agent']);
  });

  test('reports a pool that does not exist', async () => {
    const options = {
      cluster: { pools: { listCoerced: async () => [] }, nodes: { list: async () => [] } },
    } as unknown as DrainOptions;
    const message = 'nodepool "worker" not found';
    await assert.rejects(() => planDrain(['worker'], options), { message });
  });
});

describe('draining a pool', () => {
  const three = [{ name: 'c' }, { name: 'a' }, { name: 'b' }];
  const pods = { a: [{ name: 'pa' }], b: [{ name: 'pb' }], c: [{ name: 'pc' }] };

  test('cordons all nodes first, then drains them one by one in order of name', async () => {
    const cluster = fakeDrainCluster({ nodes: three, pods });
    const { ended } = cluster.begin();
    await flushPromises();
    assert.deepEqual(cluster.reported.slice(0, 3), ['node/a cordoned', 'node/b cordoned', 'node/c cordoned']);
    for (const name of ['pa', 'pb', 'pc']) {
      assert.equal(cluster.reported.at(-1), `evicting pod ns/${name}`);
      cluster.removePods(name);
      await cluster.clock.advance(1000);
    }
    assert.deepEqual(states(await ended), ['a drained 1/1', 'b drained 1/1', 'c drained 1/1']);
  });

  test('--rolling cordons each node right before it is drained', async () => {
    const options = { isRolling: true, pace: { kind: 'parallel', nodes: 2 } } as const;
    const cluster = fakeDrainCluster({ nodes: three, pods, options });
    const { ended } = cluster.begin();
    await flushPromises();
    const patch = (name: string) => `patch ${name} {"resourceVersion":"1","unschedulable":true}`;
    assert.deepEqual(cluster.log, [patch('a'), patch('b'), 'evict pa @0', 'evict pb @0']);
    cluster.removePods('pa');
    // It came from a: only a list after the cordon finds it.
    cluster.pods.set('c', [...(cluster.pods.get('c') ?? []), makePod({ name: 'pa', uid: 'new' })]);
    await cluster.clock.advance(1000);
    assert.deepEqual(cluster.log.slice(4), [patch('c'), 'evict pc @1', 'evict pa @1']);
    cluster.removePods('pa', 'pb', 'pc');
    await cluster.clock.advance(2000);
    assert.deepEqual(states(await ended), ['a drained 1/1', 'b drained 1/1', 'c drained 2/2']);
  });

  test('--rolling cordons no node after the signal', async () => {
    const cluster = fakeDrainCluster({ nodes: three, pods, options: { isRolling: true } });
    const { ended } = cluster.begin();
    await flushPromises();
    cluster.interrupt.abort();
    assert.deepEqual(states(await ended), ['a in progress 0/1', 'b pending 0/1', 'c pending 0/1']);
    assert.equal(cluster.log.filter(line => line.startsWith('patch')).length, 1);
  });

  test('a dry run of --rolling shows each cordon before the pods of its node', async () => {
    for (const dryRun of ['client', 'server'] as const) {
      const cluster = fakeDrainCluster({
        nodes: [{ name: 'a' }, { name: 'b' }],
        pods,
        dryRun,
        options: { isRolling: true },
      });
      await cluster.begin().ended;
      const order = cluster.reported.filter(line => !line.endsWith('evicted'));
      const each = (name: string) => [`node/${name} cordoned`, `evicting pod ns/p${name}`, `node/${name} drained`];
      assert.deepEqual(order, [...each('a'), ...each('b')]);
    }
  });

  test('--node drains only these members', async () => {
    const cluster = fakeDrainCluster({ nodes: three, pods, options: { nodes: ['c', 'a'] } });
    const { ended } = cluster.begin();
    await flushPromises();
    cluster.removePods('pa', 'pc');
    await cluster.clock.advance(3000);
    assert.deepEqual(states(await ended), ['a drained 1/1', 'c drained 0/0']);
    assert.ok(!cluster.log.some(line => line.startsWith('patch b')));
    await assert.rejects(fakeDrainCluster({ nodes: three, options: { nodes: ['a', 'x'] } }).plan, {
      message: '--node: node "x" is not a member of pool worker',
    });
  });

  test('--max-unavailable counts members that are not Ready and not drained', async () => {
    const nodes = [{ name: 'a' }, { name: 'b' }, { name: 'down', ready: false }];
    const options = { nodes: ['a', 'b'], pace: { kind: 'max unavailable', nodes: 1 } } as const;
    const cluster = fakeDrainCluster({ nodes, pods, options });
    const { ended } = cluster.begin();
    await flushPromises();
    assert.ok(cluster.log.every(line => line.startsWith('patch')));
    assert.deepEqual(states(await ended), ['a pending 0/1', 'b pending 0/1']);
  });

  test('--parallel drains that many nodes at a time', async () => {
    const cluster = fakeDrainCluster({ nodes: three, pods, options: { pace: { kind: 'parallel', nodes: 2 } } });
    const { ended } = cluster.begin();
    await flushPromises();
    assert.deepEqual(cluster.log.slice(3), ['evict pa @0', 'evict pb @0']);
    cluster.removePods('pa', 'pb', 'pc');
    await cluster.clock.advance(2000);
    assert.equal((await ended).length, 3);
  });

  test('--max-unavailable drains an unavailable node first, and counts it', async () => {
    const nodes = [{ name: 'a' }, { name: 'b' }, { name: 'c', ready: false }];
    const cluster = fakeDrainCluster({ nodes, pods, options: { pace: { kind: 'max unavailable', nodes: 1 } } });
    const { ended } = cluster.begin();
    await cluster.clock.advance(3000);
    assert.deepEqual(cluster.log.slice(3), ['evict pc @0']);
    cluster.removePods('pc', 'pa', 'pb');
    await cluster.clock.advance(5000);
    assert.deepEqual(states(await ended), ['c drained 1/1', 'a drained 0/0', 'b drained 0/0']);
  });

  test('a failed node does not stop the others', async () => {
    const cluster = fakeDrainCluster({ nodes: three, pods, answers: { pa: [BUDGET] }, options: { timeoutMs: 3000 } });
    const { ended } = cluster.begin();
    cluster.removePods('pb', 'pc');
    await cluster.clock.advance(10_000);
    assert.deepEqual(states(await ended), ['a failed 0/1 held', 'b drained 0/0', 'c drained 0/0']);
  });

  test('--max-unavailable counts a failed node, and does not begin nodes beyond the limit', async () => {
    const options = { timeoutMs: 3000, pace: { kind: 'max unavailable', nodes: 1 } } as const;
    const cluster = fakeDrainCluster({ nodes: three, pods, answers: { pa: [BUDGET] }, options });
    const { ended } = cluster.begin();
    await cluster.clock.advance(10_000);
    assert.deepEqual(states(await ended), ['a failed 0/1 held', 'b pending 0/1', 'c pending 0/1']);
  });

  test('a node under maintenance by somebody else does not block other nodes', async () => {
    const owner = { name: 'bob', from: 'server' } as const;
    const bobs = formatMaintenance({ owner, since: '2026-01-01T00:00:00Z', uid: 'a' });
    const nodes = [{ name: 'a', unschedulable: true, maintenance: bobs }, { name: 'b' }, { name: 'c' }];
    const options = {
      cordon: { unschedulable: true, maintenance: {} },
      isRolling: true,
      pace: { kind: 'max unavailable', nodes: 1 },
    } as const;
    const cluster = fakeDrainCluster({ nodes, pods, options });
    const { ended } = cluster.begin();
    cluster.removePods('pb', 'pc');
    await cluster.clock.advance(10_000);
    assert.deepEqual(states(await ended), ['a failed 0/0', 'b drained 0/0', 'c drained 0/0']);
  });

  test('sends no request for cordoned and empty nodes when run again', async () => {
    const nodes = [{ name: 'a', unschedulable: true }, { name: 'b', unschedulable: true }, { name: 'c' }];
    const cluster = fakeDrainCluster({ nodes, pods: { b: [{ name: 'pb' }] }, answers: { pb: [GONE] } });
    const ended = await cluster.begin().ended;
    assert.deepEqual(states(ended), ['a drained 0/0', 'b drained 1/1', 'c drained 0/0']);
    assert.deepEqual(cluster.lists, ['b', 'c']);
    assert.equal(cluster.log.filter(line => line.startsWith('patch')).length, 1);
  });

  test('treats a deleted node as drained', async () => {
    const cluster = fakeDrainCluster({ nodes: three, pods });
    const { ended } = cluster.begin(() => cluster.nodes.delete('b'));
    cluster.removePods('pa', 'pc');
    await cluster.clock.advance(5000);
    assert.deepEqual(states(await ended), ['a drained 0/0', 'b drained 0/1', 'c drained 0/0']);
    assert.ok(cluster.reported.includes('node/b is gone'));
    assert.ok(!cluster.lists.includes('b'));
  });

  test('the signal ends all drains without further evictions, and prints the report', async () => {
    const cluster = fakeDrainCluster({ nodes: three, pods: { ...pods, b: [{ name: 'pb' }, { name: 'pb2' }] } });
    const { ended } = cluster.begin();
    await flushPromises();
    cluster.removePods('pa');
    await cluster.clock.advance(1000);
    cluster.removePods('pb');
    await cluster.clock.advance(1000);
    cluster.interrupt.abort();
    assert.deepEqual(states(await ended), ['a drained 1/1', 'b in progress 1/2', 'c pending 0/1']);
    const asked = cluster.log.length;
    await cluster.clock.advance(10_000);
    assert.equal(cluster.log.length, asked);
    assert.equal(cluster.clock.pending, 0);
  });

  test('cordons no further node after the signal', async () => {
    const nodes = Array.from({ length: 40 }, (_, index) => ({ name: `n${index + 10}` }));
    const cluster = fakeDrainCluster({ nodes, pods: { n10: [{ name: 'p' }] }, stopAtPatch: true });
    const drains = await cluster.begin().ended;
    assert.ok(drains.every(({ phase }) => phase === 'pending'));
    assert.deepEqual(cluster.log, ['patch n10 {"resourceVersion":"1","unschedulable":true}']);
    assert.deepEqual(cluster.reported, ['node/n10 cordoned']);
  });

  test('--dry-run=client sends nothing', async () => {
    const cluster = fakeDrainCluster({ nodes: three, pods, dryRun: 'client' });
    assert.deepEqual(states(await cluster.begin().ended), ['a drained 1/1', 'b drained 1/1', 'c drained 1/1']);
    assert.deepEqual(cluster.log, []);
    assert.deepEqual(cluster.reported.slice(3, 5), ['evicting pod ns/pa', 'node/a drained']);
  });

  test('--dry-run=server sends each eviction once, and reports what would wait', async () => {
    const cluster = fakeDrainCluster({ nodes: three, pods, dryRun: 'server', answers: { pb: [BUDGET] } });
    const ended = await cluster.begin().ended;
    assert.deepEqual(states(ended), ['a drained 1/1', 'b waits 0/1 held', 'c drained 1/1']);
    assert.equal(cluster.clock.now(), 0);
    assert.match(cluster.reported.join('\n'), /pod ns\/pb on node b waits for PodDisruptionBudget ns\/web/);
  });
});
