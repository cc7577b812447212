/** What `uninstall --cascade` proposes. The rest needs a server: test/e2e/uninstall.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConsentAnswer, Proposal } from '../../../../src/commands/shared/consent/consent.ts';
import { actionOf } from '../../../../src/commands/uninstall/command.ts';
import { type UninstallDeps, uninstall } from '../../../../src/commands/uninstall/run.ts';
import type { RuntimeClass } from '../../../../src/nodepool/types.ts';
import { member, pool } from '../shared/fake-server.ts';

const unused = () => assert.fail('nothing is to be written');

/** Pool a, with one node. */
async function propose(classes: RuntimeClass[]) {
  const proposals: Proposal[] = [];
  let reads = 0;
  const deps = {
    cluster: {
      pools: { listCoerced: async () => [pool('a', {})] },
      nodes: { serverTime: () => new Date(), list: async () => [member('n1', 'a', 'x')] },
      runtimeClasses: { list: async () => classes },
    },
    crd: { get: async () => ({}), delete: unused },
    manifests: { get: async () => undefined },
    async workloads() {
      reads++;
      const train = { kind: 'Deployment', namespace: 'ml', name: 'train', runtimeClass: 'node-pool-a' };
      return { pods: async () => [], templates: async (kind: string) => (kind === 'Deployment' ? [train] : []) };
    },
    releasing: unused,
    stoppable: unused,
    actionOf: () => 'Delete',
    async approve(proposal: Proposal): Promise<ConsentAnswer> {
      proposals.push(proposal);
      return 'declined';
    },
  };
  const options = {
    cascade: true,
    controller: [],
    bornInPool: [],
    policies: [],
    dryRun: 'none' as const,
    timeoutMs: 1,
  };
  const { kind } = await uninstall(options, deps as unknown as UninstallDeps);
  assert.equal(kind, 'declined');
  return { question: proposals[0]?.question, reads };
}

test('names the workloads that lose their RuntimeClass, and asks about them', async () => {
  const controller = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', name: 'a', uid: 'uid-a', controller: true };
  const { question } = await propose([
    { metadata: { name: 'node-pool-a', ownerReferences: [controller] }, handler: 'h' },
  ]);
  assert.deepEqual(question, {
    covers: ['the CRD', 'pool uid-a', 'node n1', 'Deployment ml/train'],
    needsYes: ['1 pool would be deleted: a'],
    losses: [
      'RuntimeClass node-pool-a would be deleted, but 1 workload names it: Deployment ml/train (0 pods). Running pods stay; the server would reject new pods until runtimeClassName is removed from the pod template',
    ],
  });
});

test('reads no workloads without a RuntimeClass to delete, and requires --yes in a script', async () => {
  const { question, reads } = await propose([{ metadata: { name: 'node-pool-a' }, handler: 'h' }]);
  assert.deepEqual([question?.needsYes, question?.losses, reads], [['1 pool would be deleted: a'], [], 0]);
});

test('asks with the number of pools and nodes', () => {
  const orphans = [{ pool: 'old', nodes: 2 }];
  assert.equal(
    actionOf({ pools: ['a'], nodes: 1, orphans: [] }),
    'Delete pool a (releases 1 node) and delete the NodePool CRD',
  );
  assert.equal(
    actionOf({ pools: ['a', 'b', 'c', 'd', 'e', 'f'], nodes: 22, orphans }),
    'Delete 6 pools a, b, c, d, e and 1 more (releases 22 nodes) and release 2 nodes of deleted pools and delete the NodePool CRD',
  );
  assert.equal(actionOf({ pools: [], nodes: 0, orphans: [] }), 'Delete the NodePool CRD');
  assert.equal(actionOf({ pools: [], nodes: 0, orphans: [] }, 2), 'Delete the NodePool CRD and the admission policies');
});
