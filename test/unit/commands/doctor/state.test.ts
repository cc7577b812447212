import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPools } from '../../../../src/commands/doctor/pools.ts';
import { type DoctorState, readState, stateFindings, stateOf } from '../../../../src/commands/doctor/state.ts';
import type { CheckId } from '../../../../src/commands/shared/check.ts';
import type { Connection } from '../../../../src/kube/connect.ts';
import type { DoctorPort, ExaminedNode } from '../../../../src/kube/resources/doctor.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { dueOf } from '../../../../src/nodepool/plan/plan.ts';
import {
  type NodePool,
  type NodePoolStatus,
  type RuntimeClass,
  TAKEOVER_ANNOTATION,
} from '../../../../src/nodepool/types.ts';
import { nodePlan } from '../../../../src/reconciler/plan/node-plan.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';

const NOW = new Date('2026-01-01T00:15:01Z');
const findingsOf = (state: DoctorState, policiesOff?: readonly string[]) =>
  stateFindings(state, { policiesOff, now: NOW });
const CLUSTER = { rules: {}, nodes: { serverTime: () => NOW } };
const GOOD: NodePoolStatus = { status: 200, nodeCount: 1, observedGeneration: 1 };

function node(name: string, more: Partial<ExaminedNode> = {}): ExaminedNode {
  return {
    ...aNode({ name, uid: name, labels: { 'node-role.kubernetes.io/worker': '' } }),
    handlers: undefined,
    ...more,
  };
}

const stateWith = (pools: NodePool[], nodes: ExaminedNode[] = [], runtimeClasses: RuntimeClass[] = []) =>
  stateOf(CLUSTER, { value: pools }, { value: nodes }, { value: runtimeClasses });

function find(id: CheckId, pools: NodePool[], nodes: ExaminedNode[] = [], runtimeClasses: RuntimeClass[] = []) {
  const { status, details } = findingsOf(stateWith(pools, nodes, runtimeClasses))[id] ?? {};
  return [status, ...(details ?? [])];
}

const worker = (more: Partial<NodePool['metadata']> = {}) => aPool({}, { status: GOOD, ...more });

test('reports a healthy state, with and without pools', () => {
  for (const [pools, nodes] of [
    [[], []],
    [[worker()], [node('a', { record: recordOf({ pool: 'worker' }) })]],
  ] as [NodePool[], ExaminedNode[]][]) {
    const findings = findingsOf(stateWith(pools, nodes));
    assert.deepEqual(
      Object.entries(findings).map(([id, { status }]) => `${id} ${status}`),
      [
        'pools ok',
        'rollouts ok',
        'specs ok',
        'membership ok',
        'runtime-classes ok',
        'overlaps ok',
        'orphans ok',
        'members ok',
        'maintenance ok',
        'due ok',
        'handlers ok',
        'quantities ok',
        'startup-taints ok',
      ],
    );
  }
});

test('names the only member that is not Ready in the command', () => {
  const remedy = (names: string[]) => {
    const nodes = names.map(name => node(name, { ready: false }));
    return findingsOf(stateWith([worker()], nodes)).members?.remedy;
  };
  assert.equal(remedy(['a']), 'see why: `kubectl describe node a`');
  assert.equal(remedy(['a', 'b']), 'see why: `kubectl describe node NODE`');
});

test('groups overlaps by pool and owner, with the first ten nodes', () => {
  const rival = aPool({ nodeSelector: { 'node-role.kubernetes.io/worker': '' } }, { name: 'rival', uid: 'r' });
  const nodes = Array.from({ length: 12 }, (_, at) => node(`n${String(at).padStart(2, '0')}`));
  assert.deepEqual(find('overlaps', [worker(), rival], nodes), [
    'error',
    'worker also matches 12 nodes of rival: n00, n01, n02, n03, n04, n05, n06, n07, n08, n09 and 2 more',
  ]);
});

