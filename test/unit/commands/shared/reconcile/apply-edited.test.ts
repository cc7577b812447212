/** The spec of a pool is edited after a one-shot run has read it, before the run writes its first node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../../../../src/kube/cluster.ts';
import { FINALIZER, type NodePool, type RuntimeClass } from '../../../../../src/nodepool/types.ts';
import type { Overrides } from '../../../../override.ts';
import { aPool } from '../../../nodepool/fixtures.ts';
import { applied } from './run-apply.ts';

const CHANGED = /^the spec of pool w changed during the reconcile/;

function version(
  spec: Partial<NodePool['spec']>,
  resourceVersion: string,
  metadata: Partial<NodePool['metadata']> = {},
) {
  const generation = Number(resourceVersion);
  return aPool(spec, { name: 'w', uid: 'uid-w', generation, resourceVersion, ...metadata });
}

const CLASS: RuntimeClass = {
  metadata: {
    name: 'node-pool-w',
    uid: 'uid-class',
    resourceVersion: '1',
    ownerReferences: [
      { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', name: 'w', uid: 'uid-w', controller: true },
    ],
  },
  handler: 'runc',
};

/** Reconciles w, which gets to `after` between the list and the first write. */
async function edited(before: NodePool, after: NodePool, classes: RuntimeClass[] = []) {
  const others: string[] = [];
  let isEdited = false;
  const port = ({ pools }: ClusterPort): Overrides => ({
    pools: {
      getCoerced: async name => {
        const read = (await pools.getCoerced(name)) ?? assert.fail();
        return read.metadata.resourceVersion === before.metadata.resourceVersion ? after : read;
      },
      async setFinalizers(of, ...rest) {
        if (isEdited) return pools.setFinalizers(of, ...rest);
        isEdited = true;
        return { kind: 'conflict' };
      },
    },
    runtimeClasses: {
      async create(runtimeClass) {
        others.push('create RuntimeClass');
        return { kind: 'created', runtimeClass: { ...runtimeClass, metadata: { ...runtimeClass.metadata, uid: 'u' } } };
      },
      async delete() {
        others.push('delete RuntimeClass');
        return 'deleted';
      },
    },
    revisions: {
      heads: async () => [],
      async create(revision) {
        others.push('create ControllerRevision');
        return { kind: 'created', revision };
      },
    },
  });
  const { chosen, writes } = await applied([before], [], { pools: ['w'] }, { port, classes });
  const [result] = chosen;
  const statuses = writes.filter(each => each.startsWith('status'));
  return { error: result?.error?.message, result, others, statuses };
}

test('writes nothing of the new spec when a pool is edited before it gets its finalizer', async () => {
  for (const [before, after] of [
    [{ labels: { tier: 'gold' } }, { labels: { tier: 'gold' }, handler: 'runc' }],
    [{ handler: 'runc' }, { labels: { tier: 'gold' }, handler: 'runc', rollout: {} }],
    [{ paused: true }, { handler: 'runc' }],
    [{}, { paused: true, handler: 'runc' }],
  ] as const) {
    const { error, others, statuses } = await edited(version(before, '1'), version(after, '2'));
    assert.match(error ?? '', CHANGED);
    assert.deepEqual([others, statuses], [[], []]);
  }
});

test('keeps the RuntimeClass when the edit removed the handler', async () => {
  const { error, others } = await edited(version({ handler: 'runc' }, '1'), version({}, '2'), [CLASS]);
  assert.match(error ?? '', CHANGED);
  assert.deepEqual(others, []);
});

test('keeps the RuntimeClass, and writes no spec, when a handler was removed and added again', async () => {
  const metadata = { finalizers: [FINALIZER] };
  const before = version({}, '1', metadata);
  const after = version({ handler: 'runc', rollout: {} }, '2', metadata);
  const { error, others, statuses } = await edited(before, after, [CLASS]);
  assert.match(error ?? '', CHANGED);
  assert.deepEqual([others, statuses], [[], []]);
});

test('reconciles a pool that was only paused or got another label on itself', async () => {
  for (const [spec, metadata] of [
    [{ paused: true }, {}],
    [{}, { labels: { team: 'ml' } }],
  ] as const) {
    const { error, result, statuses } = await edited(version({}, '1'), version(spec, '2', metadata));
    assert.deepEqual([error, result?.outcome?.failures, statuses], [undefined, [], ['status w 200 0']]);
  }
});
