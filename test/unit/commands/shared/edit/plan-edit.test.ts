/** What an edit of a pool warns of and asks about. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proposeEdit } from '../../../../../src/commands/shared/edit/plan-edit.ts';
import type { ClusterPort } from '../../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import { stepsText } from '../../../../../src/nodepool/rollout/rollout.ts';
import type { Node, NodePool, RuntimeClass } from '../../../../../src/nodepool/types.ts';
import { noExecuteOf } from '../../../../../src/reconciler/plan/node-plan.ts';
import { aNode, aPool, aRuntimeClass, recordOf } from '../../../nodepool/fixtures.ts';

const runtimeClass = aRuntimeClass('web', 'uid-web');
const web = (spec: NodePool['spec']) => aPool(spec, { name: 'web', uid: 'uid-web' });

/** As the server returns it: with the fields that somebody set. */
function managed(pool: NodePool): NodePool {
  const owned = { 'f:spec': { 'f:handler': {}, 'f:nodeSelector': {} } };
  return { ...pool, metadata: { ...pool.metadata, managedFields: [{ fieldsV1: owned }] } as NodePool['metadata'] };
}

async function propose(
  before: NodePool,
  after: NodePool,
  { nodes = [] as Node[], others = [] as NodePool[], classes = [runtimeClass] as RuntimeClass[] | Error } = {},
  reconciles = true,
  looksAhead = false,
) {
  const read: string[] = [];
  const reading =
    <T>(what: string, answer: T | Error) =>
    async () => {
      read.push(what);
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const proposal = await proposeEdit(before, after, {
    cluster: {
      pools: { listCoerced: reading('pools', [before, ...others]) },
      nodes: { list: reading('nodes', nodes), serverTime: () => new Date() },
      runtimeClasses: { list: reading('classes', classes) },
    } as unknown as ClusterPort,
    dryRun: 'none',
    approve: async () => 'yes' as never,
    warn: () => {},
    workloads: async () => ({
      pods: reading('pods', []),
      templates: async kind =>
        kind === 'Deployment' ? [{ kind, namespace: 'ml', name: 'train', runtimeClass: 'node-pool-web' }] : [],
    }),
    reconciles,
    looksAhead,
  });
  return { ...proposal, read };
}

const selected = (name: string, labels: Record<string, string> = {}) =>
  aNode({ name, labels: { app: 'web', ...labels }, record: recordOf({ pool: 'web' }) });

test('names nodes that leave with a new nodeSelector, and their next pools', async () => {
  const all = aPool({ nodeSelector: { all: 'yes' } }, { name: 'all', uid: 'uid-all' });
  const nodes = [
    selected('b', { all: 'yes' }),
    selected('a', { all: 'yes' }),
    selected('c'),
    selected('d', { zone: 'z' }),
  ];
  const [before, after] = [web({ nodeSelector: { app: 'web' } }), web({ nodeSelector: { zone: 'z' } })];
  const { action, warnings, question } = await propose(before, after, { nodes, others: [all] });
  assert.deepEqual([action, warnings], ['Save pool web and reconcile it', []]);
  assert.deepEqual(question, {
    losses: ['3 of 4 nodes leave pool web with the new selector: a, b, c; pool all takes 2, no pool takes 1'],
    covers: ['node a leaves', 'node b leaves', 'node c leaves'],
    needsYes: [],
  });
  // One that is no member any more leaves all the same, and needs no question.
  const gone = aNode({ name: 'e', record: recordOf({ pool: 'web' }) });
  const late = await propose(before, after, { nodes: [gone] });
  assert.deepEqual([late.question, late.released], [undefined, new Set(['e'])]);
  const alone = await propose(before, after, { nodes: [selected('c')] }, false);
  assert.deepEqual(alone.warnings, [
    'no node matches pool web (zone=z); next: label nodes, or change the selector with `kubectl nodepool edit web`',
  ]);
  assert.equal(alone.action, 'Save pool web');
  assert.deepEqual(alone.question, {
    losses: ['1 of 1 node leave pool web with the new selector: c; no pool takes them'],
    covers: ['node c leaves'],
    needsYes: [],
  });
});

test('names the nodes of a selector with expressions if it matches the control plane', async () => {
  const after = web({ matchExpressions: [{ key: 'spot', operator: 'DoesNotExist' }] });
  const cp = aNode({ name: 'cp', labels: { 'node-role.kubernetes.io/control-plane': '' } });
  const nodes = [selected('a'), cp, aNode({ name: 's', labels: { spot: '' } })];
  const { warnings, question } = await propose(web({ nodeSelector: { app: 'web' } }), after, { nodes });
  assert.deepEqual(warnings, [
    "pool web selects 2 nodes, 1 of them in the control plane: cp; its selector requires no label, so new nodes join automatically; next: exclude the control plane with `kubectl nodepool edit web --node-selector '!node-role.kubernetes.io/control-plane'`, or see them with `kubectl get nodes -l '!spot'`",
  ]);
  const opens = 'pool web would require no label: new nodes join automatically';
  assert.deepEqual(question, { losses: [opens], covers: [opens], needsYes: [] });
});

test('asks when a new selector requires no label, unless it only narrows such a selector', async () => {
  const lacks = (...keys: string[]) => web({ matchExpressions: keys.map(key => ({ key, operator: 'DoesNotExist' })) });
  const asked = async (before: NodePool, after: NodePool) => (await propose(before, after)).question?.losses?.[0];
  const opens = 'pool web would require no label: new nodes join automatically';
  assert.equal(await asked(web({}), lacks('a')), opens);
  assert.equal(await asked(lacks('a'), lacks('b')), opens);
  assert.equal(await asked(lacks('a', 'b'), lacks('a')), opens);
  assert.equal(await asked(lacks('a'), lacks('a', 'b')), undefined);
  assert.equal(await asked(lacks('a'), { ...lacks('a'), spec: { ...lacks('a').spec, labels: { c: '' } } }), undefined);
  assert.equal(await asked(lacks('a'), web({ nodeSelector: { b: '' } })), undefined);
});

test('does not ask when no node leaves, and reads nothing for other fields', async () => {
  const before = web({ nodeSelector: { app: 'web' }, handler: 'h' });
  const same = await propose(before, web({ nodeSelector: { zone: 'z' }, handler: 'h' }), {
    nodes: [selected('a', { zone: 'z' })],
  });
  assert.deepEqual([same.warnings, same.question], [[], undefined]);
  const label = await propose(before, web({ nodeSelector: { app: 'web' }, handler: 'g', labels: { a: 'b' } }));
  assert.deepEqual([label.warnings, label.question, label.read, label.released], [[], undefined, [], undefined]);
});

test('looks ahead at all nodes that change, and at the steps of the rollout', async () => {
  const spec = { nodeSelector: { app: 'web' } };
  const record = recordOf({ pool: 'web' });
  const nodes = ['a', 'b', 'c', 'd'].map(name => aNode({ name, labels: { app: 'web' }, record }));
  const after = web({ ...spec, labels: { zz: '1' }, rollout: { canary: 1, maxConcurrent: 2 } });
  const { asksImpactOf, action } = await propose(web(spec), after, { nodes }, false, true);
  assert.equal(action, 'Save pool web, to change 4 nodes (a, b, c and 1 more)');
  assert.deepEqual(asksImpactOf?.rollouts.map(stepsText), [
    '1 node now (canary of 1); then 3 nodes in 2 steps of at most 2',
  ]);
});

test('names the workloads of a RuntimeClass that is deleted with the handler', async () => {
  const [before, after] = [web({ handler: 'h' }), web({ handler: '' })];
  const { question, read } = await propose(before, after);
  assert.match(
    question?.losses?.[0] ?? '',
    /^RuntimeClass node-pool-web would be deleted, but 1 workload names it: Deployment ml\/train/,
  );
  assert.deepEqual(question?.covers, ['Deployment ml/train']);
  assert.deepEqual(read, ['classes', 'pods']);
  assert.equal((await propose(before, after, {}, false)).action, 'Save pool web');

  const none = await propose(before, after, { classes: [] });
  assert.deepEqual([none.warnings, none.question, none.read], [[], undefined, ['classes']]);
  const refused = await propose(before, after, { classes: new NodepoolError('cluster', 'no classes') });
  const theirs = 'the RuntimeClass of pool web';
  assert.deepEqual(refused.question, {
    losses: [`${theirs} would be deleted, and the workloads that use it are unknown: no classes`],
    covers: [theirs],
    needsYes: [],
  });
});

test('treats a missing field as removed by the edit, not as dropped by the CRD', async () => {
  const [before, after] = [{ handler: 'h', nodeSelector: { app: 'web' } }, { nodeSelector: { app: 'web' } }];
  const handler = await propose(managed(web(before)), managed(web(after)));
  assert.deepEqual(handler.read, ['classes', 'pods']);
  const nodes = [selected('a')];
  const selector = await propose(managed(web(before)), managed(web({ handler: 'h' })), { nodes });
  assert.deepEqual(selector.question?.losses, [
    '1 of 1 node leave pool web with the new selector: a; no pool takes them',
  ]);
});

test('asks about pods of a draining node when noExecute becomes Immediate', async () => {
  const taints = [{ key: 'dedicated', value: 'x', effect: 'NoExecute' as const }];
  const selector = { nodeSelector: { app: 'web' } };
  const drains = web({ ...selector, taints, noExecute: 'Drain' });
  const record = recordOf({
    pool: 'web',
    taints: { 'dedicated:NoSchedule': 'x' },
    draining: { 'dedicated:NoExecute': 'x' },
  });
  const node = aNode({
    labels: { app: 'web' },
    taints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }],
    record,
  });
  const arriving = async (after: NodePool) => {
    const { plan } = await propose(drains, after, { nodes: [node] });
    assert.ok(!(plan instanceof NodepoolError));
    return [...noExecuteOf(plan.nodes)];
  };
  assert.deepEqual(await arriving(web({ ...selector, taints })), ['n1 dedicated=x:NoExecute']);
  assert.deepEqual(await arriving(web({ ...selector, taints, noExecute: 'Drain', labels: { a: 'b' } })), []);
});

test('plans NoExecute taints when a pool is resumed, and reads nothing for a pause', async () => {
  const taints = [{ key: 'x', effect: 'NoExecute' as const }];
  const spec = { nodeSelector: { app: 'web' }, taints };
  const nodes = [selected('a')];
  const { plan, read } = await propose(web({ ...spec, paused: true }), web(spec), { nodes });
  assert.ok(!(plan instanceof NodepoolError));
  assert.deepEqual([[...noExecuteOf(plan.nodes)], read], [['a x:NoExecute'], ['pools', 'nodes']]);
  assert.deepEqual((await propose(web(spec), web({ ...spec, paused: true }), { nodes })).read, []);
  const soft = { nodeSelector: { app: 'web' }, taints: [{ key: 'x', effect: 'NoSchedule' as const }] };
  assert.deepEqual((await propose(web({ ...soft, paused: true }), web(soft), { nodes })).read, []);
});