test('names members that are NotReady, and pools without matching nodes', () => {
  const typo = aPool({ nodeSelector: { tier: 'wbe' } }, { name: 'web', uid: 'w' });
  const [a, b] = [node('a'), node('b', { ready: false })];
  const web = { ...a, labels: { ...a.labels, tier: 'web' } };
  assert.deepEqual(find('members', [worker(), typo], [web]), [
    'ok',
    'no node matches pool web (tier=wbe): 1 node has tier=web',
  ]);
  // A pool that is scaled to zero resembles only nodes of other pools.
  assert.deepEqual(find('members', [typo], [a, { ...web, labels: { tier: 'web' } }]), [
    'warning',
    'no node matches pool web (tier=wbe): 1 node has tier=web',
  ]);
  assert.deepEqual(find('members', [typo], [a, { ...web, labels: { tier: 'database' } }])[0], 'ok');
  assert.deepEqual(find('members', [worker()], [a, b]), ['warning', 'worker: 1 of 2 members: b']);
  // Its nodes belong to another pool: see overlaps.
  const rival = aPool({}, { name: 'rival', uid: 'r', creationTimestamp: '2030-01-01T00:00:00Z' });
  const same = { ...rival, spec: { nodeSelector: { 'node-role.kubernetes.io/worker': '' } } };
  assert.deepEqual(find('members', [worker(), same], [a]), ['ok']);
  assert.deepEqual(
    find('members', [{ ...typo, metadata: { ...typo.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } }]),
    ['ok'],
  );
});

test('reports records of deleted pools, and unreadable ones', () => {
  const nodes = [
    node('a', { labels: {}, record: recordOf({ pool: 'gone', labels: { a: 'b' } }) }),
    node('b', { labels: {}, record: 'not json' }),
    node('c', { record: recordOf({ pool: 'worker' }) }),
    node('d', { record: 'not json' }),
  ];
  assert.deepEqual(find('orphans', [worker()], nodes), [
    'warning',
    'labels and taints of the deleted pool gone are still on 1 node: a',
    'the record on 1 node cannot be read: b',
  ]);
  const remedy = (of: ExaminedNode[]) => findingsOf(stateWith([worker()], of)).orphans?.remedy ?? '';
  assert.match(remedy(nodes), /nodepool reconcile.*; .*kubectl annotate node NODE nodes\.lailin\.xyz\/applied-/);
  assert.match(
    remedy(nodes),
    /^to keep the labels and taints, create the pools again from their files; to remove them, run /,
  );
  assert.doesNotMatch(remedy(nodes.slice(0, 1)), /annotate/);
  assert.doesNotMatch(remedy(nodes.slice(1)), /reconcile/);
});

test('reports members that differ from their pool, unless the pool itself is not reconciled', () => {
  const pool = (more: Partial<NodePool['metadata']> & { status?: NodePoolStatus }) =>
    aPool({ labels: { tier: 'gold' } }, more);
  const nodes = [node('b'), node('a'), node('c', { labels: {} })];
  assert.deepEqual(find('due', [pool({ status: GOOD })], nodes), ['warning', 'worker: 2 nodes: a, b']);
  assert.deepEqual(find('due', [pool({})], nodes), ['ok']);
  const changed = pool({ status: GOOD, generation: 2 });
  const newer = 'worker: 2 nodes with an older spec: a, b';
  assert.deepEqual(find('due', [changed], nodes), ['warning', newer]);
  const progressing = { type: 'Progressing', status: 'True', reason: 'RolloutInProgress', message: '' } as const;
  const goingOn = pool({ status: { ...GOOD, conditions: [{ ...progressing, lastTransitionTime: '' }] } });
  assert.deepEqual(find('due', [goingOn], nodes), ['warning', 'worker: 2 nodes, rollout in progress: a, b']);
  const { message } = findingsOf(stateWith([pool({})], nodes)).due ?? {};
  assert.equal(message, 'every node of an up-to-date pool has the labels and taints of the pool');
  const unread = (updatedNodeCount: number) => {
    const pools = { value: [pool({ status: { ...GOOD, nodeCount: 3, updatedNodeCount } })] };
    const { status, details } =
      findingsOf(stateOf(CLUSTER, pools, { refusal: new NodepoolError('cluster', 'no') }, { value: [] })).due ?? {};
    return [status, ...(details ?? [])];
  };
  assert.deepEqual([unread(1), unread(3)], [['warning', 'worker: 2 nodes'], ['skipped']]);
});

