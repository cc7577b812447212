import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CONDITION_REASON,
  hasCondition,
  publishMaintenance,
} from '../../../../../src/commands/shared/cordon/maintenance.ts';
import type { MaintenancePort, NodeCondition } from '../../../../../src/kube/resources/maintenance.ts';
import { formatMaintenance } from '../../../../../src/nodepool/drain/maintenance.ts';
import type { Node } from '../../../../../src/nodepool/types.ts';

const maintenance = formatMaintenance({
  owner: { name: 'alice', from: 'server' },
  since: '2026-11-24T12:00:00Z',
  reason: 'disks',
  uid: 'u',
});
const rest = { creationTimestamp: '', labels: {}, taints: [], ready: true, allocatable: {} };
const node: Node = { name: 'a', uid: 'u', resourceVersion: '1', unschedulable: true, maintenance, ...rest };
const published = { conditions: ['MaintenanceInProgress'] };
const ours = (message: string) => ({ status: 'True', reason: CONDITION_REASON, message });

/** @param reads what each read finds; the last one is repeated */
async function publish(
  subject: Node,
  version: string,
  reads: (Partial<NodeCondition> | undefined)[] = [],
  answers: ('conflict' | 'written')[] = [],
) {
  const log: string[] = [];
  const port: MaintenancePort = {
    owner: async () => ({ name: 'alice', from: 'server' }),
    record: async () => {},
    serverVersion: async () => version,
    async condition() {
      log.push('read');
      const found = reads.length > 1 ? reads.shift() : reads[0];
      return (
        found && { uid: 'u', resourceVersion: '2', unschedulable: true, maintenance, condition: undefined, ...found }
      );
    },
    async publish({ resourceVersion }, _type, to) {
      log.push(`${resourceVersion} ${to === undefined ? 'remove' : to.message}`);
      return answers.shift() ?? 'written';
    },
  };
  const serverVersion = async () => {
    log.push('version');
    return version;
  };
  await publishMaintenance(subject, { open: async () => port, serverVersion, sleep: async () => {} });
  return log;
}

test('the server supports the condition from 1.37 on', () => {
  const versions = ['v1.36.9', 'v1.37.0', 'v1.37.2-eks-1', '1.40.0-alpha.1', 'v2.0.0', '', 'x'];
  assert.deepEqual(versions.map(hasCondition), [false, true, true, true, true, false, false]);
});

test('sends no request for a node without maintenance and condition', async () => {
  const { maintenance: _, ...bare } = node;
  assert.deepEqual(await publish(bare, 'v1.37.0'), []);
  assert.deepEqual(await publish({ ...node, unschedulable: false }, 'v1.37.0'), []);
});

test('is set if the server supports it, from the node as read after a conflict', async () => {
  assert.deepEqual(await publish(node, 'v1.36.0'), ['version']);
  assert.deepEqual(await publish(node, 'v1.37.0'), ['version', '1 alice: disks']);
  assert.deepEqual(await publish(node, 'v1.37.0', [{ unschedulable: false }], ['conflict']), [
    ...['version', '1 alice: disks', 'read'],
  ]);
  assert.deepEqual(await publish(node, 'v1.37.0', [{ uid: 'v' }], ['conflict']), ['version', '1 alice: disks', 'read']);
});

test('is corrected and removed only if it is ours', async () => {
  const seen: Node = { ...node, ...published };
  assert.deepEqual(await publish(seen, 'v1.36.0', [{ condition: ours('alice: disks') }]), ['read']);
  assert.deepEqual(await publish(seen, 'v1.36.0', [{ condition: ours('bob') }]), ['read', '2 alice: disks']);
  const open = { ...seen, unschedulable: false };
  assert.deepEqual(await publish(open, 'v1.36.0', [{ unschedulable: false, condition: ours('x') }]), [
    'read',
    '2 remove',
  ]);
  const theirs = { condition: { status: 'True', reason: 'AdminRequested', message: 'x' } };
  assert.deepEqual(await publish(seen, 'v1.37.0', [theirs]), ['read']);
  assert.deepEqual(await publish(open, 'v1.37.0', [{ ...theirs, unschedulable: false }]), ['read']);
});
