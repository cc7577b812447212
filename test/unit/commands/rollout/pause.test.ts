/** `rollout resume` of a rollout that waits for nodes which are NotReady: by the times of the cluster, not by our clock. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setPaused } from '../../../../src/commands/rollout/pause.ts';
import type { RawPool } from '../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { type Condition, type Node, RESUMED_ANNOTATION } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, EMPTY_OBSERVATION, recordOf } from '../../nodepool/fixtures.ts';

const TIME = '2026-05-01T12:00:00Z';
const after = (seconds: number) => new Date(Date.parse(TIME) + seconds * 1000);
const text = (seconds: number) => after(seconds).toISOString().replace('.000Z', 'Z');

function pool(reason: string, resumed?: string): RawPool {
  const progress: Condition = {
    type: 'Progressing',
    status: reason === 'RolloutInProgress' ? 'True' : 'False',
    reason,
    message: reason,
    lastTransitionTime: text(10),
  };
  const { members } = EMPTY_OBSERVATION;
  const status = { status: 200, nodeCount: members.length, conditions: [progress] };
  const annotations = resumed === undefined ? {} : { annotations: { [RESUMED_ANNOTATION]: resumed } };
  return aPool({}, { resourceVersion: '5', ...annotations, status }) as unknown as RawPool;
}

const node = (readySince: number, more: Partial<Node> = {}, pool = 'worker'): Node =>
  aNode({
    ready: false,
    readySince: Date.parse(TIME) / 1000 + readySince,
    record: recordOf({ pool, labels: {}, changed: TIME }),
    ...more,
  });

/** The annotation; undefined where nothing is sent. @param clock of the user, in seconds from TIME */
async function resume(before: RawPool, nodes: Node[] | NodepoolError, clock: number): Promise<string | undefined> {
  const list = async () => {
    if (nodes instanceof NodepoolError) throw nodes;
    return nodes;
  };
  const cluster = { pools: { get: async () => before }, nodes: { get: async () => undefined, list } } as never;
  const written = await setPaused('worker', false, {
    cluster,
    workloads: () => assert.fail('no RuntimeClass is deleted'),
    dryRun: 'client',
    approve: async () => 'clear',
    warn: () => {},
    reconciles: false,
    now: () => after(clock),
  }).catch((error: unknown) => {
    if (error instanceof NodepoolError && /is not paused or stopped$/.test(error.message)) return undefined;
    throw error;
  });
  return written?.metadata.annotations?.[RESUMED_ANNOTATION];
}

test('accepts the nodes that are NotReady now, whatever the local clock', async () => {
  const failed = [node(20), node(15), node(99, {}, 'other'), node(98, { record: recordOf({ pool: 'worker' }) })];
  for (const clock of [-30, 25, 1e6]) assert.equal(await resume(pool('RolloutStopped'), failed, clock), text(20));
  assert.equal(
    await resume(pool('RolloutStopped'), [node(5, { ready: true })], -30),
    text(10),
    'the failed one is gone',
  );
  assert.equal(await resume(pool('RolloutStopped'), [node(5)], -30), text(10));
});

test('resumes a rollout in progress only if it waits for a NotReady node', async () => {
  assert.equal(await resume(pool('RolloutInProgress'), [node(20)], 0), text(20));
  assert.equal(await resume(pool('RolloutInProgress'), [node(20, { ready: true })], 0), undefined);
  assert.equal(await resume(pool('RolloutInProgress', text(20)), [node(20)], 0), undefined, 'it is accepted');
  assert.equal(await resume(pool('RolloutInProgress', text(20)), [node(21)], 0), text(21));
  assert.equal(await resume(pool('RolloutComplete'), [node(20)], 0), undefined);
});

test('resumes a rollout that waits for a NotReady node because Ready ones are being removed', async () => {
  const unchanged = { record: recordOf({ pool: 'worker', labels: {} }) };
  const removed: Partial<Node>[] = [
    { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] },
    { deletionTimestamp: TIME },
  ];
  for (const leaving of removed) {
    const nodes = [node(20, unchanged), node(5, { ...unchanged, ready: true, ...leaving })];
    assert.equal(await resume(pool('RolloutInProgress'), nodes, 0), text(20));
  }
  const staying = [node(20, unchanged), node(5, { ...unchanged, ready: true })];
  assert.equal(await resume(pool('RolloutInProgress'), staying, 0), undefined);
});

test('resumes a stopped rollout even if the user may not list nodes', async () => {
  const refused = new NodepoolError('cluster', 'forbidden');
  assert.equal(await resume(pool('RolloutStopped'), refused, 0), text(10));
  await assert.rejects(resume(pool('RolloutInProgress'), refused, 0), /forbidden/);
});