test('reports missing runtime handlers, except on nodes that do not report handlers', () => {
  const pool = aPool({ handler: 'gvisor' }, { status: GOOD });
  const nodes = [
    node('a', { handlers: ['', 'runc'] }),
    node('b', { handlers: ['', 'gvisor'] }),
    node('c'),
    node('d', { labels: {}, handlers: [] }),
  ];
  assert.deepEqual(find('handlers', [pool], nodes), ['error', 'worker: 1 member of 3 without gvisor: a']);
  assert.deepEqual(find('handlers', [pool], nodes.slice(1)), ['ok']);
  const said = (...nodes: ExaminedNode[]) => findingsOf(stateWith([pool], nodes)).handlers?.message.split('; ')[1];
  assert.equal(said(node('c')), '1 member does not report runtime handlers');
  assert.equal(said(node('c'), node('e')), '2 members do not report runtime handlers');
});

test('reports startup taints older than 15 minutes, whoever set them', () => {
  const agent = { key: 'agent', effect: 'NoSchedule' as const };
  const startup = (until?: { nodeCondition: string }) =>
    aPool({ startupTaints: [{ ...agent, ...(until === undefined ? {} : { until }) }] }, { status: GOOD });
  const waiting = startup({ nodeCondition: 'AgentReady' });
  const record = recordOf({ pool: 'worker', startup: { 'agent:NoSchedule': '' } });
  const held: Partial<ExaminedNode> = { record, taints: [agent] };
  const check = (pool: NodePool, ...nodes: ExaminedNode[]) => find('startup-taints', [pool], nodes);
  assert.deepEqual(check(waiting, node('a', held), node('b', { taints: [agent] }), node('c', { record })), [
    'warning',
    'worker: startup taint agent:NoSchedule (until AgentReady) is still on 2 nodes: a, b',
  ]);
  assert.deepEqual(check(startup(), node('a', held)), [
    'warning',
    'worker: startup taint agent:NoSchedule is still on 1 node: a',
  ]);
  const now = NOW.getTime() / 1000;
  assert.deepEqual(check(waiting, node('a', { ...held, readySince: now - 899 })), ['ok'], 'it turned Ready just now');
  assert.deepEqual(check(waiting, node('a', { ...held, readySince: now - 900 }))[0], 'warning');
  assert.deepEqual(check(waiting, node('a', { record })), ['ok'], 'lifted');
  const other = { ...agent, value: 'x' };
  assert.deepEqual(check(waiting, node('a', { taints: [other] })), [
    'warning',
    'worker: startup taint agent=x:NoSchedule (the pool has agent:NoSchedule, until AgentReady) is still on 1 node: a',
  ]);
  assert.deepEqual(find('startup-taints', [worker()], [node('a', held)]), ['ok']);
});

test('reports invalid quantities of members', () => {
  const bad = { allocatable: { cpu: 'four' } };
  const [status, detail] = find('quantities', [worker()], [node('a', bad), node('b', { labels: {}, ...bad })]);
  assert.equal(status, 'error');
  assert.match(detail ?? '', /^worker: node a: .*cpu.*four/);
});

