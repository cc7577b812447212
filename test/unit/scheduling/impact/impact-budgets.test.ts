/** Evicted pods that stay Pending, that come back to the taint, and the budgets that hold them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderImpact } from '../../../../src/commands/shared/impact/print-impact.ts';
import { quantityReader } from '../../../../src/nodepool/quantity/amounts.ts';
import type { Node, Taint } from '../../../../src/nodepool/types.ts';
import { makeStyle } from '../../../../src/print/style.ts';
import type { ExceededQuota } from '../../../../src/scheduling/exceeded-quotas.ts';
import { impactOf } from '../../../../src/scheduling/impact/impact.ts';
import { LeavingPods } from '../../../../src/scheduling/impact/leaving-pods.ts';
import type { PlannedChange } from '../../../../src/scheduling/impact/node-keys.ts';
import { keysOfPod } from '../../../../src/scheduling/impact/selecting.ts';
import type { Impact, RunningPod } from '../../../../src/scheduling/impact/types.ts';
import type { RawPodSpec } from '../../../../src/scheduling/pod/raw-pod.ts';
import { readPod } from '../../../../src/scheduling/pod/read-pod.ts';
import { Snapshot } from '../../../../src/scheduling/snapshot.ts';
import { makeBudget } from '../../nodepool/budget.ts';

const render = (found: Impact) =>
  renderImpact(
    { impact: found, isKnown: true, poolOf: () => undefined, isWellKnownOnly: false, runtimeClasses: [] },
    makeStyle(false),
  );
const read = quantityReader();
const NO_EXECUTE: Taint = { key: 'dedicated', value: 'web', effect: 'NoExecute' };

function node(name: string, cpu: string, taints: Taint[] = []): Node {
  const meta = { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
  return { ...meta, labels: {}, taints, ready: true, unschedulable: false, allocatable: { pods: '10', cpu } };
}

function pod(at: number, more: RawPodSpec = {}): RunningPod {
  const labels = { app: 'db', 'statefulset.kubernetes.io/pod-name': `db-${at}` };
  const containers = [{ name: 'c', resources: { requests: { cpu: '2' } } }];
  const name = `db-${at}`;
  const raw = {
    metadata: { namespace: 'shop', name, labels },
    spec: { containers, ...more, nodeName: 'a' },
  };
  return { name, pod: readPod(raw, read), node: 'a', owner: { kind: 'StatefulSet', name: 'db' } };
}

const budget = makeBudget({ namespace: 'shop', name: 'db', selector: { matchLabels: { app: 'db' } } });

function impact(
  pods: RunningPod[],
  others: Node[],
  isDrained: boolean,
  budgets = [budget],
  quotas: ExceededQuota[] = [],
) {
  const meanwhile = isDrained ? { meanwhile: node('a', '8', [{ ...NO_EXECUTE, effect: 'NoSchedule' }]) } : {};
  const change: PlannedChange = { before: node('a', '8'), after: node('a', '8', [NO_EXECUTE]), ...meanwhile };
  const snapshot = new Snapshot([change.after, ...others]);
  for (const each of pods) snapshot.add(each.pod, each.node);
  const byNode = Map.groupBy(pods, each => each.node);
  return impactOf({
    leaving: [new LeavingPods(change)],
    pods: byNode,
    daemonSets: [],
    selecting: [],
    budgets,
    quotas,
    snapshot,
  });
}

const text = render;
const three = [0, 1, 2].map(at => pod(at));

test('a drain waits forever if too many pods of a budget would stay Pending', () => {
  const found = impact(three, [node('b', '2'), node('c', '1')], true);
  assert.deepEqual(found.budgets, [{ kind: 'stuck', budget: 'shop/db', pods: 3, pending: 2, needs: 2, allowed: 1 }]);
  assert.match(
    text(found),
    /can go: 1 on node b \(no pool\); 1 would stay Pending: 1 node\(s\) had untolerated taint\(s\), 2 Insufficient cpu; 1 is not evicted, because a PodDisruptionBudget blocks the drain\n/,
  );
  const held = 'because a PodDisruptionBudget blocks the drain';
  assert.ok(text(found).includes(`\n  has to evict 3 pods of StatefulSet shop/db; 1 of them stays, ${held}\n`));
  assert.match(text(impact(three, [node('b', '8')], true)), /\n {2}evicts 3 pods of StatefulSet shop\/db\n/);
  assert.match(
    text(found),
    /shop\/db needs 2 healthy pods, but 2 of the 3 pods to evict find no place: after 1 eviction, the drain waits forever/,
  );
  assert.deepEqual(impact(three, [node('b', '2'), node('c', '2')], true).budgets, []);
  assert.match(text(found), /\nNot considered: preemption\.$/);
  assert.doesNotMatch(text(impact(three, [node('b', '8')], true)), /Not considered/);
});

test('names a budget that is undercut by a taint that does not wait for the pods', () => {
  const found = impact(three, [node('b', '8')], false);
  assert.deepEqual(found.budgets, [{ kind: 'undercut', budget: 'shop/db', pods: 3, allowed: 1 }]);
  assert.match(text(found), /shop\/db allows 1 now, but 3 pods would be evicted: taints ignore PodDisruptionBudgets/);
  assert.deepEqual(impact(three.slice(0, 1), [node('b', '8')], false).budgets, []);
});

test('pods that tolerate the taint for a time return to tainted nodes only if no other node has room', () => {
  const timed = { tolerations: [{ key: 'dedicated', operator: 'Exists', tolerationSeconds: 20 }] };
  const pods = [0, 1].map(at => pod(at, timed));
  const [db] = impact(pods, [node('b', '2')], false).evicted;
  assert.deepEqual([[...(db?.next?.nodes ?? [])], [...(db?.next?.returns ?? [])]], [[['b', 1]], [['a', 1]]]);
  assert.match(
    text(impact(pods, [], false)),
    /2 pods of StatefulSet shop\/db after 20s: may return and are evicted again after 20s, endlessly: 2 on node a/,
  );
  assert.match(
    text(impact(pods, [node('b', '4')], false)),
    /can go: 2 on node b \(no pool\); on tainted nodes, they are evicted again/,
  );
});

test('a node takes no pods while it is drained; afterwards, pods that tolerate the taint for a time may return', () => {
  const timed = { tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 }] };
  const found = impact([pod(0, timed)], [], true);
  const [db] = found.evicted;
  assert.deepEqual([db?.next?.returns.size, db?.next?.pending, db?.afterDrain?.returns.get('a')], [0, 1, 1]);
  assert.match(text(found), /noExecute: Drain: taint dedicated=web:NoSchedule keeps new pods away first; then pods/);
  assert.match(
    text(found),
    /none fits elsewhere; 1 would stay Pending: 1 node\(s\) had untolerated taint\(s\); once the nodes are drained, may return and are evicted again after 60s, endlessly: 1 on node a/,
  );
  // It comes back to the stand-in, and not to the taint.
  const returning = { tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }] };
  const [other] = impact([pod(0, returning)], [], true).evicted;
  assert.deepEqual([other?.next?.nodes.size, other?.next?.pending, other?.pendingAfter], [0, 0, 1]);
  assert.equal(other?.afterDrain, undefined);
});

test('a budget that never allows an eviction keeps all its pods on their node', () => {
  const status = { disruptionsAllowed: 0, currentHealthy: 3, desiredHealthy: 3, expectedPods: 3 };
  const never = makeBudget({ ...budget, maxUnavailable: 0, minAvailable: undefined, status });
  const [db] = impact(three, [node('b', '8')], true, [never]).evicted;
  assert.deepEqual([db?.blockedByBudget, db?.next?.nodes.size], [3, 0]);
  assert.match(
    text(impact(three, [node('b', '8')], true, [never])),
    /3 pods of StatefulSet shop\/db: none is evicted, because a PodDisruptionBudget/,
  );
});

test('pods of a StatefulSet wait for an earlier pod that stays Pending, unless they are created in parallel', () => {
  const pinned = (at: number, to: string) => pod(at, { nodeSelector: { name: to } });
  const change = { before: node('a', '8'), after: node('a', '8', [NO_EXECUTE]) };
  const others = ['b', 'c'].map(name => ({ ...node(name, '8'), labels: { name } }));
  // The first one has no node; the second and the tenth would have one.
  const pods = [pinned(10, 'b'), pinned(2, 'c'), pinned(0, 'gone')];
  const next = (parallel: ReadonlySet<string>) => {
    const snapshot = new Snapshot([change.after, ...others]);
    for (const each of pods) snapshot.add(each.pod, each.node);
    const scene = {
      leaving: [new LeavingPods(change)],
      daemonSets: [],
      selecting: [],
      budgets: [],
      parallel,
      snapshot,
    };
    return impactOf({ ...scene, pods: new Map([['a', pods]]) }).evicted[0]?.next;
  };
  const ordered = next(new Set());
  assert.deepEqual([ordered?.nodes.size, ordered?.pending, ordered?.waiting], [0, 1, 2]);
  const parallel = next(new Set(['shop/db']));
  assert.deepEqual([parallel?.nodes.size, parallel?.pending, parallel?.waiting], [2, 1, 0]);
});

test('marks preferred node affinity and ScheduleAnyway as preferences', () => {
  const keys = keysOfPod({
    nodeSelector: { disk: 'ssd' },
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { preference: { matchExpressions: ['disk', 'tier'].map(key => ({ key, operator: 'Exists' })) } },
        ],
      },
    },
    topologySpreadConstraints: [{ topologyKey: 'rack', whenUnsatisfiable: 'ScheduleAnyway' }],
  });
  assert.deepEqual(
    [...keys].map(([key, uses]) => [key, ...uses.map(({ isPreference = false }) => isPreference)]),
    [
      ['disk', false, true],
      ['tier', true],
      ['rack', true],
    ],
  );
});

test('pods that tolerate the NoSchedule taint may return before the NoExecute taint is set', () => {
  const tolerations = [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }];
  const found = impact([pod(0, { tolerations }), pod(1)], [], true, []);
  assert.deepEqual(
    found.evicted.map(({ mayReturn }) => mayReturn),
    [1],
  );
  assert.match(
    text(found),
    /: none fits elsewhere; 1 would stay Pending: .*; 1 may return before the NoExecute taint: it tolerates the NoSchedule taint; after that, 1 would stay Pending: 1 node\(s\) had untolerated taint\(s\)\n/,
  );
  const roomy = text(impact([pod(0, { tolerations })], [node('b', '8')], true, []));
  assert.match(roomy, /can go: 1 on node b \(no pool\); 1 may return before .* NoSchedule taint$/m);
  assert.doesNotMatch(roomy, /Pending|Not considered/);
  assert.doesNotMatch(text(impact([pod(0, { tolerations })], [], false, [])), /may come back/);
});

test('pods that may return block neither the drain nor other pods of their StatefulSet', () => {
  const tolerations = [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }];
  const returning = [0, 1, 2].map(at => pod(at, { tolerations }));
  const all = impact(returning, [], true);
  const [db] = all.evicted;
  assert.deepEqual(
    [db?.mayReturn, db?.pendingAfter, db?.blockedByBudget, db?.next?.pending, db?.next?.waiting],
    [3, 3, 0, 0, 0],
  );
  assert.doesNotMatch(text(all), /without end|not evicted|elsewhere; \d would stay Pending/);
  assert.match(text(all), /; after that, 3 would stay Pending: .*\n(.*\n)*Not considered: preemption/);
  // A pod that does not tolerate it misses its place from the start.
  const [mixed] = impact([pod(0), ...returning.slice(1)], [], true).evicted;
  assert.deepEqual(
    [mixed?.next?.pending, mixed?.next?.waiting, mixed?.pendingAfter, mixed?.blockedByBudget],
    [1, 0, 0, 2],
  );
  const status = { disruptionsAllowed: 0, currentHealthy: 3, desiredHealthy: 3, expectedPods: 3 };
  const never = makeBudget({ ...budget, maxUnavailable: 0, minAvailable: undefined, status });
  assert.deepEqual(impact(returning, [], true, [never]).evicted[0]?.blockedByBudget, 3);
});

test('pods that are evicted last stay behind a pod that a budget holds', () => {
  const web = (at: number): RunningPod => {
    const tolerations = [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }];
    const raw = { metadata: { namespace: 'shop', name: `web-${at}`, labels: { app: 'web' } }, spec: { tolerations } };
    return { name: `web-${at}`, pod: readPod(raw, read), node: 'a', owner: { kind: 'ReplicaSet', name: 'web' } };
  };
  const told = (pods: RunningPod[], others: Node[], budgets = [budget]) => {
    const group = impact(pods, others, true, budgets).evicted.find(({ owner }) => owner?.name === 'web');
    const { mayReturn, pendingAfter, blockedByBudget, mayNotBeBlocked = false, next } = group ?? {};
    return [mayReturn, pendingAfter, blockedByBudget, mayNotBeBlocked, next?.nodes.size];
  };
  const pods = [...three, web(0), web(1)];
  assert.deepEqual(told(pods, []), [0, 0, 2, false, 0]);
  assert.deepEqual(told(pods, [node('b', '1')]), [0, 0, 2, false, 0], 'although they fit elsewhere');
  assert.deepEqual(told(pods, [node('b', '8')]), [2, 0, 0, false, 1], 'no pod is held');
  const status = { disruptionsAllowed: 0, currentHealthy: 3, desiredHealthy: 3, expectedPods: 3 };
  const never = makeBudget({ ...budget, maxUnavailable: 0, minAvailable: undefined, status });
  assert.deepEqual(told(pods, [node('b', '8')], [never]), [0, 0, 2, false, 0]);
});

test('names budgets that allow no eviction now, and budgets without a current status', () => {
  const room = [node('b', '8')];
  const status = { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2, expectedPods: 3 };
  const waits = impact(three, room, true, [makeBudget({ ...budget, status })]);
  assert.deepEqual(waits.budgets, [{ kind: 'waits', budget: 'shop/db', pods: 3, healthy: 2, needs: 2 }]);
  assert.match(
    text(waits),
    /shop\/db allows no eviction now \(2 healthy, needs 2\), 3 pods to evict: the drain waits until the budget allows one/,
  );
  const unknown = makeBudget({ ...budget, status: undefined, syncError: 'found no controllers' });
  assert.match(
    text(impact(three, room, true, [unknown])),
    /shop\/db has no current status \(found no controllers\), 3 pods to evict: the drain waits/,
  );
  assert.deepEqual(impact(three, room, true, [budget]).budgets, [], 'it allows one after the other');
});

test('names the budgets of a pod that has several, because the Eviction API does not evict it', () => {
  const second = makeBudget({ ...budget, name: 'a-second', selector: { matchLabels: three[0]?.pod.labels ?? {} } });
  const found = impact(three, [node('b', '8')], true, [budget, second]);
  assert.deepEqual(found.budgets, [{ kind: 'several', budget: 'shop/a-second', pods: 1, others: ['shop/db'] }]);
  assert.deepEqual(found.evicted[0]?.blockedByBudget, 1);
  assert.match(
    text(found),
    /shop\/a-second and shop\/db both cover 1 pod: the Eviction API evicts no pod with several/,
  );
  const undercut = impact(three, [node('b', '8')], false, [budget, second]).budgets;
  assert.deepEqual(
    undercut.map(({ kind, budget: name }) => [kind, name]),
    [['undercut', 'shop/db']],
  );
});

test('names nodes that do not get the taint because more pods may return than a budget allows to evict at once', () => {
  const tolerations = [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }];
  const returning = [0, 1, 2].map(at => pod(at, { tolerations }));
  const found = impact(returning, [], true);
  assert.deepEqual(found.budgets, [{ kind: 'returning', budget: 'shop/db', pods: 3, nodes: ['a'], allowed: 1 }]);
  assert.match(
    text(found),
    /shop\/db allows at most 1 eviction at once, but 3 pods may return to node a because they tolerate the NoSchedule taint: then the node does not get the NoExecute taint/,
  );
  const status = { disruptionsAllowed: 3, currentHealthy: 3, desiredHealthy: 0, expectedPods: 3 };
  const none = makeBudget({ ...budget, status });
  assert.deepEqual(impact(returning, [], true, [none]).budgets, [], 'no pod has to be healthy');
  assert.deepEqual(impact(returning.slice(0, 1), [], true).budgets, []);
});

test('a drain waits forever if no controller recreates the pods that a budget needs', () => {
  const bare = three.map(({ owner: _, ...each }) => each as RunningPod);
  const found = impact(bare, [node('b', '8')], true);
  assert.deepEqual(found.budgets, [
    { kind: 'stuck', budget: 'shop/db', pods: 3, pending: 3, needs: 2, notRecreated: 3, allowed: 1 },
  ]);
  assert.match(
    text(found),
    /find no place \(3 of them: no controller recreates them\): after 1 eviction, the drain waits/,
  );
  assert.deepEqual(impact(bare.slice(0, 1), [node('b', '8')], true).budgets, []);
});

test('an exceeded ResourceQuota of the namespace of evicted pods is named', () => {
  const quotas = ['shop', 'x'].map(namespace => {
    return { namespace, text: `ResourceQuota ${namespace}/q`, pods: 1, isOfClaims: false };
  });
  quotas.push({ namespace: 'shop', text: 'ResourceQuota shop/claims', pods: 1, isOfClaims: true });
  assert.deepEqual(impact([pod(0)], [node('b', '8')], false, [], quotas).notJudged, [
    {
      what: 'ResourceQuota shop/q, which may keep pods from being created again',
      pods: [{ namespace: 'shop', owner: { kind: 'StatefulSet', name: 'db' }, pods: ['db-0'] }],
    },
  ]);
});

test('a budget with AlwaysAllow does not hold unhealthy pods', () => {
  const allows = (currentHealthy: number) => {
    const status = { disruptionsAllowed: 0, currentHealthy, desiredHealthy: 2, expectedPods: 3 };
    return impact(three, [], true, [{ ...budget, alwaysAllowsUnhealthy: true, status }]);
  };
  const none = allows(0);
  assert.deepEqual([none.budgets, none.evicted[0]?.blockedByBudget], [[], 0]);
  const some = allows(1);
  assert.deepEqual(
    some.budgets.map(each => each.kind === 'stuck' && each.certain),
    [false],
  );
  assert.match(text(some), /3 may not be evicted: a PodDisruptionBudget may block the drain/);
});

test('a drain may end if topology spread counts pods that are not evicted yet', () => {
  const labelSelector = { matchLabels: { app: 'db' } };
  const spread = { maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule', labelSelector };
  const rack = (each: Node, value: string): Node => ({ ...each, labels: { rack: value } });
  const drained = (isDrained: boolean) => {
    const pods = three.map((_, at) => pod(at, { topologySpreadConstraints: [spread] }));
    return impact(pods, [rack(node('b', '8'), 'b'), rack(node('c', '1'), 'a')], isDrained);
  };
  const found = drained(true);
  assert.deepEqual(
    found.budgets.map(each => each.kind === 'stuck' && each.certain),
    [false],
  );
  assert.match(text(found), /1 may stay Pending: .*topology spread/);
  assert.match(text(found), /1 may not be evicted: a PodDisruptionBudget may block the drain/);
  assert.match(text(drained(false)), /1 would stay Pending: /);
});
