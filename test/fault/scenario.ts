/**
 * The changes of runs with and without a fault: nodes join, move, leave, drift, are created and deleted; pools are
 * created, edited and deleted. The end state does not depend on which changes are seen together.
 */
import { role } from '../e2e/test-env.ts';
import type { Model } from './model.ts';

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
    },
    {
      name: 'leaves',
      labels: { ...role('one'), tier: 'before' },
      taints: [{ key: 'one', value: 'a', effect: 'NoSchedule' }],
    },
    { name: 'drifts', labels: role('two') },
    { name: 'stays', labels: role('two') },
    { name: 'released', labels: { ...role('gone'), team: 'theirs' } },
    { name: 'dies', labels: role('one') },
    { name: 'later', labels: role('new') },
  );
  await model.createPool('one', {
    labels: { tier: 'one' },
    taints: [{ key: 'one', value: '1', effect: 'NoSchedule' }],
    handler: 'runc',
  });
  await model.createPool('two', {
    labels: { tier: 'two', only: 'two' },
    taints: [{ key: 'two', effect: 'PreferNoSchedule' }],
    handler: 'runc',
  });
  await model.createPool('gone', { labels: { tier: 'gone' }, handler: 'runc' });
}

/** The changes, concurrent except those of one object. */
export async function change(model: Model): Promise<void> {
  await Promise.all([
    model.label('joins', role('one')),
    model.label('moves', { ...roleOff('one'), ...role('two') }),
    model.label('leaves', roleOff('one')),
    model.drift('drifts', { tier: 'drifted', only: null }, ['two:PreferNoSchedule']),
    model.taint('stays', { key: 'theirs', effect: 'NoSchedule' }),
    model.removeNode('dies'),
    model.addNodes({ name: 'born', labels: role('two') }),
    model.editPool('two', {
      labels: { tier: 'second' },
      taints: [{ key: 'two', value: '2', effect: 'NoSchedule' }],
      handler: 'gvisor',
    }),
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