test('reports pools with a status other than 200, and pools that were never reconciled', () => {
  const condition = { status: 'True' as const, reason: 'NodeConflict', lastTransitionTime: '' };
  const conditions = [
    { ...condition, type: 'Ready' as const, status: 'False' as const, message: 'see condition Conflict' },
    { ...condition, type: 'Conflict' as const, message: 'node a belongs to b' },
  ];
  const nodeSelector = { 'node-role.kubernetes.io/worker': '' };
  const pools = [
    aPool({ nodeSelector }, { name: 'lost', status: { ...GOOD, nodeCount: 0, status: 409, conditions } }),
    aPool({}, { name: 'new' }),
    aPool({}, { name: 'odd', status: {} as NodePoolStatus }),
    aPool({}, { name: 'old', generation: 2, status: GOOD }),
    aPool({}, { name: 'inherited', status: { status: 200, nodeCount: 0 } }),
    aPool(
      {},
      { name: 'cut', annotations: { [TAKEOVER_ANNOTATION]: 'finished' }, status: { status: 200, nodeCount: 0 } },
    ),
    aPool({}, { name: 'dying', deletionTimestamp: '2026-01-01T00:00:00Z', status: GOOD }),
    worker(),
  ];
  const nodes = [node('a', { record: recordOf({ pool: 'worker' }) })];
  assert.deepEqual(find('pools', pools, nodes), [
    'error',
    'lost: Conflict: node a belongs to b',
    'new: never reconciled',
    'odd: never reconciled',
    'old: the spec changed after the last reconcile',
    'inherited: not reconciled by this program yet',
    'cut: the CRD nodepools.nodes.lailin.xyz is from another version and drops fields of the status: run `kubectl nodepool install`, then `kubectl nodepool reconcile`',
    'dying: being deleted since 2026-01-01T00:00:00Z',
  ]);
  assert.equal(find('pools', pools.slice(1), nodes)[0], 'warning');
});

test('reports problems of the current nodes, as STATUS of `get`, not those that the status had', () => {
  const condition = { reason: 'NodeConflict', lastTransitionTime: '', message: 'old' };
  const conflict = { ...condition, type: 'Conflict' as const, status: 'True' as const };
  const failed = { ...condition, type: 'Applied' as const, status: 'False' as const, reason: 'WriteFailed' };
  const check = (status: Partial<NodePoolStatus>, more: Partial<ExaminedNode> = {}, metadata = {}) =>
    find(
      'pools',
      [worker({ ...metadata, status: { ...GOOD, ...status } } as object)],
      [node('a', { record: recordOf({ pool: 'worker' }), ...more })],
    );
  assert.deepEqual(check({ status: 503, readyNodeCount: 0 }), [
    'warning',
    'worker: status is out of date (1 node, 0 Ready; now 1 node, 1 Ready)',
  ]);
  assert.deepEqual(check({ status: 409, conditions: [conflict] }), [
    'warning',
    'worker: status is out of date (node conflict; now none)',
  ]);
  const corrected = ['warning', 'worker: the spec changed after the last reconcile'];
  assert.deepEqual(check({ status: 422, conditions: [failed] }, {}, { generation: 2 }), corrected);
  assert.deepEqual(check({}, { ready: false }), ['error', 'worker: NotReady']);
  assert.deepEqual(check({ status: 500, conditions: [failed] }), ['error', 'worker: Failing: old']);
});

