/**
 * The changes of runs with and without a fault: nodes join, move, leave, drift, are created and deleted; pools are
 * created, edited and deleted. The end state does not depend on which changes are seen together.
 */
import type { Taint } from '../../src/nodepool/types.ts';
import { role } from '../e2e/test-env.ts';
import type { Model } from './model.ts';

const START: Taint = { key: 'start', value: 'x', effect: 'NoSchedule' };
const AGENT = { key: 'agent', effect: 'NoSchedule' as const, until: { nodeCondition: 'AgentReady' } };

const roleOff = (pool: string) => ({ [`node-role.kubernetes.io/${pool}`]: null });

/** The start. Call converged() before the changes: drift needs values that a pool applied. */
export async function prepare(model: Model): Promise<void> {
  await model.addNodes(
    { name: 'bystander', labels: { team: 'theirs' }, taints: [{ key: 'theirs', effect: 'NoExecute' }] },
    { name: 'joins', labels: { team: 'theirs' } },
    {
      name: 'moves',
      labels: { ...role('one'), tier: 'before' },
      taints: [{ key: 'theirs', value: 'x', effect: 'NoSchedule' }],
      annotations: { note: 'before', late: 'before, too', other: 'theirs' },
    },
    {
      name: 'leaves',
      labels: { ...role('one'), tier: 'before' },
      taints: [{ key: 'one', value: 'a', effect: 'NoSchedule' }],
      annotations: { note: 'before' },
    },
    { name: 'drifts', labels: role('two') },
    { name: 'stays', labels: role('two'), annotations: { late: 'before' } },
    { name: 'released', labels: { ...role('gone'), team: 'theirs' }, annotations: { note: 'before' } },
    { name: 'dies', labels: role('one') },
    { name: 'later', labels: role('new') },
  );
  await model.createPool('one', {
    labels: { tier: 'one' },
    taints: [{ key: 'one', value: '1', effect: 'NoSchedule' }],
    annotations: { note: 'pool one, {"a": "é"}' },
    startupTaints: [START, { key: 'start', effect: 'PreferNoSchedule' }],
    handler: 'runc',
  });
  await model.createPool('two', {
    labels: { tier: 'two', only: 'two' },
    taints: [{ key: 'two', effect: 'PreferNoSchedule' }],
    annotations: { note: 'two', only: '' },
    startupTaints: [START, AGENT],
    handler: 'runc',
  });
  await model.createPool('gone', {
    labels: { tier: 'gone' },
    annotations: { note: 'gone', gone: 'x' },
    startupTaints: [START],
    handler: 'runc',
  });
}

/** The changes, concurrent except those of one object. */
export async function change(model: Model): Promise<void> {
  await Promise.all([
    model.label('joins', role('one')),
    model.label('moves', { ...roleOff('one'), ...role('two') }),
    model.label('leaves', roleOff('one')),
    model.drift('drifts', { tier: 'drifted', only: null }, ['two:PreferNoSchedule'], { note: 'drifted', only: null }),
    model.taint('stays', { key: 'theirs', effect: 'NoSchedule' }),
    model.removeNode('dies'),
    model.addNodes({ name: 'born', labels: role('two') }),
    model.editPool('two', {
      labels: { tier: 'second' },
      taints: [{ key: 'two', value: '2', effect: 'NoSchedule' }],
      // A key that no pool had before: nodes are in memory without it.
      annotations: { note: 'second', late: 'second' },
      // As before: what a node that joins meanwhile gets would depend on what is seen first.
      startupTaints: [START, AGENT],
      handler: 'gvisor',
    }),
    model.report('stays', 'AgentReady', 'True'),
    model.createPool('new', { labels: { tier: 'new' }, handler: 'kata' }),
    model.deletePool('gone'),
  ]);
}

/** What the product creates and deletes for the changes. */
export const CREATES_AND_DELETES = {
  'create runtimeclasses node-pool-new': 1,
  'create runtimeclasses node-pool-two': 1,
  'delete runtimeclasses node-pool-gone': 1,
  'delete runtimeclasses node-pool-two': 1,
};

/** What it creates for the start. */
export const CREATES_AT_START = {
  'create runtimeclasses node-pool-gone': 1,
  'create runtimeclasses node-pool-one': 1,
  'create runtimeclasses node-pool-two': 1,
};
