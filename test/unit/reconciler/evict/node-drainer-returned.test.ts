/** Pods that come back to a node that is drained: each owner's pods are evicted once, then once more right before the taint. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort, EvictionsClient } from '../../../../src/kube/cluster.ts';
import type { Budget } from '../../../../src/nodepool/drain/budgets.ts';
import type { DrainPod } from '../../../../src/nodepool/drain/drain-filters.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import type { DrainPlan } from '../../../../src/nodepool/plan/plan.ts';
import { NodeDrainer } from '../../../../src/reconciler/evict/node-drainer.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aNode, taint } from '../../nodepool/fixtures.ts';
import { BUDGET, drained, pod } from '../drained.ts';
import { role } from '../node-server.ts';
import { reconcilerOptions } from '../reconciler-options.ts';

const web = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' };
const tolerant = (name: string, more: Partial<DrainPod> = {}) =>
  pod(name, {
    controller: web,
    labels: { app: 'web' },
    placement: {
      nodeSelector: {},
      nodeTerms: undefined,
      tolerations: [{ key: 'dedicated', effect: 'NoSchedule', operator: 'Exists' }],
    },
    ...more,
  });
const bound = (name: string) => pod(name, { labels: { app: 'bound' } });
const LOOK_MS = 2_600;
const PERMANENT_MS = 31_000;

const STATUS = { disruptionsAllowed: 2, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 };
const budget = (disruptionsAllowed: number, app = 'web'): Budget => ({
  namespace: 'ns',
  name: 'web',
  selector: { matchLabels: { app } },
  minAvailable: 1,
  maxUnavailable: undefined,
  alwaysAllowsUnhealthy: false,
  status: { ...STATUS, disruptionsAllowed },
});
const WHY = 'returned after eviction, and PodDisruptionBudgets do not allow evicting all of them at once';

test('evicts each pod once under a tight budget, then fails when pods return', async () => {
  const { write, writer, calls, on, answers, budgets, clock, taints } = drained([tolerant('a'), tolerant('b')]);
  answers.set('b', BUDGET);
  assert.deepEqual(await write(), ['patch n1', 'list']);
  await clock.advance(LOOK_MS);
  assert.deepEqual(await write(), ['list', 'evict a', 'evict b']);
  on.delete('a');
  on.set('a2', tolerant('a2'));
  answers.set('b', { kind: 'accepted' });
  budgets.push(budget(0));
  await clock.advance(10_000);
  const rejects = async (requests: string[], pods: string) => {
    const message = `taint dedicated=x:NoExecute was not set on node n1: ${pods}`;
    await assert.rejects(write(), {
      message,
      next: "change the budgets, then run `kubectl nodepool reconcile worker`; or remove the pods' toleration or spec.nodeName; or set spec.noExecute to Immediate",
    });
    assert.deepEqual(calls, requests);
  };
  // It may allow one later.
  assert.deepEqual(await write(), ['list', 'evict b', 'list', 'budgets']);
  assert.equal(
    writer.gates.drainer.entries.stateOf(['n1']).blocked,
    'pod ns/a2 on node n1 waits for PodDisruptionBudget ns/web: it must allow 1 eviction at once',
  );
  on.delete('b');
  on.set('b2', tolerant('b2'));
  for (const allowed of [0, 1]) {
    budgets.splice(0, 1, budget(allowed));
    await clock.advance(PERMANENT_MS);
    await rejects(['list', 'budgets'], `2 pods ${WHY}: ns/a2, ns/b2`);
  }
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
  budgets.splice(0, 1, budget(2));
  await clock.advance(PERMANENT_MS);
  assert.deepEqual(await write(), ['list', 'budgets', 'evict a2', 'evict b2', 'list', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('limits evictions of pods that return with a new owner each time', async () => {
  // Those that spec.nodeName binds are evicted before schedulers have seen the stand-in, and one more comes before that.
  const bare = (name: string, more: Partial<DrainPod>) => pod(name, { labels: { app: 'web' }, ...more });
  for (const [make, wanted] of [
    [tolerant, ['job-0', 'job-1', 'job-3', 'job-4']],
    [bare, ['job-0', 'job-1', 'job-2', 'job-3', 'job-4', 'job-5']],
  ] as const) {
    const job = (at: number) =>
      make(`job-${at}`, { controller: { apiVersion: 'batch/v1', kind: 'Job', name: `job-${at}` } });
    const { write, calls, on, answers, budgets, clock, taints } = drained([job(0), job(1)]);
    budgets.push(budget(1));
    const evicted: string[] = [];
    let message = '';
    for (let made = 2; made < 40; made++) {
      // The budget allows one at a time.
      const [allowed, refused] = [...on.keys()];
      answers.set(allowed ?? '', { kind: 'accepted' });
      answers.set(refused ?? '', BUDGET);
      message = await write().then(
        () => '',
        (error: Error) => error.message,
      );
      await clock.advance(PERMANENT_MS);
      if (!calls.includes(`evict ${allowed}`)) continue;
      evicted.push(allowed ?? '');
      on.delete(allowed ?? '');
      on.set(`job-${made}`, job(made));
    }
    assert.deepEqual(evicted, wanted);
    assert.match(message, /^taint dedicated=x:NoExecute was not set on node n1: 2 pods returned after eviction, /);
    assert.deepEqual(taints(), ['dedicated:NoSchedule']);
  }
});

test('evicts all later pods of an owner, one after the other', async () => {
  const { write, on, answers, budgets, clock, taints } = drained([pod('first')]);
  budgets.push(budget(1));
  for (let times = 0; times < 2; times++) {
    await write();
    await clock.advance(PERMANENT_MS);
  }
  on.clear();
  for (const name of ['a', 'b', 'c']) on.set(name, tolerant(name));
  for (let times = 0; times < 4 && on.size > 0; times++) {
    const [allowed = '', ...refused] = [...on.keys()];
    answers.set(allowed, { kind: 'accepted' });
    for (const name of refused) answers.set(name, BUDGET);
    await write();
    on.delete(allowed);
    await clock.advance(PERMANENT_MS);
  }
  assert.deepEqual([...on.keys()], []);
  await write();
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('stops evicting returned pods when their budget changes', async () => {
  const { write, calls, on, answers, clock } = await returnedTo('b', 'c');
  answers.set('c', BUDGET);
  for (const requests of [
    ['list', 'budgets', 'evict b', 'evict c'],
    ['list', 'budgets'],
  ]) {
    await clock.advance(PERMANENT_MS);
    await assert.rejects(write(), {
      message: new RegExp(`not set on node n1: ${requests.length === 2 ? 1 : 2} pods? `),
    });
    assert.deepEqual(calls, requests);
    on.delete('b');
  }
});

test('another process that continues a drain treats pods created since its start as returned', async () => {
  const later = { creationTimestamp: '2099-01-01T00:00:00Z' };
  const earlier = { creationTimestamp: '2026-01-01T00:00:00Z' };
  for (const [record, evicted] of [
    ['"drainingSince":"2026-02-01T00:00:00Z"', ['list', 'evict b', 'budgets']],
    // It counts from now on: a time ahead would make every pod one that was there before.
    ['"drainingSince":"2098-01-01T00:00:00Z"', ['list', 'evict b', 'budgets']],
    // Of an earlier version.
    ['"x":0', ['list', 'evict a2', 'evict b']],
  ] as const) {
    const applied = `{"pool":"worker","taints":{"dedicated:NoSchedule":"x"},"draining":{"dedicated:NoExecute":"x"},${record}}`;
    const node = aNode({ labels: role('worker'), record: applied, taints: [taint('dedicated=x:NoSchedule')] });
    const { write, calls, budgets, clock } = drained(
      [tolerant('a2', later), tolerant('b', earlier)],
      {},
      undefined,
      node,
    );
    budgets.push(budget(0));
    await write();
    await clock.advance(LOOK_MS);
    await write().catch(() => undefined);
    assert.deepEqual(calls.filter((each, at) => calls.indexOf(each) === at).slice(0, 3), evicted, record);
  }
});

test('sets no NoExecute taint while a returned pod has a budget', async () => {
  const { write, calls, on, budgets, clock, evictions, taints } = drained([bound('a')]);
  budgets.push(budget(1, 'bound'));
  await write();
  on.clear();
  await clock.advance(LOOK_MS);
  on.set('b', bound('b'));
  await write();
  on.clear();
  on.set('c', bound('c'));
  const { evict } = evictions;
  evictions.evict = async one => {
    const removal = await evict(one);
    on.set('d', bound('d'));
    return removal;
  };
  for (const requests of [
    ['list', 'budgets', 'evict c', 'list', 'budgets'],
    ['list', 'budgets'],
  ]) {
    await clock.advance(PERMANENT_MS);
    await assert.rejects(write(), { message: /not set on node n1: 1 pod returned after each eviction: ns\/d$/ });
    assert.deepEqual(calls, requests);
  }
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
});

test('evicts returned pods with sufficient budget once more, right before it sets the taint', async () => {
  const { write, on, budgets, clock, taints } = drained([bound('a')]);
  budgets.push(budget(2, 'bound'));
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a']);
  on.clear();
  // Until schedulers have seen the stand-in, a new pod may be of one of them.
  on.set('b', bound('b'));
  await clock.advance(LOOK_MS);
  assert.deepEqual(await write(), ['list', 'evict b']);
  on.clear();
  for (const name of ['c', 'd']) on.set(name, bound(name));
  await clock.advance(LOOK_MS);
  assert.deepEqual(await write(), ['list', 'budgets', 'evict c', 'evict d', 'list', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('leaves returned pods without an effective budget to the taint', async () => {
  for (const known of [[], [budget(0, 'other')], [{ ...budget(2), status: { ...STATUS, desiredHealthy: 0 } }]]) {
    const { write, on, budgets, clock, evictions } = drained([tolerant('a')]);
    budgets.push(...known);
    await write();
    await clock.advance(LOOK_MS);
    const { evict } = evictions;
    evictions.evict = async one => {
      on.set('a2', tolerant('a2'));
      return evict(one);
    };
    assert.deepEqual(await write(), ['list', 'evict a', 'list', 'budgets', 'patch n1']);
  }
});

test('a new pod whose owner had no pod evicted does not count as returned', async () => {
  const { write, on, answers, clock, taints } = drained([tolerant('a')]);
  answers.set('a', BUDGET);
  await write();
  await clock.advance(LOOK_MS);
  await write();
  on.clear();
  on.set('b', tolerant('b', { creationTimestamp: '2099-01-01T00:00:00Z' }));
  await clock.advance(10_000);
  assert.deepEqual(await write(), ['list', 'evict b', 'list', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test("the record of a new drain has the server's time", async () => {
  const { write, server } = drained([tolerant('a')]);
  server.port.nodes.serverTime = () => new Date('2026-02-01T00:00:00.900Z');
  await write();
  assert.match(
    server.live?.record ?? '',
    /"draining":{"dedicated:NoExecute":"x"},"drainingSince":"2026-02-01T00:00:00Z"}$/,
  );
  assert.equal(server.sent.length, 1);
});

test('evicts later pods of other owners within their budgets', async () => {
  const { write, on, clock } = drained([tolerant('a')]);
  await write();
  await clock.advance(LOOK_MS);
  assert.deepEqual(await write(), ['list', 'evict a', 'list', 'patch n1']);
  const other = drained([bound('a')]);
  await other.write();
  other.on.clear();
  other.on.set('late', tolerant('late'));
  await other.clock.advance(LOOK_MS);
  assert.deepEqual(await other.write(), ['list', 'evict late', 'list', 'patch n1']);
  assert.ok(on.has('a'));
});

/** A node to which pods came back that a budget covers: a row of evictions is due. */
async function returnedTo(...names: string[]) {
  const found = drained([bound('before')]);
  const { write, on, budgets, clock } = found;
  budgets.push(budget(2, 'bound'));
  await write();
  on.clear();
  on.set('late', bound('late'));
  await clock.advance(LOOK_MS);
  await write();
  on.clear();
  for (const name of names) on.set(name, bound(name));
  await clock.advance(PERMANENT_MS);
  return found;
}
const BUSY = { kind: 'busy', message: 'too many requests', afterMs: undefined } as const;
const CHANGED = { kind: 'changed' } as const;