test('reports what blocks the deletion of a pool, and what others keep changing', () => {
  const condition = { reason: 'WriteFailed', lastTransitionTime: '', observedGeneration: 2 };
  const applied = { ...condition, type: 'Applied', status: 'False', message: 'cannot release the pool: x' } as const;
  const contested = { ...condition, type: 'Contested', status: 'True', message: 'label tier on 1 node' } as const;
  const deleting = { generation: 2, deletionTimestamp: '2026-01-01T00:00:00Z' };
  const stuck = aPool({}, { name: 'stuck', ...deleting, status: { ...GOOD, status: 500, conditions: [applied] } });
  const held = aPool({}, { name: 'held', ...deleting, finalizers: ['example.com/a'], status: GOOD });
  const fought = worker({ status: { ...GOOD, conditions: [contested] } } as Partial<NodePool['metadata']>);
  const nodes = [node('a', { record: recordOf({ pool: 'worker' }) })];
  assert.deepEqual(find('pools', [stuck, held, fought], nodes), [
    'error',
    'stuck: Failing, being deleted since 2026-01-01T00:00:00Z: cannot release the pool: x',
    'held: being deleted since 2026-01-01T00:00:00Z: the finalizer example.com/a keeps it',
    'worker: label tier on 1 node',
  ]);
  assert.match(checkPools([held]).remedy ?? '', /^the software that set the finalizers has to remove them/);
  assert.match(checkPools([held, { ...held, metadata: { ...held.metadata, finalizers: [] } }]).remedy ?? '', /^run /);
  assert.deepEqual(find('pools', [fought], nodes), ['warning', 'worker: label tier on 1 node']);
  const withheld = { ...contested, type: 'TaintsNotRestored', message: 'not set again: taint a' } as const;
  const kept = worker({ status: { ...GOOD, conditions: [withheld] } } as Partial<NodePool['metadata']>);
  assert.deepEqual(find('pools', [kept], nodes), ['warning', 'worker: not set again: taint a']);
});

test('reports outdated counts and records', () => {
  const status = { ...GOOD, nodeCount: 3, readyNodeCount: 3 };
  const recorded = { record: recordOf({ pool: 'worker' }) };
  const nodes = [node('a', recorded), node('b', { ...recorded, ready: false }), node('c', { record: 'garbage' })];
  assert.deepEqual(find('pools', [worker({ status } as object)], nodes), [
    'warning',
    "worker: record is missing or not valid on 1 node that already has the pool's values: c",
    'worker: status is out of date (3 nodes, 3 Ready; now 3 nodes, 2 Ready)',
  ]);
  assert.deepEqual(find('pools', [worker({ status } as object)], nodes.slice(0, 1)), [
    'warning',
    'worker: status is out of date (3 nodes, 3 Ready; now 1 node, 1 Ready)',
  ]);
});

test('reads an outdated status again when a controller runs', async () => {
  const nodes = [node('a', { record: recordOf({ pool: 'worker' }) })];
  const read = async (counts: number[], runs = true) => {
    const status = () => ({ ...GOOD, nodeCount: counts.shift() ?? 0 });
    const cluster = {
      pools: { listCoerced: async () => [worker({ status: status() } as object)] },
      runtimeClasses: { list: async () => [] },
      ...CLUSTER,
    };
    let slept = 0;
    const port = { nodes: { list: async () => nodes } } as unknown as DoctorPort;
    const sleep = async (ms: number) => {
      slept += ms;
    };
    const deps = { controllerRuns: async () => runs, sleep };
    const state = await readState({ cluster } as unknown as Connection, port, deps);
    return [findingsOf(state).pools?.status, slept];
  };
  assert.deepEqual(await read([1]), ['ok', 0]);
  assert.deepEqual(await read([2, 1]), ['ok', 3000]);
  assert.deepEqual(await read([2, 2]), ['warning', 3000]);
  assert.deepEqual(await read([2, 1], false), ['warning', 0]);
});

test('uses the cluster state as read, with its plans', () => {
  const read = stateWith([worker()], []);
  const { cluster } = stateWith([worker()], [node('a', { allocatable: { cpu: 'four' } })]);
  assert.equal(findingsOf({ ...read, cluster }).quantities?.status, 'error');
});

test('plans with the clock of the server, as node timestamps do', () => {
  const pool = aPool({ startupTaints: [{ key: 'agent', effect: 'NoSchedule' }] });
  const unread = { refusal: new NodepoolError('cluster', 'no') };
  const changesAt = (time: string) => {
    const cluster = { rules: {}, nodes: { serverTime: () => new Date(time) } };
    const young = node('a', { creationTimestamp: '2000-01-01T00:00:00Z', readySince: Date.parse(time) / 1000 });
    const read = stateOf(cluster, { value: [pool] }, { value: [young] }, unread);
    return dueOf(nodePlan(read.cluster, 'a'))?.changes.map(({ key }) => key);
  };
  assert.deepEqual(changesAt('2000-01-01T00:01:00Z'), ['agent']);
  assert.deepEqual(changesAt('2000-01-01T01:00:00Z'), []);
});

