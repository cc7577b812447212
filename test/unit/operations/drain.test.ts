/** The plan, and the course of a pool's drain. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DrainPod } from '../../../src/nodepool/drain-filters.ts';
import { type DrainDeps, type DrainOptions, planDrain } from '../../../src/operations/drain.ts';
import { flushPromises } from '../controller/fake-clock.ts';
import { BUDGET, GONE, RULES, states, world } from './drain-world.ts';

describe('the plan', () => {
  test('refuses before anything is written, with all that stands in the way', async () => {
    const bare = { controller: undefined } as unknown as Partial<DrainPod>;
    const { plan, log } = world({
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
        'cannot drain nodepool "worker", and nothing was changed:\n' +
        '  cannot delete pods that declare no controller (use --force to override): ns/p, ns/q\n' +
        '  cannot delete pods with local storage (use --delete-emptydir-data to override): ns/data',
    });
    assert.deepEqual(log, []);
  });

  test('asks for a DaemonSet once, however many pods it has', async () => {
    const agent = { controller: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' } };
    const { plan, log } = world({
      nodes: [{ name: 'a' }, { name: 'b' }],
      pods: { a: [{ name: 'agent-1', ...agent }], b: [{ name: 'agent-2', ...agent }] },
      options: { rules: { ...RULES, ignoreDaemonSets: true } },
    });
    const { warnings, nodes } = await plan();
    assert.deepEqual(warnings, ['ignoring DaemonSet-managed pods: ns/agent-1, ns/agent-2']);
    assert.deepEqual(
      nodes.map(({ pods }) => pods),
      [[], []],
    );
    assert.deepEqual(log, ['daemonset ns/agent']);
  });

  test('a pool that does not exist', async () => {
    const deps = {
      cluster: { pools: { listCoerced: async () => [] }, nodes: { list: async () => [] } },
    } as unknown as DrainDeps;
    const message = 'nodepool "worker" not found';
    await assert.rejects(() => planDrain('worker', { rules: RULES, podSelector: undefined }, deps), { message });
  });
});

describe('the pool', () => {
  const three = [{ name: 'c' }, { name: 'a' }, { name: 'b' }];
  const pods = { a: [{ name: 'pa' }], b: [{ name: 'pb' }], c: [{ name: 'pc' }] };

  test('all are cordoned first, then it is one after the other, by name', async () => {
    const it = world({ nodes: three, pods });
    const { ended } = it.begin();
    await flushPromises();
    assert.deepEqual(it.told.slice(0, 3), ['node/a cordoned', 'node/b cordoned', 'node/c cordoned']);
    for (const name of ['pa', 'pb', 'pc']) {
      assert.equal(it.told.at(-1), `evicting pod ns/${name}`);
      it.letGo(name);
      await it.clock.advance(1000);
    }
    assert.deepEqual(states(await ended), ['a drained 1/1', 'b drained 1/1', 'c drained 1/1']);
  });

  test('--parallel: so many at a time', async () => {
    const it = world({ nodes: three, pods, options: { pace: { kind: 'parallel', nodes: 2 } } });
    const { ended } = it.begin();
    await flushPromises();
    assert.deepEqual(it.log.slice(3), ['evict pa @0', 'evict pb @0']);
    it.letGo('pa', 'pb', 'pc');
    await it.clock.advance(2000);
    assert.equal((await ended).length, 3);
  });

  test('--max-unavailable: a node that is down goes first and takes a place', async () => {
    const nodes = [{ name: 'a' }, { name: 'b' }, { name: 'c', ready: false }];
    const it = world({ nodes, pods, options: { pace: { kind: 'max unavailable', nodes: 1 } } });
    const { ended } = it.begin();
    await it.clock.advance(3000);
    assert.deepEqual(it.log.slice(3), ['evict pc @0']);
    it.letGo('pc', 'pa', 'pb');
    await it.clock.advance(5000);
    assert.deepEqual(states(await ended), ['c drained 1/1', 'a drained 1/1', 'b drained 1/1']);
  });

  test('one that fails does not stop the others', async () => {
    const it = world({ nodes: three, pods, answers: { pa: [BUDGET] }, options: { timeoutMs: 3000 } });
    const { ended } = it.begin();
    it.letGo('pb', 'pc');
    await it.clock.advance(10_000);
    assert.deepEqual(states(await ended), ['a failed 0/1 held', 'b drained 0/0', 'c drained 0/0']);
  });

  test('with --max-unavailable its place is lost, and who finds none is not begun', async () => {
    const options: Partial<DrainOptions> = { timeoutMs: 3000, pace: { kind: 'max unavailable', nodes: 1 } };
    const it = world({ nodes: three, pods, answers: { pa: [BUDGET] }, options });
    const { ended } = it.begin();
    await it.clock.advance(10_000);
    assert.deepEqual(states(await ended), ['a failed 0/1 held', 'b not begun 0/1', 'c not begun 0/1']);
  });

  test('run again: what is closed and empty costs no request', async () => {
    const nodes = [{ name: 'a', unschedulable: true }, { name: 'b', unschedulable: true }, { name: 'c' }];
    const it = world({ nodes, pods: { b: [{ name: 'pb' }] }, answers: { pb: [GONE] } });
    const ended = await it.begin().ended;
    assert.deepEqual(states(ended), ['a drained 0/0', 'b drained 1/1', 'c drained 0/0']);
    assert.deepEqual(it.lists, ['b', 'c']);
    assert.equal(it.log.filter(line => line.startsWith('patch')).length, 1);
  });

  test('a node that is gone is done with', async () => {
    const it = world({ nodes: three, pods });
    const { ended } = it.begin(() => it.nodes.delete('b'));
    it.letGo('pa', 'pc');
    await it.clock.advance(5000);
    assert.deepEqual(states(await ended), ['a drained 0/0', 'b drained 0/1', 'c drained 0/0']);
    assert.ok(it.told.includes('node/b is gone'));
    assert.ok(!it.lists.includes('b'));
  });

  test('the signal ends it where it is: nobody is asked any more, and all is told', async () => {
    const it = world({ nodes: three, pods: { ...pods, b: [{ name: 'pb' }, { name: 'pb2' }] } });
    const { ended } = it.begin();
    await flushPromises();
    it.letGo('pa');
    await it.clock.advance(1000);
    it.letGo('pb');
    await it.clock.advance(1000);
    it.over.abort();
    assert.deepEqual(states(await ended), ['a drained 1/1', 'b under way 1/2', 'c not begun 0/1']);
    const asked = it.log.length;
    await it.clock.advance(10_000);
    assert.equal(it.log.length, asked);
    assert.equal(it.clock.pending, 0);
  });

  test('the signal while nodes are cordoned: no more of them are', async () => {
    const nodes = Array.from({ length: 40 }, (_, index) => ({ name: `n${index + 10}` }));
    const it = world({ nodes, pods: { n10: [{ name: 'p' }] }, stopAtPatch: true });
    const drains = await it.begin().ended;
    assert.ok(drains.every(({ phase }) => phase === 'not begun'));
    assert.deepEqual(it.log, ['patch n10 {"resourceVersion":"1","unschedulable":true}']);
    assert.deepEqual(it.told, ['node/n10 cordoned']);
  });

  test('--dry-run=client sends nothing', async () => {
    const it = world({ nodes: three, pods, dryRun: 'client' });
    assert.deepEqual(states(await it.begin().ended), ['a drained 1/1', 'b drained 1/1', 'c drained 1/1']);
    assert.deepEqual(it.log, []);
    assert.deepEqual(it.told.slice(3, 5), ['evicting pod ns/pa', 'node/a drained']);
  });

  test('--dry-run=server asks once, and tells what would wait', async () => {
    const it = world({ nodes: three, pods, dryRun: 'server', answers: { pb: [BUDGET] } });
    const ended = await it.begin().ended;
    assert.deepEqual(states(ended), ['a drained 1/1', 'b drained 0/1 held', 'c drained 1/1']);
    assert.ok(it.removals.every(({ dryRun }) => dryRun));
    assert.equal(it.clock.now(), 0);
    assert.match(it.told.join('\n'), /pod ns\/pb on node b waits for PodDisruptionBudget ns\/web/);
  });
});