test('restarts interrupted evictions of returned pods, at most three times in all', async () => {
  for (const answer of [BUSY, CHANGED, new NodepoolError('cluster', 'cannot evict', 'ask')]) {
    const { write, calls, on, answers, clock, taints } = await returnedTo('b', 'c');
    answers.set('c', answer);
    const kept = [];
    for (let row = 1; row <= 3; row++) {
      await write().catch(() => undefined);
      kept.push(calls.filter(each => each.startsWith('evict ')).join());
      on.set('b', bound('b'));
      await clock.advance(PERMANENT_MS);
    }
    assert.deepEqual(kept, ['evict b,evict c', 'evict b,evict c', 'evict b,evict c']);
    await assert.rejects(write(), { message: /2 pods returned after each eviction/ });
    assert.deepEqual([calls, taints()], [['list', 'budgets'], ['dedicated:NoSchedule']]);
  }
  const { write, answers, clock, taints } = await returnedTo('b', 'c');
  answers.set('c', BUSY);
  await write();
  answers.clear();
  await clock.advance(PERMANENT_MS);
  assert.deepEqual(await write(), ['list', 'budgets', 'evict c', 'list', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('evicts returned pods of nodes with a shared budget one node after the other', async () => {
  const { look, evictions, clock } = twoNodes();
  assert.deepEqual(await Promise.all([look('n1'), look('n2')]), ['waits', 'waits'], 'schedulers may not know');
  await clock.advance(LOOK_MS);
  const waits = await Promise.all([look('n1'), look('n2')]);
  assert.deepEqual(waits.toSorted(), ['cleared', 'waits']);
  assert.equal(evictions.length, 2);
  assert.equal(new Set(evictions.map(name => name[0])).size, 1, 'of one node');
});

test('lists pods again after waiting for another node, unless no pod returned', async () => {
  const { look, clock, pods, client } = twoNodes();
  pods.set('n2', [tolerant('n2-a', { labels: { app: 'other' } })]);
  pods.set('n3', []);
  for (const node of ['n1', 'n2', 'n3']) assert.equal(await look(node), 'waits');
  await clock.advance(LOOK_MS);
  const row = Promise.withResolvers<void>();
  const { evict } = client;
  client.evict = async pod => {
    await row.promise;
    return evict(pod);
  };
  const [first, second] = [look('n1'), look('n2')];
  assert.equal(await look('n3'), 'cleared', 'it waits for no row');
  await clock.advance(60_000);
  row.resolve();
  assert.deepEqual([await first, await second], ['cleared', 'waits']);
  assert.equal(await look('n2'), 'cleared', 'at once');
});

test('sets no NoExecute taint when a pod arrives during the evictions of returned pods', async () => {
  const { write, on, clock, evictions, taints } = await returnedTo('b');
  const { evict } = evictions;
  evictions.evict = async one => {
    on.set('other', tolerant('other', { creationTimestamp: '2020-01-01T00:00:00Z' }));
    return evict(one);
  };
  assert.deepEqual(await write(), ['list', 'budgets', 'evict b', 'list']);
  evictions.evict = evict;
  await clock.advance(LOOK_MS);
  assert.deepEqual(await write(), ['list', 'evict other', 'list', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

/** Each with two pods of one budget that allows two evictions; schedulers have seen the stand-ins. */
function twoNodes() {
  const clock = new FakeClock();
  const evictions: string[] = [];
  const shared = {
    ...budget(2),
    minAvailable: 4,
    status: { disruptionsAllowed: 2, currentHealthy: 6, desiredHealthy: 4, expectedPods: 6 },
  };
  const pods = new Map(['n1', 'n2'].map(node => [node, [tolerant(`${node}-a`), tolerant(`${node}-b`)]]));
  const client: EvictionsClient = {
    podsOn: async node => [...(pods.get(node) ?? [])],
    budgets: async () => [structuredClone(shared)],
    hasDaemonSet: async () => false,
    async evict({ name }) {
      if (shared.status.disruptionsAllowed === 0) return BUDGET;
      shared.status.disruptionsAllowed--;
      evictions.push(name);
      for (const [node, all] of pods)
        pods.set(
          node,
          all.map(each => (each.name === name ? { ...each, deletionTimestamp: '2026-01-01T00:00:00Z' } : each)),
        );
      return { kind: 'accepted' };
    },
  };
  const nodes = { serverTime: () => new Date('2026-02-01T00:00:00Z') };
  const cluster = { evictions: async () => client, nodes } as unknown as ClusterPort;
  const drainer = new NodeDrainer(reconcilerOptions(cluster, new ClusterState([], [], []), { clock }));
  const look = (name: string) => {
    const node = aNode({ name, uid: `uid-${name}`, taints: [taint('dedicated=x:NoSchedule')] });
    const drain = {
      taints: [taint('dedicated=x:NoExecute')],
      changes: [],
      hasBegun: true,
      since: '2025-01-01T00:00:00Z',
    };
    const plan = { node, previous: 'worker', owner: 'worker', patch: undefined, changes: [], drain };
    return drainer.poll(plan as unknown as DrainPlan, async () => 'goes on');
  };
  return { evictions, look, clock, pods, client };
}