test('reports invalid specs', () => {
  assert.deepEqual(find('specs', [worker(), aPool({ handler: 'No' })]).slice(0, 1), ['error']);
});

test('reports what cannot be read, and checks everything else', () => {
  const refusal = new NodepoolError('cluster', 'cannot list nodes', 'ask for a role');
  const without = findingsOf(stateOf(CLUSTER, { value: [worker()] }, { refusal }, { refusal }));
  assert.deepEqual(Object.keys(without), [
    'pools',
    'rollouts',
    'specs',
    'membership',
    'runtime-classes',
    'overlaps',
    'due',
  ]);
  assert.deepEqual(without.overlaps, {
    status: 'warning',
    message: 'not checked: cannot list nodes',
    details: [],
    remedy: 'ask for a role',
  });
  assert.deepEqual(Object.keys(findingsOf(stateOf(CLUSTER, { refusal }, { value: [] }, { value: [] }))), ['pools']);
});

test('reports pools that a kubelet could join or leave, unless the policy is enforced', () => {
  const restricted = { 'node-restriction.kubernetes.io/x': '' };
  const pool = (nodeSelector: Record<string, string>, more: NodePool['spec'], metadata = {}) =>
    aPool({ nodeSelector, ...more }, { name: 'p', ...metadata });
  const check = (of: NodePool, off?: string[]) => findingsOf(stateWith([of]), off).membership;
  const atRisk = pool({ a: 'b' }, { labels: restricted });
  assert.equal(check(atRisk)?.status, 'warning');
  assert.equal(check(atRisk, ['protect-membership.nodes.lailin.xyz'])?.status, 'warning');
  assert.deepEqual(check(atRisk, ['protect-membership.nodes.lailin.xyz'])?.details, [
    'p selects by a; kubelets can change this label on their own node and so get node-restriction.kubernetes.io/x',
  ]);
  const closed = check(atRisk, []);
  assert.equal(closed?.status, 'warning', 'nodes cannot register into it');
  assert.match(closed?.message ?? '', /^new nodes cannot register into pools that set labels of node-restriction/);
  assert.deepEqual(closed?.details, [
    "p selects by a and sets node-restriction.kubernetes.io/x: the admission policy refuses new nodes that register with the pool's membership labels",
  ]);
  const tainted = pool({ a: 'b' }, { taints: [{ key: 'a', effect: 'NoSchedule' }] });
  assert.equal(check(tainted, [])?.status, 'ok');
  const cluster = pool({ a: 'b' }, { labels: { 'node-role.kubernetes.io/ingress': '' } });
  const open = check(cluster, []);
  assert.equal(open?.status, 'warning');
  assert.deepEqual(open?.details, [
    'p selects by a; kubelets that register a new node get the label node-role.kubernetes.io/ingress',
  ]);
  assert.match(open?.remedy ?? '', /^select by a label under node-restriction\.kubernetes\.io\//);
  const meant = { annotations: { 'nodes.lailin.xyz/kubelet-membership': 'Allow' } };
  assert.deepEqual(check(pool({ a: 'b' }, { labels: restricted }, meant))?.details, []);
});

test('warns of resources that are left out of sums', () => {
  const omittedResources = { unqualified: 2, example: 'a b', oversized: 1, oversizedExample: 'cpu "1e501"', excess: 3 };
  assert.deepEqual(find('quantities', [worker()], [node('a', { omittedResources })]), [
    'warning',
    'worker: left out: node a: 2 resources without a qualified name, such as "a b"',
    'worker: left out: node a: 1 resource with a quantity of more than 500 digits, such as cpu "1e501"',
    'worker: left out: node a: 3 resources beyond the first 128',
  ]);
});
