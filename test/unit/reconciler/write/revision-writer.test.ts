/** What a warning says where the history of a pool cannot be kept. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort, ControllerRevisionsClient } from '../../../../src/kube/cluster.ts';
import { NodepoolError, type Warning } from '../../../../src/nodepool/errors.ts';
import { newRevision } from '../../../../src/nodepool/rollout/revisions.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { RevisionWriter } from '../../../../src/reconciler/write/revision-writer.ts';
import { aPool } from '../../nodepool/fixtures.ts';
import { reconcilerOptions } from '../reconciler-options.ts';

const version = (at: number) => aPool({ labels: { tier: `${at}` }, rollout: {} }, { name: 'w', uid: 'uid-w' });

async function warningsOf(revisions: Partial<ControllerRevisionsClient>): Promise<Warning[]> {
  const all = Array.from({ length: 12 }, (_, at) => newRevision(version(at), at + 1, 0));
  const client = { list: async () => all, ...revisions };
  const options = reconcilerOptions({ revisions: client } as unknown as ClusterPort, new ClusterState([], [], []));
  const warnings: Warning[] = [];
  assert.equal(await new RevisionWriter(options).keep(version(11), warnings), 'kept');
  return warnings;
}

const refuse = () => Promise.reject(new NodepoolError('cluster', 'a policy refuses it', 'ask'));

test('a revision that is too many and cannot be deleted: the spec has its revision', async () => {
  const expected = { message: 'an old revision was not deleted: a policy refuses it', next: 'ask' };
  assert.deepEqual(await warningsOf({ delete: refuse }), [expected]);
});

test('revisions that cannot be listed: the spec has none', async () => {
  const expected = { message: '`rollout undo` will not find this spec: a policy refuses it', next: 'ask' };
  assert.deepEqual(await warningsOf({ list: refuse }), [expected]);
});
