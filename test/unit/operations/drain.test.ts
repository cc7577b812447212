/** The course of a drain over ports of the test's own: what is asked when, what is told, what is left. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DrainPod, DrainRules } from '../../../src/nodepool/drain-filters.ts';
import type { DrainPace } from '../../../src/nodepool/drain-places.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import type { Node, NodePool } from '../../../src/nodepool/types.ts';
import { type DrainDeps, type DrainOptions, drain, planDrain } from '../../../src/operations/drain.ts';
import type { DrainPort, PodRemoval, Removal } from '../../../src/operations/drain-port.ts';
import type { DryRun } from '../../../src/operations/ports.ts';
import { drainLine } from '../../../src/render/drain.ts';
import { FakeClock, settle } from '../controller/fake-clock.ts';

const RULES: DrainRules = {
  force: false,
  ignoreDaemonSets: false,
  deleteEmptyDirData: false,
  skipWaitForDeleteSeconds: 0,
};
const ONE: DrainPace = { kind: 'parallel', nodes: 1 };
const ACCEPTED: Removal = { kind: 'accepted' };
const GONE: Removal = { kind: 'gone' };
const BUDGET: Removal = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods and has 2 currently' };

interface Setup {
  nodes?: Partial<Node>[];
  /** By node. */
  pods?: Record<string, Partial<DrainPod>[]>;
  options?: Partial<DrainOptions>;
  dryRun?: DryRun;
  hasDaemonSet?: boolean;
  /** What the nth try to remove the pod gives; the last one holds on. */
  answers?: Record<string, (Removal | NodepoolError)[]>;
}

const pool = {
  apiVersion: '',
  kind: '',
  metadata: { name: 'worker' },
  spec: { nodeSelector: { in: 'worker' } },
} as NodePool;

function makeNode(node: Partial<Node>): Node {
  const base = { uid: node.name ?? '', resourceVersion: '1', creationTimestamp: '', taints: [], allocatable: {} };
  return { name: '', labels: { in: 'worker' }, ready: true, unschedulable: false, ...base, ...node };
}

function makePod(pod: Partial<DrainPod>): DrainPod {
  const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' };
  const rest = { namespace: 'ns', name: '', phase: 'Running', isMirror: false, hasEmptyDir: false, controller };
  return { ...rest, uid: `uid-${pod.name}`, ...pod };
}

/** A pool of nodes with pods. A pod that was accepted stays until letGo() is called, or `lingers` is false. */
function world(setup: Setup) {
  const clock = new FakeClock();
  const over = new AbortController();
  const nodes = new Map((setup.nodes ?? [{ name: 'a' }]).map(node => [node.name ?? '', makeNode(node)]));
  const pods = new Map(Object.entries(setup.pods ?? {}).map(([node, some]) => [node, some.map(makePod)]));
  const [log, told, lists]: [string[], string[], string[]] = [[], [], []];
  const tries = new Map<string, number>();
  const removals: PodRemoval[] = [];
  const letGo = (...names: string[]) => {
    for (const [node, some] of pods)
      pods.set(
        node,
        some.filter(({ name }) => !names.includes(name)),
      );
  };
  const remove = (how: string) => async (pod: DrainPod, removal: PodRemoval) => {
    const nth = tries.get(pod.name) ?? 0;
    tries.set(pod.name, nth + 1);
    removals.push(removal);
    log.push(`${how} ${pod.name} @${clock.now() / 1000}`);
    const answers = setup.answers?.[pod.name] ?? [ACCEPTED];
    const answer = answers[Math.min(nth, answers.length - 1)] ?? ACCEPTED;
    if (answer instanceof NodepoolError) throw answer;
    return answer;
  };
  const port: DrainPort = {
    async podsOn(node, podSelector) {
      lists.push(`${node}${podSelector === undefined ? '' : ` ${podSelector}`}`);
      return [...(pods.get(node) ?? [])];
    },
    hasDaemonSet: async (namespace, name) => {
      log.push(`daemonset ${namespace}/${name}`);
      return setup.hasDaemonSet ?? true;
    },
    evict: remove('evict'),
    delete: remove('delete'),
  };
  const words = { disableEviction: false, suffix: '' };
  const deps: DrainDeps = {
    cluster: {
      listPools: async () => [pool],
      listNodes: async () => [...nodes.values()],
      getNode: async name => nodes.get(name),
      async patchNode(name, patch) {
        log.push(`patch ${name} ${JSON.stringify(patch)}`);
        const node = nodes.get(name);
        if (node === undefined) return { kind: 'gone' };
        return { kind: 'written', node };
      },
    },
    port,
    clock,
    now: clock.wall,
    dryRun: setup.dryRun ?? 'none',
    sleep: async () => {},
    signal: over.signal,
    tell(event) {
      const line = drainLine(event, words);
      told.push(line.to === 'error' ? `error: ${line.message}` : line.text);
    },
  };
  const options: DrainOptions = {
    pace: ONE,
    rules: RULES,
    podSelector: undefined,
    gracePeriodSeconds: undefined,
    disableEviction: false,
    timeoutMs: 0,
    ...setup.options,
  };
  const plan = () => planDrain('worker', options, deps);
  /** Plans, and drains; something may happen in between. */
  const start = async (between: () => void) => {
    const made = await plan();
    between();
    lists.length = 0;
    const ended = drain(made, options, deps);
    await settle();
    return ended;
  };
  return {
    clock,
    over,
    nodes,
    pods,
    log,
    told,
    lists,
    removals,
    letGo,
    plan,
    start,
    begin: (between = () => {}) => ({ ended: start(between) }),
  };
}

