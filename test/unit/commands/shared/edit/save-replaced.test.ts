/** Which edits save the spec that they replace, so that `rollout undo` finds it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patchAndSave } from '../../../../../src/commands/shared/edit/guarded-patch.ts';
import { saveReplaced } from '../../../../../src/commands/shared/edit/save-replaced.ts';
import type { ClusterPort, DryRun, RawPool } from '../../../../../src/kube/cluster.ts';
import { ForbiddenError, NodepoolError, type Warning } from '../../../../../src/nodepool/errors.ts';
import type { ControllerRevision } from '../../../../../src/nodepool/rollout/revisions.ts';
import type { NodePoolSpec, NodePoolStatus } from '../../../../../src/nodepool/types.ts';
import { aPool } from '../../../nodepool/fixtures.ts';

/** A pool of generation 4, whose last reconcile saw `observed`. */
function pool(spec: NodePoolSpec, observed?: number): RawPool {
  const status = { status: 200, nodeCount: 0, observedGeneration: observed } as NodePoolStatus;
  return { ...aPool(spec, { name: 'batch', uid: 'u', generation: 4 }), ...(observed === undefined ? {} : { status }) };
}

const NEW: NodePoolSpec = { labels: { tier: 'new' } };

async function saved(before: RawPool, after: NodePoolSpec = NEW, dryRun: DryRun = 'none', refuses = false) {
  const made: ControllerRevision[] = [];
  const warnings: Warning[] = [];
  const create = async (revision: ControllerRevision) => {
    if (refuses) throw new ForbiddenError('the user may not create', ['verb create on controllerrevisions.apps']);
    made.push(revision);
    return { kind: 'exists' };
  };
  const cluster = { revisions: { create } } as unknown as ClusterPort;
  const warn = (each: readonly Warning[]) => void warnings.push(...each);
  await saveReplaced(before, { spec: after }, { cluster, dryRun, warn });
  return { made, warnings };
}

test('saves a spec that no reconcile has seen, numbered by the generation', async () => {
  for (const observed of [undefined, 3]) {
    const { made, warnings } = await saved(pool({ labels: { tier: 'old' } }, observed));
    assert.deepEqual(
      made.map(({ data, revision }) => [data, revision]),
      [[{ spec: { labels: { tier: 'old' } } }, 4]],
    );
    assert.deepEqual(warnings, []);
  }
});

test('sends nothing for a saved spec, a paused pool, a dry run, or a change of other fields', async () => {
  const old = pool({ labels: { tier: 'old' } });
  const results = [
    await saved(pool({ labels: { tier: 'old' } }, 4)),
    await saved(pool({ labels: { tier: 'old' }, paused: true })),
    await saved(old, NEW, 'client'),
    await saved(old, NEW, 'server'),
    await saved(old, { labels: { tier: 'old' }, paused: true, rollout: { canary: 1 } }),
  ];
  assert.deepEqual(
    results.map(({ made }) => made.length),
    [0, 0, 0, 0, 0],
  );
});

test('a refusal is one warning, and the edit goes on', async () => {
  const { warnings } = await saved(pool({ labels: { tier: 'old' } }), NEW, 'none', true);
  assert.deepEqual(warnings, [
    {
      message: '`rollout undo` will not find the replaced spec: the user may not create',
      next: 'ask for a role with verb create on controllerrevisions.apps in namespace default',
    },
  ]);
});

test('a refused edit leaves no revision, but one without an answer does', async () => {
  const kept = async (error: Error, created: 'created' | 'exists' = 'created') => {
    const revisions = new Set<ControllerRevision>();
    const cluster = {
      pools: { patch: () => Promise.reject(error) },
      revisions: {
        create: async (revision: ControllerRevision) => {
          revisions.add(revision);
          return { kind: created, revision };
        },
        delete: async (revision: ControllerRevision) => void revisions.delete(revision),
      },
    } as unknown as ClusterPort;
    const options = { cluster, dryRun: 'none', warn() {} } as const;
    const before = pool({ labels: { tier: 'old' } });
    await assert.rejects(patchAndSave(before, { spec: NEW }, { spec: NEW }, options), error);
    return revisions.size;
  };
  assert.equal(await kept(new NodepoolError('input', 'invalid')), 0);
  assert.equal(await kept(new NodepoolError('input', 'invalid'), 'exists'), 1, 'another edit has saved it');
  assert.equal(await kept(new NodepoolError('cluster', 'no answer', undefined, { isTransient: true })), 1);
  assert.equal(await kept(new NodepoolError('cluster', 'no connection', undefined, { isGeneral: true })), 1);
  assert.equal(await kept(new TypeError('a bug')), 1);
});