const states = (drains: Awaited<ReturnType<typeof drain>>) =>
  drains.map(({ node, phase, gone, pods, held }) => `${node} ${phase} ${gone}/${pods}${held.size > 0 ? ' held' : ''}`);

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
    const { nodes } = world({});
    assert.equal(nodes.size, 1);
    const deps = { cluster: { listPools: async () => [], listNodes: async () => [] } } as unknown as DrainDeps;
    const message = 'nodepool "worker" not found';
    await assert.rejects(() => planDrain('worker', { rules: RULES, podSelector: undefined }, deps), { message });
  });
});

describe('one node', () => {
  test('is cordoned, its pods are asked to go at once, and it is drained when they are gone', async () => {
    const it = world({ pods: { a: [{ name: 'p' }, { name: 'q' }] } });
    const { ended } = it.begin();
    await settle();
    assert.deepEqual(it.log, ['patch a {"resourceVersion":"1","unschedulable":true}', 'evict p @0', 'evict q @0']);
    it.letGo('p');
    await it.clock.advance(1000);
    it.letGo('q');
    assert.deepEqual(it.told, ['node/a cordoned', 'evicting pod ns/p', 'evicting pod ns/q', 'pod ns/p evicted']);
    await it.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 2/2']);
    assert.deepEqual(it.told.slice(4), ['pod ns/q evicted', 'node/a drained']);
    assert.equal(it.lists.length, 3, 'one list when its turn comes, one each second');
    assert.equal(it.log.length, 3, 'nobody is asked twice');
  });

  test('a pod of that name with another UID is another pod', async () => {
    const it = world({ pods: { a: [{ name: 'p' }] } });
    const { ended } = it.begin();
    await settle();
    it.pods.set('a', [makePod({ name: 'p', uid: 'new' })]);
    await it.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
    assert.deepEqual(
      it.log.filter(line => line.startsWith('evict')),
      ['evict p @0'],
    );
  });

  test('404 is done', async () => {
    const it = world({ pods: { a: [{ name: 'p' }] }, answers: { p: [GONE] } });
    assert.deepEqual(states(await it.begin().ended), ['a drained 1/1']);
    assert.equal(it.clock.now(), 0);
  });

  test('a budget is asked again every 5 s, told once for each reason, and then lets go', async () => {
    const other = { ...BUDGET, message: 'is being processed' };
    const it = world({ pods: { a: [{ name: 'p' }] }, answers: { p: [BUDGET, BUDGET, other, ACCEPTED] } });
    const { ended } = it.begin();
    await it.clock.advance(14_900);
    assert.deepEqual(it.log.slice(1), ['evict p @0', 'evict p @5', 'evict p @10']);
    assert.deepEqual(it.told.slice(1), [
      'evicting pod ns/p',
      'pod ns/p on node a waits for PodDisruptionBudget ns/web: needs 2 healthy pods and has 2 currently',
      'pod ns/p on node a waits for PodDisruptionBudget ns/web: is being processed',
    ]);
    await it.clock.advance(100);
    it.letGo('p');
    await it.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
  });

  test('a held pod that goes by itself is not asked again', async () => {
    const it = world({ pods: { a: [{ name: 'p' }] }, answers: { p: [BUDGET] } });
    const { ended } = it.begin();
    await it.clock.advance(4000);
    it.letGo('p');
    await it.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
    assert.deepEqual(it.log.slice(1), ['evict p @0']);
  });

  test('a busy server says when to come again, but not sooner than 5 s', async () => {
    const busy = (afterMs: number | undefined): Removal => ({ kind: 'busy', afterMs, message: 'too many requests' });
    const it = world({
      pods: { a: [{ name: 'p' }] },
      answers: { p: [busy(12_000), busy(1000), busy(undefined), GONE] },
    });
    const { ended } = it.begin();
    await it.clock.advance(30_000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
    assert.deepEqual(it.log.slice(1), ['evict p @0', 'evict p @12', 'evict p @17', 'evict p @22']);
  });

  test('a pod that changed is looked at and asked again', async () => {
    const it = world({ pods: { a: [{ name: 'p' }] }, answers: { p: [{ kind: 'changed' }, GONE] } });
    const { ended } = it.begin();
    await it.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
    assert.deepEqual(it.log.slice(1), ['evict p @0', 'evict p @1']);
  });

  test('in a namespace that ends: asked until the pod itself is being deleted, then waited for', async () => {
    const ends: Removal = { kind: 'namespace ends', message: 'it is being terminated' };
    const it = world({ pods: { a: [{ name: 'p' }] }, answers: { p: [ends] } });
    const { ended } = it.begin();
    await it.clock.advance(4000);
    it.pods.set('a', [makePod({ name: 'p', deletionTimestamp: '2026-01-01T00:00:00Z' })]);
    await it.clock.advance(20_000);
    assert.deepEqual(it.log.slice(1), ['evict p @0', 'evict p @5']);
    it.letGo('p');
    await it.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
  });

  test('the timeout names what is left and why', async () => {
    const it = world({
      pods: { a: [{ name: 'p' }, { name: 'q' }] },
      answers: { p: [BUDGET] },
      options: { timeoutMs: 7500 },
    });
    const { ended } = it.begin();
    await it.clock.advance(7500);
    assert.deepEqual(states(await ended), ['a failed 0/2 held']);
    assert.equal(
      it.told.at(-1),
      'error: unable to drain node "a": gave up after 7.5 s: waiting for PodDisruptionBudget ns/web: ' +
        'needs 2 healthy pods and has 2 currently: ns/p; still terminating: ns/q',
    );
  });

  test('a pod that can never go does not stop the others, and the node is not drained', async () => {
    const never = new NodepoolError('cluster', 'pod ns/p has more than one PodDisruptionBudget', 'mend it');
    const it = world({ pods: { a: [{ name: 'p' }, { name: 'q' }] }, answers: { p: [never] } });
    const { ended } = it.begin();
    await settle();
    it.letGo('q');
    await it.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a failed 1/2']);
    assert.match(it.told.at(-1) ?? '', /unable to drain node "a": pod ns\/p has more than one .*\(mend it\)$/);
  });

  test('the timeout does not hide why another pod will not go', async () => {
    const never = new NodepoolError('cluster', 'never');
    const it = world({
      pods: { a: [{ name: 'p' }, { name: 'q' }] },
      answers: { p: [never] },
      options: { timeoutMs: 9 },
    });
    const { ended } = it.begin();
    await it.clock.advance(9);
    assert.deepEqual(states(await ended), ['a failed 0/2']);
    assert.match(it.told.at(-1) ?? '', /"a": never; gave up after 0\.009 s: still terminating: ns\/q$/);
  });

  test('--skip-wait-for-delete-timeout: what hangs is passed over, before and while it is waited for', async () => {
    const rules = { ...RULES, skipWaitForDeleteSeconds: 3 };
    const old = { name: 'old', deletionTimestamp: '2025-12-31T23:00:00Z' };
    const it = world({ pods: { a: [old, { name: 'p' }] }, options: { rules } });
    const { ended } = it.begin();
    await settle();
    it.pods.set('a', [makePod(old), makePod({ name: 'p', deletionTimestamp: '2026-01-01T00:00:00Z' })]);
    await it.clock.advance(4000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
    assert.deepEqual(it.told.slice(2), ['pod ns/p has been terminating for too long, skipping', 'node/a drained']);
    assert.deepEqual(it.log.slice(1), ['evict p @0']);
  });

  test('what may not go and came after the plan: nothing of the node is touched', async () => {
    const it = world({ pods: { a: [{ name: 'p' }] } });
    const { ended } = it.begin(() =>
      it.pods.set('a', [makePod({ name: 'p' }), makePod({ name: 'q', hasEmptyDir: true })]),
    );
    assert.deepEqual(states(await ended), ['a failed 0/1']);
    assert.deepEqual(it.log.slice(1), []);
    assert.match(it.told.at(-1) ?? '', /unable to drain node "a": cannot delete pods with local storage .*: ns\/q$/);
  });

  test('flags go with the request; what is gone is seen without the selector, as labels may change', async () => {
    const options = { disableEviction: true, gracePeriodSeconds: 0, podSelector: 'app=x' };
    const it = world({ pods: { a: [{ name: 'p' }] }, options });
    const { ended } = it.begin();
    await settle();
    it.letGo('p');
    await it.clock.advance(1000);
    await ended;
    assert.deepEqual(it.log.slice(1), ['delete p @0']);
    assert.deepEqual(it.removals, [{ gracePeriodSeconds: 0, dryRun: false }]);
    assert.deepEqual(it.lists, ['a app=x', 'a']);
  });
});

describe('the pool', () => {
  const three = [{ name: 'c' }, { name: 'a' }, { name: 'b' }];
  const pods = { a: [{ name: 'pa' }], b: [{ name: 'pb' }], c: [{ name: 'pc' }] };

  test('all are cordoned first, then it is one after the other, by name', async () => {
    const it = world({ nodes: three, pods });
    const { ended } = it.begin();
    await settle();
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
    await settle();
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
    assert.deepEqual(states(await ended), ['c drained 1/1', 'a drained 0/0', 'b drained 0/0']);
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
    await settle();
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
